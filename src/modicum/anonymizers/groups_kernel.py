"""What every partition asks of some of the records: how wide they spread, and whether they may be a group.

Tuples keep the calls short: `table` is (codes, starts, sizes, positions, is_category, present) of `Ranked`, `needs` is
(k, rule, limited, sensitive, n_sensitive, persons, n_persons) of `grouping.Needs`, `room` is working space.
"""

import numba
import numpy as np

from modicum.measures.kernel import holds


@numba.njit(cache=True, nogil=True)
def working_space(table, needs):  # type: ignore[no-untyped-def]
    """Marks of codes and of persons, counts of sensitive values, lowest and highest code, number of values."""
    sizes = table[2]
    d = len(sizes)
    marks, seen = np.zeros(sizes.sum(), np.int64), np.zeros(needs[6], np.int64)
    return marks, seen, np.zeros(needs[4]), np.zeros(d, np.int64), np.zeros(d, np.int64), np.zeros(1, np.int64)


@numba.njit(cache=True, nogil=True)
def spread(rows, low, high, table, room, widths):  # type: ignore[no-untyped-def]
    """How much of each attribute's domain the records rows[low:high] take: their NCP.

    A number that may also be missing could be anything, which counts 1.
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
    """Whether the records rows[low:high] are enough, of enough persons, diverse and close."""
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
