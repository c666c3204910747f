"""The records of A7 as it needs them: every combination of both halves once, and how many records have it.

Which combinations are drawn depends on these counts alone, neither on the order of records nor on who counted them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.engines.counting import counted_few, with_keys
from modicum.engines.file_tables import is_table, table_at
from modicum.errors import ParameterError
from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.table.codes import first_rows, group_rows
from modicum.table.frames import as_frame, column
from modicum.table.roles import person_codes
from modicum.table.schema import Schema
from modicum.table.values import Codes


@dataclass(frozen=True)
class Side:
    """Records in memory, or different ones with how many there are of each."""

    frame: Any
    records: Codes | None
    persons: Codes | None

    @classmethod
    def of(cls, g: Generalization, X: Any, names: Sequence[str]) -> "Side":
        """The named attributes of records; a table in an engine is counted there."""
        if not is_table(X):
            frame = as_frame(X, g.names)
            return cls(frame, None, person_codes(g.schema, frame))
        table = table_at(X)
        if g.schema.person is not None and g.schema.person in table.types:
            raise ParameterError(
                f"The records have the column {g.schema.person!r}, which says whose they are; {table.engine} links "
                "records by their counts alone. Give a sample in memory, or leave the column out where everyone has "
                "one record."
            )
        lazy, keys = with_keys(table, names)
        found, records = counted_few(lazy, keys, "both halves")
        return cls(found.rename(dict(zip(keys, names, strict=True))), records, None)

    def __len__(self) -> int:
        return len(self.frame) if self.records is None else int(self.records.sum())

    @property
    def people(self) -> int:
        """How many people they are of."""
        return len(self) if self.persons is None or not len(self.persons) else int(self.persons.max()) + 1


@dataclass(frozen=True)
class Halves:
    """Every combination of two halves: a number for each half as it is and as it is seen, and how many have it.

    Attributes
    ----------
    full, seen : for the halves a and b, each combination's number; equal where the half is, or its buckets are
    breached : how many breached records have each combination
    drawn : the combinations that each round's people have
    """

    full: list[Codes]
    seen: list[Codes]
    breached: Codes
    drawn: list[Codes]

    @classmethod
    def of(
        cls, g: Generalization, breach: Side, people: Side, halves: Sequence[Sequence[str]], draw: "Draw"
    ) -> "Halves":
        """Count the combinations, and draw people."""
        names = [name for half in halves for name in half]
        sides = [breach] if people is breach else [breach, people]
        schema = Schema(attributes=tuple(g.schema[name].model_copy(update={"roles": ()}) for name in names))
        raw = raw_generalization(people.frame, schema)
        full, seen = (
            np.vstack([_codes(partitions, side.frame, names) for side in sides])
            for partitions in ({p.name: p for p in raw.partitions}, {name: g[name] for name in names})
        )
        groups = group_rows(np.hstack([full, seen]))
        first, cut = first_rows(groups), len(breach.frame)
        which = [slice(0, len(halves[0])), slice(len(halves[0]), None)]
        of_people = groups if people is breach else groups[cut:]
        return cls(
            full=[group_rows(full[first][:, half]) for half in which],
            seen=[group_rows(seen[first][:, half]) for half in which],
            breached=_counted(groups[:cut], breach.records, len(first)),
            drawn=draw.rounds(of_people, people, len(first)),
        )


@dataclass(frozen=True)
class Draw:
    """Disjoint draws of k people, one record of each."""

    k: int
    most: int
    random_state: int

    def rounds(self, groups: Codes, people: Side, many: int) -> list[Codes]:
        """The combinations of those drawn, from the combination of each row."""
        random = np.random.default_rng(self.random_state)
        count = min(self.most, people.people // self.k)
        if people.persons is not None:
            order = random.permutation(len(groups))
            order = order[np.sort(np.unique(people.persons[order], return_index=True)[1])]
            return [groups[order[i * self.k : (i + 1) * self.k]] for i in range(count)]
        ends = np.cumsum(_counted(groups, people.records, many))
        places = random.choice(int(ends[-1]), count * self.k, replace=False)
        return list(np.searchsorted(ends, places, side="right").reshape(count, self.k))


def _codes(partitions: Any, frame: Any, names: Sequence[str]) -> Codes:
    """The codes of some attributes; 0 where one is not collected."""
    found = np.zeros((len(frame), len(names)), dtype=np.int64)
    for j, name in enumerate(names):
        series = column(frame, name)
        if partitions[name].action != "dropped":
            found[:, j] = partitions[name].encode(series)
    return found


def _counted(groups: Codes, records: Codes | None, many: int) -> Codes:
    return np.bincount(groups, weights=records, minlength=many).astype(np.int64)
