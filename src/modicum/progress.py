"""Run long work in parallel, with a progress bar on a terminal, and stop it cleanly on Ctrl-C."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from modicum.errors import ParameterError, StoppedWarning

Result = TypeVar("Result")


def cores(n_jobs: int | None = None) -> int:
    """Return how many tasks run at once, as in scikit-learn: None is one, -1 all cores, -2 all but one.

    Examples
    --------
    >>> from modicum.progress import cores
    >>> cores(), cores(3), cores(-1) >= 1
    (1, 3, True)
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
        raise ParameterError(
            f"The 'n_jobs' parameter must be an int ≥ 1, -1 for all cores, or None for one. Got {n_jobs!r} instead."
        )
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, usable + 1 + n_jobs)


def run_all(
    pieces: Sequence[Callable[[], Result]], title: str, *, n_jobs: int | None = None, progress: bool = True
) -> list[Result]:
    """Return the result of every piece, in order. They run in threads, since compiled code does the work.

    Examples
    --------
    >>> from modicum.progress import run_all
    >>> run_all([lambda: 1, lambda: 2], "counting", progress=False)
    [1, 2]
    """
    return list(track_progress(results(pieces, n_jobs), title, total=len(pieces), progress=progress))


def results(pieces: Iterable[Callable[[], Result]], n_jobs: int | None = None) -> Iterator[Result]:
    """Yield the result of every piece, in order.

    Examples
    --------
    >>> from modicum.progress import results
    >>> list(results([lambda: 1, lambda: 2]))
    [1, 2]
    """
    return _results(list(pieces), cores(n_jobs))


def _results(pieces: Sequence[Callable[[], Result]], n_jobs: int) -> Iterator[Result]:
    if n_jobs == 1 or len(pieces) < 2:
        yield from (piece() for piece in pieces)
        return
    from joblib import Parallel, delayed  # deferred: only parallel work needs it
    from threadpoolctl import threadpool_limits

    # Set once for all threads: each would otherwise reset the limit while others still work.
    with threadpool_limits(1):
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        yield from parallel(delayed(piece)() for piece in pieces)


def track_progress(
    items: Iterable[Result], title: str, *, total: int | None = None, progress: bool = True
) -> Iterator[Result]:
    """Yield the items; a terminal shows a progress bar with the time left.

    Examples
    --------
    >>> from modicum.progress import track_progress
    >>> list(track_progress([1, 2], "counting"))
    [1, 2]
    """
    if not progress or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    shown: Any = track(items, title, total=total, console=Console(stderr=True), transient=True)
    yield from shown


@dataclass
class Stop:
    """Whether the user has asked to stop."""

    asked: bool = False


@contextmanager
def stoppable(what: str) -> Iterator[Stop]:
    """Let Ctrl-C stop the work after the current step; a second Ctrl-C stops it at once.

    The work checks `asked` between steps and keeps its best result so far; a `StoppedWarning` reports that. Only the
    main thread receives Ctrl-C. If the program has its own handler, that one stays in place.

    Examples
    --------
    >>> from modicum.progress import stoppable
    >>> with stoppable("counting") as stop:
    ...     found = [i for i in range(3) if not stop.asked]
    >>> found
    [0, 1, 2]
    """
    stop = Stop()
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield stop
        return

    def ask(number: int, frame: Any) -> None:
        if stop.asked:
            raise KeyboardInterrupt
        stop.asked = True

    signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if stop.asked:
        warnings.warn(f"Stopped {what} early; the best so far is kept.", StoppedWarning, stacklevel=3)
