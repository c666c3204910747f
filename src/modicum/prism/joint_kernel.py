"""How unevenly a sensitive attribute's classes lie over the joint values of many attribute sets (compiled).

Sets come in the order of their attributes, so that neighbours share all attributes but the last: the joint value of
the shared prefix is computed once, and each set costs one pass over the rows. A prefix's joint values are renumbered
once they are many, so that their number never exceeds that of the rows. Small tables of counts are kept side by side
for all extensions of a prefix; a large one is cleared where it was touched; where even that would take too much
memory, rows are sorted.
"""

import numba
import numpy as np

FEW = 512  # joint values of a prefix that are not renumbered
SMALL = 1 << 13  # counts of one set, and of sets that are counted side by side
PLACES = 1 << 22  # counts of one set in memory; beyond them rows are sorted


@numba.njit(cache=True, nogil=True)
def class_spreads(codes, sizes, classes, shares, weights, sets):  # type: ignore[no-untyped-def]
    """For each set of columns Σ over joint values x of (n_xt − n_x·share_t)² / n_x, per class t; and how many x occur.

    Divided by n·share_t·(1 − share_t) it is χ²/n of the set against class t or not; divided by share_t and summed
    over the classes it is χ² of the set against the classes themselves.
    """
    n, (m, c) = codes.shape[1], sets.shape
    keys, widths = np.zeros((c, n), np.int64), np.ones(c, np.int64)
    spreads, cells = np.zeros((m, len(shares))), np.zeros(m, np.int64)
    room = np.zeros(SMALL, np.int64)
    first = 0
    while first < m:
        for j in range(_shared(sets, first), c - 1):
            column = sets[first, j]
            widths[j + 1] = _join(keys[j], widths[j], codes, column, sizes[column], keys[j + 1])
        end = first + 1
        while end < m and _shared(sets, end) == c - 1:
            end += 1
        room = _extend(keys[c - 1], widths[c - 1], codes, sizes, classes, shares, weights, sets, first, end, room,
                       spreads, cells)  # fmt: skip
        first = end
    return spreads, cells


@numba.njit(cache=True, nogil=True)
def _shared(sets, i):  # type: ignore[no-untyped-def]
    """How many attributes, the last left aside, this set begins with as the set before it does."""
    if i == 0:
        return 0
    j = 0
    while j < sets.shape[1] - 1 and sets[i, j] == sets[i - 1, j]:
        j += 1
    return j


@numba.njit(cache=True, nogil=True)
def _join(before, width, codes, column, size, key):  # type: ignore[no-untyped-def]
    """One attribute more in the joint value; how many joint values there may be."""
    for r in range(len(before)):
        key[r] = before[r] * size + np.int64(codes[column, r])
    places = width * size
    return places if places <= FEW else _renumber(key, places)


@numba.njit(cache=True, nogil=True)
def _renumber(key, places):  # type: ignore[no-untyped-def]
    found = 0
    if places <= PLACES:
        number = np.full(places, -1, np.int32)
        for r in range(len(key)):
            if number[key[r]] < 0:
                number[key[r]] = found
                found += 1
            key[r] = number[key[r]]
        return found
    order = np.argsort(key)
    last = np.int64(-1)
    for r in order:
        if key[r] != last:
            last = key[r]
            found += 1
        key[r] = found - 1
    return found


@numba.njit(cache=True, nogil=True)
def _extend(key, width, codes, sizes, classes, shares, weights, sets, first, end, room, spreads, cells):  # type: ignore[no-untyped-def]
    """Fill in the sets first … end − 1, which differ in their last attribute; the room, grown where too small."""
    last, n_classes = sets.shape[1] - 1, len(shares)
    i = first
    while i < end:
        stop, filled = i, 0
        while stop < end and filled + width * sizes[sets[stop, last]] * n_classes <= SMALL:
            filled += width * sizes[sets[stop, last]] * n_classes
            stop += 1
        if stop > i:
            _count_small(key, width, codes, sizes, classes, weights, sets[i:stop, last], n_classes, room)
            _sum_small(width, sizes, shares, sets[i:stop, last], room, spreads[i:stop], cells[i:stop])
            i = stop
            continue
        column = sets[i, last]
        if width * sizes[column] * n_classes <= PLACES:
            if len(room) < width * sizes[column] * n_classes:
                room = np.zeros(width * sizes[column] * n_classes, np.int64)
            cells[i] = _touched(key, codes, column, sizes[column], classes, shares, weights, room, spreads[i])
        else:
            cells[i] = _sorted(key, codes, column, sizes[column], classes, shares, weights, spreads[i])
        i += 1
    return room


@numba.njit(cache=True, nogil=True)
def _count_small(key, width, codes, sizes, classes, weights, columns, n_classes, room):  # type: ignore[no-untyped-def]
    """Counts of several sets side by side in `room`, which is clean."""
    k, stride = len(columns), np.uint64(width * n_classes)
    starts, chosen = np.empty(k, np.uint64), np.empty(k, np.uint64)
    start = 0
    for e in range(k):
        starts[e], chosen[e] = start, columns[e]
        start += width * sizes[columns[e]] * n_classes
    for r in range(len(key)):
        own, amount = np.uint64(key[r] * n_classes + classes[r]), weights[r]
        for e in range(k):
            room[starts[e] + np.uint64(codes[chosen[e], r]) * stride + own] += amount


@numba.njit(cache=True, nogil=True)
def _sum_small(width, sizes, shares, columns, room, spreads, cells):  # type: ignore[no-untyped-def]
    """Sums over all places of each set's counts, which are clean again afterwards."""
    n_classes, at = len(shares), 0
    for e in range(len(columns)):
        for _ in range(width * sizes[columns[e]]):
            cells[e] += _add_cell(room, at, shares, spreads[e])
            at += n_classes


@numba.njit(cache=True, nogil=True)
def _add_cell(room, at, shares, spread):  # type: ignore[no-untyped-def]
    """Add one joint value's part and clear its counts; whether it occurs."""
    total = np.int64(0)
    for t in range(len(shares)):
        total += room[at + t]
    if total == 0:
        return 0
    for t in range(len(shares)):
        beyond = room[at + t] - total * shares[t]
        spread[t] += beyond * beyond / total
        room[at + t] = 0
    return 1


@numba.njit(cache=True, nogil=True)
def _touched(key, codes, column, size, classes, shares, weights, room, spread):  # type: ignore[no-untyped-def]
    """One set whose table is large: count all rows, then visit (and so clear) each joint value that a row has."""
    n_classes, cells = len(shares), 0
    for r in range(len(key)):
        room[(key[r] * size + np.int64(codes[column, r])) * n_classes + classes[r]] += weights[r]
    for r in range(len(key)):
        at = (key[r] * size + np.int64(codes[column, r])) * n_classes
        if room[at + classes[r]] > 0:
            cells += _add_cell(room, at, shares, spread)
    return cells


@numba.njit(cache=True, nogil=True)
def _sorted(key, codes, column, size, classes, shares, weights, spread):  # type: ignore[no-untyped-def]
    """One set whose table would be too large: rows in the order of their joint value, one small table at a time."""
    n, cells = len(key), 0
    full = np.empty(n, np.int64)
    for r in range(n):
        full[r] = key[r] * size + np.int64(codes[column, r])
    order = np.argsort(full)
    counts = np.zeros(len(shares), np.int64)
    for i in range(n):
        counts[classes[order[i]]] += weights[order[i]]
        if i + 1 == n or full[order[i + 1]] != full[order[i]]:
            cells += _add_cell(counts, 0, shares, spread)
    return cells
