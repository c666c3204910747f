"""Cells: equal records together, with sums of their labels and personal values.

Merging needs no records, only cells: the distinct combinations of buckets, each with the sum of a teacher's class
probabilities and the count of every personal value. To join cells is to add them up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from modicum.table.codes import group_rows
from modicum.typing import Codes, Floats

TINY = 1e-6  # by which sums of fractions of people may differ from whole numbers


@dataclass(frozen=True)
class Guessing:
    """What an adversary guesses: the values of all personal attributes, numbered consecutively.

    Attributes
    ----------
    owner : for each value the number of its personal attribute
    share : the weight of each personal attribute
    column : for each personal attribute its place among those that may be collected; -1 for one that may not
    strength : how many records a bucket's own shares count as (`Cells`)
    """

    owner: Codes
    share: Floats
    column: Codes
    strength: float

    def of(self, a: int) -> int:
        """The personal attribute in column a; -1 if that one is not personal."""
        found = np.flatnonzero(self.column == a)
        return int(found[0]) if len(found) else -1


@dataclass(frozen=True)
class Cells:
    """Distinct combinations of buckets.

    In a cell with n records, C_v of them with the value v of a personal attribute p, an adversary is right about

        n / (n + s) · (max_v C_v + s M_p),   M_p = max_v (share of v in the bucket that p has in this cell),

    by counting in the cell, where the shares in p's own bucket count as s more records. Without them (s = 0, the
    certificate's U) small cells would seem to reveal everything; with a prior that ignores the bucket, a value in a
    bucket of its own would seem hidden.

    Attributes
    ----------
    places : cells × attributes, the bucket of each
    sizes : the number of buckets of each attribute
    labels : cells × classes, the sum of the teacher's chances
    people : the least number of people in each cell
    starts, values, counts : each cell's personal values and how often they occur; cell i has those from starts[i] on
    guessing : what the values mean
    """

    places: Codes
    sizes: tuple[int, ...]
    labels: Floats
    people: Floats
    starts: Codes
    values: npt.NDArray[np.int32]
    counts: npt.NDArray[np.float32]
    guessing: Guessing

    @classmethod
    def of(
        cls,
        places: Codes,
        sizes: Sequence[int],
        labels: Floats,
        values: Codes,
        records: Floats,
        people: Floats,
        guessing: Guessing,
    ) -> "Cells":
        """The cells of some rows: their buckets, records of each class, personal values, records and people."""
        rows, width = values.shape
        every = cls(
            places=places,
            sizes=tuple(sizes),
            labels=labels,
            people=people,
            starts=np.arange(rows + 1) * width,
            values=np.ascontiguousarray(values, dtype=np.int32).ravel(),
            counts=np.repeat(records.astype(np.float32), width),
            guessing=guessing,
        )
        return every._gather_cells(places, sizes)

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def records(self) -> float:
        """How many records there are in all."""
        return float(self.labels.sum())

    def join_buckets(self, groups: Sequence[Codes]) -> "Cells":
        """The cells when the buckets of each attribute are joined: `groups[a][bucket]` is the new bucket."""
        places = stack_columns([group[self.places[:, a]] for a, group in enumerate(groups)], len(self))
        return self._gather_cells(places, [int(group.max()) + 1 for group in groups])

    def sample(self, most: int) -> "Cells":
        """At most `most` random cells; their sums are those of a fair sample."""
        if len(self) <= most:
            return self
        rows = np.sort(np.random.default_rng(0).permutation(len(self))[:most])
        return self.gather_runs(rows, np.arange(most + 1), self.places, self.sizes)

    @cached_property
    def marks(self) -> list[npt.NDArray[np.uint64]]:
        """A random number for every bucket: the sums over two cells' buckets differ, except for a tiny chance."""
        random = np.random.default_rng(0)
        return [random.integers(0, 2**64, size, dtype=np.uint64) for size in self.sizes]

    @cached_property
    def tables(self) -> list[Floats]:
        """For each personal attribute how often its values occur in each of its buckets."""
        found, g = [], self.guessing
        owner = g.owner[self.values]
        cell = np.repeat(np.arange(len(self)), np.diff(self.starts))
        for p, a in enumerate(g.column):
            own, inside = np.flatnonzero(g.owner == p), np.flatnonzero(owner == p)
            size = 1 if a < 0 else self.sizes[a]
            place = 0 if a < 0 else self.places[cell[inside], a]
            key = place * len(own) + self.values[inside] - own[0]
            counts = np.bincount(key, weights=self.counts[inside], minlength=size * len(own))
            found.append(counts.astype(np.float64).reshape(size, len(own)))
        return found

    def count_top_values(self) -> Any:
        """For each cell and personal attribute the value that is most frequent in it, and how often it occurs."""
        g = self.guessing
        return _most_frequent(self.starts, self.values, self.counts, g.owner, len(g.share))

    def find_top_values(self, p: int) -> Codes:
        """For each bucket of a personal attribute the value that is most frequent in it."""
        first = int(np.flatnonzero(self.guessing.owner == p)[0])
        return self.tables[p].argmax(axis=1) + first

    def sum_top_shares(self, rows: Any, groups: Sequence[Codes] | None = None, without: int = -2) -> Floats:
        """For some cells Σ_p w_p M_p, over all personal attributes except the one in column `without`."""
        total = np.zeros(len(self.places[rows]))
        for table, a, share in zip(self.tables, self.guessing.column, self.guessing.share, strict=True):
            if a == without:
                continue
            group = np.arange(len(table)) if groups is None or a < 0 else groups[a]
            joined = np.zeros((int(group.max()) + 1, table.shape[1]))
            np.add.at(joined, group, table)
            top = joined.max(axis=1) / np.maximum(joined.sum(axis=1), 1e-300)
            total += share * (top[0] if a < 0 else top[group][self.places[rows, a]])
        return total

    def _gather_cells(self, places: Codes, sizes: Sequence[int]) -> "Cells":
        """Join the cells at the same places."""
        of_cell = group_rows(places)
        order = np.argsort(of_cell, kind="stable")
        return self.gather_runs(order, changes(of_cell[order]), places, sizes)

    def gather_runs(self, order: Codes, begins: Codes, places: Codes, sizes: Sequence[int]) -> "Cells":
        """Join the cells between two begins, in this order."""
        starts, values, counts = _gather(order, begins, self.starts, self.values, self.counts, len(self.guessing.owner))
        return replace(
            self,
            places=places[order[begins[:-1]]],
            sizes=tuple(sizes),
            labels=np.add.reduceat(self.labels[order], begins[:-1], axis=0),
            people=np.add.reduceat(self.people[order], begins[:-1]),
            starts=starts,
            values=values,
            counts=counts,
        )

    @cached_property
    def measured(self) -> "MeasuredCells":
        """What a classifier and an adversary achieve on these cells."""
        g, n = self.guessing, self.labels.sum(axis=1)
        known = self.count_top_values()[1] @ g.share
        right = n / np.maximum(n + g.strength, 1e-300) * (known + g.strength * self.sum_top_shares(slice(None)))
        share = self.labels / np.maximum(n, 1e-300)[:, None]
        entropy = -(share * np.log(np.maximum(share, 1e-300))).sum(axis=1)
        return MeasuredCells(
            error=float((n - self.labels.max(axis=1)).sum() / self.records),
            log_loss=float((n * entropy).sum() / self.records),
            accuracy=float(right.sum() / self.records),
            cells=len(self),
            fewest=float(self.people.min()),
        )


@dataclass(frozen=True)
class MeasuredCells:
    """The classifier's error and log-loss (nats), the adversary's mean accuracy, and how many and how small the cells.

    These are estimates from the cells' own records, for a classifier that predicts for each cell what the teacher says
    of its records, and an adversary who guesses as `Cells` describes.
    """

    error: float
    log_loss: float
    accuracy: float
    cells: int
    fewest: float


def stack_columns(columns: Sequence[Codes], n: int) -> Codes:
    """Stack columns side by side; return an n × 0 table if there are none."""
    return np.column_stack(columns) if columns else np.zeros((n, 0), dtype=np.int64)


def changes(values: npt.NDArray[Any]) -> Codes:
    """Where a value differs from the one before it, the first place included, and the end."""
    return np.append(np.flatnonzero(np.append(True, values[1:] != values[:-1])), len(values))


@numba.njit(cache=True, nogil=True)
def _gather(
    order: Codes, begins: Codes, starts: Codes, values: Any, counts: Any, many: int
) -> Any:  # pragma: no cover (compiled)
    """The personal values of the cells between two begins, in the given order, with their counts added up."""
    m = len(begins) - 1
    first = np.zeros(m + 1, np.int64)
    found_values, found_counts = np.empty(len(values), np.int32), np.empty(len(values), np.float32)
    total, seen = np.zeros(many), np.empty(many, np.int32)
    end = 0
    for i in range(m):
        k = 0
        for x in order[begins[i] : begins[i + 1]]:
            for e in range(starts[x], starts[x + 1]):
                v = values[e]
                if counts[e] == 0:  # a record that counts only in the groups
                    continue
                if total[v] == 0:
                    seen[k] = v
                    k += 1
                total[v] += counts[e]
        for j in range(k):
            found_values[end], found_counts[end] = seen[j], total[seen[j]]
            total[seen[j]] = 0
            end += 1
        first[i + 1] = end
    return first, found_values[:end].copy(), found_counts[:end].copy()


@numba.njit(cache=True, nogil=True)
def _most_frequent(starts: Any, values: Any, counts: Any, owner: Any, many: int) -> Any:  # pragma: no cover (compiled)
    """For each cell and personal attribute the value that occurs most often, of equal ones the lowest, and how often.

    Where a cell has no value of an attribute, it is -1 and 0 times.
    """
    found, top = np.full((len(starts) - 1, many), -1), np.zeros((len(starts) - 1, many))
    for x in range(len(found)):
        for e in range(starts[x], starts[x + 1]):
            v, p = values[e], owner[values[e]]
            if counts[e] > top[x, p] or (counts[e] == top[x, p] and v < found[x, p]):
                found[x, p], top[x, p] = v, counts[e]
    return found, top


# Cells under a grouping that changes attribute by attribute, as runs along one of them

_PLACE_BITS = np.uint64(8)  # of a key: the place along the run's attribute


@dataclass(frozen=True)
class Runs:
    """Cells of a single attribute, in runs that agree in all other attributes, each run sorted by bucket.

    Attributes
    ----------
    cells, begins : run r has the cells begins[r] … begins[r + 1] - 1
    others : for each run Σ_p w_p M_p of the other attributes
    by_bucket : buckets × the attribute's own values, if it is personal
    personal : which personal attribute it is, or -1
    """

    cells: Cells
    begins: Codes
    others: Floats
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
        joined = cells.gather_runs(order, begins, cells.places[:, [a]], [cells.sizes[a]])
        of_run = changes(key[begins[:-1]] >> _PLACE_BITS)
        p = cells.guessing.of(a)
        return Runs(
            cells=joined,
            begins=of_run,
            others=cells.sum_top_shares(first[of_run[:-1]], self.groups, without=a),
            by_bucket=cells.tables[p] if p >= 0 else np.zeros((cells.sizes[a], 0)),
            personal=p,
        )
