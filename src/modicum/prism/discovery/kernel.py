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
JOINT = 1 << 11  # counts of several extensions of a prefix together
PLACES = 1 << 22  # counts of one set in memory; beyond them rows are sorted


@numba.njit(cache=True, nogil=True)
def class_spreads(codes, sizes, classes, shares, weights, sets):  # type: ignore[no-untyped-def]
    """For each set of columns Σ over joint values x of (n_xt − n_x·share_t)² / n_x, per class t; and how many x occur.

    Divided by n·share_t·(1 − share_t) it is χ²/n of the set against class t or not; divided by share_t and summed
    over the classes it is χ² of the set against the classes themselves. Last, Σ over the joint values of 1 / n_x.
    """
    n, (m, c) = codes.shape[1], sets.shape
    keys, widths = np.zeros((c, n), np.int64), np.ones(c, np.int64)
    spreads, cells = np.zeros((m, len(shares) + 1)), np.zeros(m, np.int64)  # the last column: Σ 1/n_x
    room = np.zeros(SMALL, np.int64)
    first = 0
    while first < m:
        for j in range(_count_shared(sets, first), c - 1):
            column = sets[first, j]
            widths[j + 1] = _join(keys[j], widths[j], codes, column, sizes[column], keys[j + 1])
        end = first + 1
        while end < m and _count_shared(sets, end) == c - 1:
            end += 1
        room = _extend(keys[c - 1], widths[c - 1], codes, sizes, classes, shares, weights, sets, first, end, room,
                       spreads, cells)  # fmt: skip
        first = end
    return spreads[:, :-1], cells, spreads[:, -1]


@numba.njit(cache=True, nogil=True)
def _count_shared(sets, i):  # type: ignore[no-untyped-def]
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
            cells[i] = _count_large(key, codes, column, sizes[column], classes, shares, weights, room, spreads[i])
        else:
            cells[i] = _count_by_sorting(key, codes, column, sizes[column], classes, shares, weights, spreads[i])
        i += 1
    return room


@numba.njit(cache=True, nogil=True)
def _count_small(key, width, codes, sizes, classes, weights, columns, n_classes, room):  # type: ignore[no-untyped-def]
    """Counts of several sets side by side in `room`, which is clean.

    A few extensions are counted jointly and each set's counts are summed from theirs: adding to a count takes longer
    than finding its place.
    """
    first, start, owns, most = 0, 0, width * n_classes, min(JOINT, len(key))
    own = np.empty(len(key), np.uint32)
    for r in range(len(key)):
        own[r] = key[r] * n_classes + classes[r]
    while first < len(columns):
        end, places = first + 1, owns * sizes[columns[first]]
        while end < len(columns) and places * sizes[columns[end]] <= most:
            places *= sizes[columns[end]]
            end += 1
        joint = np.zeros(places, np.int64)
        _count_joint(own, codes, weights, columns[first:end], sizes, joint)
        start = _sum_joint(joint, owns, sizes[columns[first:end]], room, start)
        first = end


@numba.njit(cache=True, nogil=True)
def _count_joint(own, codes, weights, columns, sizes, joint):  # type: ignore[no-untyped-def]
    """Column by column: the compiler then finds many rows' places at once."""
    place = own.copy()
    for column in columns:
        size, code = np.uint32(sizes[column]), codes[column]
        for r in range(len(place)):
            place[r] = np.uint32(place[r] * size + code[r])
    for r in range(len(place)):
        joint[place[r]] += weights[r]


@numba.njit(cache=True, nogil=True)
def _sum_joint(joint, owns, sizes, room, start):  # type: ignore[no-untyped-def]
    """Each extension's own counts from the joint ones, added to `room` from `start` on; where they end.

    Joint counts lie by prefix value and class, then by the extensions in turn; a set's own lie by its extension's
    code, class last.
    """
    outer, inner = 1, len(joint) // owns
    for size in sizes:
        inner //= size
        at = 0
        for own in range(owns):
            for _ in range(outer):
                for code in range(size):
                    total = np.int64(0)
                    for i in range(at, at + inner):
                        total += joint[i]
                    room[start + code * owns + own] += total
                    at += inner
        outer *= size
        start += owns * size
    return start


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
    spread[len(shares)] += 1.0 / total
    return 1


@numba.njit(cache=True, nogil=True)
def _count_large(key, codes, column, size, classes, shares, weights, room, spread):  # type: ignore[no-untyped-def]
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
def _count_by_sorting(key, codes, column, size, classes, shares, weights, spread):  # type: ignore[no-untyped-def]
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
