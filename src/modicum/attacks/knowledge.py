"""What an adversary knows of the breached people besides their buckets (papers/0 §5, A1 and A3–A5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

Knowledge = Literal["nothing", "non_personal", "all_but_one", "prefix"]
KNOWLEDGE: tuple[Knowledge, ...] = get_args(Knowledge)
ADVERSARY = dict(zip(KNOWLEDGE, ("A1", "A3", "A4", "A5"), strict=True))


@dataclass(frozen=True)
class Step:
    """Some attributes to guess from the buckets and from the full values of others."""

    targets: tuple[str, ...]
    side: tuple[str, ...] = ()


def steps_of(
    knowledge: Knowledge, names: Sequence[str], personal: Sequence[str], orders: int, random_state: int
) -> list[Step]:
    """The questions that an adversary answers one by one.

    With P the personal and N the other attributes: `nothing` sees z; `non_personal` z and x_N; `all_but_one` guesses p
    from z, x_N and x_{P∖p}; `prefix` goes through P in an order and guesses the k-th from z, x_N and the k−1 before.

    Examples
    --------
    >>> from modicum.attacks.knowledge import steps_of
    >>> for step in steps_of("all_but_one", ["age", "job", "sex"], ["job", "sex"], 2, 0):
    ...     print(step.targets, "from", step.side)
    ('job',) from ('age', 'sex')
    ('sex',) from ('age', 'job')
    """
    others = tuple(name for name in names if name not in personal)
    if knowledge == "nothing":
        return [Step(tuple(personal))]
    if knowledge == "non_personal":
        return [Step(tuple(personal), others)]
    if knowledge == "all_but_one":
        return [Step((p,), _in_order(names, {*others, *personal} - {p})) for p in personal]
    return [
        Step((order[k],), _in_order(names, {*others, *order[:k]}))
        for order in attribute_orders(personal, orders, random_state)
        for k in range(len(order))
    ]


def attribute_orders(personal: Sequence[str], orders: int, random_state: int) -> list[list[str]]:
    """Random orders in pairs: each and its reverse, so that what comes early in one comes late in the other.

    Examples
    --------
    >>> from modicum.attacks.knowledge import attribute_orders
    >>> first, second, third = attribute_orders(["a", "b", "c"], 3, random_state=0)
    >>> second == first[::-1], sorted(third)
    (True, ['a', 'b', 'c'])
    """
    random = np.random.default_rng(random_state)
    drawn: list[list[str]] = []
    while len(drawn) < orders:
        order = [personal[i] for i in random.permutation(len(personal))]
        drawn += [order, order[::-1]]
    return drawn[:orders]


def _in_order(names: Sequence[str], known: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in known)
