"""What may leave the team: no count of fewer than ten people, and no share from which one could be worked out.

A count under ten is written "< 10", and a group or bucket of so few is not told apart. Every other count of people, and
every share of them, is rounded to tens: then a small count cannot be found by multiplying a share or by subtracting one
count from another. Intervals are rounded outward, so that they still hold.
"""

import math
from typing import Any

from modicum.generalization.describe import Description
from modicum.table.codes import FEW

FEW_TEXT = f"< {FEW}"


def few(count: int) -> int | str:
    """A count of people: to the nearest ten, "< 10" below that.

    Examples
    --------
    >>> from modicum.reporting.disclosure import few
    >>> few(3), few(17), few(1234)
    ('< 10', 20, 1230)
    """
    return FEW_TEXT if count < FEW else FEW * round(count / FEW)


def tens(share: float, n: int) -> float:
    """A share of n people as tens of people among n rounded to tens.

    Examples
    --------
    >>> from modicum.reporting.disclosure import tens
    >>> tens(0.234, 1000), tens(0.234, 51), tens(0.001, 1000)
    (0.23, 0.2, 0.0)
    """
    return _of(round(share * n / FEW), n)


def tens_up(share: float, n: int) -> float:
    """The same, rounded up: for a bound that must stay one."""
    return _of(math.ceil(share * n / FEW - 1e-9), n)


def outward(interval: Any, n: int) -> list[float] | None:
    """An interval of a share of n people, widened to whole tens."""
    if interval is None or any(end is None or end != end for end in interval):
        return None
    return [_of(math.floor(interval[0] * n / FEW + 1e-9), n), tens_up(interval[1], n)]


def _of(tens_of_people: int, n: int) -> float:
    return min(1.0, tens_of_people / max(1, round(n / FEW)))


def combinations(groups: int, least: int) -> int | str:
    """How many different combinations there are: as it is where the rarest is no rare one, else as a count of people.

    Examples
    --------
    >>> from modicum.reporting.disclosure import combinations
    >>> combinations(17, least=12), combinations(17, least=3), combinations(2, least=1)
    (17, 20, '< 10')
    """
    return groups if least >= FEW else few(groups)


def at_least(error: float | None) -> str:
    """An error that no adversary is below, for people: rounded down, so that it still holds.

    Examples
    --------
    >>> from modicum.reporting.disclosure import at_least
    >>> at_least(0.2129), at_least(None)
    ('21.2%', '–')
    """
    return "–" if error is None else f"{math.floor(1000 * error + 1e-9) / 1000:.1%}"


def described(description: Description) -> dict[str, Any]:
    """A description as plain data that may leave the team."""
    content = description.to_dict()
    if description.records is None:
        return content
    for attribute in content["attributes"]:
        for bucket in attribute["buckets"]:
            persons = bucket.pop("persons")
            if bucket["share"]:
                bucket["share"] = FEW_TEXT if (persons or 0) < FEW else tens(bucket["share"], description.records)
    return content | {"smallest_group": few(description.smallest_group or 0)}
