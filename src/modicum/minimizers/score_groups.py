"""Values in groups of similar score: the dynamic programme of the Iterative minimizer (papers/0 Appendix C)."""

import numpy as np

from modicum.table.values import Codes, Floats

_CELLS = 4_000_000  # of the table of variances held at once


def least_variance_groups(scores: Floats, k: int) -> list[Codes]:
    """For every number of groups up to k, the runs of values whose variances of scores have the smallest average.

    With V(b, a) the variance of the scores b..a, the best k' groups of the first a values cost

        C(a, k') = min_b C(b - 1, k' - 1) + V(b, a),

    and the average is C / k'. It is not weighted by the groups' sizes, as in the paper, so that a value far from all
    others is soon alone.

    Parameters
    ----------
    scores : one per value, in the order in which neighbours may share a group
    k : the most groups

    Returns
    -------
    for k' = 1, 2, … (no more than there are values) the group of each value

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.minimizers.score_groups import least_variance_groups
    >>> [groups.tolist() for groups in least_variance_groups(np.array([0.0, 0.1, 5.0, 5.2]), 3)]
    [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 2]]
    """
    c = len(scores)
    centred = np.asarray(scores, dtype=np.float64) - np.mean(scores)
    sums, squares = (np.concatenate([[0.0], np.cumsum(centred**power)]) for power in (1, 2))
    cost = _variances(sums, squares, np.arange(c), np.zeros(1, dtype=np.int64))[:, 0]
    starts: list[Codes] = []  # of the last group, for each number of values, with 2, 3, … groups
    found = [np.zeros(c, dtype=np.int64)]
    for groups in range(2, min(k, c) + 1):
        cost, first = _one_more(cost, sums, squares, groups)
        starts.append(first)
        found.append(_assigned(starts, c))
    return found


def _one_more(cost: Floats, sums: Floats, squares: Floats, groups: int) -> tuple[Floats, Codes]:
    """The cost of the first a values in one more group than `cost` has, and where the last group starts."""
    c = len(cost)
    best, first = np.full(c, np.inf), np.zeros(c, dtype=np.int64)
    begins = np.arange(groups - 1, c)
    step = max(1, _CELLS // max(1, len(begins)))
    for low in range(groups - 1, c, step):
        ends = np.arange(low, min(c, low + step))
        total = cost[begins - 1] + _variances(sums, squares, ends, begins)
        total[begins[None, :] > ends[:, None]] = np.inf
        chosen = total.argmin(axis=1)
        best[ends], first[ends] = total[np.arange(len(ends)), chosen], begins[chosen]
    return best, first


def _variances(sums: Floats, squares: Floats, ends: Codes, begins: Codes) -> Floats:
    """V(b, a) for every end a (rows) and beginning b (columns); 0 where b > a."""
    n = np.maximum(ends[:, None] - begins[None, :] + 1, 1)
    mean = (sums[ends + 1][:, None] - sums[begins]) / n
    spread = (squares[ends + 1][:, None] - squares[begins]) / n - mean**2
    return np.maximum(spread, 0.0)


def _assigned(starts: list[Codes], c: int) -> Codes:
    """The group of each value, read backwards from where the last groups start."""
    groups = np.zeros(c, dtype=np.int64)
    end = c - 1
    for number in range(len(starts), 0, -1):
        begin = int(starts[number - 1][end])
        groups[begin : end + 1] = number
        end = begin - 1
    return groups
