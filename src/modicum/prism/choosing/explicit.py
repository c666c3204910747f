"""The master problem where the maximal supports can be listed: a lower bound for each, the lowest is solved next."""

from collections.abc import Iterator

import numpy as np

from modicum.prism.choosing.covers import Covers
from modicum.prism.choosing.cuts import Cut
from modicum.prism.choosing.pool import Search
from modicum.prism.choosing.supports import Packed, unpacked
from modicum.table.values import Floats

_MANY = 200  # fewer supports are solved one by one: small ones have few distinct rows
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


class Bounds:
    """What no rule on each of the supports goes below.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.choosing.cuts import Cut
    >>> from modicum.prism.choosing.explicit import Bounds
    >>> from modicum.prism.choosing.supports import packed
    >>> bounds = Bounds(packed([(0, 1), (1, 2)], 3), 3)
    >>> bounds.add(Cut(9.0, np.array([1.0, 2.0, 3.0])))
    >>> bounds.values.tolist(), bounds.lowest()
    ([6.0, 4.0], (1, 2))
    """

    def __init__(self, supports: Packed, n_units: int) -> None:
        self.bytes = np.ascontiguousarray(supports.T)
        self.n_units = n_units
        self.values: Floats = np.zeros(len(supports))  # no objective is below 0

    def add(self, cut: Cut) -> None:
        """Raises every bound that the cut raises."""
        slopes = np.zeros(8 * len(self.bytes))
        slopes[: self.n_units] = cut.slopes
        value = np.full(len(self.values), cut.constant)
        for eight, part in zip(self.bytes, slopes.reshape(-1, 8), strict=True):
            value -= (_BITS @ part)[eight]
        np.maximum(self.values, value, out=self.values)

    def lowest(self) -> tuple[int, ...]:
        """The most promising support."""
        return unpacked(self.bytes[:, int(self.values.argmin())], self.n_units)


def explicit(search: Search, supports: Packed) -> Iterator[None]:
    """Solves the most promising support until its bound proves the best found.

    All allowed units together are solved first: often no support can be much better than the best that was found.
    Each support that is not better is widened while many are left, so that one solution disproves many.
    """
    bounds, covers = Bounds(supports, search.pool.n_units), Covers(search)
    if not search.out_of_time:
        search.pool.solved(search.limits.allowed)
        yield
    while not search.out_of_time:
        lowest = float(bounds.values.min())
        search.raise_bound(lowest)
        if search.proven:
            return
        support = bounds.lowest()
        at, value = search.pool.strongest(support)
        if value > lowest + 1e-10 * search.best.objective:
            bounds.add(search.pool.cuts[at])
        elif support in search.pool.supports:  # as close as the support itself was solved
            return
        else:
            solved = search.solve(support)
            bounds.add(solved.cut)
            yield
            if (bounds.values < search.enough).sum() > _MANY:
                yield from covers.widen(solved)
