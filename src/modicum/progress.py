"""Independent pieces of work on the cores there are, with a progress bar where someone watches."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from modicum.errors import ParameterError

Result = TypeVar("Result")


def cores(n_jobs: int | None = None) -> int:
    """How many pieces of work run at once: as asked, or as many as this process may use.

    Examples
    --------
    >>> from modicum.progress import cores
    >>> cores(3), cores() >= 1
    (3, True)
    """
    if n_jobs is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise ParameterError(f"The 'n_jobs' parameter must be an int ≥ 1, or None for all cores. Got {n_jobs!r}.")
    return n_jobs


def run_all(
    pieces: Sequence[Callable[[], Result]], title: str, *, n_jobs: int | None = None, progress: bool = True
) -> list[Result]:
    """The result of every piece, in order; threads, since the work is done by compiled code.

    Examples
    --------
    >>> from modicum.progress import run_all
    >>> run_all([lambda: 1, lambda: 2], "counting", progress=False)
    [1, 2]
    """
    return list(_shown(_results(pieces, cores(n_jobs)), len(pieces), title, progress))


def _results(pieces: Sequence[Callable[[], Result]], n_jobs: int) -> Iterator[Result]:
    if n_jobs == 1 or len(pieces) < 2:
        yield from (piece() for piece in pieces)
        return
    from joblib import Parallel, delayed  # deferred: only parallel work needs them
    from threadpoolctl import threadpool_limits

    # Set once for all threads: each would otherwise set it back while others still work.
    with threadpool_limits(1):
        parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
        yield from parallel(delayed(piece)() for piece in pieces)


def _shown(results: Iterator[Result], total: int, title: str, progress: bool) -> Iterator[Result]:
    if not progress or not sys.stderr.isatty():
        yield from results
        return
    from rich.console import Console
    from rich.progress import track

    shown: Any = track(results, title, total=total, console=Console(stderr=True), transient=True)
    yield from shown
