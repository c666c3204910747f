"""What a group gives away: the value that most of its records have, guessed of everybody in it (homogeneity)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.measures.anonymity import alike, held
from modicum.measures.intervals import Interval, mean_interval
from modicum.table.frames import as_frame, column
from modicum.table.inference import infer_attribute
from modicum.table.schema import Attribute
from modicum.table.targets import BINS, Target
from modicum.table.values import Codes

MOST_VALUES = 20  # of a number that is guessed exactly


@dataclass(frozen=True)
class Guess:
    """How often a value is guessed right from the group that a person is in.

    Attributes
    ----------
    right : share of records whose value is the most frequent of their group, with its interval (groups, not records,
        are taken for independent)
    certain : share of records in a group that has one value only: there the guess is knowledge
    highest : the largest share that one value has in any group
    """

    right: float
    interval: Interval
    certain: float
    highest: float


@dataclass(frozen=True)
class GroupInference:
    """A value guessed from the group: in the release, in the raw records, and without either.

    Attributes
    ----------
    attribute : what is guessed
    values : among how many values
    in_ranges : whether a number is guessed by its range
    naive : share of records with the most frequent value of all
    release, raw : the guess from the released quasi-identifiers, and from the raw ones
    """

    attribute: str
    values: int
    in_ranges: bool
    naive: float
    release: Guess
    raw: Guess


def guessed(groups: Codes, values: Codes) -> Guess:
    """Say of everybody the most frequent value of the group.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.evaluation.group_guesses import guessed
    >>> found = guessed(np.array([0, 0, 0, 1, 1]), np.array([7, 7, 7, 7, 8]))
    >>> found.right, found.certain, found.highest
    (0.8, 0.6, 1.0)
    """
    found = held(groups, values)
    most = np.zeros(len(found.sizes), dtype=np.int64)
    np.maximum.at(most, found.group, found.count)
    shares = most / found.sizes
    # A group's sum of right guesses is what counts: each record bears the group's share.
    interval = mean_interval(shares[groups], groups if len(shares) > 1 else None)
    return Guess(
        right=float(most.sum() / len(groups)),
        interval=interval,
        certain=float(found.sizes[most == found.sizes].sum() / len(groups)),
        highest=float(shares.max()),
    )


def value_targets(frame: Any, name: str, known: Attribute | None = None) -> tuple[Codes, int, bool]:
    """A column as values to guess: codes, how many there are, and whether they are ranges of a number.

    Its kind is what is known of it, or else inferred.
    """
    table = as_frame(frame)
    attribute = known or infer_attribute(column(table, name))
    if attribute.is_category or table[name].n_unique() <= MOST_VALUES:
        codes = alike(table, [name])
        return codes, int(codes.max()) + 1, False
    target = Target.fit(table, attribute, BINS)
    return target.encode(table), target.size, True


def group_inference(
    attribute: str, released: Any, raw: Any, quasi: Sequence[str], values: tuple[Codes, int, bool]
) -> GroupInference:
    """How well an attribute is guessed from released and from raw quasi-identifiers, of the same people.

    Parameters
    ----------
    released, raw : the released records, and the full ones of the same people in the same order
    quasi : the quasi-identifiers
    values : what `value_targets` says of each of them
    """
    codes, many, in_ranges = values
    return GroupInference(
        attribute=attribute,
        values=many,
        in_ranges=in_ranges,
        naive=float(np.unique(codes, return_counts=True)[1].max() / len(codes)),
        release=guessed(alike(as_frame(released), quasi), codes),
        raw=guessed(alike(as_frame(raw), quasi), codes),
    )
