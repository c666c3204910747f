"""Groups of different sensitive values by chance alone, which tell nothing of what a method would have preferred.

Whoever knows that a method avoids certain groups may conclude from those it made (minimality attacks); papers/4 §1
recommends a random assignment against that.
"""

import numba
import numpy as np

from modicum.anatomy.bucketize import shuffled_by_value
from modicum.table.values import Codes

_ROUNDS = 10  # in which each record may change places


def random_groups(codes: Codes, l: int, random: np.random.Generator) -> Codes:
    """A group for each record, about uniform among all assignments of sizes as equal as possible without duplicates.

    The values are laid out one after another in random order and dealt to the ⌊n/ℓ⌋ groups, one round after another,
    each round in a random order; a value that goes on into the next round starts with groups that lack it. Then each
    record in turn, ten times over, changes places with one drawn at random wherever both groups still have no value
    twice. Such steps leave the uniform distribution as it is; how near they come to it is not proven. No value may be
    more frequent than 1/ℓ of all records.

    Parameters
    ----------
    codes : for each record its sensitive value, from 0 without gaps
    l : the paper's ℓ
    random : the source of chance

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.random_groups import random_groups
    >>> groups = random_groups(np.array([0, 0, 1, 1, 2]), 2, np.random.default_rng(0))
    >>> sorted(np.bincount(groups).tolist())
    [2, 3]
    """
    many = len(codes) // l
    order = random.permutation(int(codes.max()) + 1)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    laid = place[codes]
    records, _ = shuffled_by_value(laid, np.bincount(laid), random)
    values = laid[records]
    groups = _deal(values, many, random)
    slots = np.argsort(groups, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=many))])
    owners, values, records = groups[slots], values[slots], records[slots]
    _swap(values, records, owners, starts, _ROUNDS, random)
    found = np.empty_like(codes)
    found[records] = owners
    return found


@numba.njit(cache=True, nogil=True)
def _deal(values, many, random):  # type: ignore[no-untyped-def]
    """A group for each place; equal values lie together and are at most as many as there are groups."""
    groups = np.empty(len(values), np.int64)
    deck = np.arange(many)
    for start in range(0, len(values), many):
        kept, straddling = many, 0  # how many at the front of the old deck do not have the value that goes on
        if start > 0:
            while kept > 0 and values[start - many + kept - 1] == values[start]:
                kept -= 1
            if kept < many:
                while straddling < many and start + straddling < len(values):
                    if values[start + straddling] != values[start]:
                        break
                    straddling += 1
        for i in range(straddling):  # drawn from the groups that lack the value
            j = random.integers(i, kept)
            deck[i], deck[j] = deck[j], deck[i]
        for i in range(straddling, many - 1):
            j = random.integers(i, many)
            deck[i], deck[j] = deck[j], deck[i]
        for i in range(min(many, len(values) - start)):
            groups[start + i] = deck[i]
    return groups


@numba.njit(cache=True, nogil=True)
def _swap(values, records, owners, starts, rounds, random) -> None:  # type: ignore[no-untyped-def]
    """Let pairs of records change places where no group gets a value twice."""
    n = len(values)
    for step in range(rounds * n):
        one, other = step % n, random.integers(0, n)
        group, beyond = owners[one], owners[other]
        if group == beyond or values[one] == values[other]:
            continue
        if not _has(values, starts, group, values[other]) and not _has(values, starts, beyond, values[one]):
            values[one], values[other] = values[other], values[one]
            records[one], records[other] = records[other], records[one]


@numba.njit(cache=True, nogil=True)
def _has(values, starts, group, value):  # type: ignore[no-untyped-def]
    """Whether the value is in the group."""
    for slot in range(starts[group], starts[group + 1]):  # noqa: SIM110 (numba compiles no generator in any())
        if values[slot] == value:
            return True
    return False
