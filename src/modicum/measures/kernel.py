"""Decide from its counts whether a group of records may be released; every search uses this rule."""

import numba
import numpy as np

DISTINCT, ENTROPY, RECURSIVE = 1, 2, 3
EQUAL, ORDERED, HIERARCHICAL = 1, 2, 3
_ROUNDING = 1e-12


@numba.njit(cache=True, nogil=True)
def holds(counts, n, rule):  # type: ignore[no-untyped-def]
    """Return whether n records, of which counts[v] have the sensitive value v, are diverse and close enough."""
    diversity, l, c, distance, t, overall, parents, heights = rule
    if diversity and not _diverse(counts, n, diversity, l, c):
        return False
    return not distance or _distance(counts, n, distance, overall, parents, heights) <= t + _ROUNDING


@numba.njit(cache=True, nogil=True)
def _diverse(counts, n, kind, l, c):  # type: ignore[no-untyped-def]
    m = len(counts)
    if kind == DISTINCT:
        found = 0
        for v in range(m):
            found += counts[v] > 0
        return found >= l
    if kind == ENTROPY:
        entropy = 0.0
        for v in range(m):
            if counts[v] > 0:
                entropy -= counts[v] / n * np.log(counts[v] / n)
        return entropy >= np.log(l) - _ROUNDING
    ranked = np.sort(np.asarray(counts, np.float64))[::-1]
    return ranked[0] < c * ranked[int(l) - 1 :].sum()


@numba.njit(cache=True, nogil=True)
def _distance(counts, n, kind, overall, parents, heights):  # type: ignore[no-untyped-def]
    """Return the distance from the group's distribution to that of all records (Li et al. 2007)."""
    m = len(counts)
    total = 0.0
    if kind == EQUAL:
        for v in range(m):
            total += abs(counts[v] / n - overall[v])
        return total / 2
    if kind == ORDERED:
        sum_ = 0.0
        for v in range(m - 1):
            sum_ += counts[v] / n - overall[v]
            total += abs(sum_)
        return total / max(1, m - 1)
    extra, more, less = np.zeros(len(parents)), np.zeros(len(parents)), np.zeros(len(parents))
    for i in range(len(parents)):  # leaves first, the root last
        extra[i] += counts[i] / n - overall[i] if i < m else 0.0
        total += heights[i] * min(more[i], less[i])
        above = parents[i]
        if above >= 0:
            extra[above] += extra[i]
            more[above] += max(extra[i], 0.0)
            less[above] += max(-extra[i], 0.0)
    return total
