"""What is guessed: the label as class numbers, and personal attributes as values among which a guess is right.

Categories are guessed exactly. A number or date is guessed at a declared resolution, by default ten bins of equal
frequency: if only an exact hit counted, anything would look private. The bins are fixed on known data, never on the
records that are judged. *Missing* is a value like any other where the known data has it.
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

BINS = 10  # of a personal number


@dataclass(frozen=True)
class Target:
    """The values of one attribute that an adversary tells apart.

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
    may_miss: bool = False  # missing can be guessed though the known data has no missing value

    @classmethod
    def fit(
        cls, known: Any, attribute: Attribute, bins: int = BINS, *, named: Sequence[str] = (), may_miss: bool = False
    ) -> "Target":
        """The values of the attribute in the known data; a number in `bins` bins of equal frequency.

        `named` are further categories that can be guessed though nobody known has them, and `may_miss` says whether
        missing can: an adversary also knows what the artifact names.
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
        """How many values there are to choose from, missing included where it can be guessed."""
        return self.coding.n_values + self.has_missing

    @property
    def missing_code(self) -> int:
        """The code of missing: the last one, or -1 where it is not one of the values."""
        return self.coding.n_values if self.has_missing else UNKNOWN

    @property
    def counts(self) -> Weights:
        """How often each value occurs in the known data."""
        counts = self.coding.counts
        return np.append(counts, self.coding.missing) if self.has_missing else counts

    def encode(self, X: Any) -> Codes:
        """Each record's value; -1 for one that the known data does not have."""
        series = column(as_frame(X), self.name)
        if isinstance(self.coding, NumberCoding):
            return self.encode_numbers(numbers(series, self.attribute))
        codes, words = texts(series)
        position = {value: i for i, value in enumerate(self.coding.values)}
        lookup = np.array([position.get(word, UNKNOWN) for word in words] + [self.missing_code], dtype=np.int64)
        return lookup[codes]

    def encode_numbers(self, values: Floats) -> Codes:
        """Each number's bin."""
        assert isinstance(self.coding, NumberCoding)
        return place_numbers(values, self.coding.edges, self.missing_code)


def build_named_coding(
    attribute: Attribute, words: Sequence[str], counts: Weights, missing: int, named: Sequence[str]
) -> CategoryCoding:
    """Every category that occurs or is named, in the order of its name: unlike a coder's, without a limit."""
    further = sorted(set(named) - set(words))
    words, counts = [*words, *further], np.append(counts, np.zeros(len(further), dtype=np.int64))
    order = np.argsort(np.array(words, dtype=object), kind="stable") if words else np.zeros(0, dtype=np.int64)
    return CategoryCoding(attribute, tuple(words[i] for i in order), counts[order], missing)


def nothing_to_guess(attribute: Attribute) -> DataError:
    """The complaint about a column in which everything is missing."""
    return DataError(f"The column {attribute.name!r} holds no value at all, so there is nothing to guess.")


# The label as class numbers, learned once, so that training and test data speak of the same classes.

MAX_CLASSES = 20  # of a numeric label
MAX_CATEGORIES_OF_LABEL = MOST_CLASSES


@dataclass(frozen=True)
class Labels:
    """The classes of a label, or the ranges into which a numeric one was cut.

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
        """The classes of `y`; a number with many values only by `bins` groups of about equal size."""
        check_bins(bins)
        distinct, counts = _distinct(label_values(y, name=name), weights)
        return cls.of(distinct, counts, bins, name)

    @classmethod
    def of(
        cls, distinct: npt.NDArray[Any], counts: npt.NDArray[Any], bins: int | None = None, name: str = "y"
    ) -> "Labels":
        """The classes of a label of which the distinct values, in order, and their counts are known."""
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
        """Each record's class number; -1 for a class that was not there at fit."""
        values = label_values(y)
        if self.edges is not None:
            if values.dtype.kind not in "iufb":
                raise DataError(f"The label {label_name(y)!r} should be a number, as it was in the training data.")
            return np.searchsorted(self.edges, values.astype(np.float64), side="left").astype(np.int64)
        found = pd.Index(self.classes).get_indexer(pd.Index(values))
        return np.asarray(found, dtype=np.int64)


def check_bins(bins: Any) -> None:
    """Raise where a label cannot be cut into so many ranges."""
    if bins is not None and (not isinstance(bins, int) or not 2 <= bins <= MAX_CATEGORIES_OF_LABEL):
        raise ParameterError(
            f"The 'label_bins' parameter must be an int from 2 to {MAX_CATEGORIES_OF_LABEL}. Got {bins!r} instead."
        )


def check_classes(found: int, is_number: bool, name: str) -> None:
    """Raise where a label has too many values to be classes."""
    if is_number and found > MAX_CLASSES:
        raise DataError(
            f"The label {name!r} is a number with {found:,} different values. Give label_bins "
            f"(--label-bins) to predict a range, or use the model-guided minimizer for a regression model."
        )
    if found > MAX_CATEGORIES_OF_LABEL:
        raise DataError(f"The label {name!r} has {found:,} classes, more than {MAX_CATEGORIES_OF_LABEL}.")


def label_name(y: Any) -> str:
    """What the label is called, where it says so."""
    return str(getattr(y, "name", None) or "y")


def label_values(y: Any, n: int | None = None, name: str | None = None) -> npt.NDArray[Any]:
    """The label as one array, complete and finite; `n` is how many values there must be."""
    called = repr(label_name(y) if name is None else name)
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or (n is not None and len(values) != n):
        needed = "" if n is None else f" for each of the {n} rows"
        raise DataError(f"The label {called} has shape {values.shape}; it needs one value{needed}.")
    if values.dtype == object and pd.api.types.infer_dtype(values, skipna=True) in ("decimal", "integer", "floating"):
        values = values.astype(np.float64)
    check_labels(values, int(np.sum(pd.isna(values))), called)
    return values


def check_labels(values: npt.NDArray[Any], absent: int, called: str) -> None:
    """Raise where a label is missing or infinite."""
    if absent:
        raise DataError(f"The label {called} has {absent:,} missing values (NaN); leave those rows out.")
    if values.dtype.kind == "f" and np.isinf(values).any():
        raise DataError(f"The label {called} (Input y) contains infinity; leave those rows out.")


def _distinct(values: npt.NDArray[Any], weights: Weights | None) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
    """The distinct labels in order, and how many records have each."""
    codes, distinct = pd.factorize(values, sort=values.dtype.kind != "O")
    distinct = np.asarray(distinct)
    counts = np.bincount(codes, weights=weights, minlength=len(distinct)).astype(np.float64)
    if values.dtype.kind != "O":
        return distinct, counts
    order = sorted(range(len(distinct)), key=lambda i: str(distinct[i]))  # numpy's own texts drop a NUL at the end
    return distinct[order], counts[order]


def _bin_labels(distinct: npt.NDArray[Any], counts: npt.NDArray[np.float64], bins: int, name: str) -> Labels:
    if distinct.dtype.kind not in "iuf":
        raise DataError(f"The label {name!r} is no number, so label_bins cannot be used.")
    reached = np.cumsum(counts)
    wanted = label_ranks(reached[-1], bins)
    edges = np.unique(distinct[np.searchsorted(reached, wanted)]).astype(np.float64)
    edges = edges[edges < distinct[-1]]
    if not len(edges):
        raise DataError(
            f"The label {name!r} has one value too often to be cut into {bins} ranges; use fewer or more bins."
        )
    return Labels(np.arange(len(edges) + 1), edges)


def label_ranks(records: float, bins: int) -> Floats:
    """The ranks of the records with which a numeric label's ranges end, the last range left out."""
    return np.ceil(records * np.arange(1, bins) / bins)
