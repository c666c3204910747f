"""Made-up records that the model takes for what they stand for (DESIGN §2).

The model is asked about every group's medians. Where it says something else than of most of the group, other made-up
records are tried: some attributes at another quantile, or at another category that at least two records of the group
have. The one nearest to the medians of which the model says what it should is taken; where there is none, the medians
stay.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from modicum.anonymizers.stand_ins import Members, Values, median, of_codes
from modicum.table.values import Codes

_SHARES = (0.1, 0.25, 0.75, 0.9)
_TRIES = 24
_MOVED = 0.35  # the chance that an attribute is moved in a try

# Lists of values, one per attribute, and the group that each record stands for → what the model says.
Asking = Callable[[Sequence[list[Any]], Codes], Codes]


def accepted(members: Sequence[Members], usual: Codes, ask: Asking, random_state: int) -> list[Values]:
    """A record for each group of which the model says what is usual there, where one was found."""
    middle = [median(each) for each in members]
    wrong = np.flatnonzero(ask([each.values for each in middle], np.arange(len(usual))) != usual)
    if not len(wrong):
        return middle
    choices = [_choices(each, own) for each, own in zip(members, middle, strict=True)]
    random = np.random.default_rng(random_state)
    moved = random.uniform(size=(_TRIES, len(members), len(wrong))) < _MOVED
    which = random.integers(0, 2**31, size=moved.shape) * moved
    tried = [
        [options[which[i, j, g] % len(options)] for i in range(_TRIES) for g, options in _of(choices[j], wrong)]
        for j in range(len(members))
    ]
    right = (ask(tried, np.tile(wrong, _TRIES)) == np.tile(usual[wrong], _TRIES)).reshape(_TRIES, len(wrong))
    cost = np.where(right, _distance(middle, tried, wrong), np.inf)
    best = cost.argmin(axis=0)
    found = np.isfinite(cost.min(axis=0))
    for j, own in enumerate(middle):
        for g, group in enumerate(wrong.tolist()):
            if found[g]:
                own.values[group] = tried[j][best[g] * len(wrong) + g]
    return middle


def _of(choices: Sequence[list[Any]], wrong: Codes) -> list[tuple[int, list[Any]]]:
    return [(g, choices[group]) for g, group in enumerate(wrong.tolist())]


def _choices(members: Members, middle: Values) -> list[list[Any]]:
    """For each group the median, then other values that are not one person's."""
    found = [[value] for value in middle.values]
    if members.column.attribute.has_order:
        others = [median(members, share) for share in _SHARES]
    else:
        common = np.argsort(-np.bincount(members.column.codes), kind="stable")[:6]
        others = [_where_shared(members, np.full(len(found), code)) for code in common.tolist()]
    for other in others:
        for own, value in zip(found, other.values, strict=True):
            if value is not None:
                own.append(value)
    return found


def _where_shared(members: Members, code: Codes) -> Values:
    return of_codes(members.column, np.where(members.shared(code), code, members.column.missing))


def _distance(middle: Sequence[Values], tried: Sequence[Sequence[Any]], wrong: Codes) -> Any:
    """How far each try lies from the medians: positions for an order, 1 for another category."""
    total = np.zeros((_TRIES, len(wrong)))
    for own, values in zip(middle, tried, strict=True):
        there = Values(own.column, list(values)).positions.reshape(_TRIES, len(wrong))
        apart = np.abs(there - own.positions[wrong])
        total += apart if own.column.attribute.has_order else apart > 0
    return total
