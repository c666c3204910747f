"""What is known of a column of a table too large for memory, counted in its engine."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.anonymizers.ranks import RankedColumn, Whole
from modicum.errors import DataError
from modicum.table.frames import numbers, texts
from modicum.table.schema import Attribute
from modicum.table.values import Codes

MOST_NUMBERS = 65_535  # different ones that are counted one by one; missing is one more code


@dataclass(frozen=True)
class WholeColumn:
    """One attribute of the whole table.

    Parameters
    ----------
    attribute : Attribute
    values : the distinct texts or numbers, in order
    counts : how many records have each
    missing : how many have none
    """

    attribute: Attribute
    values: Any
    counts: npt.NDArray[np.int64]
    missing: int

    @property
    def size(self) -> int:
        """How many codes there are, missing included."""
        return len(self.values) + 1

    @property
    def whole(self) -> Whole:
        """What every part is told."""
        if self.attribute.is_category or not len(self.values):
            return Whole((0.0, 0.0), self.counts, self.missing)
        return Whole((float(self.values[0]), float(self.values[-1])), self.counts[:0], self.missing)

    def as_ranked(self) -> RankedColumn:
        """The attribute as a partition sees it, without records."""
        return RankedColumn(self.attribute, np.zeros(0, dtype=np.int32), self.values, whole=self.whole)

    def ranked(self, series: nw.Series[Any]) -> RankedColumn:
        """The records of a part: a category's codes are those of the whole table, a number's its ranks in the part."""
        if self.attribute.is_category:
            return RankedColumn(self.attribute, self.encode(series).astype(np.int32), self.values, whole=self.whole)
        own = RankedColumn.of(series, self.attribute)
        return RankedColumn(self.attribute, own.codes, own.values, own.is_single, self.whole)

    def encode(self, series: nw.Series[Any]) -> Codes:
        """Each record's place among the values of the whole table; missing comes after them."""
        if self.attribute.is_category:
            codes, words = texts(series)
            place = {word: i for i, word in enumerate(self.values)}
            if not place.keys() >= set(words):
                raise _changed(self.attribute.name)
            return np.array([*(place[word] for word in words), len(place)], dtype=np.int64)[codes]
        found = numbers(series, self.attribute)
        gone = np.isnan(found)
        codes = np.where(gone, len(self.values), np.searchsorted(self.values, found))
        if not np.array_equal(
            np.append(self.values, np.nan)[np.minimum(codes, len(self.values))], found, equal_nan=True
        ):
            raise _changed(self.attribute.name)
        return codes


def _changed(name: str) -> DataError:
    return DataError(f"The column {name!r} has changed while the table was read.")
