"""The proof without HiGHS: branch and bound over units, with bounds that are as exact as the cuts themselves.

A node is a set of units that are in and one of units that may still join. No support below it is better than the
highest of its cuts' bounds, each lowered by its steepest slopes of as many units as may still join. This is weaker
than the program of all cuts, but it knows no tolerance and cannot fail.
"""

import heapq
from collections.abc import Iterator, Sequence

import numpy as np

from modicum.prism.choosing.pool import Search
from modicum.table.values import Floats

Node = tuple[float, tuple[int, ...], tuple[int, ...]]  # bound, units that are in, units that may join


def branching(search: Search) -> Iterator[None]:
    """Opens the node of the lowest bound, until that proves the best found.

    Where nothing can be told any more (a support is known only as well as it was solved), it ends without a proof.
    """
    allowed = search.limits.allowed
    heap: list[Node] = [(node_bound(search, (), allowed), (), allowed)]
    settled = search.best.objective  # the lowest bound of supports that are solved already
    while heap and not search.out_of_time:
        search.raise_bound(min(heap[0][0], settled))
        if search.proven or settled <= heap[0][0]:
            return
        bound, inside, free = heapq.heappop(heap)
        now = node_bound(search, inside, free)
        if now > bound:
            heapq.heappush(heap, (now, inside, free))
        elif free and len(inside) < search.limits.max_units:
            for node in _children(inside, free, search):
                heapq.heappush(heap, node)
        else:
            settled = min(settled, search.solve(inside).bound)
            yield
    if not heap:
        search.raise_bound(settled)


def node_bound(search: Search, inside: Sequence[int], free: Sequence[int]) -> float:
    """What no support with these units, and others only of the free ones, goes below."""
    return max(0.0, float(_bounds(search, inside, free).max(initial=0.0)))


def _bounds(search: Search, inside: Sequence[int], free: Sequence[int]) -> Floats:
    """The same from each of the cuts, lowered by more than adding up can round."""
    constants, slopes = search.pool.table()
    may_join = min(len(free), search.limits.max_units - len(inside))
    lost = slopes[:, list(inside)].sum(axis=1)
    if may_join:
        lost = lost + np.partition(slopes[:, list(free)], len(free) - may_join, axis=1)[:, -may_join:].sum(axis=1)
    bounds: Floats = constants - lost - 1e-14 * len(search.limits.allowed) * (np.abs(constants) + lost)
    return bounds


def _children(inside: tuple[int, ...], free: tuple[int, ...], search: Search) -> list[Node]:
    """With the unit that matters most where the bound comes from, and without it."""
    slopes = search.pool.cuts[int(_bounds(search, inside, free).argmax())].slopes
    unit = max(free, key=lambda each: (float(slopes[each]), -each))
    rest = tuple(each for each in free if each != unit)
    more = tuple(sorted((*inside, unit)))
    fitting = tuple(each for each in rest if search.limits.allow((*more, each)))
    return [(node_bound(search, *each), *each) for each in ((inside, rest), (more, fitting))]
