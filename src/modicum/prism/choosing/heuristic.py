"""A good support to start from: the most promising unit joins until none can, then units are exchanged."""

from collections.abc import Iterator

import numpy as np

from modicum.prism.choosing.cuts import Solved
from modicum.prism.choosing.pool import Search

_TRIED = 3  # units that are tried before one joins
_JOINING, _LEAVING = 5, 4  # units that are tried in an exchange


def grow(search: Search) -> Iterator[None]:
    """Units join one by one, each time the best of those with the steepest slopes.

    There is a rule on as many units as fit whatever the time, but when it is over only the steepest is tried.
    """
    current = search.solve(())
    while not search.stop.asked:
        options = [unit for unit in _steepest(current) if _may_join(search, current, unit)]
        if not options:
            return
        tried: list[Solved] = []
        for unit in options[:_TRIED]:
            if tried and search.out_of_time:
                break
            tried.append(search.solve((*current.support, unit)))
            yield
        current = min(tried, key=lambda each: (each.objective, each.support))


def exchange(search: Search) -> Iterator[None]:
    """One unit of the best support goes, another comes, as long as that helps."""
    improved = True
    while improved and not search.out_of_time:
        improved = False
        for support in _neighbours(search):
            before = search.best.objective
            search.solve(support)
            yield
            if search.best.objective < before * (1 - 1e-7):
                improved = True
                break
            if search.out_of_time:
                return


def _neighbours(search: Search) -> list[tuple[int, ...]]:
    best = search.best
    joining = [unit for unit in _steepest(best) if unit not in best.support][:_JOINING]
    leaving = sorted(best.support, key=lambda unit: float(best.cut.slopes[unit]))[:_LEAVING]
    pairs = [tuple(sorted({*best.support, new} - {old})) for new in joining for old in leaving]
    return [support for support in pairs if search.limits.allow(support)]


def _steepest(solved: Solved) -> list[int]:
    return np.argsort(-solved.cut.slopes, kind="stable").tolist()


def _may_join(search: Search, current: Solved, unit: int) -> bool:
    return unit not in current.support and search.limits.allow((*current.support, unit))
