"""Find the best split of a node from its histogram.

With block weights c_b a split maximizes the criterion

    Q = Σ_b c_b (Σ_v L_bv² / n_L + Σ_v R_bv² / n_R),

where L_bv and R_bv count value v of target b on the left and on the right. PGini [Staab24 equation 2] is this with
c_label = (1−α) σ_y and c_p = −α w_p σ_p: n · PGini = const − Q, so that a larger Q is a smaller PGini. A plain Gini
tree has α = 0. A split is a prefix of an ordering of the attribute's values:

- numbers and ordered categories by value, missing first or last if it occurs;
- categories by P(y | v), which is optimal for two classes and α = 0; then, up to three times, by the change in Q per
  record of moving a value across the best split so far. That ordering weighs the label against all personal attributes
  at once, which serves privacy (and labels with more than two classes).

If groups must meet a `Requirement` on a sensitive attribute, that attribute is one more target of weight 0. This gives
its counts left and right of every cut, and a cut is allowed only if both sides meet the requirement.
"""

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from modicum.measures.kernel import holds
from modicum.measures.requirement import PLAIN, Requirement
from modicum.table.counts import Histogram, Layout

_ROUNDS = 3
_RELATIVE = 1e-10  # a gain below this share of the node's criterion is rounding


@dataclass(frozen=True)
class Criterion:
    """The weight of every histogram column in Q, and the properties of the attributes.

    Parameters
    ----------
    column_weights : array of float
        c_b for each column of the histogram.
    has_order : array of bool
        For each split attribute, whether only thresholds may split it.
    missing : array of int
        For each split attribute, the code of missing values, or -1.
    min_leaf : int
        The fewest records a child may hold.
    requirement : Requirement
        The conditions on the sensitive values of a child; its k is ignored.
    sensitive : (int, int)
        The range of the histogram's columns that count sensitive values: first, and last plus one.

    Examples
    --------
    One ordered attribute, a label of two classes, and a plain Gini tree:

    >>> import numpy as np
    >>> from modicum.trees import Criterion
    >>> plain = Criterion(np.ones(2), has_order=np.array([True]), missing=np.array([-1]), min_leaf=1)
    >>> plain.requirement.k
    1
    """

    column_weights: npt.NDArray[np.float64]
    has_order: npt.NDArray[np.bool_]
    missing: npt.NDArray[np.int64]
    min_leaf: int
    requirement: Requirement = PLAIN
    sensitive: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class FoundSplit:
    """A node's best split: its increase of Q, and the side of each value (1 left, 0 right, -1 absent)."""

    gain: float
    attribute: int
    sides: npt.NDArray[np.int8]
    n_left: int
    n_right: int


def find_split(histogram: Histogram, layout: Layout, criterion: Criterion) -> FoundSplit | None:
    """Return the split of this node that lowers the criterion most, or None if no split lowers it."""
    sizes = np.asarray(layout.split_sizes, dtype=np.int64)
    gain, attribute, sides, n_left, n_right = search(
        histogram,
        layout.split_starts,
        sizes,
        criterion.has_order,
        criterion.missing,
        layout.label_start,
        criterion.column_weights,
        criterion.min_leaf,
        criterion.requirement.rule,
        not criterion.requirement.is_plain,
        *criterion.sensitive,
    )
    if attribute < 0:
        return None
    return FoundSplit(gain, attribute, sides[: sizes[attribute]].copy(), n_left, n_right)


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def scan(histogram, start, order, m, total, n, square, weights, sizes_of, limits, left):  # type: ignore[no-untyped-def]
    """Return Q of the best allowed prefix of order[:m], and its length; `left` is working space."""
    min_leaf, rule, limited, low, high = limits
    columns = histogram.shape[1]
    left[:] = 0.0
    n_left = 0
    left_square, right_square = 0.0, square
    best, length = -np.inf, 0
    for t in range(m - 1):
        v = order[t]
        row = histogram[start + v]
        grown, shared = 0.0, 0.0
        for c in range(columns):
            x = float(row[c])
            a = weights[c] * x
            grown += a * (2.0 * left[c] + x)
            shared += a * total[c]
            left[c] += x
        left_square += grown
        right_square += grown - 2.0 * shared
        n_left += sizes_of[v]
        n_right = n - n_left
        if n_right < min_leaf:
            break
        if n_left < min_leaf:
            continue
        q = left_square / n_left + right_square / n_right
        if q > best + 1e-12 * abs(best) or length == 0:
            if limited and not (
                holds(left[low:high], n_left, rule) and holds(total[low:high] - left[low:high], n_right, rule)
            ):
                continue
            best, length = q, t + 1
    return best, length


@numba.njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
def exchange_scores(histogram, start, order, m, length, total, n, weights, sizes_of, left, scores):  # type: ignore[no-untyped-def]
    """Score each value; the lower, the more moving it left across the split order[:length] raises Q per record."""
    columns = histogram.shape[1]
    left[:] = 0.0
    n_left = 0
    for t in range(length):
        n_left += sizes_of[order[t]]
        for c in range(columns):
            left[c] += histogram[start + order[t], c]
    for c in range(columns):
        left[c] = weights[c] * (left[c] / n_left - (total[c] - left[c]) / (n - n_left))
    for t in range(m):
        v = order[t]
        s = 0.0
        for c in range(columns):
            s += left[c] * histogram[start + v, c]
        scores[t] = -s / sizes_of[v]


@numba.njit(cache=True, nogil=True)
def search(  # type: ignore[no-untyped-def]
    histogram, starts, sizes, has_order, missing, label_start, weights, min_leaf, rule, limited, low, high
):
    """Try every attribute and ordering; return the best gain with its attribute, sides and sizes."""
    columns = histogram.shape[1]
    widest = sizes.max()
    total = np.zeros(columns)
    for v in range(sizes[0]):
        for c in range(columns):
            total[c] += histogram[starts[0] + v, c]
    n = int(total[label_start:].sum())
    common = label_start + np.argmax(total[label_start:])
    square = 0.0
    for c in range(columns):
        square += weights[c] * total[c] * total[c]
    sides = np.full(widest, -1, np.int8)
    best_gain, best_attribute, best_left = _RELATIVE * n, -1, 0
    if n < 2 * min_leaf:
        return best_gain, best_attribute, sides, 0, 0
    left = np.empty(columns)
    present, order = np.empty(widest, np.int64), np.empty(widest, np.int64)
    sizes_of, scores = np.zeros(widest, np.int64), np.empty(widest)
    for a in range(len(sizes)):
        start, m = starts[a], 0
        for v in range(sizes[a]):
            count = 0
            for c in range(label_start, columns):
                count += histogram[start + v, c]
            sizes_of[v] = count
            if count > 0:
                present[m] = v
                m += 1
        if m < 2:
            continue
        rounds = 1 + _ROUNDS
        if has_order[a]:
            rounds = 2 if present[m - 1] == missing[a] else 1
        elif m == 2:
            rounds = 1
        attribute_best, length = -np.inf, 0
        for turn in range(rounds):
            if has_order[a]:
                order[:m] = present[:m]
                if turn == 1:  # missing first
                    order[0] = present[m - 1]
                    order[1:m] = present[: m - 1]
            else:
                if turn == 0:
                    order[:m] = present[:m]
                    for t in range(m):
                        scores[t] = -histogram[start + order[t], common] / sizes_of[order[t]]
                else:
                    exchange_scores(histogram, start, order, m, length, total, n, weights, sizes_of, left, scores)
                order[:m] = order[:m][np.argsort(scores[:m], kind="mergesort")]
            limits = (min_leaf, rule, limited, low, high)
            q, length = scan(histogram, start, order, m, total, n, square, weights, sizes_of, limits, left)
            if length == 0:
                if has_order[a]:
                    continue
                break
            if turn > 0 and not has_order[a] and q <= attribute_best + 1e-12 * abs(attribute_best):
                break
            attribute_best = max(attribute_best, q)
            gain = q - square / n
            if gain > best_gain + _RELATIVE * n:
                best_gain, best_attribute, best_left = gain, a, 0
                sides[:] = -1
                for t in range(m):
                    sides[order[t]] = 1 if t < length else 0
                    if t < length:
                        best_left += sizes_of[order[t]]
    return best_gain, best_attribute, sides, best_left, n - best_left
