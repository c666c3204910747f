"""Each record's chances of the values of its group, for all groups at once.

The records of group g are the positions starts[g] to starts[g + 1], its distinct values the options firsts[g] to
firsts[g + 1]; option o occurs caps[o] times in the group. Scores and chances are blocks, one row per record with one
entry per option of its group; the block of group g starts at blocks[g]. A matching gives every record one option, and
every option to as many records as it occurs; its likelihood is the product of exp(score) over its records.

Groups of up to `EXACT` records are computed exactly, by sums over the 2^m sets of places that a part of the records can
take. Larger groups are scaled until rows and columns have their sums (Sinkhorn), a close approximation for large
groups.
"""

import numba
import numpy as np

EXACT = 8  # the most records of a group that is computed exactly
_DEPTH = 600.0  # no matching's likelihood is below exp(−this) relative to the highest scores
_SCALINGS = 200
_CLOSE = 1e-6


@numba.njit(cache=True)
def match_all(starts, firsts, caps, blocks, scores, chances):  # type: ignore[no-untyped-def]
    """Fill in each record's chance of each option; return the log of the mean likelihood of matchings of all groups."""
    total = 0.0
    for g in range(len(starts) - 1):
        m, d = starts[g + 1] - starts[g], firsts[g + 1] - firsts[g]
        own = scores[blocks[g] : blocks[g + 1]].reshape(m, d)
        into = chances[blocks[g] : blocks[g + 1]].reshape(m, d)
        many = caps[firsts[g] : firsts[g + 1]]
        total += _by_subsets(own, many, into) if m <= EXACT else _by_scaling(own, many, into)
    return total


@numba.njit(cache=True)
def _places(caps, m):  # type: ignore[no-untyped-def]
    """Return the option of each of a group's m places."""
    found, place = np.empty(m, dtype=np.int64), 0
    for o in range(len(caps)):
        for _ in range(caps[o]):
            found[place] = o
            place += 1
    return found


@numba.njit(cache=True)
def _size(taken):  # type: ignore[no-untyped-def]
    count = 0
    while taken:
        taken &= taken - 1
        count += 1
    return count


@numba.njit(cache=True)
def _by_subsets(scores, caps, chances):  # type: ignore[no-untyped-def]
    """Compute exact chances by sums over matchings of the first records to a set of places, the others to the rest."""
    m = len(scores)
    places = _places(caps, m)
    weights, top = np.empty((m, m)), 0.0
    for i in range(m):
        best = scores[i].max()
        top += best
        for p in range(m):
            weights[i, p] = np.exp(max(scores[i, places[p]] - best, -_DEPTH / m))
    before, after = np.zeros(1 << m), np.zeros(1 << m)
    before[0] = after[(1 << m) - 1] = 1.0
    for taken in range(1, 1 << m):
        i = _size(taken) - 1
        for p in range(m):
            if taken >> p & 1:
                before[taken] += before[taken ^ (1 << p)] * weights[i, p]
    for taken in range((1 << m) - 2, -1, -1):
        i = _size(taken)
        for p in range(m):
            if not taken >> p & 1:
                after[taken] += weights[i, p] * after[taken | (1 << p)]
    whole = after[0]
    chances[:] = 0.0
    for taken in range((1 << m) - 1):
        i = _size(taken)
        for p in range(m):
            if not taken >> p & 1:
                chances[i, places[p]] += before[taken] * weights[i, p] * after[taken | (1 << p)] / whole
    ways = 0.0
    for i in range(2, m + 1):
        ways += np.log(i)
    return np.log(whole) + top - ways


@numba.njit(cache=True)
def _by_scaling(scores, caps, chances):  # type: ignore[no-untyped-def]
    """Compute chances proportional to exp(score) times a factor per option, so that each option occurs caps[o] times.

    Return the approximate log of the mean likelihood of matchings. With b the chance of one of an option's places, a
    permanent is at least Π (weight / b)^b · (1 − b)^(1 − b) (Schrijver's bound on permanents). The bound's error for
    equally likely matchings is added. So the result is 0 for these, correct to the second order of small scores, and at
    most 0.15 per record too high for decisive scores, less for larger groups.
    """
    m, d = scores.shape
    factor, sums = np.log(caps / m), np.empty(d)
    for _ in range(_SCALINGS):
        sums[:] = 0.0
        for i in range(m):
            _row_chances(scores[i], factor, chances[i])
            sums += chances[i]
        off = 0.0
        for o in range(d):
            factor[o] += np.log(caps[o] / max(sums[o], 1e-300))
            off = max(off, abs(sums[o] - caps[o]))
        if off < _CLOSE * m:
            break
    total = -m * (m - 1) * np.log(1 - 1 / m)
    for i in range(m):
        for o in range(d):
            if chances[i, o] > 0:
                total += chances[i, o] * (scores[i, o] - np.log(chances[i, o] * m / caps[o]))
            if chances[i, o] < caps[o]:
                total += (caps[o] - chances[i, o]) * np.log(1 - chances[i, o] / caps[o])
    return total


@numba.njit(cache=True)
def _row_chances(scores, factor, into):  # type: ignore[no-untyped-def]
    into[:] = scores + factor
    into[:] = np.exp(into - into.max())
    into[:] = into / into.sum()
