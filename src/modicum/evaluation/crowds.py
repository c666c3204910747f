"""How many people share what is seen of them: who stands alone, and how often a record is linked to the right person.

The figures are those of an adversary who knows the columns of a person exactly and that the person is in the table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from modicum.measures.alike import alike, held
from modicum.measures.intervals import Interval, mean_interval
from modicum.measures.uniqueness import Uniqueness, expected_uniques
from modicum.table.frames import as_frame
from modicum.table.values import Codes

SIZES = ((1, 1), (2, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, None))


@dataclass(frozen=True)
class Crowd:
    """The groups of records that are alike in some columns.

    Attributes
    ----------
    columns : what is seen
    records, people : how many there are; people are records where no column says whose a record is
    groups, smallest, largest : how many groups, and the people in the smallest and in the largest
    alone : share of records in a group of one person, with its interval
    linked : expected share of records that are linked to the right person by picking one of the group, with its
        interval; papers/1 equation (4)
    highest : the same of the smallest group: one over its people
    sizes : people in the group ("1", "2 to 4", …) → share of records
    expected : how many would be alone in a whole population, where its size is known
    """

    columns: tuple[str, ...]
    records: int
    people: int
    groups: int
    smallest: int
    largest: int
    alone: float
    alone_interval: Interval
    linked: float
    linked_interval: Interval
    highest: float
    sizes: dict[str, float]
    expected: Uniqueness | None = field(default=None)


def crowd(
    X: Any,
    columns: Sequence[str],
    persons: Codes | None = None,
    population: int | None = None,
    random_state: int = 0,
) -> Crowd:
    """Count who is alike in these columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.evaluation.crowds import crowd
    >>> found = crowd(pd.DataFrame({"age": [31, 31, 40], "job": ["nurse"] * 3}), ["age", "job"])
    >>> found.groups, found.smallest, round(found.alone, 3), round(found.linked, 3)
    (2, 1, 0.333, 0.667)
    """
    groups = alike(as_frame(X), list(columns))
    people = np.bincount(groups) if persons is None else np.bincount(held(groups, persons).group)
    own = people[groups]
    alone = (own == 1).astype(np.float64)
    known = None if population is None else expected_uniques(people, population, random_state)
    return Crowd(
        columns=tuple(columns),
        records=len(groups),
        people=len(groups) if persons is None else int(persons.max()) + 1,
        groups=len(people),
        smallest=int(people.min()),
        largest=int(people.max()),
        alone=float(alone.mean()),
        alone_interval=mean_interval(alone, persons),
        linked=float((1 / own).mean()),
        linked_interval=mean_interval(1 / own, groups if len(people) > 1 else None),
        highest=1 / int(people.min()),
        sizes={_named(low, high): _share(own, low, high) for low, high in SIZES},
        expected=known,
    )


def _named(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return str(low) if low == high else f"{low} to {high}"


def _share(own: Codes, low: int, high: int | None) -> float:
    return float(((own >= low) & (own <= (own.max() if high is None else high))).mean())
