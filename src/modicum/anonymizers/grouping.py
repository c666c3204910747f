"""What a partition is given: ranked quasi-identifiers, and what every group must meet."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.anonymizers.ranks import Ranked, RankedColumn
from modicum.measures.requirement import Requirement
from modicum.table.values import Codes

_NOBODY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class Needs:
    """What every group must meet, and the columns that tell: sensitive values, and whose a record is.

    Parameters
    ----------
    requirement : Requirement
    sensitive : RankedColumn, optional
    persons : array, optional
        A number from 0 for each record's person; then k counts persons.
    """

    requirement: Requirement
    sensitive: RankedColumn | None = None
    persons: Codes | None = None

    @property
    def sensitive_codes(self) -> Codes:
        return _NOBODY if self.sensitive is None else self.sensitive.codes.astype(np.int64)

    @property
    def n_sensitive(self) -> int:
        """How many sensitive values there are, missing included."""
        return 0 if self.sensitive is None else len(self.requirement.overall)

    @property
    def is_plain(self) -> bool:
        """Whether the number of records alone decides."""
        return self.requirement.is_plain and self.persons is None

    def for_kernel(self) -> tuple[Any, ...]:
        """As `groups_kernel` takes them."""
        persons = _NOBODY if self.persons is None else self.persons
        n_persons = int(persons.max()) + 1 if len(persons) else 0
        limited = not self.requirement.is_plain
        who = (self.sensitive_codes, self.n_sensitive, persons, n_persons)
        return (self.requirement.k, self.requirement.rule, limited, *who)

    def met_by_all(self) -> bool:
        """Whether one group of all records would do: where not, nothing can."""
        counts = np.bincount(self.sensitive_codes, minlength=self.n_sensitive) if self.n_sensitive else None
        enough = self.persons is None or int(self.persons.max()) + 1 >= self.requirement.k
        return enough and (counts is None or self.requirement.met_by(counts))


def split(ranked: Ranked, needs: Needs, *, tight: bool, relaxed: bool = False, groups: Codes | None = None) -> Codes:
    """Split all records, or groups of them, by one attribute at a time as long as both sides may be groups.

    Parameters
    ----------
    tight : choose the attribute whose two sides lose least, rather than the widest
    relaxed : let equal values go to both sides
    groups : groups to begin with, numbered from 0; one of all records by default
    """
    from modicum.anonymizers.split_kernel import split_groups  # deferred: the compiler takes a second to import

    start = np.zeros(len(ranked.columns[0].codes), dtype=np.int64) if groups is None else groups
    found: Codes = split_groups(for_kernel(ranked), needs.for_kernel(), relaxed, tight, start)
    return found


def for_kernel(ranked: Ranked) -> tuple[Any, ...]:
    """Ranked quasi-identifiers as `groups_kernel` takes them."""
    return (ranked.codes, ranked.starts, ranked.sizes, ranked.positions, ranked.is_category, ranked.present)
