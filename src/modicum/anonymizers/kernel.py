"""Compiled partitions: the spread of records, the requirements on groups, and top-down splits.

Tuples keep the calls short: `table` is (codes, starts, sizes, positions, is_category, present) of `Ranked`, `needs` is
(k, rule, limited, sensitive, n_sensitive, persons, n_persons) of `task.Needs`, `room` is working space.

The second half does the same for a table too large for memory, from counts of its codes.
"""

import numba
import numpy as np

from modicum.measures.kernel import holds


@numba.njit(cache=True, nogil=True)
def working_space(table, needs):  # type: ignore[no-untyped-def]
    """Allocate marks of codes and persons, counts of sensitive values, lowest and highest codes, and a turn counter."""
    sizes = table[2]
    d = len(sizes)
    marks, seen = np.zeros(sizes.sum(), np.int64), np.zeros(needs[6], np.int64)
    return marks, seen, np.zeros(needs[4]), np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(1, np.int64)


@numba.njit(cache=True, nogil=True)
def spread(rows, low, high, table, room, widths):  # type: ignore[no-untyped-def]
    """Compute the share of each attribute's domain that the records rows[low:high] span: their NCP.

    A number that may be missing could have any value, so it counts 1.
    """
    codes, starts, sizes, positions, is_category, present = table
    marks, _, _, lowest, highest, turn = room
    d = len(sizes)
    turn[0] += 1
    for a in range(d):
        lowest[a], highest[a] = sizes[a], -1
        widths[a] = 0.0
    for i in range(low, high):
        r = rows[i]
        for a in range(d):
            code = codes[r, a]
            if is_category[a]:
                if marks[starts[a] + code] != turn[0]:
                    marks[starts[a] + code] = turn[0]
                    widths[a] += 1.0
            elif code < sizes[a] - 1:
                if code < lowest[a]:
                    lowest[a] = code
                if code > highest[a]:
                    highest[a] = code
            else:
                widths[a] = 1.0  # some are missing
    for a in range(d):
        if is_category[a]:
            widths[a] = widths[a] / present[a] if widths[a] > 1.0 else 0.0
        elif highest[a] < 0:
            widths[a] = 0.0
        elif widths[a] == 0.0:
            widths[a] = positions[starts[a] + highest[a]] - positions[starts[a] + lowest[a]]


@numba.njit(cache=True, nogil=True)
def may_be_group(rows, low, high, needs, room):  # type: ignore[no-untyped-def]
    """Whether rows[low:high] have enough records and persons, and are diverse and close."""
    k, rule, limited, sensitive, _, persons, n_persons = needs
    if high - low < k:
        return False
    if n_persons:
        _, seen, _, _, _, turn = room
        turn[0] += 1
        found = 0
        for i in range(low, high):
            person = persons[rows[i]]
            if seen[person] != turn[0]:
                seen[person] = turn[0]
                found += 1
        if found < k:
            return False
    if limited:
        counts = room[2]
        counts[:] = 0.0
        for i in range(low, high):
            counts[sensitive[rows[i]]] += 1.0
        return holds(counts, high - low, rule)
    return True


# Top-down partitions: split records by one attribute at a time while both sides may be groups.


@numba.njit(cache=True, nogil=True)
def sort_codes(codes, rows, low, high, a, size):  # type: ignore[no-untyped-def]
    """Sort the codes of one attribute, by counting if it has few codes."""
    n = high - low
    found = np.empty(n, np.int32)
    if size > 4 * n:
        for i in range(n):
            found[i] = codes[rows[low + i], a]
        found.sort()
        return found
    counts = np.zeros(size, np.int64)
    for i in range(low, high):
        counts[codes[rows[i], a]] += 1
    place = 0
    for code in range(size):
        found[place : place + counts[code]] = code
        place += counts[code]
    return found


@numba.njit(cache=True, nogil=True)
def places(ordered, k, missing, relaxed, is_category, found):  # type: ignore[no-untyped-def]
    """Find the places to cut the ordered codes, best first; return how many there are (at most three).

    The first place is where the missing values of a number begin. Then follow the two ends of the run of equal values
    in the middle, the nearer one first; in a relaxed partition, the exact middle.
    """
    n, many = len(ordered), 0
    if not is_category and ordered[n - 1] == missing:
        start = np.searchsorted(ordered, missing)
        if start >= k and n - start >= k:
            found[many] = start
            many += 1
    middle = n // 2
    if relaxed and n >= 2 * k and ordered[0] < ordered[n - 1]:
        found[many] = middle
        return many + 1
    below, above = np.searchsorted(ordered, ordered[middle]), np.searchsorted(ordered, ordered[middle], "right")
    nearer, farther = (below, above) if middle - below <= above - middle else (above, below)
    for place in (nearer, farther):
        if place >= k and n - place >= k:
            found[many] = place
            many += 1
    return many


@numba.njit(cache=True, nogil=True)
def divide(codes, rows, spare, low, high, a, ordered, place):  # type: ignore[no-untyped-def]
    """Move the `place` records with the lowest codes of an attribute to the front, in their old order."""
    limit = ordered[place]
    ties = place - np.searchsorted(ordered, limit)  # how many records with the limit code go left
    middle, n_right = low, 0
    for i in range(low, high):
        r = rows[i]
        code = codes[r, a]
        left = code < limit
        if code == limit and ties > 0:
            left = True
            ties -= 1
        if left:
            rows[middle] = r
            middle += 1
        else:
            spare[n_right] = r
            n_right += 1
    rows[middle:high] = spare[:n_right]
    return middle


@numba.njit(cache=True, nogil=True)
def widest_split(rows, spare, low, high, table, needs, room, relaxed, widths, found):  # type: ignore[no-untyped-def]
    """Mondrian: cut the widest attribute that can be cut at its median; return where the right side begins, or -1."""
    codes, _, sizes, _, is_category, _ = table
    spread(rows, low, high, table, room, widths)
    for a in np.argsort(-widths, kind="mergesort"):
        if widths[a] == 0.0:
            break
        ordered = sort_codes(codes, rows, low, high, a, sizes[a])
        for i in range(places(ordered, needs[0], sizes[a] - 1, relaxed, is_category[a], found)):
            middle = divide(codes, rows, spare, low, high, a, ordered, found[i])
            if may_be_group(rows, low, middle, needs, room) and may_be_group(rows, middle, high, needs, room):
                return middle
    return -1


@numba.njit(cache=True, nogil=True)
def tightest_split(rows, spare, low, high, table, needs, room, relaxed, widths, found):  # type: ignore[no-untyped-def]
    """R+-tree: make the cut near an attribute's median whose two boxes lose least; return where it is, or -1."""
    codes, _, sizes, _, is_category, _ = table
    best, attribute, where = np.inf, -1, 0
    for a in range(len(sizes)):
        ordered = sort_codes(codes, rows, low, high, a, sizes[a])
        if ordered[0] == ordered[-1]:
            continue
        for i in range(places(ordered, needs[0], sizes[a] - 1, relaxed, is_category[a], found)):
            middle = divide(codes, rows, spare, low, high, a, ordered, found[i])
            spread(rows, low, middle, table, room, widths)
            loss = (middle - low) * widths.sum()
            spread(rows, middle, high, table, room, widths)
            loss += (high - middle) * widths.sum()
            if loss < best and (
                may_be_group(rows, low, middle, needs, room) and may_be_group(rows, middle, high, needs, room)
            ):
                best, attribute, where = loss, a, found[i]
    if attribute < 0:
        return -1
    ordered = sort_codes(codes, rows, low, high, attribute, sizes[attribute])
    return divide(codes, rows, spare, low, high, attribute, ordered, where)


@numba.njit(cache=True, nogil=True)
def split_groups(table, needs, relaxed, tight, groups):  # type: ignore[no-untyped-def]
    """Split groups, numbered from 0, until none can be split; return each record's new group."""
    d = table[0].shape[1]
    rows, spare = np.argsort(groups, kind="mergesort"), np.empty(len(groups), np.int64)
    new_groups = np.empty(len(groups), np.int64)
    room = working_space(table, needs)
    widths, where = np.empty(d), np.empty(3, np.int64)
    ends = np.cumsum(np.bincount(groups))
    open_ = [(ends[g - 1] if g else 0, ends[g]) for g in range(len(ends) - 1, -1, -1)]
    many = 0
    while len(open_):
        low, high = open_.pop()
        middle = -1
        if high - low >= 2 * needs[0]:
            if tight:
                middle = tightest_split(rows, spare, low, high, table, needs, room, relaxed, widths, where)
            else:
                middle = widest_split(rows, spare, low, high, table, needs, room, relaxed, widths, where)
        if middle < 0:
            for i in range(low, high):
                new_groups[rows[i]] = many
            many += 1
            continue
        open_.append((middle, high))
        open_.append((low, middle))
    return new_groups


# Splits from counts: the same as above, computed from how often each code occurs.
#
# Here `table` has no codes, and `counts` are those of one node for the codes of all attributes, one after another.


@numba.njit(cache=True, nogil=True)
def measure_spread(counts, table, widths) -> None:  # type: ignore[no-untyped-def]
    """Compute the share of each attribute's domain that the records of a node span, as `spread` does."""
    starts, sizes, positions, is_category, present = table
    for a in range(len(sizes)):
        start, missing = starts[a], sizes[a] - 1
        lowest, highest, many = -1, -1, 0
        for code in range(sizes[a]):
            if counts[start + code] > 0:
                many += 1
                if code < missing:
                    highest = code
                    if lowest < 0:
                        lowest = code
        if is_category[a]:
            widths[a] = many / present[a] if many > 1 else 0.0
        elif highest < 0:
            widths[a] = 0.0
        elif counts[start + missing] > 0:
            widths[a] = 1.0
        else:
            widths[a] = positions[start + highest] - positions[start + lowest]


@numba.njit(cache=True, nogil=True)
def find_cut_places(own, k, is_category, limits):  # type: ignore[no-untyped-def]
    """Find the codes at which to cut an attribute (lower codes go left), best first, as `places` does."""
    n, missing, many = own.sum(), len(own) - 1, 0
    n_missing = own[missing]
    if not is_category and n_missing >= k and n - n_missing >= k:
        limits[many] = missing
        many += 1
    middle, below, code = n // 2, 0, 0
    while below + own[code] <= middle:
        below += own[code]
        code += 1
    above = below + own[code]
    first, second = (code, code + 1) if middle - below <= above - middle else (code + 1, code)
    for limit in (first, second):
        place = below if limit == code else above
        if place >= k and n - place >= k:
            limits[many] = limit
            many += 1
    return many


@numba.njit(cache=True, nogil=True)
def loss_of_sides(left, counts, n_left, n_right, table, widths):  # type: ignore[no-untyped-def]
    """Sum the loss of both sides of a cut, as `tightest_split` does."""
    measure_spread(left, table, widths)
    loss = n_left * widths.sum()
    measure_spread(counts - left, table, widths)
    loss += n_right * widths.sum()
    return loss


@numba.njit(cache=True, nogil=True)
def route(codes, attributes, limits, lefts, nodes) -> None:  # type: ignore[no-untyped-def]
    """Find the leaf of a tree of cuts for each record; the right child follows the left one."""
    for r in range(len(codes)):
        node = 0
        while attributes[node] >= 0:
            node = lefts[node] + (codes[r, attributes[node]] >= limits[node])
        nodes[r] = node


@numba.njit(cache=True, nogil=True)
def count_codes(codes, slots, starts, total, counts) -> None:  # type: ignore[no-untyped-def]
    """Add each record's codes to the counts of its slot; skip slots below 0."""
    for r in range(len(codes)):
        if slots[r] >= 0:
            base = slots[r] * total
            for a in range(codes.shape[1]):
                counts[base + starts[a] + codes[r, a]] += 1


@numba.njit(cache=True, nogil=True)
def count_left(codes, slots, firsts, attributes, limits, targets, starts, total, counts) -> None:  # type: ignore[no-untyped-def]
    """Add a record's codes of the target columns to every cut of its slot that sends it left."""
    for r in range(len(codes)):
        slot = slots[r]
        if slot < 0:
            continue
        for cut in range(firsts[slot], firsts[slot + 1]):
            if codes[r, attributes[cut]] < limits[cut]:
                base = cut * total
                for t in range(len(targets)):
                    counts[base + starts[t] + codes[r, targets[t]]] += 1
