"""Xiao and Tao's bucketization: groups of ℓ records whose sensitive values all differ, the most frequent values first.

Xiao and Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006; papers/4 §3 builds on it.
"""

import numba
import numpy as np

from modicum.table.values import Codes


def bucketize(codes: Codes, l: int, random: np.random.Generator) -> Codes:
    """A group for each record: at least ℓ in each, all with different values.

    Each group takes a record from each of the ℓ values that have most records left, at random among equals. Fewer than
    ℓ records stay at the end, all with different values; each goes to a random group that lacks its value. No value may
    be more frequent than 1/ℓ of all records.

    Parameters
    ----------
    codes : for each record its sensitive value, from 0 without gaps
    l : the paper's ℓ
    random : the source of chance

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.bucketize import bucketize
    >>> groups = bucketize(np.array([0, 0, 1, 1, 2]), 2, np.random.default_rng(0))
    >>> sorted(np.bincount(groups).tolist())
    [2, 3]
    """
    counts = np.bincount(codes)
    by_value, starts = shuffled_by_value(codes, counts, random)
    order = random.permutation(len(counts))
    order = order[np.argsort(-counts[order], kind="stable")]
    groups = np.full(len(codes), -1, dtype=np.int64)
    many = _fill(by_value, starts, counts.astype(np.int64), order, l, groups, random)
    for record in np.flatnonzero(groups < 0):  # at most ℓ - 1
        lacks = np.ones(many, dtype=bool)
        own = groups[by_value[starts[codes[record]] : starts[codes[record] + 1]]]
        lacks[own[own >= 0]] = False
        groups[record] = random.choice(np.flatnonzero(lacks))
    return groups


def shuffled_by_value(codes: Codes, counts: Codes, random: np.random.Generator) -> tuple[Codes, Codes]:
    """The records one value after another, those of one value in random order, and where each value's begin.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.bucketize import shuffled_by_value
    >>> records, starts = shuffled_by_value(np.array([1, 0, 1]), np.array([1, 2]), np.random.default_rng(0))
    >>> records[0], sorted(records[1:].tolist()), starts.tolist()
    (np.int64(1), [0, 2], [0, 1, 3])
    """
    starts = np.concatenate([[0], np.cumsum(counts)])
    return _dealt(codes, random.permutation(len(codes)), starts), starts


@numba.njit(cache=True, nogil=True)
def _dealt(codes, records, starts):  # type: ignore[no-untyped-def]
    """The records by value, otherwise in the order in which they are given."""
    found, reached = np.empty_like(records), starts.copy()
    for record in records:
        found[reached[codes[record]]] = record
        reached[codes[record]] += 1
    return found


@numba.njit(cache=True, nogil=True)
def _fill(by_value, starts, left, order, l, groups, random):  # type: ignore[no-untyped-def]
    """Make groups while ℓ values have records left; how many were made.

    `order` are the values by how many records they have left. The first ℓ of them give one each; of the values that
    are as frequent as the last of these, those that give are drawn. Those that gave are moved behind their equals,
    so that the order stays right without sorting.
    """
    many = 0
    while len(order) >= l and left[order[l - 1]] > 0:
        level = left[order[l - 1]]
        first = l - 1
        while first > 0 and left[order[first - 1]] == level:
            first -= 1
        low, high = l, len(order)  # where the values begin that have fewer left
        while low < high:
            middle = (low + high) // 2
            if left[order[middle]] == level:
                low = middle + 1
            else:
                high = middle
        for taken in range(l - first):
            last = low - 1 - taken
            drawn = random.integers(first, last + 1)
            order[drawn], order[last] = order[last], order[drawn]
            left[order[last]] -= 1
            groups[by_value[starts[order[last]] + left[order[last]]]] = many
        for place in range(first):
            left[order[place]] -= 1
            groups[by_value[starts[order[place]] + left[order[place]]]] = many
        many += 1
    return many
