"""How many people are alike in what is seen of them: the counts behind A8, from memory or from an engine."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.buckets import buckets_at, number_key
from modicum.engines.counting import (
    PERSON,
    alone_at,
    persons_alone,
    rarest,
    records_of,
    sizes_at,
    with_keys,
    with_person,
)
from modicum.engines.table import EngineTable
from modicum.errors import ParameterError
from modicum.generalization import Artifact
from modicum.generalization.core import raw_generalization
from modicum.generalization.description import persons_in
from modicum.measures.intervals import Interval, counted_interval, share_interval
from modicum.table.codes import first_rows, group_rows
from modicum.table.roles import person_codes
from modicum.table.schema import Schema
from modicum.table.values import Codes

Counted = tuple[Codes, Codes]  # the sizes of groups, from small to large, and how many groups have each


@dataclass(frozen=True)
class Crowd:
    """The groups of people who are alike.

    Attributes
    ----------
    people : how many there are
    alone : how many of them have a record that nobody else's equals
    sizes : of the groups, and how many groups have each
    persons : whether one person may have several records
    rarest : the buckets of the first of the smallest groups
    alike : how many people are alike in all their records, where that was asked for
    raw_alone : how many are alone in full detail
    """

    people: int
    alone: int
    sizes: Counted
    persons: bool
    rarest: Codes
    alike: Counted | None
    raw_alone: int

    @property
    def interval(self) -> Interval:
        """Of the share that is not alone: Wilson's, for so many independent people as the groups tell."""
        if not self.alone or self.persons:
            return share_interval(self.people - self.alone, self.people)
        sizes, often = self.sizes
        return counted_interval(np.where(sizes > 1, sizes, 0), often, sizes)


def crowd(g: Artifact, frame: nw.DataFrame[Any], wants_alike: bool) -> Crowd:
    """The people of a breach in memory."""
    persons = person_codes(g.schema, frame)
    codes = g.codes(frame)
    groups = group_rows(codes)
    sizes = persons_in(groups, persons)
    raw_groups = group_rows(raw_generalization(frame, g.schema).codes(frame))
    return Crowd(
        people=len(frame) if persons is None else int(persons.max()) + 1,
        alone=_alone(groups, sizes, persons),
        sizes=np.unique(sizes, return_counts=True),
        persons=persons is not None,
        rarest=codes[first_rows(groups)[int(sizes.argmin())]],
        alike=np.unique(_alike(groups, sizes, persons), return_counts=True) if wants_alike else None,
        raw_alone=_alone(raw_groups, persons_in(raw_groups, persons), persons),
    )


def crowd_at(g: Artifact, table: EngineTable, wants_alike: bool) -> Crowd:
    """The people of a breach in an engine, counted there."""
    table = with_person(table, g.schema)
    person = PERSON if PERSON in table.types else None
    if person is not None and wants_alike:
        raise ParameterError(
            f"The 'population' parameter needs to know who is alike in all their records, which {table.engine} does "
            f"not count where the column {g.schema.person!r} says whose a record is; give a sample in memory."
        )
    seen = buckets_at(table, g)
    sizes = sizes_at(seen.lazy, seen.keys, person)
    raw, keys = _raw(table, g.schema)
    shown = rarest(seen.lazy, seen.keys, person, int(sizes[0][0])) if len(sizes[0]) else None
    return Crowd(
        people=int((sizes[0] * sizes[1]).sum()) if person is None else int(records_of(table.lazy, person)[1].sum()),
        alone=_alone_at(seen.lazy, seen.keys, person, sizes),
        sizes=sizes,
        persons=person is not None,
        rarest=np.zeros(0, dtype=np.int64) if shown is None else seen.codes(shown)[0],
        alike=sizes if wants_alike else None,
        raw_alone=alone_at(raw, keys) if person is None else persons_alone(raw, keys, person),
    )


def _raw(table: EngineTable, schema: Schema) -> tuple[nw.LazyFrame[Any], list[str]]:
    """The records in full detail: what is a category as it is, what is a number as a number."""
    table.check(schema.features)
    words = [name for name in schema.features if schema[name].is_category]
    lazy, keys = with_keys(table, words)
    numbers = {
        f"modicum_number{i}": number_key(table, schema[name])
        for i, name in enumerate(schema.features)
        if name not in words
    }
    return lazy.with_columns(*(made.alias(key) for key, made in numbers.items())), [*keys, *numbers]


def _alone_at(lazy: nw.LazyFrame[Any], keys: list[str], person: str | None, sizes: Counted) -> int:
    return int(sizes[1][sizes[0] == 1].sum()) if person is None else persons_alone(lazy, keys, person)


def _alone(groups: Codes, sizes: Codes, persons: Codes | None) -> int:
    """How many people have a record that nobody else's equals."""
    single = sizes[groups] == 1
    return int(single.sum()) if persons is None else len(np.unique(persons[single]))


def _alike(groups: Codes, sizes: Codes, persons: Codes | None) -> Codes:
    """How many people are alike in all their records: the group sizes, where each has one."""
    if persons is None:
        return sizes
    width = int(persons.max()) + 1
    pairs = np.unique(groups * width + persons)
    sign = np.random.default_rng(0).integers(0, 2**63, len(sizes), dtype=np.uint64)  # of a group; a person's add up
    signs = np.zeros(width, dtype=np.uint64)
    np.add.at(signs, pairs % width, sign[pairs // width])
    return np.unique(signs, return_counts=True)[1]
