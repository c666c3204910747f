"""Splits from counts: what `anonymizers.kernel` asks of records, asked of how often each code occurs.

`table` is (starts, sizes, positions, is_category, present) of `Ranked`; `counts` are one node's, all attributes' codes
one after another.
"""

import numba


@numba.njit(cache=True, nogil=True)
def measure_spread(counts, table, widths) -> None:  # type: ignore[no-untyped-def]
    """How much of each attribute's domain the records of a node take: `anonymizers.kernel.spread`."""
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
    """The codes at which an attribute may be cut (lower ones go left), the best first: `anonymizers.kernel.places`."""
    n, missing, many = own.sum(), len(own) - 1, 0
    gone = own[missing]
    if not is_category and gone >= k and n - gone >= k:
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
    """What the two sides of a cut lose together, as `anonymizers.kernel.tightest_split` adds it up."""
    measure_spread(left, table, widths)
    loss = n_left * widths.sum()
    measure_spread(counts - left, table, widths)
    loss += n_right * widths.sum()
    return loss


@numba.njit(cache=True, nogil=True)
def route(codes, attributes, limits, lefts, nodes) -> None:  # type: ignore[no-untyped-def]
    """The node of a tree of cuts that each record comes to; the right child follows the left one."""
    for r in range(len(codes)):
        node = 0
        while attributes[node] >= 0:
            node = lefts[node] + (codes[r, attributes[node]] >= limits[node])
        nodes[r] = node


@numba.njit(cache=True, nogil=True)
def count_codes(codes, slots, starts, total, counts) -> None:  # type: ignore[no-untyped-def]
    """Add each record's codes to the counts of its slot; a slot below 0 is not counted."""
    for r in range(len(codes)):
        if slots[r] >= 0:
            base = slots[r] * total
            for a in range(codes.shape[1]):
                counts[base + starts[a] + codes[r, a]] += 1


@numba.njit(cache=True, nogil=True)
def count_left(codes, slots, firsts, attributes, limits, targets, starts, total, counts) -> None:  # type: ignore[no-untyped-def]
    """For every cut of a record's slot that sends it left, add its codes of the targets."""
    for r in range(len(codes)):
        slot = slots[r]
        if slot < 0:
            continue
        for cut in range(firsts[slot], firsts[slot + 1]):
            if codes[r, attributes[cut]] < limits[cut]:
                base = cut * total
                for t in range(len(targets)):
                    counts[base + starts[t] + codes[r, targets[t]]] += 1
