"""The inputs of a model on generalized records: bucket codes, and plain numbers for attributes in full detail.

Thousands of records share few distinct z. So models train on the distinct rows with a table of counts (cell × value),
which has the same empirical loss as the records themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from modicum.generalization import Artifact, Generalization
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail
from modicum.table.codes import first_rows, group_rows
from modicum.typing import Codes

Counts: TypeAlias = csr_array  # cells × values: how many records have both
Scores = npt.NDArray[np.float32]

_DENSE = 1_000_000  # cells × values up to which a table is counted densely
_LARGE = 1e30  # replaces infinity, since learners only accept finite numbers


@dataclass(frozen=True)
class Inputs:
    """Rows of codes (column j has `sizes[j]` values) and numbers (NaN if missing)."""

    codes: npt.NDArray[np.int64]
    sizes: tuple[int, ...]
    numbers: npt.NDArray[np.float64]

    @classmethod
    def of(cls, g: Generalization, X: Any) -> "Inputs":
        """Encode the records X as `g` generalizes them."""
        return cls.of_codes(g, g.codes(X))

    @classmethod
    def of_codes(cls, artifact: Artifact, codes: Codes, without: Sequence[str] = ()) -> "Inputs":
        """The same from the records' buckets (`artifact.codes`), except for the attributes `without`."""
        if isinstance(artifact, Generalization):
            shown = [(j, p) for j, p in enumerate(artifact.partitions) if p.name not in without]
            return cls.join([cls.of_partition(p, codes[:, j]) for j, p in shown], len(codes))
        return cls(codes, tuple(artifact.sizes), np.zeros((len(codes), 0)))

    @classmethod
    def of_partition(cls, partition: AnyPartition, codes: Codes) -> "Inputs":
        """Encode one attribute: as buckets, as a plain number, or as nothing."""
        n = len(codes)
        if isinstance(partition, Dropped):
            return cls(np.zeros((n, 0), dtype=np.int64), (), np.zeros((n, 0)))
        if isinstance(partition, FullDetail):
            numbers = np.clip(partition.decode(codes), -_LARGE, _LARGE)
            return cls(np.zeros((n, 0), dtype=np.int64), (), numbers[:, None])
        return cls(codes[:, None], (len(partition.labels),), np.zeros((n, 0)))

    @classmethod
    def join(cls, parts: Sequence["Inputs"], n: int) -> "Inputs":
        """Join several inputs of the same n rows."""
        return cls(
            codes=np.hstack([np.zeros((n, 0), dtype=np.int64), *(part.codes for part in parts)]),
            sizes=tuple(size for part in parts for size in part.sizes),
            numbers=np.hstack([np.zeros((n, 0)), *(part.numbers for part in parts)]),
        )

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        """The number of one-hot columns: one per code, two per number (its value, and whether it is missing)."""
        return sum(self.sizes) + 2 * self.numbers.shape[1]

    def __getitem__(self, rows: Any) -> "Inputs":
        return Inputs(self.codes[rows], self.sizes, self.numbers[rows])

    def distinct(self) -> tuple["Inputs", Codes]:
        """Return the distinct rows, and each row's index among them."""
        cells = group_rows(np.hstack([self.codes, (self.numbers + 0.0).view(np.int64)]))
        return self[first_rows(cells)], cells


def count_table(
    cells: Codes, values: Codes, shape: tuple[int, int], records: npt.NDArray[np.float64] | None = None
) -> Counts:
    """Count the records of each cell with each value; negative values are left out.

    `records` is the number of records that each row represents, by default one.
    """
    known = values >= 0
    weights = None if records is None else records[known]
    if shape[0] * shape[1] <= _DENSE:  # a dense count needs no sorting
        places = cells[known] * shape[1] + values[known]
        return csr_array(np.bincount(places, weights, shape[0] * shape[1]).astype(np.float64).reshape(shape))
    ones = np.ones(int(known.sum())) if weights is None else weights
    return csr_array((ones, (cells[known], values[known])), shape=shape)


def chunks(n: int, width: int, cells: int = 20_000_000) -> Sequence[slice]:
    """Split n rows into slices so that a table of rows × width stays small."""
    step = max(1, cells // max(1, width))
    return [slice(start, min(n, start + step)) for start in range(0, n, step)]


# A target with very many values: models learn the frequent ones, and the others share a place.


class Frequent:
    """The `most` most frequent values of a target, and one place for all others."""

    def __init__(self, table: Counts, most: int) -> None:
        total = np.asarray(table.sum(axis=0), dtype=np.float64) + 1e-9
        self.share = total / total.sum()
        self.values = np.sort(np.argsort(-total, kind="stable")[:most])
        self.rest = np.setdiff1d(np.arange(len(total)), self.values)

    @property
    def places(self) -> npt.NDArray[np.float64]:
        """The share of each place among all records."""
        rest = [self.share[self.rest].sum()] if len(self.rest) else []
        return np.append(self.share[self.values], rest)

    def pool_counts(self, table: Counts) -> Counts:
        """Return the counts of each place."""
        if not len(self.rest):
            return table
        rest = csr_array(np.asarray(table[:, self.rest].sum(axis=1))[:, None])
        return csr_array(hstack([table[:, self.values], rest], format="csr"))

    def spread(self, chances: Any) -> Scores:
        """Return the chance of each value from the chance of each place."""
        if not len(self.rest):
            return np.asarray(chances, dtype=np.float32)
        result = np.empty((len(chances), len(self.share)), dtype=np.float32)
        result[:, self.values] = chances[:, :-1]
        result[:, self.rest] = chances[:, -1:] * (self.share[self.rest] / self.share[self.rest].sum())
        return result
