"""One record for each cell: made up from its box alone, so that the model says of it what it says of most of the cell.

Each value is the middle of what *all* records have within the box's side: the median of an attribute with an order, the
most frequent category. No cell's own records are looked at, of which there may be one. Where the model says something
else of such a record, single values are moved within the box, then whole records are drawn from it, each attribute by
itself; the nearest one of which the model says what it should is taken (DESIGN §2).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.minimizers.model_guided.outcomes import Outcomes
from modicum.minimizers.model_guided.records import Matrix, Records
from modicum.table.codes import Coder, Coding, all_counts, weighted_median
from modicum.trees import Tree
from modicum.typing import Codes, Floats

_SHARES = (0.05, 0.25, 0.75, 0.95)  # where a number is tried besides its median
_OTHERS = 4  # categories that are tried besides the most frequent
_DRAWN = 40  # whole records that are tried


@dataclass(frozen=True)
class CellMembers:
    """The records that a tree has learned from: their codes, their rows, and what the model says of them."""

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


def synthetic(members: CellMembers, tree: Tree, leaves: Codes, asked: Records) -> Matrix:
    """A made-up record for each leaf, as codes."""
    boxes = [_Box.of(tree, node, members.coder) for node, _ in sorted(tree.leaf_numbers().items(), key=lambda n: n[1])]
    found = np.array([box.middle() for box in boxes])
    usual = members.usual(leaves, tree.n_leaves)
    off = _off(members.outcomes, asked.predictions(found), usual)
    wrong = np.flatnonzero(off > _bearable(members, leaves, tree.n_leaves))
    if not len(wrong):
        return found
    random = np.random.default_rng(0)
    tries = [boxes[leaf].nearby(found[leaf], random) for leaf in wrong.tolist()]
    said = asked.predictions(np.concatenate(tries))
    start = 0
    for leaf, others in zip(wrong.tolist(), tries, strict=True):
        own = _off(members.outcomes, said[start : start + len(others)], usual[leaf])
        start += len(others)
        if len(own) and own.min() < off[leaf]:
            found[leaf] = others[int(np.argmin(own))]  # the first, which is the nearest
    return found


def nearest_records(members: CellMembers, tree: Tree, leaves: Codes) -> Codes:
    """The paper's choice: the place of the actual record nearest to the middle, of those with the usual prediction."""
    nodes = sorted(tree.leaf_numbers().items(), key=lambda n: n[1])
    middles = np.array([_Box.of(tree, node, members.coder).middle() for node, _ in nodes])
    usual, said = members.usual(leaves, tree.n_leaves), members.outcomes.original[members.rows]
    off = np.zeros(len(said)) if members.outcomes.classes is None else (said != usual[leaves]).astype(np.float64)
    distance = _distances(members.coder.codings, members.codes, middles[leaves])
    order = np.lexsort([distance, off, leaves])
    return order[np.unique(leaves[order], return_index=True)[1]]


@dataclass(frozen=True)
class _Box:
    """The codes of each attribute that a leaf leaves possible, and how often all records have each."""

    codings: Sequence[Coding]
    codes: list[Codes]
    counts: list[Codes]

    @classmethod
    def of(cls, tree: Tree, node: int, coder: Coder) -> "_Box":
        reached = {tree.layout.splits[a]: np.flatnonzero(flags) for a, flags in tree.reaching(node).items()}
        codes, counts = [], []
        for j, coding in enumerate(coder.codings):
            own = reached.get(j, np.arange(coding.n_codes))
            values = own[own < coding.n_values]
            own = values if len(values) else own  # missing stands only where nothing else is possible
            codes.append(own)
            counts.append(all_counts(coding)[own])
        return cls(coder.codings, codes, counts)

    def middle(self) -> Codes:
        return np.array([self._at(j, 0.5) for j in range(len(self.codes))], dtype=np.int64)

    def _at(self, j: int, share: float) -> int:
        """The code of an attribute below which this share of the records lies; the most frequent category."""
        codes, counts = self.codes[j], self.counts[j]
        if not self.codings[j].attribute.has_order:
            return int(codes[np.argmax(counts)])
        if share == 0.5:
            return int(codes[weighted_median(counts)])
        return int(codes[min(np.searchsorted(np.cumsum(counts), share * counts.sum()), len(codes) - 1)])

    def nearby(self, middle: Codes, random: np.random.Generator) -> Matrix:
        """Other records of the box, the nearest to its middle first."""
        found = []
        for j, coding in enumerate(self.codings):
            if coding.attribute.has_order:
                others = [self._at(j, share) for share in _SHARES]
            else:
                others = self.codes[j][np.argsort(-self.counts[j], kind="stable")][: _OTHERS + 1].tolist()
            for code in dict.fromkeys(others):
                if code != middle[j]:
                    moved = middle.copy()
                    moved[j] = code
                    found.append(moved)
        drawn = [self._draw_codes(j, random) for j in range(len(self.codes))]
        every = np.concatenate([np.array(found, dtype=np.int64).reshape(-1, len(middle)), np.column_stack(drawn)])
        return every[np.argsort(_distances(self.codings, every, middle[None, :]), kind="stable")]

    def _draw_codes(self, j: int, random: np.random.Generator) -> Codes:
        until = np.cumsum(self.counts[j] + 1e-9)
        return self.codes[j][np.searchsorted(until, random.uniform(0, until[-1], _DRAWN))]


def _off(outcomes: Outcomes, predictions: npt.NDArray[Any], usual: Floats | float) -> Floats:
    """How far predictions are from the usual one: 0 or 1 for a class, the difference for a number."""
    if outcomes.classes is None:
        return np.abs(predictions.astype(np.float64) - usual)
    return (predictions != outcomes.classes[np.asarray(usual, dtype=np.int64)]).astype(np.float64)


def _bearable(members: CellMembers, leaves: Codes, n_leaves: int) -> Floats:
    """How far the model's word on a made-up record may be off: nothing for a class, half the spread for a number."""
    if members.outcomes.classes is not None:
        return np.zeros(n_leaves)
    said = members.outcomes.original[members.rows]
    counts = np.bincount(leaves, minlength=n_leaves)
    mean = np.bincount(leaves, weights=said, minlength=n_leaves) / counts
    square = np.bincount(leaves, weights=said**2, minlength=n_leaves) / counts
    return 0.5 * np.sqrt(np.maximum(square - mean**2, 0.0))


def _distances(codings: Sequence[Coding], codes: npt.NDArray[np.integer], middles: Matrix) -> Floats:
    """Steps apart in an attribute with an order, as a share of all steps; 1 for another category."""
    total = np.zeros(len(codes))
    for j, coding in enumerate(codings):
        one, other = codes[:, j].astype(np.int64), middles[:, j]
        apart = np.abs(one - other) / max(1, coding.n_codes - 1)
        total += apart if coding.attribute.has_order else (one != other)
    return total
