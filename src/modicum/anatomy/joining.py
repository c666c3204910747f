"""The join of the identifying table with the sensitive ones (papers/4 Definition 11), described and not made."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError
from modicum.releases.anatomy_release import AnatomyRelease, Candidates
from modicum.table.frames import as_frame, column
from modicum.table.schema import Attribute
from modicum.table.values import Codes, Floats

MOST_COMBINATIONS = 100_000  # of the candidates of one record, with several sensitive attributes
MOST_ROWS = 10**8  # of a join that is made: they take about a gigabyte a column


@dataclass(frozen=True)
class Join:
    """Which rows the join has: each record with every candidate, for several sensitive attributes every combination.

    The candidates of all sensitive attributes stand one after another in one long list; a place in it is a row of a
    sensitive table. Those of record i and attribute a are the `sizes[i, a]` from `first[i, a]` on.

    Attributes
    ----------
    release : the two tables
    candidates : of each sensitive attribute
    offsets : where each attribute's candidates begin in the list
    first, sizes : arrays of shape (records, sensitive attributes)
    """

    release: AnatomyRelease = field(repr=False)
    candidates: tuple[Candidates, ...]
    offsets: tuple[int, ...]
    first: Codes
    sizes: Codes

    @classmethod
    def of(cls, release: AnatomyRelease) -> "Join":
        """The join of this release."""
        found = tuple(release.candidates(name) for name in release.sensitive_names)
        ends = np.cumsum([len(each.codes) for each in found]).tolist()
        offsets = (0, *ends[:-1])
        first = [each.starts[each.groups] + offset for each, offset in zip(found, offsets, strict=True)]
        sizes = [each.sizes[each.groups] for each in found]
        return cls(release, found, offsets, np.column_stack(first), np.column_stack(sizes))

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
        """The values of a sensitive attribute that stand at these places of the list."""
        name = self.release.sensitive_names[a]
        rows = self.candidates[a].rows[places - self.offsets[a]]
        return column(as_frame(self.release.sensitive_tables[name]), name)[rows]

    def distinct_values(self, a: int) -> tuple[nw.Series[Any], Floats]:
        """The distinct values of a sensitive attribute, as its codes number them, and how often the join has each."""
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
                f"attributes, more than {MOST_COMBINATIONS:,}; leave some of them out, or learn from the identifying "
                "table alone."
            )
        return self.sizes.prod(axis=1)

    def check_rows(self, most: int = MOST_ROWS) -> None:
        """Refuse a join that has too many rows to be made."""
        rows = int(self.repeats.sum())
        if rows > most:
            raise DataError(
                f"The join of the identifying and the sensitive tables has {rows:,} rows, more than {most:,}; use "
                "smaller groups, fewer records or fewer sensitive attributes."
            )

    def _sensitive_repeats(self, a: int) -> Floats:
        """How often each candidate of a sensitive attribute occurs in the join."""
        found = self.candidates[a]
        of_group = np.bincount(found.groups, self.repeats / self.sizes[:, a], len(found.sizes))
        return np.repeat(of_group, found.sizes)

    def rows(self, records: Codes) -> tuple[Codes, Codes]:
        """The rows of the join that these records have: which record, and the places of its values in the list."""
        repeats = self.repeats[records]
        own = np.repeat(records, repeats)
        ends = np.cumsum(repeats)
        return own, self.places(own, np.arange(len(own)) - np.repeat(ends - repeats, repeats))

    def places(self, records: Codes, combination: Codes) -> Codes:
        """Where the values of a record's combination stand in the list; the first attribute changes fastest."""
        found = np.empty((len(records), self.first.shape[1]), dtype=np.int64)
        for a in range(self.first.shape[1]):
            combination, digit = np.divmod(combination, self.sizes[records, a])
            found[:, a] = self.first[records, a] + digit
        return found
