"""A limit on how long an answer is waited for, where what should answer may be silent without hanging up."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_LOOKS = 4  # within the time that is given: a thread of its own for each wait would cost more than most waits


class Deadline:
    """Ends a connection that is in use for too long; whoever waits for it then sees it fail.

    Parameters
    ----------
    seconds : that a use may take; it is ended at most a quarter later

    Examples
    --------
    >>> import socket
    >>> from modicum.service.deadline import Deadline
    >>> here, there = socket.socketpair()
    >>> deadline = Deadline(0.01)
    >>> with here, there, deadline.of(here.fileno()):
    ...     here.recv(1)
    b''
    >>> deadline.close()
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._used: tuple[int, float] | None = None
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="modicum-deadline", daemon=True).start()

    @contextmanager
    def of(self, file: int) -> Iterator[None]:
        """Use the socket of this number, one at a time; it must stay open inside."""
        with self._lock:
            self._used = (file, time.monotonic() + self._seconds)
        try:
            yield
        finally:
            with self._lock:  # from here on the number may be another connection's
                self._used = None

    def close(self) -> None:
        """Watch no longer."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(self._seconds / _LOOKS):
            with self._lock:
                if self._used is not None and time.monotonic() >= self._used[1]:
                    _end(self._used[0])


def _end(file: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(file)) as same:  # an error: it has ended by itself
        same.shutdown(socket.SHUT_RDWR)
