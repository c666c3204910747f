"""One solved set of units that disproves many supports: all that lie within it.

Where the optimum on a set, however large and whether feasible or not, is not below what is needed, no support inside
it is either. So a support that turns out not to be the best is widened as far as this holds.
"""

from collections.abc import Iterator

import numpy as np

from modicum.prism.choosing.cuts import Solved
from modicum.prism.choosing.pool import Search


class Covers:
    """Widens supports; how far it went the last time is where it looks first the next time."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.width = len(search.limits.allowed) // 2

    def widen(self, solved: Solved) -> Iterator[None]:
        """Adds the units that promise least, as many as still prove that nothing inside is better."""
        search, allowed = self.search, set(self.search.limits.allowed) - set(solved.support)
        order = [unit for unit in np.argsort(solved.cut.slopes, kind="stable").tolist() if unit in allowed]
        low, high = 0, len(order)  # so many are known to be few enough, and so many may be
        middle, step = self.width - len(solved.support), 1
        while low < high and not search.out_of_time:
            middle = min(max(middle, low + 1), high)
            wider = search.pool.solved((*solved.support, *order[:middle]))
            yield
            if wider.bound >= search.enough:
                low, middle, step = middle, middle + step, 2 * step
            else:
                high, middle, step = middle - 1, (low + middle) // 2, 1
        self.width = len(solved.support) + low
