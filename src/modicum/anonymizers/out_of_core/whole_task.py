"""A table too large for memory: its columns, counted in the engine, and the requirements on its release."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.anonymizers.ranks import Ranked, RankedColumn, Whole, in_order
from modicum.anonymizers.task import Needs, Task
from modicum.engines.coding import check_inside, too_many_words
from modicum.engines.counting import Numbers, Words, survey_columns
from modicum.engines.table import EngineTable
from modicum.errors import DataError
from modicum.measures.requirement import Requirement
from modicum.table.codes import MAX_CATEGORIES, Coder
from modicum.table.frames import check_words, not_readable, numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Labels
from modicum.typing import Codes, Floats

MOST_NUMBERS = 65_535  # distinct numbers that are counted one by one; missing is one more code


@dataclass(frozen=True)
class WholeColumn:
    """One attribute of the whole table.

    Parameters
    ----------
    attribute : Attribute
    values : the distinct texts or numbers, in order
    counts : how many records have each value
    missing : how many values are missing
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
        """The facts about the whole attribute that every part needs."""
        if self.attribute.is_category or not len(self.values):
            return Whole((0.0, 0.0), self.counts, self.missing)
        return Whole((float(self.values[0]), float(self.values[-1])), self.counts[:0], self.missing)

    def build_ranked_column(self) -> RankedColumn:
        """Return the attribute as a ranked column without records."""
        return RankedColumn(self.attribute, np.zeros(0, dtype=np.int32), self.values, whole=self.whole)

    def rank(self, series: nw.Series[Any]) -> RankedColumn:
        """Rank the records of a part: a category by its codes in the whole table, a number by its ranks in the part."""
        if self.attribute.is_category:
            return replace(self.build_ranked_column(), codes=self.encode(series).astype(np.int32))
        return replace(RankedColumn.of(series, self.attribute), whole=self.whole)

    def encode(self, series: nw.Series[Any]) -> Codes:
        """Code each record by its place among the values of the whole table; missing comes last."""
        if self.attribute.is_category:
            codes, words = texts(series)
            place = {word: i for i, word in enumerate(self.values)}
            if not place.keys() >= set(words):
                raise _make_change_error(self.attribute.name)
            return np.array([*(place[word] for word in words), len(place)], dtype=np.int64)[codes]
        given = numbers(series, self.attribute)
        codes = np.where(np.isnan(given), len(self.values), np.searchsorted(self.values, given))
        if not np.array_equal(np.append(self.values, np.nan)[codes], given, equal_nan=True):
            raise _make_change_error(self.attribute.name)
        return codes


def _make_change_error(name: str) -> DataError:
    return DataError(f"The column {name!r} changed while the table was read.")


# A number with too many distinct values to count one by one is coded by ranges.

RANGES = 4_000


@dataclass(frozen=True)
class CoarseColumn:
    """One attribute of the whole table whose values are not all known.

    Parameters
    ----------
    attribute : Attribute
    ends : the lowest and the highest value
    edges : code i covers edges[i - 1] < x <= edges[i]; the code after the last edge has no upper limit
    own : the initial edges; cuts add more
    missing : how many values are missing
    """

    attribute: Attribute
    ends: tuple[float, float]
    edges: Floats
    own: Floats
    missing: int

    @classmethod
    def of(cls, attribute: Attribute, some: Floats, missing: int) -> "CoarseColumn":
        """Build the column from a sorted sample of the values that includes the first and the last."""
        places = np.unique(np.linspace(0, len(some) - 1, RANGES).astype(np.int64))
        return cls(attribute, (float(some[0]), float(some[-1])), some[places], some[places], missing)

    @property
    def values(self) -> Floats:
        """The upper end of each range, which represents its code."""
        return np.append(self.edges, self.ends[1])

    @property
    def size(self) -> int:
        """How many codes there are, missing included."""
        return len(self.edges) + 2

    @property
    def whole(self) -> Whole:
        """The facts about the whole attribute that every part needs."""
        return Whole(self.ends, np.zeros(0, dtype=np.int64), self.missing)

    def build_ranked_column(self) -> RankedColumn:
        """Return the attribute as a ranked column without records."""
        return RankedColumn(self.attribute, np.zeros(0, dtype=np.int32), self.values, whole=self.whole)

    def rank(self, series: nw.Series[Any]) -> RankedColumn:
        """Rank the records of a part."""
        return replace(RankedColumn.of(series, self.attribute), whole=self.whole)

    def encode(self, series: nw.Series[Any]) -> Codes:
        """Code each record by its range; missing comes last."""
        given = numbers(series, self.attribute)
        return np.where(np.isnan(given), self.size - 1, np.searchsorted(self.edges, given))

    def cut_at(self, values: Floats) -> "CoarseColumn":
        """Add range ends at these values."""
        return replace(self, edges=np.unique(np.concatenate([self.own, values[np.isfinite(values)]])))

    def limit(self, values: Floats) -> npt.NDArray[np.int64]:
        """Return the first code beyond each value; for infinity the code for missing."""
        return np.asarray(np.searchsorted(self.edges, values) + 1, dtype=np.int64)


AnyColumn = WholeColumn | CoarseColumn


# Count the columns of the whole table in one pass before it is divided.


def whole_columns(table: EngineTable, attributes: Sequence[Attribute]) -> list[AnyColumn]:
    """Count the values of these columns in one pass."""
    for attribute in attributes:
        table.check([attribute.name])
        if isinstance(table.types[attribute.name], nw.Duration):
            raise DataError(f"The column {attribute.name!r} holds durations; give them as numbers.")
    found = survey_columns(table, attributes, MOST_NUMBERS, words=MAX_CATEGORIES)
    return [_build_column(table, attribute, found[attribute.name]) for attribute in attributes]


def _build_column(table: EngineTable, attribute: Attribute, found: Words | Numbers) -> AnyColumn:
    if isinstance(found, Numbers):
        return _build_number(table, attribute, found)
    if found.overfull:
        raise too_many_words(table, attribute, found)
    check_words(attribute, found.counts)
    values = tuple(in_order(attribute, found.counts))
    counts = np.array([found.counts[value] for value in values], dtype=np.int64)
    return WholeColumn(attribute, values, counts, found.missing)


def _build_number(table: EngineTable, attribute: Attribute, found: Numbers) -> AnyColumn:
    if found.unreadable:
        raise not_readable(attribute, found.unreadable)
    if np.isinf(found.distinct).any():
        raise DataError(f"The column {attribute.name!r} contains infinity; use a number or a missing value.")
    check_inside(table, attribute, found)
    if not found.complete:
        return CoarseColumn.of(attribute, found.distinct, found.missing)
    return WholeColumn(attribute, found.distinct, found.counts, found.missing)


# The task


@dataclass(frozen=True)
class ReleaseGuide:
    """The guide of a tree: a label, its classes in the whole table, and the coding of the quasi-identifiers."""

    name: str
    labels: Labels
    coder: Coder | None

    def encode(self, frame: nw.DataFrame[Any]) -> Codes:
        """Code the class of each record."""
        classes = self.labels.encode(frame[self.name].to_numpy())
        if (classes < 0).any():
            raise _make_change_error(self.name)
        return classes


@dataclass(frozen=True)
class WholeTask:
    """The facts about the whole table, and the requirements on its release.

    Parameters
    ----------
    schema : kinds and roles
    quasi : the quasi-identifiers
    sensitive : the attribute that must be diverse or close, if any
    requirement : the requirement on every group
    rows : how many records there are
    guide : the guide of the partition, if any
    """

    schema: Schema
    quasi: tuple[AnyColumn, ...]
    sensitive: WholeColumn | None
    requirement: Requirement
    rows: int
    guide: ReleaseGuide | None = None

    @property
    def names(self) -> list[str]:
        """The quasi-identifiers."""
        return [each.attribute.name for each in self.quasi]

    def part(self, frame: nw.DataFrame[Any]) -> Task:
        """Build the task of some records, with the facts about all."""
        ranked = Ranked(tuple(each.rank(frame[each.attribute.name]) for each in self.quasi))
        own, sensitive = self.sensitive, None
        if own is not None:
            codes = own.encode(frame[own.attribute.name]).astype(np.int32)
            sensitive = RankedColumn(own.attribute, codes, own.values)
        task = Task(frame, self.schema, ranked, Needs(self.requirement, sensitive), None)
        if self.guide is None:
            return task
        coding = None if self.guide.coder is None else (self.guide.coder, len(self.guide.labels))
        return replace(task, guide=self.guide.encode(frame), coding=coding)
