"""Quasi-identifiers as exact ranks, from which partitions, medians and ranges are computed.

Unlike in `table.codes`, nothing is grouped: a number's code is the rank of its value among the distinct values, so
codes are equal exactly if values are. Missing has a separate code after all values. Categories are in their declared
order, by their place in the hierarchy if there is one, otherwise by name.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.errors import DataError
from modicum.table.codes import MAX_CATEGORIES, too_many_categories
from modicum.table.frames import column, numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.typing import Floats

Ranks = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Whole:
    """The facts about an attribute in the whole table that every part needs.

    Attributes
    ----------
    ends : the lowest and highest number
    counts : how many records have each category
    missing : how many values are missing
    """

    ends: tuple[float, float]
    counts: npt.NDArray[np.int64]
    missing: int


@dataclass(frozen=True)
class RankedColumn:
    """One attribute: each record's code, and the values of the codes.

    `values` are the distinct numbers (dates in seconds) or texts; the code after them is *missing*. If the records are
    part of a larger table, `whole` has the facts about all of it.
    """

    attribute: Attribute
    codes: Ranks
    values: Any
    is_single: bool = False  # numbers of single precision
    whole: Whole | None = None

    @classmethod
    def of(cls, series: nw.Series[Any], attribute: Attribute) -> "RankedColumn":
        """Rank a column."""
        if isinstance(series.dtype, nw.Duration):
            raise DataError(f"The column {attribute.name!r} holds durations; give them as numbers.")
        if attribute.is_category:
            return _rank_category(series, attribute)
        given = numbers(series, attribute)
        if np.isinf(given).any():
            raise DataError(f"The column {attribute.name!r} contains infinity; use a number or a missing value.")
        values, codes = np.unique(given, return_inverse=True)  # NaN comes last, once
        present = values[~np.isnan(values)]
        return cls(attribute, codes.astype(np.int32), present, series.dtype == nw.Float32)

    def some(self, rows: npt.NDArray[np.int64]) -> "RankedColumn":
        """Select some of the records."""
        return replace(self, codes=self.codes[rows])

    @property
    def missing(self) -> int:
        """The code for missing values, even if there are none."""
        return len(self.values)

    @property
    def n_possible(self) -> int:
        """How many values are possible: declared or occurring ones, and missing if it occurs."""
        declared = len(self.attribute.domain or ()) if self.attribute.is_category else 0
        return max(declared, len(self.values)) + self.has_missing

    @property
    def has_missing(self) -> bool:
        """Whether a value is missing in the whole table."""
        if self.whole is not None:
            return self.whole.missing > 0
        return bool((self.codes == self.missing).any())

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many records of the whole table have each code of a category, missing last."""
        if self.whole is not None and self.attribute.is_category:
            return np.append(self.whole.counts, self.whole.missing)
        return np.bincount(self.codes, minlength=len(self.values) + 1)

    @property
    def positions(self) -> Floats:
        """The position of each code (missing last) between 0 and 1: numbers by size, others by rank."""
        m = len(self.values)
        if self.attribute.is_category:
            return np.arange(m + 1) / max(1, m - 1)
        low, high = self.domain
        span = high - low
        inside = (self.values - low) / span if span > 0 else np.zeros(m)
        return np.append(inside, 1.0)

    @property
    def domain(self) -> tuple[float, float]:
        """The lowest and highest number, declared or found."""
        if self.attribute.domain is not None:
            return self.attribute.bounds
        if self.whole is not None:
            return self.whole.ends
        return (float(self.values[0]), float(self.values[-1])) if len(self.values) else (0.0, 0.0)


def _rank_category(series: nw.Series[Any], attribute: Attribute) -> RankedColumn:
    codes, words = texts(series)
    if len(words) > MAX_CATEGORIES:
        raise too_many_categories(attribute, len(words))
    ordered = in_order(attribute, words)
    place = {word: i for i, word in enumerate(ordered)}
    lookup = np.array([place[word] for word in words] + [len(ordered)], dtype=np.int32)
    return RankedColumn(attribute, lookup[codes], tuple(ordered))


def in_order(attribute: Attribute, words: Iterable[str]) -> list[str]:
    """Sort categories as declared, then by their place in the hierarchy, numbers by size and texts by name."""
    declared = {word: i for i, word in enumerate(attribute.domain or ())}
    tree = attribute.hierarchy or {}
    return sorted(words, key=lambda word: (declared.get(word, len(declared)), tree.get(word, ())[::-1], _by_size(word)))


def _by_size(word: str) -> tuple[int, float, str]:
    """Sort key: texts that are numbers by size, then the others by name."""
    try:
        size = float(word)
    except ValueError:
        return 1, 0.0, word
    return (0, size, word) if np.isfinite(size) else (1, 0.0, word)


@dataclass(frozen=True)
class Ranked:
    """The quasi-identifiers of all records.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.anonymizers.ranks import Ranked
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"age": [31.0, 45, None], "job": ["nurse", "clerk", "nurse"]})
    >>> ranked = Ranked.of(as_frame(X), md.Schema.infer(X), ["age", "job"])
    >>> ranked.codes.tolist()
    [[0, 1], [1, 0], [2, 1]]
    """

    columns: tuple[RankedColumn, ...]

    @classmethod
    def of(cls, frame: nw.DataFrame[Any], schema: Schema, names: Sequence[str]) -> "Ranked":
        """Rank the named columns."""
        return cls(tuple(RankedColumn.of(column(frame, name), schema[name]) for name in names))

    @property
    def codes(self) -> Ranks:
        """One row per record, one column per quasi-identifier."""
        return np.ascontiguousarray(np.column_stack([each.codes for each in self.columns]))

    def for_kernel(self) -> tuple[Any, ...]:
        """Return the arguments of `kernel`: codes, starts, sizes, positions, is_category, present.

        `sizes` is the number of codes of each attribute including missing, `present` the number of possible ones. The
        `positions` of all codes are laid out attribute by attribute, each from its start. A group's width is its number
        of values if `is_category`, otherwise their range.
        """
        sizes = np.array([len(each.values) + 1 for each in self.columns], dtype=np.int64)
        positions = np.concatenate([each.positions for each in self.columns])
        is_category = np.array([each.attribute.is_category for each in self.columns])
        present = np.array([each.n_possible for each in self.columns])
        return self.codes, np.cumsum(sizes) - sizes, sizes, positions, is_category, present
