"""The compiled part of `cells.Walk`, in its own module so that artifacts can be read without the compiler."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def walk(codes, columns, starts, goes_left, children):  # type: ignore[no-untyped-def]
    """Return the leaf of each row of codes."""
    leaves = np.empty(len(codes), np.int64)
    for r in range(len(codes)):
        at = 0
        while at >= 0:
            at = children[at, 0 if goes_left[starts[at] + codes[r, columns[at]]] else 1]
        leaves[r] = ~at
    return leaves
