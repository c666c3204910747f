"""The candidates nearest to a radius, without making the join: papers/4 Figure B.2 over records, groups or segments."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def combined(squares, first, sizes, i, c):  # type: ignore[no-untyped-def]
    """The sum of squares of the sensitive values in a record's combination c; the first attribute changes fastest."""
    total = 0.0
    for a in range(first.shape[1]):
        total += squares[first[i, a] + c % sizes[i, a]]
        c //= sizes[i, a]
    return total


@numba.njit(cache=True, nogil=True)
def nearest_of_records(wanted, squares, first, sizes, draws, slack):  # type: ignore[no-untyped-def]
    """For each record the combination whose sum of squares is nearest to what is wanted; ties by its draw from [0, 1).

    On one side of the wanted number sums are compared by themselves, so that rounding of the number decides nothing;
    the nearest below and the nearest above tie where their distances differ by no more than `slack`.
    """
    n = len(wanted)
    chosen = np.zeros(n, np.int64)
    for i in range(n):
        many = 1
        for a in range(first.shape[1]):
            many *= sizes[i, a]
        below, above = -np.inf, np.inf
        for c in range(many):
            s = combined(squares, first, sizes, i, c)
            if s <= wanted[i]:
                below = max(below, s)
            else:
                above = min(above, s)
        farther = (above - wanted[i]) - (wanted[i] - below)
        if farther > slack:
            above = np.inf
        elif farther < -slack:
            below = -np.inf
        ties = 0
        for c in range(many):
            s = combined(squares, first, sizes, i, c)
            ties += s in (below, above)
        left = int(draws[i] * ties)
        for c in range(many):
            s = combined(squares, first, sizes, i, c)
            if s in (below, above):
                if left == 0:
                    chosen[i] = c
                    break
                left -= 1
    return chosen


@numba.njit(cache=True, nogil=True)
def nearest_of_groups(own, squares, order, starts, middle, draws, slack):  # type: ignore[no-untyped-def]
    """For each group the record and the candidate whose squared norm together is nearest to the middle."""
    groups = len(starts) - 1
    records, chosen = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    for g in range(groups):
        best, ties = np.inf, 0
        for r in range(starts[g], starts[g + 1]):
            for k in range(starts[g], starts[g + 1]):
                best = min(best, abs(own[order[r]] + squares[k] - middle))
        for r in range(starts[g], starts[g + 1]):
            for k in range(starts[g], starts[g + 1]):
                ties += abs(own[order[r]] + squares[k] - middle) <= best + slack
        left = int(draws[g] * ties)
        for r in range(starts[g], starts[g + 1]):
            for k in range(starts[g], starts[g + 1]):
                if abs(own[order[r]] + squares[k] - middle) <= best + slack:
                    if left == 0:
                        records[g], chosen[g] = order[r], k - starts[g]
                    left -= 1
    return records, chosen


@numba.njit(cache=True, nogil=True)
def nearest_of_segments(norms, starts, middle, draws, slack):  # type: ignore[no-untyped-def]
    """For each segment of the norms the place of the one nearest to the middle."""
    chosen = np.zeros(len(starts) - 1, np.int64)
    for g in range(len(chosen)):
        best, ties = np.inf, 0
        for j in range(starts[g], starts[g + 1]):
            best = min(best, abs(norms[j] - middle))
        for j in range(starts[g], starts[g + 1]):
            ties += abs(norms[j] - middle) <= best + slack
        left = int(draws[g] * ties)
        for j in range(starts[g], starts[g + 1]):
            if abs(norms[j] - middle) <= best + slack:
                if left == 0:
                    chosen[g] = j
                    break
                left -= 1
    return chosen
