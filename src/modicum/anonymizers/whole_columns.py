"""What is known of a column of a table too large for memory, from a group-by in its engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.anonymizers.ranks import RankedColumn, Whole, in_order
from modicum.engines.table import COUNT, EngineTable, collected
from modicum.errors import DataError, SchemaError
from modicum.table.codes import MAX_CATEGORIES
from modicum.table.frames import numbers, texts
from modicum.table.schema import Attribute
from modicum.table.values import Codes, Floats

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


def whole_columns(table: EngineTable, attributes: Sequence[Attribute]) -> list[WholeColumn]:
    """Count the values of these columns: one group-by each."""
    table.check([attribute.name for attribute in attributes])
    found = [_whole(table, attribute) for attribute in attributes]
    for each in found:
        _check_domain(each)
    return found


def _whole(table: EngineTable, attribute: Attribute) -> WholeColumn:
    name = attribute.name
    if isinstance(table.types[name], nw.Duration):
        raise DataError(f"The column {name!r} holds durations; give them as numbers.")
    many, most = _distinct(table, name), MAX_CATEGORIES if attribute.is_category else MOST_NUMBERS
    if many > most + 1:  # missing is one
        what = "categories" if attribute.is_category else "numbers"
        raise DataError(
            f"The column {name!r} has {many:,} different {what}, more than {most:,}; round them or group them first."
        )
    counted = table.counted([name])
    counts = counted[COUNT].to_numpy().astype(np.int64)
    return _category(attribute, counted[name], counts) if attribute.is_category else _number(attribute, counted, counts)


def _distinct(table: EngineTable, name: str) -> int:
    there = table.lazy.select(nw.col(name)).group_by(name).agg(nw.len().alias(COUNT))
    return int(collected(there.select(nw.len().alias(COUNT)))[COUNT][0])


def _category(attribute: Attribute, series: nw.Series[Any], counts: npt.NDArray[np.int64]) -> WholeColumn:
    codes, words = texts(series)
    values = in_order(attribute, words)
    place = {word: i for i, word in enumerate(values)}
    lookup = np.array([*(place[word] for word in words), len(values)], dtype=np.int64)
    totals = _totals(lookup[codes], counts, len(values) + 1)
    return WholeColumn(attribute, tuple(values), totals[:-1], int(totals[-1]))


def _number(attribute: Attribute, counted: nw.DataFrame[Any], counts: npt.NDArray[np.int64]) -> WholeColumn:
    found = numbers(counted[attribute.name], attribute)
    if np.isinf(found).any():
        raise DataError(f"The column {attribute.name!r} contains infinity; replace it by a number or by missing.")
    there = ~np.isnan(found)
    values, codes = np.unique(found[there], return_inverse=True)
    return WholeColumn(attribute, values, _totals(codes, counts[there], len(values)), int(counts[~there].sum()))


def _totals(codes: Codes, counts: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    totals = np.zeros(size, dtype=np.int64)
    np.add.at(totals, codes, counts)
    return totals


def _check_domain(column: WholeColumn) -> None:
    """The same as `table.checking.check_values`, from counts."""
    attribute = column.attribute
    if attribute.domain is None:
        return
    if attribute.is_category:
        unknown = len(set(column.values) - {str(value) for value in attribute.domain})
        if unknown:
            raise SchemaError(
                f"The column {attribute.name!r} holds {unknown:,} different values that its domain does not name."
            )
        return
    low, high = attribute.bounds
    values: Floats = column.values
    outside = int(column.counts[(values < low) | (values > high)].sum())
    if outside:
        raise SchemaError(f"The column {attribute.name!r} holds {outside:,} values outside its domain.")
