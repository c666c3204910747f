"""Code attributes as small integers once; everything that counts uses these codes.

A number with at most 256 distinct values is coded exactly, any other number by at most 256 groups of neighbouring
values of about equal weight. The groups depend only on the distinct values and their counts, so every engine can
compute the same groups. Missing has its own code, the last, if it occurs at fit. The coding stores the count and one
typical value of each code; an artifact's representatives come from these values.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError
from modicum.table.frames import as_frame, column, numbers, place_numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.table.values import plainest_date_between, shortest_between
from modicum.typing import Floats, Mask

# Groups of neighbouring values of a number: with equal counts, with equal widths, or at given edges or ranks
#
# A grouping gives each distinct value a key that never decreases from one value to the next; a group begins where the
# key increases. The key depends only on the value and the number of records below it. So an engine can compute it
# without the neighbouring values, and needs to read only the values between two whose keys differ.

Weights = npt.NDArray[np.int64]
Keys = npt.NDArray[np.int64]


class Grouping(Protocol):
    """A rule for where a new group of values begins."""

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        """Return each value's key; `before` of `total` records lie below it. Include the first and the last value."""

    def starts(self, distinct: Floats, counts: Weights) -> Mask:
        """Mark the values that begin a group, given all distinct values and their counts."""
        return rises(self, distinct, counts)


@dataclass(frozen=True)
class EqualCounts(Grouping):
    """At most `most` groups with about equally many records; one value per group if there are no more values.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import EqualCounts
    >>> EqualCounts(2).starts(np.arange(5.0), np.array([5, 1, 1, 1, 2])).tolist()
    [True, True, False, False, False]
    """

    most: int

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        return before * self.most // total

    def starts(self, distinct: Floats, counts: Weights) -> Mask:
        return np.ones(len(counts), dtype=bool) if len(counts) <= self.most else rises(self, distinct, counts)


@dataclass(frozen=True)
class EqualWidths(Grouping):
    """At most k = `most` groups of equal width: a value x, scaled to [0, 1], is in group ⌊k·x⌋ [Staab24 §6].

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import EqualWidths
    >>> EqualWidths(2).starts(np.array([0.0, 1.0, 4.0, 10.0]), np.array([1, 1, 1, 1])).tolist()
    [True, False, False, True]
    """

    most: int

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        width = distinct[-1] - distinct[0]
        scaled = (distinct - distinct[0]) / (width if width > 0 else 1)
        return np.minimum(self.most - 1, np.floor(self.most * scaled)).astype(np.int64)


@dataclass(frozen=True)
class AtEdges(Grouping):
    """Groups by given edges: group i holds `edges[i-1] < x <= edges[i]`.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import AtEdges
    >>> AtEdges((3.5,)).starts(np.array([1.0, 2.0, 4.0, 9.0]), np.array([1, 1, 1, 1])).tolist()
    [True, False, True, False]
    """

    edges: tuple[float, ...]

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        return np.searchsorted(np.array(self.edges), distinct, side="left")


@dataclass(frozen=True)
class AtRanks(Grouping):
    """Groups that end with the records of given ranks: the 1st smallest, the 10th smallest, …

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import AtRanks
    >>> AtRanks((2,)).starts(np.array([1.0, 2.0, 4.0, 9.0]), np.array([1, 1, 1, 1])).tolist()
    [True, False, True, False]
    """

    ranks: tuple[int, ...]

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        return np.searchsorted(np.array(self.ranks), before, side="right")


def rises(grouping: Grouping, distinct: Floats, counts: Weights) -> Mask:
    """Mark the values whose key is larger than the previous one."""
    reached = np.cumsum(counts)
    return np.diff(grouping.keys(distinct, reached - counts, int(reached[-1])), prepend=-1) > 0


# The codes

MAX_CODES = 256
MAX_CATEGORIES = 10_000
FEW = 10  # fewer records are too few to show

CodeArray = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class NumberCoding:
    """A number or date: code i holds `edges[i-1] < x <= edges[i]`."""

    attribute: Attribute
    edges: Floats
    typical: Floats
    counts: Weights
    missing: int

    @property
    def n_values(self) -> int:
        return len(self.typical)

    @property
    def n_codes(self) -> int:
        """The number of codes, including missing if it occurred at fit."""
        return self.n_values + (self.missing > 0)

    def encode(self, series: nw.Series[Any]) -> CodeArray:
        return place_numbers(numbers(series, self.attribute), self.edges, missing_code(self)).astype(np.uint16)


@dataclass(frozen=True)
class CategoryCoding:
    """A category: code i is `values[i]`, in their order for an ordered category, by name otherwise."""

    attribute: Attribute
    values: tuple[str, ...]
    counts: Weights
    missing: int

    @property
    def n_values(self) -> int:
        return len(self.values)

    @property
    def n_codes(self) -> int:
        """The number of codes, including missing if it occurred at fit."""
        return self.n_values + (self.missing > 0)

    def encode(self, series: nw.Series[Any]) -> CodeArray:
        codes, words = texts(series)
        position = {value: i for i, value in enumerate(self.values)}
        unseen = usual_code(self)
        lookup = np.array([position.get(word, unseen) for word in words] + [missing_code(self)], dtype=np.uint16)
        return lookup[codes]


Coding = NumberCoding | CategoryCoding


def usual_code(coding: Coding) -> int:
    """The code for a value that did not occur at fit: the most frequent category or the median number."""
    if isinstance(coding, CategoryCoding):
        return int(np.argmax(coding.counts))
    return weighted_median(coding.counts)


def missing_code(coding: Coding) -> int:
    """The code of a missing value: the last one, or the usual code if none was missing at fit."""
    return coding.n_values if coding.missing else usual_code(coding)


def all_counts(coding: Coding) -> Weights:
    """The count of each code, including missing (last) if it occurs."""
    return np.append(coding.counts, coding.missing) if coding.missing else coding.counts


def weighted_median(counts: Weights) -> int:
    """The index of the lower median of a histogram.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import weighted_median
    >>> weighted_median(np.array([1, 1, 5]))
    2
    """
    return int(np.searchsorted(np.cumsum(counts), (counts.sum() + 1) // 2))


@dataclass(frozen=True)
class Coder:
    """The codings of a table's features.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"age": [31, 45, None], "job": ["nurse", "clerk", "nurse"]})
    >>> coder = Coder.fit(X, md.Schema.infer(X))
    >>> coder.encode(X).tolist(), coder.sizes
    ([[0, 1], [1, 0], [2, 1]], [3, 2])
    """

    schema: Schema
    codings: tuple[Coding, ...]

    @classmethod
    def fit(cls, X: Any, schema: Schema, weights: Weights | None = None) -> "Coder":
        """Learn the codes of the schema's features; `weights`: the number of records that each row represents."""
        frame = as_frame(X, schema.features)
        if len(frame) == 0:
            raise DataError("The data has no rows.")
        schema.check(frame)
        codings = [_fit_one(schema[name], column(frame, name), weights) for name in schema.features]
        return cls(schema, tuple(codings))

    @property
    def names(self) -> list[str]:
        return self.schema.features

    @property
    def sizes(self) -> list[int]:
        """The number of codes of each attribute, including missing if it occurs."""
        return [coding.n_codes for coding in self.codings]

    def encode(self, X: Any) -> CodeArray:
        """Return the codes of X, one row per record; a value that did not occur at fit gets the usual code."""
        frame = as_frame(X, self.names)
        codes = np.empty((len(frame), len(self.codings)), dtype=np.uint16)
        for j, coding in enumerate(self.codings):
            codes[:, j] = coding.encode(column(frame, coding.attribute.name))
        return codes


def _fit_one(attribute: Attribute, series: nw.Series[Any], weights: Weights | None) -> Coding:
    if attribute.is_category:
        codes, words = texts(series)
        counts = _counts(np.where(codes < 0, len(words), codes), len(words) + 1, weights)
        return category_coding(attribute, words, counts[:-1], int(counts[-1]))
    values = numbers(series, attribute)
    if np.isnan(values).all():
        raise no_value(attribute)
    return group_numbers(attribute, values, weights, EqualCounts(MAX_CODES).starts)


def no_value(attribute: Attribute) -> DataError:
    """The error for a column with only missing values."""
    return DataError(f"The column {attribute.name!r} holds no value at all in these rows; leave it out.")


def group_numbers(
    attribute: Attribute,
    values: Floats,
    weights: Weights | None,
    starts_of: Callable[[Floats, Weights], Mask],
) -> NumberCoding:
    """Code a number by groups of neighbouring values; `starts_of(distinct, counts)` marks where a group begins."""
    present = ~np.isnan(values)
    distinct, inverse = np.unique(values[present] + 0.0, return_inverse=True)  # -0.0 is 0.0
    counts = _counts(inverse, len(distinct), None if weights is None else weights[present])
    missing = int((~present).sum() if weights is None else weights[~present].sum())
    return number_coding(attribute, distinct, counts, missing, starts_of)


def number_coding(
    attribute: Attribute,
    distinct: Floats,
    counts: Weights,
    missing: int,
    starts_of: Callable[[Floats, Weights], Mask],
) -> NumberCoding:
    """Code a number by groups of neighbouring values, given its distinct values in order and their counts.

    Only some values matter: those at both ends of a group, each group's median and its neighbours. The records of other
    values may be counted with the next lower value.
    """
    if np.isinf(distinct[[0, -1]]).any():
        raise DataError(f"The column {attribute.name!r} contains infinity; replace it by a number or by missing.")
    starts = np.flatnonzero(starts_of(distinct, counts))
    last = np.append(starts[1:], len(distinct)) - 1
    reached = np.cumsum(counts)
    before = reached[starts] - counts[starts]
    middle = np.searchsorted(reached, before + (reached[last] - before + 1) // 2)
    edges = _between(attribute, distinct[last[:-1]], distinct[starts[1:]])
    typical = _typical(attribute, distinct, counts, middle, edges)
    return NumberCoding(attribute, edges, typical, np.add.reduceat(counts, starts), missing)


def _between(attribute: Attribute, low: Floats, high: Floats) -> Floats:
    return plainest_date_between(low, high) if attribute.kind == "date" else shortest_between(low, high)


def _typical(
    attribute: Attribute, distinct: Floats, counts: Weights, middle: npt.NDArray[np.int64], edges: Floats
) -> Floats:
    """Return each code's median, or a short number next to it if few records have the median, to protect them."""
    medians = distinct[middle]
    if len(distinct) == 1:
        return medians
    # The number must lie between the neighbouring values, within the code's edges and the outermost values.
    low = np.maximum(distinct[np.maximum(middle - 1, 0)], np.append(-np.inf, edges))
    high = np.minimum(distinct[np.minimum(middle + 1, len(distinct) - 1)], np.append(edges, np.inf))
    nearby = _between(attribute, low, high)
    unit = {"integer": 1, "date": 86_400}.get(attribute.storage)
    usable = (counts[middle] < FEW) & (nearby > low) & (nearby < high)
    if unit is not None:
        usable &= nearby % unit == 0
    return np.where(usable, nearby, medians)


def equal_starts(counts: Weights, groups: int) -> Mask:
    """Mark where groups begin: at every distinct value, or, if there are too many, at each 1/groups of the records.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import equal_starts
    >>> equal_starts(np.array([5, 1, 1, 1, 2]), groups=2).tolist()
    [True, True, False, False, False]
    """
    return EqualCounts(groups).starts(np.empty(0), counts)


def category_coding(attribute: Attribute, words: Sequence[str], counts: Weights, missing: int) -> CategoryCoding:
    """Code a category, given its texts and their counts."""
    values = values_in_order(attribute, words)
    if len(values) > MAX_CATEGORIES:
        raise too_many_categories(attribute, len(values))
    if not counts.sum():
        raise no_value(attribute)
    position = {value: i for i, value in enumerate(values)}
    ordered = np.zeros(len(values), dtype=np.int64)
    ordered[[position[word] for word in words]] = counts
    return CategoryCoding(attribute, tuple(values), ordered, missing)


def too_many_categories(attribute: Attribute, found: int) -> DataError:
    """The error for a category with more values than a coding can hold."""
    return DataError(
        f"The column {attribute.name!r} has {found:,} different categories, more than {MAX_CATEGORIES:,}; "
        "declare it an identifier or a number, or group its values first."
    )


def values_in_order(attribute: Attribute, words: Sequence[str]) -> list[str]:
    """Return a category's values in order: its domain, or else numbers by size and other texts by name.

    An ordered attribute of texts must have a domain.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.table.codes import values_in_order
    >>> values_in_order(Attribute(name="grade", kind="ordered"), ["10", "9"])
    ['9', '10']
    """
    if attribute.domain is not None:
        declared = [str(value) for value in attribute.domain]
        unknown = len(set(words) - set(declared))
        if unknown:
            raise DataError(
                f"The column {attribute.name!r} holds {unknown:,} different values that its domain does not name."
            )
        return declared
    sizes = pd.to_numeric(pd.Series(words, dtype=object), errors="coerce").to_numpy(dtype=np.float64)
    if np.isfinite(sizes).all():
        return [words[i] for i in sorted(range(len(words)), key=lambda i: (sizes[i], words[i]))]
    if attribute.kind == "ordered":
        raise DataError(
            f"The column {attribute.name!r} is ordered, but its order is not known; give its values in order as its "
            "domain."
        )
    return sorted(words)


def _counts(codes: npt.NDArray[np.int64], size: int, weights: Weights | None) -> Weights:
    # Sums of whole numbers below 2**53 are exact in float64.
    return np.bincount(codes, weights=weights, minlength=size).astype(np.int64)


# Groups of rows with equal codes

_FEW_CODES = 4096
_MOST_PLACES = 4  # cells per row in a table of all combinations


def group_rows(codes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Number the rows so that two rows have the same number exactly if all their codes are equal.

    The numbers start at 0, without gaps, in the order of the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import group_rows
    >>> group_rows(np.array([[1, 0], [0, 5], [1, 0]])).tolist()
    [1, 0, 1]
    """
    key, size = _keys(codes.T if len(codes) else (), len(codes))
    if size > _MOST_PLACES * len(key):
        return np.unique(key, return_inverse=True)[1]
    there = np.zeros(size, dtype=bool)  # a table of all combinations avoids sorting
    there[key] = True
    return (np.cumsum(there) - 1)[key]


def _keys(columns: Iterable[npt.NDArray[Any]], n: int, *, ordered: bool = True) -> tuple[npt.NDArray[np.int64], int]:
    """Number the rows, equal if all codes are equal, and in their order if `ordered`; also return an upper limit."""
    key, size = np.zeros(n, dtype=np.int64), 1
    for codes in columns:
        column, width = _narrow(codes)
        if size * width >= 2**62:  # hashing is faster if order does not matter
            key = np.unique(key, return_inverse=True)[1] if ordered else pd.factorize(key)[0].astype(np.int64)
            size = int(key.max()) + 1
        key, size = key * width + column, size * width
    return key, size


def first_rows(groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the first row of each group, for the numbers of `group_rows`.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import first_rows
    >>> first_rows(np.array([1, 0, 1])).tolist()
    [1, 0]
    """
    first = np.zeros(int(groups.max()) + 1 if len(groups) else 0, dtype=np.int64)
    first[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)  # the last assignment wins: the first row
    return first


def _narrow(column: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], int]:
    """Number the codes from 0 in their order, and return a limit; sort them only if their range is wide."""
    low, high = int(column.min()), int(column.max())
    if high - low < _FEW_CODES:
        return np.asarray(column, dtype=np.int64) - low, high - low + 1
    values, numbers = np.unique(column, return_inverse=True)
    return numbers, len(values)


def sizes_of(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """Count the records in each group of equal rows; `columns`: the codes, column by column.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.codes import sizes_of
    >>> sizes_of([np.array([1, 0, 1]), np.array([0, 5, 0])]).tolist()
    [1, 2]
    """
    key, size = _keys(columns, len(columns[0]), ordered=False)
    if size > _MOST_PLACES * len(key):
        return np.unique(key, return_counts=True)[1]
    sizes = np.bincount(key)
    return sizes[sizes > 0]
