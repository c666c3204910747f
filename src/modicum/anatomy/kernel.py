"""Find the candidates nearest to a radius without building the join: [Mancuhan16 Figure B.2] for records, groups or
segments.

With one sensitive attribute the squares of each group are in ascending order, so binary search finds the nearest ones.
"""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def _first(squares, low, high, own, wanted, beyond):  # type: ignore[no-untyped-def]
    """Return the first place from low to high where own + square ≥ wanted, or > wanted if `beyond`; high if none.

    The sum is rounded before the comparison, as everywhere else.
    """
    while low < high:
        half = (low + high) // 2
        s = own + squares[half]
        if s > wanted or (s == wanted and not beyond):
            high = half
        else:
            low = half + 1
    return low


@numba.njit(cache=True, nogil=True)
def _sides(below, above, wanted, slack):  # type: ignore[no-untyped-def]
    """Whether to choose the nearest below, and the nearest above; both if they tie."""
    farther = (above - wanted) - (wanted - below)
    return farther >= -slack, farther <= slack


@numba.njit(cache=True, nogil=True)
def nearest_in_order(wanted, squares, groups, starts, draws, slack):  # type: ignore[no-untyped-def]
    """Find for each record the place of its group's square nearest to the wanted one; ties by its draw from [0, 1).

    Squares on one side of the wanted number are compared directly, so that rounding that number has no effect. The
    nearest below and the nearest above tie if their distances differ by at most `slack`.
    """
    chosen = np.zeros(len(wanted), np.int64)
    for i in range(len(wanted)):
        start, end = starts[groups[i]], starts[groups[i] + 1]
        middle = _first(squares, start, end, 0.0, wanted[i], True)
        low, high = middle, middle
        below = squares[middle - 1] if middle > start else -np.inf
        above = squares[middle] if middle < end else np.inf
        left, right = _sides(below, above, wanted[i], slack)
        if left:
            low = _first(squares, start, middle, 0.0, below, False)
        if right:
            high = _first(squares, middle, end, 0.0, above, True)
        chosen[i] = low + int(draws[i] * (high - low))
    return chosen


@numba.njit(cache=True, nogil=True)
def nearest_of_groups(own, squares, order, starts, middle, draws, slack):  # type: ignore[no-untyped-def]
    """Find for each group the record and the place of the square whose sum is nearest to the middle."""
    groups = len(starts) - 1
    records, chosen = np.zeros(groups, np.int64), np.zeros(groups, np.int64)
    for g in range(groups):
        start, end = starts[g], starts[g + 1]
        best, ties = np.inf, 0
        for r in range(start, end):
            k = _first(squares, start, end, own[order[r]], middle, True)
            if k > start:
                best = min(best, middle - (own[order[r]] + squares[k - 1]))
            if k < end:
                best = min(best, own[order[r]] + squares[k] - middle)
        low, high = middle - best - slack, middle + best + slack
        for r in range(start, end):
            first = _first(squares, start, end, own[order[r]], low, False)
            ties += _first(squares, start, end, own[order[r]], high, True) - first
        left = int(draws[g] * ties)
        for r in range(start, end):
            first = _first(squares, start, end, own[order[r]], low, False)
            many = _first(squares, start, end, own[order[r]], high, True) - first
            if left < many:
                records[g], chosen[g] = order[r], first + left
                break
            left -= many
    return records, chosen


@numba.njit(cache=True, nogil=True)
def _sum_squares(squares, first, sizes, i, c):  # type: ignore[no-untyped-def]
    """Sum the squares of the sensitive values in a record's combination c; the first attribute changes fastest."""
    total = 0.0
    for a in range(first.shape[1]):
        total += squares[first[i, a] + c % sizes[i, a]]
        c //= sizes[i, a]
    return total


@numba.njit(cache=True, nogil=True)
def nearest_of_combinations(wanted, squares, first, sizes, draws, slack):  # type: ignore[no-untyped-def]
    """Find for each record the combination whose sum of squares is nearest to the wanted one.

    This is `nearest_in_order` for several sensitive attributes.
    """
    n = len(wanted)
    chosen = np.zeros(n, np.int64)
    for i in range(n):
        sums = np.zeros(np.prod(sizes[i]))
        below, above = -np.inf, np.inf
        for c in range(len(sums)):
            sums[c] = _sum_squares(squares, first, sizes, i, c)
            if sums[c] <= wanted[i]:
                below = max(below, sums[c])
            else:
                above = min(above, sums[c])
        left, right = _sides(below, above, wanted[i], slack)
        ties = np.flatnonzero((left & (sums == below)) | (right & (sums == above)))
        chosen[i] = ties[int(draws[i] * len(ties))]
    return chosen


@numba.njit(cache=True, nogil=True)
def nearest_of_segments(norms, starts, middle, draws, slack):  # type: ignore[no-untyped-def]
    """Find for each segment of the norms the place of the norm nearest to the middle."""
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
