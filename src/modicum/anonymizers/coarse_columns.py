"""A number with more different values than are counted one by one, coded by ranges of them."""

from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.anonymizers.ranks import RankedColumn, Whole
from modicum.anonymizers.whole_columns import WholeColumn
from modicum.table.frames import numbers
from modicum.table.schema import Attribute
from modicum.table.values import Codes, Floats

RANGES = 4_000


@dataclass(frozen=True)
class CoarseColumn:
    """One attribute of the whole table, of which the values are not known one by one.

    Parameters
    ----------
    attribute : Attribute
    ends : the lowest and the highest value
    edges : code i holds edges[i - 1] < x <= edges[i]; where there are more codes than edges the last has no end
    own : the edges to begin with, to which those of cuts are added
    missing : how many records have no value
    """

    attribute: Attribute
    ends: tuple[float, float]
    edges: Floats
    own: Floats
    missing: int

    @classmethod
    def of(cls, attribute: Attribute, some: Floats, missing: int) -> "CoarseColumn":
        """From some of the values in order, the first and the last among them."""
        places = np.unique(np.linspace(0, len(some) - 1, RANGES).astype(np.int64))
        return cls(attribute, (float(some[0]), float(some[-1])), some[places], some[places], missing)

    @property
    def values(self) -> Floats:
        """What the codes stand for, as far as it is known: the upper end of each range."""
        return np.append(self.edges, self.ends[1])

    @property
    def size(self) -> int:
        """How many codes there are, missing included."""
        return len(self.edges) + 2

    @property
    def whole(self) -> Whole:
        """What every part is told."""
        return Whole(self.ends, np.zeros(0, dtype=np.int64), self.missing)

    def as_ranked(self) -> RankedColumn:
        """The attribute as a partition sees it, without records."""
        return RankedColumn(self.attribute, np.zeros(0, dtype=np.int32), self.values, whole=self.whole)

    def ranked(self, series: nw.Series[Any]) -> RankedColumn:
        """The records of a part, by their ranks in it."""
        return replace(RankedColumn.of(series, self.attribute), whole=self.whole)

    def encode(self, series: nw.Series[Any]) -> Codes:
        """Each record's range; missing comes after all."""
        found = numbers(series, self.attribute)
        return np.where(np.isnan(found), self.size - 1, np.searchsorted(self.edges, found))

    def cut_at(self, values: Floats) -> "CoarseColumn":
        """With ranges that end at these values too."""
        return replace(self, edges=np.unique(np.concatenate([self.own, values[np.isfinite(values)]])))

    def limit(self, values: Floats) -> npt.NDArray[np.int64]:
        """The first code beyond each value; that of missing for infinity."""
        return np.asarray(np.searchsorted(self.edges, values) + 1, dtype=np.int64)


AnyColumn = WholeColumn | CoarseColumn
