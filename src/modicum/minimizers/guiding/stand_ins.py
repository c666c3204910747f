"""One record for each cell: made up so that the model says of it what it says of most of the cell (DESIGN §2).

The median of each number and the most frequent category make a record that nobody has. Where the model says something
else of it, values of nearby records take the place of some of its own, as few as it takes.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modicum.minimizers.guiding.outcomes import Outcomes
from modicum.minimizers.guiding.records import Matrix, Records
from modicum.table.codes import Coder
from modicum.table.values import Codes, Floats, Mask

_NEAR = 8  # records of a cell whose values are tried


@dataclass(frozen=True)
class Members:
    """The records that a tree has learned from, in its leaves: their codes, their rows, what the model says of them."""

    coder: Coder
    codes: npt.NDArray[np.uint16]
    rows: Codes
    outcomes: Outcomes

    def usual(self, leaves: Codes, n_leaves: int) -> Floats:
        """What the model says in each leaf: the most frequent class, or the mean number."""
        said = self.outcomes.original[self.rows]
        if self.outcomes.classes is None:
            return np.bincount(leaves, weights=said, minlength=n_leaves) / np.bincount(leaves, minlength=n_leaves)
        k = len(self.outcomes.classes)
        return np.bincount(leaves * k + said, minlength=n_leaves * k).reshape(n_leaves, k).argmax(axis=1)

    def middles(self, leaves: Codes, n_leaves: int) -> Matrix:
        """For each leaf the median code of each attribute with an order, the most frequent code of each other one."""
        found = np.zeros((n_leaves, self.codes.shape[1]), dtype=np.int64)
        for j, coding in enumerate(self.coder.codings):
            own = self.codes[:, j].astype(np.int64)
            if coding.attribute.has_order:
                found[:, j] = _medians(leaves, own, n_leaves, coding.n_values)
            else:
                found[:, j] = _modes(leaves, own, n_leaves, coding.n_codes)
        return found


def synthetic(members: Members, leaves: Codes, n_leaves: int, asked: Records) -> Matrix:
    """A made-up record for each leaf, as codes."""
    found = members.middles(leaves, n_leaves)
    usual = members.usual(leaves, n_leaves)
    off = _off(members.outcomes, asked.predictions(found), usual)
    wrong = np.flatnonzero(off > _bearable(members, leaves, n_leaves))
    if not len(wrong):
        return found
    of_leaf = _rows_of(leaves, wrong)
    tries = [_mixtures(members, of_leaf[leaf], found[leaf], usual[leaf]) for leaf in wrong.tolist()]
    said = asked.predictions(np.concatenate(tries))
    start = 0
    for leaf, mixtures in zip(wrong.tolist(), tries, strict=True):
        own = _off(members.outcomes, said[start : start + len(mixtures)], usual[leaf])
        start += len(mixtures)
        if len(own) and own.min() < off[leaf]:
            found[leaf] = mixtures[int(np.argmin(own))]  # the first, which takes fewest values of a record
    return found


def nearest_records(members: Members, leaves: Codes, n_leaves: int) -> Codes:
    """The paper's choice: the place of the actual record nearest to the median, of those with the usual prediction."""
    middles, usual = members.middles(leaves, n_leaves), members.usual(leaves, n_leaves)
    off = _off(members.outcomes, None, usual[leaves], members.outcomes.original[members.rows])
    distance = _distance(members.coder, members.codes, middles[leaves])
    order = np.lexsort([distance, off if members.outcomes.classes is not None else np.zeros(len(off)), leaves])
    first = np.unique(leaves[order], return_index=True)[1]
    return order[first]


def _off(outcomes: Outcomes, predictions: object, usual: Floats, codes: object = None) -> Floats:
    """How far predictions are from the usual one: 0 or 1 for a class, the difference for a number."""
    if outcomes.classes is None:
        return np.abs(np.asarray(predictions if codes is None else codes, dtype=np.float64) - usual)
    if codes is not None:
        return (np.asarray(codes) != usual).astype(np.float64)
    return (np.asarray(predictions) != outcomes.classes[np.asarray(usual, dtype=np.int64)]).astype(np.float64)


def _bearable(members: Members, leaves: Codes, n_leaves: int) -> Floats:
    """How far the model's word on a made-up record may be off: nothing for a class, half the spread for a number."""
    if members.outcomes.classes is not None:
        return np.zeros(n_leaves)
    said = members.outcomes.original[members.rows]
    counts = np.bincount(leaves, minlength=n_leaves)
    mean = np.bincount(leaves, weights=said, minlength=n_leaves) / counts
    square = np.bincount(leaves, weights=said**2, minlength=n_leaves) / counts
    return 0.5 * np.sqrt(np.maximum(square - mean**2, 0.0))


def _mixtures(members: Members, rows: Codes, middle: Codes, usual: float) -> Matrix:
    """The middle with more and more values of a near record that the model judges as usual, fewest first."""
    codes = members.codes[rows].astype(np.int64)
    off = _off(members.outcomes, None, np.full(len(rows), usual), members.outcomes.original[members.rows[rows]])
    near = codes[np.lexsort([_distance(members.coder, codes, middle[None, :]), off])][:_NEAR]
    stages = []
    for count in range(1, codes.shape[1] + 1):
        for record in near:
            other = np.flatnonzero(record != middle)
            if len(other) >= count:
                mixed = middle.copy()
                mixed[other[:count]] = record[other[:count]]
                stages.append(mixed)
                if count == 1:  # any one of the values alone
                    for j in other[1:]:
                        alone = middle.copy()
                        alone[j] = record[j]
                        stages.append(alone)
    return np.array(stages, dtype=np.int64).reshape(-1, codes.shape[1])


def _distance(coder: Coder, codes: npt.NDArray[np.integer], middles: Matrix) -> Floats:
    """Steps apart in an attribute with an order, as a share of all steps; 1 for another category."""
    total = np.zeros(len(codes))
    for j, coding in enumerate(coder.codings):
        one, other = codes[:, j].astype(np.int64), middles[:, j]
        apart = np.abs(one - other) / max(1, coding.n_codes - 1)
        total += apart if coding.attribute.has_order else (one != other)
    return total


def _rows_of(leaves: Codes, wanted: Codes) -> dict[int, Codes]:
    order = np.argsort(leaves, kind="stable")
    low = np.searchsorted(leaves[order], wanted, side="left")
    high = np.searchsorted(leaves[order], wanted, side="right")
    return {leaf: order[a:b] for leaf, a, b in zip(wanted.tolist(), low, high, strict=True)}


def _medians(leaves: Codes, codes: Codes, n_leaves: int, missing: int) -> Codes:
    """The lower median of each leaf's codes; the code `missing` counts only where there is no other."""
    found = np.full(n_leaves, missing, dtype=np.int64)
    there: Mask = codes < missing
    order = np.lexsort([codes[there], leaves[there]])
    sorted_leaves, sorted_codes = leaves[there][order], codes[there][order]
    own, start, count = np.unique(sorted_leaves, return_index=True, return_counts=True)
    found[own] = sorted_codes[start + (count - 1) // 2]
    return found


def _modes(leaves: Codes, codes: Codes, n_leaves: int, size: int) -> Codes:
    pairs, counts = np.unique(leaves * size + codes, return_counts=True)
    order = np.lexsort([pairs, -counts, pairs // size])
    own, first = np.unique((pairs // size)[order], return_index=True)
    found = np.zeros(n_leaves, dtype=np.int64)
    found[own] = (pairs % size)[order][first]
    return found
