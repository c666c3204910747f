"""A limit on how long an answer is waited for, where what should answer may be silent without hanging up."""

import os
import socket
import threading
from types import TracebackType


class Deadline:
    """Ends a connection that is still in use when its time is over; whoever waits for it then sees it fail.

    Parameters
    ----------
    file : number of the connection's socket, which must stay open until the end of the block
    seconds : None for no limit

    Examples
    --------
    >>> import socket
    >>> from modicum.service.deadline import Deadline
    >>> here, there = socket.socketpair()
    >>> with here, there, Deadline(here.fileno(), 0.01):
    ...     here.recv(1)
    b''
    """

    def __init__(self, file: int, seconds: float | None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._over = False
        self._timer = None if seconds is None else threading.Timer(seconds, self._cut)

    def __enter__(self) -> None:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:  # from here on the number may be another connection's
            self._over = True
        if self._timer is not None:
            self._timer.cancel()

    def _cut(self) -> None:
        with self._lock:
            if self._over:
                return
            try:
                with socket.socket(fileno=os.dup(self._file)) as same:
                    same.shutdown(socket.SHUT_RDWR)
            except OSError:  # it has ended by itself
                return
