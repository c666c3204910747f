"""A grown tree: the way of each code, and the buckets of codes that no split separates.

**Absent values.** A value that no record at a node has could go either way. To avoid needless splits of buckets, it
follows its bucket: the values from which no earlier split separates it. If those of them that are present all go to one
side, it goes there; if they go to both sides, it follows the more frequent ones; if none is present, it goes to the
side with more records. For an attribute with an order the cut may lie anywhere between the two neighbours present at
the node: it is placed at an existing cut of the attribute, else in the middle.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.generalization.cells import Walk
from modicum.table.counts import Layout
from modicum.trees.splitting import FoundSplit
from modicum.typing import Ints, Mask


@dataclass(frozen=True)
class TreeSplit:
    """One split: its node (the children of v are 2v+1 and 2v+2), its attribute, and which codes go left."""

    node: int
    attribute: int
    goes_left: Mask
    gain: float


@dataclass
class Tree:
    """Splits in the order in which they were made; the first k-1 of them form the tree with k leaves.

    Examples
    --------
    `grow` grows a tree; this one has no split yet:

    >>> import numpy as np
    >>> from modicum.table.counts import Layout
    >>> from modicum.trees import Tree
    >>> layout = Layout(splits=(0,), split_sizes=(3,), targets=(1,), target_sizes=(2,))
    >>> tree = Tree(layout, np.array([True]), np.array([-1]), [np.array([2, 2, 2])])
    >>> tree.n_leaves, tree.buckets()[0].tolist()
    (1, [0, 0, 0])
    """

    layout: Layout
    has_order: Mask
    missing: Ints
    value_counts: Sequence[Ints]
    splits: list[TreeSplit] = field(default_factory=list)
    _classes: list[Ints] = field(default_factory=list, repr=False)
    _reach: dict[int, dict[int, Mask]] = field(default_factory=dict, repr=False)  # leaf → attribute → codes that arrive

    def __post_init__(self) -> None:
        self._classes = [np.zeros(size, dtype=np.int64) for size in self.layout.split_sizes]
        self._reach = {0: {}}

    @property
    def n_leaves(self) -> int:
        """The number of leaves: one more than splits."""
        return len(self.splits) + 1

    def split(self, node: int, found: FoundSplit) -> None:
        """Add a split, and decide the side of its absent values."""
        a = found.attribute
        ordered = bool(self.has_order[a])
        goes_left = _cut(found, self._classes[a], int(self.missing[a])) if ordered else found.sides == 1
        goes_left = _follow(goes_left, found, self._classes[a], self._find_settled_values(found), self.value_counts[a])
        self._add(TreeSplit(node, a, goes_left, found.gain))

    def _add(self, split: TreeSplit) -> None:
        a, above = split.attribute, self._reach.pop(split.node)
        reaches = above.get(a, np.ones(self.layout.split_sizes[a], dtype=bool))
        self.splits.append(split)
        self._classes[a] = _separate_classes(self._classes[a], reaches, split.goes_left)
        self._reach[2 * split.node + 1] = above | {a: reaches & split.goes_left}
        self._reach[2 * split.node + 2] = above | {a: reaches & ~split.goes_left}

    def _find_settled_values(self, found: FoundSplit) -> Mask:
        """Return the values whose side is fixed: the present ones; with an order all except an absent missing value."""
        present = found.sides >= 0
        a = found.attribute
        if not self.has_order[a]:
            return present
        settled = np.ones(len(present), dtype=bool)
        if self.missing[a] >= 0:
            settled[self.missing[a]] = present[self.missing[a]]
        return settled

    def buckets(self, n_leaves: int | None = None) -> list[Ints]:
        """Return for each split attribute a number per code: equal if no split that either can reach separates them."""
        if n_leaves is None or n_leaves >= self.n_leaves:
            return [classes.copy() for classes in self._classes]
        return self.prune([i < n_leaves - 1 for i in range(len(self.splits))])._classes

    def prune(self, stays: Sequence[bool]) -> "Tree":
        """Return the tree of some of the splits; a split may stay only if the one above it does."""
        part = Tree(self.layout, self.has_order, self.missing, self.value_counts)
        for split, stay in zip(self.splits, stays, strict=True):
            if stay:
                part._add(split)
        return part

    def leaf_numbers(self, n_leaves: int | None = None) -> dict[int, int]:
        """Map each leaf's node to its number: split i's left child keeps the number, its right child is leaf i+1."""
        leaf_of = {0: 0}
        for i, split in enumerate(self.splits[: None if n_leaves is None else max(0, n_leaves - 1)]):
            leaf_of[2 * split.node + 1], leaf_of[2 * split.node + 2] = leaf_of.pop(split.node), i + 1
        return leaf_of

    def reaching(self, leaf: int) -> dict[int, Mask]:
        """Return the codes that reach a leaf, for each split attribute on its path."""
        return self._reach[leaf]

    def apply(self, codes: npt.NDArray[Any], n_leaves: int | None = None) -> Ints:
        """Return each record's leaf number, as in `leaf_numbers`."""
        leaf_of = self.leaf_numbers(n_leaves)
        splits = self.splits[: len(leaf_of) - 1]
        place = {split.node: i for i, split in enumerate(splits)}
        walk = Walk.of(
            [self.layout.splits[split.attribute] for split in splits],
            [split.goes_left for split in splits],
            [[place.get(v, ~leaf_of.get(v, 0)) for v in (2 * s.node + 1, 2 * s.node + 2)] for s in splits],
        )
        return walk.leaves(codes)


def _cut(found: FoundSplit, classes: Ints, missing: int) -> Mask:
    """Return the sides of an ordered attribute, cut between the present neighbours; at an existing cut if possible."""
    values = np.arange(len(classes))
    is_value = values != missing
    left = values[(found.sides == 1) & is_value]
    right = values[(found.sides == 0) & is_value]
    if len(left) and len(right):
        gap = np.arange(left.max(), right.min())
        old = gap[classes[gap] != classes[gap + 1]]
        last_left = int(old[len(old) // 2] if len(old) else gap[(len(gap) - 1) // 2])
    else:
        last_left = len(classes) if len(left) else -1
    goes_left = values <= last_left
    if missing >= 0:
        goes_left[missing] = found.sides[missing] == 1
    return goes_left


def _follow(goes_left: Mask, found: FoundSplit, classes: Ints, settled: Mask, counts: Ints) -> Mask:
    """Send each value without a fixed side where its bucket goes."""
    if settled.all():
        return goes_left
    size = int(classes.max()) + 1
    left = np.bincount(classes[settled & goes_left], weights=counts[settled & goes_left] + 0.5, minlength=size)
    right = np.bincount(classes[settled & ~goes_left], weights=counts[settled & ~goes_left] + 0.5, minlength=size)
    default = found.n_left >= found.n_right
    leads_left = np.where(left == right, default, left > right)
    return np.where(settled, goes_left, leads_left[classes])


def _separate_classes(classes: Ints, reaches: Mask, goes_left: Mask) -> Ints:
    """Split the classes: values that reach the split and go to different sides are separated."""
    finer = 2 * classes + np.where(reaches, goes_left, False)
    return np.unique(finer, return_inverse=True)[1]
