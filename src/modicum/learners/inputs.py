"""What a model sees of generalized records: bucket codes, and plain numbers where full detail is kept.

Thousands of records share a handful of distinct z. Models are therefore trained on the distinct rows with a table of
counts (cell × value), which has the same empirical loss as the records themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from modicum.generalization import Generalization
from modicum.generalization.bins import Dropped, FullDetail
from modicum.table.groups import group_rows
from modicum.table.values import Codes

Counts: TypeAlias = csr_array  # cells × values: how many records have both
Scores = npt.NDArray[np.float32]

_LARGE = 1e30  # what infinity counts as: learners take finite numbers only


@dataclass(frozen=True)
class Inputs:
    """Rows as codes (column j counts to `sizes[j]`) and numbers (NaN where missing)."""

    codes: npt.NDArray[np.int64]
    sizes: tuple[int, ...]
    numbers: npt.NDArray[np.float64]

    @classmethod
    def of(cls, g: Generalization, X: Any) -> "Inputs":
        """What `g` shows of the records X."""
        return cls.of_codes(g, g.codes(X))

    @classmethod
    def of_codes(cls, g: Generalization, codes: Codes) -> "Inputs":
        """The same for records whose buckets (`g.codes`) are known."""
        coarse = [j for j, p in enumerate(g.partitions) if not isinstance(p, Dropped | FullDetail)]
        plain = [(j, p) for j, p in enumerate(g.partitions) if isinstance(p, FullDetail)]
        numbers = [np.clip(p.decode(codes[:, j]), -_LARGE, _LARGE) for j, p in plain]
        return cls(
            codes=np.ascontiguousarray(codes[:, coarse]),
            sizes=tuple(len(g.partitions[j].labels) for j in coarse),
            numbers=np.column_stack(numbers) if numbers else np.zeros((len(codes), 0)),
        )

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def width(self) -> int:
        """How many columns they have one-hot: one per code, two per number (its value, and whether it is missing)."""
        return sum(self.sizes) + 2 * self.numbers.shape[1]

    def __getitem__(self, rows: Any) -> "Inputs":
        return Inputs(self.codes[rows], self.sizes, self.numbers[rows])

    def distinct(self) -> tuple["Inputs", Codes]:
        """The distinct rows, and for each row which of them it is."""
        cells = group_rows(np.hstack([self.codes, (self.numbers + 0.0).view(np.int64)]))
        _, first = np.unique(cells, return_index=True)
        return self[first], cells


def count_table(cells: Codes, values: Codes, shape: tuple[int, int]) -> Counts:
    """How many records of each cell have each value; a negative value is left out."""
    known = values >= 0
    return csr_array((np.ones(int(known.sum())), (cells[known], values[known])), shape=shape)


def chunks(n: int, width: int, cells: int = 20_000_000) -> Sequence[slice]:
    """Pieces of n rows such that a table of rows × width stays small."""
    step = max(1, cells // max(1, width))
    return [slice(start, min(n, start + step)) for start in range(0, n, step)]
