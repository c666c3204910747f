"""A personal attribute as something to guess: the values among which a guess is right or wrong.

Categories are guessed exactly. A number or date is guessed at a declared resolution, by default ten bins of equal
frequency: if only an exact hit counted, anything would look private. The bins are fixed on known data, never on the
records that are judged. *Missing* is a value like any other where the known data has it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.errors import DataError
from modicum.table.codes import CategoryCoding, Coding, NumberCoding, Weights, group_numbers
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.number_groups import EqualCounts
from modicum.table.schema import Attribute
from modicum.table.values import UNKNOWN, Codes, Floats

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
            return cls(named_categories(attribute, words, counts, int((codes < 0).sum()), named), may_miss)
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
        codes = np.searchsorted(self.coding.edges, values, side="left").astype(np.int64)
        codes[np.isnan(values)] = self.missing_code
        return codes


def named_categories(
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
