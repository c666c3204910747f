"""Targets of guesses: the classes of the label, and the values of personal attributes.

A guess of a category must be exact. A number or date is guessed at a fixed resolution, by default ten bins of equal
frequency: if only exact hits counted, anything would look private. The bins come from known data, never from the
records that are judged. *Missing* is a value like any other if it occurs in the known data.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.table.codes import CategoryCoding, Coding, EqualCounts, NumberCoding, Weights, group_numbers
from modicum.table.frames import as_frame, column, numbers, place_numbers, texts
from modicum.table.schema import Attribute
from modicum.table.splits import MOST_CLASSES
from modicum.table.values import UNKNOWN
from modicum.typing import Codes, Floats

BINS = 10  # for a personal number


@dataclass(frozen=True)
class Target:
    """The values of one attribute that an adversary distinguishes.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.table.targets import Target
    >>> X = pd.DataFrame({"age": range(20, 80), "job": ["nurse", "clerk", None] * 20})
    >>> schema = md.Schema.infer(X)
    >>> Target.fit(X, schema["age"]).size, Target.fit(X, schema["job"]).size
    (10, 3)
    >>> Target.fit(X, schema["job"]).encode(pd.DataFrame({"job": ["clerk", "smith", None]})).tolist()
    [0, -1, 2]
    """

    coding: Coding
    may_miss: bool = False  # missing can be guessed even if the known data has no missing value

    @classmethod
    def fit(
        cls, known: Any, attribute: Attribute, bins: int = BINS, *, named: Sequence[str] = (), may_miss: bool = False
    ) -> "Target":
        """Learn the attribute's values from known data; a number gets `bins` bins of equal frequency.

        An adversary also knows what the artifact names. So `named` adds categories, and `may_miss` adds missing, that
        can be guessed even if they do not occur in the known data.
        """
        frame = as_frame(known)
        series = column(frame, attribute.name)
        if attribute.is_category:
            codes, words = texts(series)
            counts = np.bincount(codes[codes >= 0], minlength=len(words))
            return cls(build_named_coding(attribute, words, counts, int((codes < 0).sum()), named), may_miss)
        values = numbers(series, attribute)
        if np.isnan(values).all():
            raise nothing_to_guess(attribute)
        return cls(group_numbers(attribute, values, None, EqualCounts(bins).starts), may_miss)

    @property
    def attribute(self) -> Attribute:
        """The attribute that is guessed."""
        return self.coding.attribute

    @property
    def name(self) -> str:
        """The name of that attribute."""
        return self.coding.attribute.name

    @property
    def has_missing(self) -> bool:
        """Whether missing is one of the values."""
        return self.may_miss or self.coding.missing > 0

    @property
    def size(self) -> int:
        """The number of values to choose from, including missing if it can be guessed."""
        return self.coding.n_values + self.has_missing

    @property
    def missing_code(self) -> int:
        """The code of missing: the last one, or -1 if missing is not one of the values."""
        return self.coding.n_values if self.has_missing else UNKNOWN

    @property
    def counts(self) -> Weights:
        """The count of each value in the known data."""
        counts = self.coding.counts
        return np.append(counts, self.coding.missing) if self.has_missing else counts

    def encode(self, X: Any) -> Codes:
        """Return each record's value code; -1 for a value that is not in the known data."""
        series = column(as_frame(X), self.name)
        if isinstance(self.coding, NumberCoding):
            return self.encode_numbers(numbers(series, self.attribute))
        codes, words = texts(series)
        position = {value: i for i, value in enumerate(self.coding.values)}
        lookup = np.array([position.get(word, UNKNOWN) for word in words] + [self.missing_code], dtype=np.int64)
        return lookup[codes]

    def encode_numbers(self, values: Floats) -> Codes:
        """Return each number's bin."""
        assert isinstance(self.coding, NumberCoding)
        return place_numbers(values, self.coding.edges, self.missing_code)


def build_named_coding(
    attribute: Attribute, words: Sequence[str], counts: Weights, missing: int, named: Sequence[str]
) -> CategoryCoding:
    """Code all categories that occur or are named, sorted by name and, unlike in a `Coder`, without a limit."""
    unseen = sorted(set(named) - set(words))
    words, counts = [*words, *unseen], np.append(counts, np.zeros(len(unseen), dtype=np.int64))
    order = np.argsort(np.array(words, dtype=object), kind="stable") if words else np.zeros(0, dtype=np.int64)
    return CategoryCoding(attribute, tuple(words[i] for i in order), counts[order], missing)


def nothing_to_guess(attribute: Attribute) -> DataError:
    """The error for a column with only missing values."""
    return DataError(f"The column {attribute.name!r} holds no value at all, so there is nothing to guess.")


# The label as class numbers, learned once, so that training and test data have the same classes

MAX_CLASSES = 20  # for a numeric label
MAX_CATEGORIES_OF_LABEL = MOST_CLASSES


@dataclass(frozen=True)
class Labels:
    """The classes of a label, or the ranges of a binned numeric label.

    Examples
    --------
    >>> from modicum.table.targets import Labels
    >>> labels = Labels.fit(["no", "yes", "no"])
    >>> labels.names, labels.encode(["yes", "no", "perhaps"]).tolist()
    (['no', 'yes'], [1, 0, -1])
    >>> Labels.fit([1.5, 2, 7, 30], bins=2).names
    ['≤ 2', '> 2']
    """

    classes: npt.NDArray[Any]
    edges: Floats | None = None

    @classmethod
    def fit(cls, y: Any, bins: int | None = None, weights: Weights | None = None, name: str = "y") -> "Labels":
        """Learn the classes of `y`; a number with many values needs `bins` groups of about equal size."""
        check_bins(bins)
        distinct, counts = _distinct(label_values(y, name=name), weights)
        return cls.of(distinct, counts, bins, name)

    @classmethod
    def of(
        cls, distinct: npt.NDArray[Any], counts: npt.NDArray[Any], bins: int | None = None, name: str = "y"
    ) -> "Labels":
        """Build the classes from a label's sorted distinct values and their counts."""
        if len(distinct) < 2:
            raise DataError(f"The label {name!r} is constant: there is nothing to predict (1 class).")
        if bins is not None:
            return _bin_labels(distinct, counts, bins, name)
        check_classes(len(distinct), distinct.dtype.kind in "iuf", name)
        return cls(distinct)

    @property
    def names(self) -> list[str]:
        """A readable name for each class."""
        if self.edges is None:
            return [str(value) for value in self.classes]
        ends = [f"{edge:g}" for edge in self.edges]
        middle = [f"> {low} to {high}" for low, high in pairwise(ends)]
        return [f"≤ {ends[0]}", *middle, f"> {ends[-1]}"]

    def __len__(self) -> int:
        return len(self.classes)

    def encode(self, y: Any) -> Codes:
        """Return each record's class number; -1 for a class that did not occur at fit."""
        values = label_values(y)
        if self.edges is not None:
            if values.dtype.kind not in "iufb":
                raise DataError(f"The label {label_name(y)!r} should be a number, as it was in the training data.")
            return np.searchsorted(self.edges, values.astype(np.float64), side="left").astype(np.int64)
        return np.asarray(pd.Index(self.classes).get_indexer(pd.Index(values)), dtype=np.int64)


def check_bins(bins: Any) -> None:
    """Raise a `ParameterError` for an invalid number of label bins."""
    if bins is not None and (not isinstance(bins, int) or not 2 <= bins <= MAX_CATEGORIES_OF_LABEL):
        raise ParameterError(
            f"The 'label_bins' parameter must be an int from 2 to {MAX_CATEGORIES_OF_LABEL}. Got {bins!r} instead."
        )


def check_classes(found: int, is_number: bool, name: str) -> None:
    """Raise a `DataError` if a label has too many classes."""
    if is_number and found > MAX_CLASSES:
        raise DataError(
            f"The label {name!r} is a number with {found:,} different values. Give label_bins "
            f"(--label-bins) to predict a range, or use the model-guided minimizer for a regression model."
        )
    if found > MAX_CATEGORIES_OF_LABEL:
        raise DataError(
            f"The label {name!r} has {found:,} classes, more than {MAX_CATEGORIES_OF_LABEL}; group them first."
        )


def label_name(y: Any) -> str:
    """The label's name, or "y" if it has none."""
    return str(getattr(y, "name", None) or "y")


def label_values(y: Any, n: int | None = None, name: str | None = None) -> npt.NDArray[Any]:
    """Return the label as an array, checked to be complete, finite and of length `n`."""
    label = repr(label_name(y) if name is None else name)
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or (n is not None and len(values) != n):
        needed = "" if n is None else f" for each of the {n} rows"
        raise DataError(f"The label {label} has shape {values.shape}; it needs one value{needed}.")
    if values.dtype == object and pd.api.types.infer_dtype(values, skipna=True) in ("decimal", "integer", "floating"):
        values = values.astype(np.float64)
    check_labels(values, int(np.sum(pd.isna(values))), label)
    return values


def check_labels(values: npt.NDArray[Any], absent: int, called: str) -> None:
    """Raise a `DataError` if a label is missing or infinite."""
    if absent:
        raise DataError(f"The label {called} has {absent:,} missing values (NaN); leave those rows out.")
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise DataError(f"The label {called} (Input y) contains infinity; leave those rows out.")


def _distinct(values: npt.NDArray[Any], weights: Weights | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """The distinct labels in order, and their counts."""
    codes, distinct = pd.factorize(values, sort=values.dtype.kind != "O")
    distinct = np.asarray(distinct)
    counts = np.bincount(codes, weights=weights, minlength=len(distinct)).astype(np.float64)
    if values.dtype.kind != "O":
        return distinct, counts
    order = sorted(range(len(distinct)), key=lambda i: str(distinct[i]))  # numpy text drops a NUL at the end
    return distinct[order], counts[order]


def _bin_labels(distinct: npt.NDArray[Any], counts: npt.NDArray[np.float64], bins: int, name: str) -> Labels:
    if distinct.dtype.kind not in "iuf":
        raise DataError(f"The label {name!r} is not a number, so label_bins cannot be used.")
    reached = np.cumsum(counts)
    wanted = label_ranks(reached[-1], bins)
    edges = np.unique(distinct[np.searchsorted(reached, wanted)]).astype(np.float64)
    edges = edges[edges < distinct[-1]]
    if not len(edges):
        raise DataError(
            f"The label {name!r} cannot be cut into {bins} ranges because one value is too frequent; use fewer or more "
            "bins."
        )
    return Labels(np.arange(len(edges) + 1), edges)


def label_ranks(records: float, bins: int) -> Floats:
    """The rank of the last record of each range of a numeric label, except the last range."""
    return np.ceil(records * np.arange(1, bins) / bins)
