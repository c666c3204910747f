"""What may leave the team: no count of fewer than ten people, and no share from which one could be worked out.

Counts under ten are written "< 10". Every other count of people, and every share of them, is rounded to tens of people,
so that a small count cannot be found by multiplying a share or by subtracting one count from another.
"""

import math
from typing import Any

from modicum.generalization.describe import Description
from modicum.table.codes import FEW

FEW_TEXT = f"< {FEW}"


def few(count: int) -> int | str:
    """A count of people: exact to ten, "< 10" below that.

    Examples
    --------
    >>> from modicum.reporting.disclosure import few
    >>> few(3), few(17), few(1234)
    ('< 10', 20, 1230)
    """
    return FEW_TEXT if count < FEW else FEW * round(count / FEW)


def few_share(share: float | None, n: int) -> float | str | None:
    """A share of n people; "< 10" where it stands for fewer than ten of them."""
    if share is None or share == 0:
        return share
    return FEW_TEXT if round(share * n) < FEW else tens(share, n)


def tens(share: float, n: int) -> float:
    """A share of n people, rounded to tens of people.

    Examples
    --------
    >>> from modicum.reporting.disclosure import tens
    >>> tens(0.234, 1000), tens(0.234, 50), tens(0.001, 1000)
    (0.23, 0.2, 0.0)
    """
    return min(1.0, FEW * round(share * n / FEW) / n)


def tens_up(share: float, n: int) -> float:
    """The same, rounded up: for a bound that must stay one."""
    return min(1.0, FEW * math.ceil(share * n / FEW) / n)


def described(description: Description) -> dict[str, Any]:
    """A description as plain data that may leave the team."""
    content = description.to_dict()
    records = description.records
    if records is None:
        return content
    for attribute in content["attributes"]:
        for bucket in attribute["buckets"]:
            bucket["share"] = few_share(bucket["share"], records)
    return content | {"smallest_group": few(description.smallest_group or 0)}
