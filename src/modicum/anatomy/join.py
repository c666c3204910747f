"""The join of the identifying and sensitive tables [Mancuhan16 Definition 11], described without building it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError
from modicum.learners.columns import moderate
from modicum.releases.anatomy_release import AnatomyRelease, GroupCandidates
from modicum.table.codes import values_in_order
from modicum.table.frames import as_frame, column, texts
from modicum.table.schema import Attribute
from modicum.typing import Codes, Floats

MOST_COMBINATIONS = 100_000  # combinations of candidates of one record, with several sensitive attributes
MOST_ROWS = 10**8  # rows of a join that is built, about a gigabyte per column


@dataclass(frozen=True)
class Join:
    """The rows of the join: each record with every candidate, or every combination for several sensitive attributes.

    One long list holds the candidates of all sensitive attributes; a place in it is a row of a sensitive table. The
    candidates of record i and attribute a are the `sizes[i, a]` places from `first[i, a]` on.

    Attributes
    ----------
    release : the identifying and sensitive tables
    candidates : the candidates of each sensitive attribute
    offsets : where each attribute's candidates begin in the list
    first, sizes : arrays of shape (records, sensitive attributes)
    """

    release: AnatomyRelease = field(repr=False)
    candidates: tuple[GroupCandidates, ...]
    offsets: tuple[int, ...]
    first: Codes
    sizes: Codes

    @classmethod
    def of(cls, release: AnatomyRelease) -> "Join":
        """Describe the join of a release."""
        candidates = tuple(release.candidates(name) for name in release.sensitive_names)
        ends = np.cumsum([len(each.codes) for each in candidates]).tolist()
        offsets = (0, *ends[:-1])
        first = [each.starts[each.groups] + offset for each, offset in zip(candidates, offsets, strict=True)]
        sizes = [each.sizes[each.groups] for each in candidates]
        return cls(release, candidates, offsets, np.column_stack(first), np.column_stack(sizes))

    @cached_property
    def identifying(self) -> nw.DataFrame[Any]:
        """The identifying table."""
        return as_frame(self.release.identifying)

    @property
    def identifying_attributes(self) -> list[Attribute]:
        """The attributes of the identifying table, without the class."""
        return [self.release.schema[name] for name in self.release.identifying_names]

    @property
    def sensitive_attributes(self) -> list[Attribute]:
        """The sensitive attributes, in the order of `candidates`."""
        return [self.release.schema[name] for name in self.release.sensitive_names]

    def sensitive_values(self, a: int, places: Codes) -> nw.Series[Any]:
        """Return the values of a sensitive attribute at these places in the list."""
        name = self.release.sensitive_names[a]
        rows = self.candidates[a].rows[places - self.offsets[a]]
        return column(as_frame(self.release.sensitive_tables[name]), name)[rows]

    def distinct_values(self, a: int) -> tuple[nw.Series[Any], Floats]:
        """Return a sensitive attribute's distinct values in the order of its codes, and their counts in the join."""
        found = self.candidates[a]
        first = np.empty(len(found.values), dtype=np.int64)
        first[found.codes[::-1]] = np.arange(len(found.codes))[::-1]
        name = self.release.sensitive_names[a]
        series = column(as_frame(self.release.sensitive_tables[name]), name)[found.rows[first]]
        return series, np.bincount(found.codes, self._sensitive_repeats(a), len(first)).astype(np.float64)

    @cached_property
    def repeats(self) -> Codes:
        """How often each record occurs in the join."""
        many = float(self.sizes.astype(np.float64).prod(axis=1).max())
        if len(self.candidates) > 1 and many > MOST_COMBINATIONS:
            raise DataError(
                f"A record has {many:,.0f} combinations of candidates of the {len(self.candidates)} sensitive "
                f"attributes, more than {MOST_COMBINATIONS:,}; leave out some of them, or learn from the identifying "
                "table alone."
            )
        return self.sizes.prod(axis=1)

    def check_rows(self, most: int = MOST_ROWS) -> None:
        """Refuse a join with too many rows to build."""
        rows = int(self.repeats.sum())
        if rows > most:
            raise DataError(
                f"The join of the identifying and the sensitive tables has {rows:,} rows, more than {most:,}; use "
                "smaller groups, fewer records or fewer sensitive attributes."
            )

    def _sensitive_repeats(self, a: int) -> Floats:
        """Count how often each candidate of a sensitive attribute occurs in the join."""
        found = self.candidates[a]
        of_group = np.bincount(found.groups, self.repeats / self.sizes[:, a], len(found.sizes))
        return np.repeat(of_group, found.sizes)

    def rows(self, records: Codes) -> tuple[Codes, Codes]:
        """Return the join's rows of these records: the record, and the places of its values in the list."""
        repeats = self.repeats[records]
        own = np.repeat(records, repeats)
        ends = np.cumsum(repeats)
        return own, self.places(own, np.arange(len(own)) - np.repeat(ends - repeats, repeats))

    def places(self, records: Codes, combination: Codes) -> Codes:
        """Return the places of a combination's values in the list; the first attribute changes fastest."""
        places = np.empty((len(records), self.first.shape[1]), dtype=np.int64)
        for a in range(self.first.shape[1]):
            combination, digit = np.divmod(combination, self.sizes[records, a])
            places[:, a] = self.first[records, a] + digit
        return places


# The coding of [Mancuhan16 Appendix B]: every attribute is one number that is 0 at its mean or mode.
#
# - A number or date is x minus its mean over the joined data; a missing value is the mean, 0.
# - An ordered category is the place of its value in the domain, 1 to |dom|, minus the place of the mode: the paper sets
#   "mode of the discrete values to be mean". A missing value is the mode, 0.
# - A nominal category is 0 for its mode and 1 for every other value; missing is a value like any other.
#
# Means and modes are over the joined data, where a record occurs once for each candidate; `weights` are these counts.
# Among equally frequent values the mode is the first in the order of the domain or by name, so the order of the records
# does not matter.


def code_column(series: nw.Series[Any], attribute: Attribute, weights: Floats) -> Floats:
    """Code one column as in the paper.

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> from modicum.anatomy.join import code_column
    >>> from modicum.table.frames import as_frame
    >>> frame = as_frame(pd.DataFrame({"age": [20, 30, 70], "job": ["nurse", "clerk", "nurse"]}))
    >>> schema = md.Schema.infer(frame)
    >>> code_column(frame["age"], schema["age"], np.ones(3)).tolist()
    [-20.0, -10.0, 30.0]
    >>> code_column(frame["job"], schema["job"], np.ones(3)).tolist()
    [0.0, 1.0, 0.0]
    """
    if not attribute.is_category:
        return _code_number(series, attribute, weights)
    return _code_ordered(series, attribute, weights) if attribute.kind == "ordered" else _code_nominal(series, weights)


def _code_number(series: nw.Series[Any], attribute: Attribute, weights: Floats) -> Floats:
    values = moderate(series, attribute)
    present = ~np.isnan(values)
    if not present.any():
        return np.zeros(len(values))
    return np.where(present, values - np.average(values[present], weights=weights[present]), 0.0)


def _code_ordered(series: nw.Series[Any], attribute: Attribute, weights: Floats) -> Floats:
    codes, words = texts(series)
    if not words:
        return np.zeros(len(series))
    values = values_in_order(attribute, words)
    position = {value: i for i, value in enumerate(values)}
    places = np.array([position[word] for word in words] + [-1])[codes]
    present = places >= 0
    mode = int(np.bincount(places[present], weights[present], len(values)).argmax())
    return np.where(present, places - mode, 0).astype(np.float64)


def _code_nominal(series: nw.Series[Any], weights: Floats) -> Floats:
    codes, words = texts(series)
    counts = np.bincount(codes + 1, weights, len(words) + 1)  # missing first
    by_name = sorted(range(len(counts)), key=lambda code: (-counts[code], code == 0, words[code - 1] if code else ""))
    return (codes + 1 != by_name[0]).astype(np.float64)


def code_sensitive(join: Join, a: int) -> Floats:
    """Code all candidates of a sensitive attribute as in the paper, in the order of the list."""
    series, weights = join.distinct_values(a)
    return code_column(series, join.sensitive_attributes[a], weights)[join.candidates[a].codes]


def compute_squared_norms(columns: Iterable[tuple[Attribute, Floats]], n: int) -> Floats:
    """Sum the squares of each row; categories (exact integers) separately, so that their order cannot change a sum.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum import Attribute
    >>> from modicum.anatomy.join import compute_squared_norms
    >>> age, job = Attribute(name="age", kind="number"), Attribute(name="job", kind="category")
    >>> compute_squared_norms([(age, np.array([3.0, 0.5])), (job, np.array([1.0, 0.0]))], 2).tolist()
    [10.0, 0.25]
    """
    whole, other = np.zeros(n), np.zeros(n)
    for attribute, values in columns:
        target = whole if attribute.is_category else other
        target += values * values
    return other + whole
