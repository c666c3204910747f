"""Bins of a number in which a frequent value stands alone, so that what it tells is seen."""

import numpy as np
import numpy.typing as npt

from modicum.table.codes import Weights


def bin_starts(counts: Weights, bins: int) -> npt.NDArray[np.bool_]:
    """Where a bin begins among the distinct values, of which the counts are given in their order.

    Every value has its own bin where there are at most `bins` of them. Else each with at least 1/bins of the records
    has, and the values between such ones are dealt into as many bins of about equal frequency as are left, but at
    least one between each two. So there may be up to about twice as many bins as asked for, and there are at least two
    wherever there are two values.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.finding.bins import bin_starts
    >>> bin_starts(np.array([1, 1, 9, 1, 1]), bins=2).tolist()
    [True, False, True, True, False]
    """
    if len(counts) <= bins:
        return np.ones(len(counts), dtype=bool)
    alone = counts >= counts.sum() / bins
    others = np.where(alone, 0, counts).astype(np.float64)
    if not others.any():
        return np.ones(len(counts), dtype=bool)
    before = np.cumsum(others) - others
    group = np.floor(before * max(bins - int(alone.sum()), 1) / others.sum())
    starts = alone | (np.diff(group, prepend=-1) > 0)
    starts[1:] |= alone[:-1]
    return starts
