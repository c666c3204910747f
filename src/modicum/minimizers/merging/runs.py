"""Cells under a grouping that changes attribute by attribute, seen as runs along one of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modicum.minimizers.merging.cells import Cells, changes
from modicum.table.values import Codes, Floats

_PLACE_BITS = np.uint64(8)  # of a key: the place along the run's attribute


@dataclass(frozen=True)
class Runs:
    """Cells of a single attribute, in runs of those that all other attributes agree on, each sorted by its bucket.

    Attributes
    ----------
    cells, begins : run r has the cells begins[r] … begins[r + 1] - 1
    told : for each run Σ_p w_p M_p of the other attributes
    by_bucket : buckets × the attribute's own values, where it is personal
    personal : which personal attribute it is, or -1
    """

    cells: Cells
    begins: Codes
    told: Floats
    by_bucket: Floats
    personal: int


class Grouped:
    """Cells, and for each attribute the group of every bucket, named by one of the group's buckets."""

    def __init__(self, cells: Cells, groups: Sequence[Codes]) -> None:
        self.cells, self.groups = cells, list(groups)
        self._key = np.zeros(len(cells), dtype=np.uint64)
        for a in range(len(self.groups)):
            self._key += self._marks(a)

    def _marks(self, a: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        return self.cells.marks[a][self.groups[a]][self.cells.places[:, a]]

    def regroup(self, a: int, groups: Codes) -> None:
        """Give one attribute other groups."""
        self._key -= self._marks(a)
        self.groups[a] = groups
        self._key += self._marks(a)

    def along(self, a: int) -> Runs:
        """The runs along one attribute."""
        cells = self.cells
        key = (self._key - self._marks(a)) << _PLACE_BITS | cells.places[:, a].astype(np.uint64)
        order = np.argsort(key, kind="stable")
        key = key[order]
        begins = changes(key)
        first = order[begins[:-1]]
        joined = cells.gathered(order, begins, cells.places[:, [a]], [cells.sizes[a]])
        of_run = changes(key[begins[:-1]] >> _PLACE_BITS)
        p = cells.guessing.of(a)
        return Runs(
            cells=joined,
            begins=of_run,
            told=cells.told(first[of_run[:-1]], self.groups, without=a),
            by_bucket=cells.tables[p] if p >= 0 else np.zeros((cells.sizes[a], 0)),
            personal=p,
        )
