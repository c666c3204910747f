"""Histograms of a tree's nodes from records that stay where they are: one pass for a batch of open leaves.

Each pass sends every record down the tree so far and counts it, by the same kernel as in memory, where it arrives at a
child that is asked for. Of two children only the smaller one is counted; the other is the parent less that one. The
parent's histogram, which is kept, tells which one is smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modicum.engines.coded_table import CodedTable
from modicum.engines.work import Counts
from modicum.generalization.cells import Walk
from modicum.table.codes import CodeArray
from modicum.table.counts import Histogram, Ints, Layout, NodeCounts, NodeSplit, add_rows, count_type
from modicum.table.values import Codes

_MOST_AT_ONCE = 64
_COUNTING = 256 * 2**20  # bytes for the histograms of one pass
_KEEPING = 512 * 2**20  # bytes for the histograms of open leaves
_NOBODY = 0  # where a record goes that is counted nowhere


class StreamedCounts:
    """A `CountSource` over a coded table.

    Parameters
    ----------
    codes : CodedTable
        With the label as its last column.
    layout : Layout
        Which columns are split and which are counted.
    batch : int, optional
        How many splits are answered in one pass: 64, or as many as 256 MB of histograms are. The tree is the same
        whatever it is.
    keep_bytes : int
        How much memory the histograms of open leaves may take; beyond it both children of a leaf are counted.

    Attributes
    ----------
    passes : int
        How often the records were read.
    """

    def __init__(self, codes: CodedTable, layout: Layout, batch: int | None = None, keep_bytes: int = _KEEPING) -> None:
        self.layout = layout
        fitting = _COUNTING // (8 * max(1, layout.shape[0] * layout.shape[1]))
        self.batch = min(_MOST_AT_ONCE, max(1, fitting)) if batch is None else batch
        self.passes = 0
        self._codes = codes
        self._asked: dict[int, NodeSplit] = {}  # every split so far, those looked at ahead included
        self._kept: dict[int, Histogram] = {}
        self._room = keep_bytes

    def root(self) -> NodeCounts:
        histogram = self._counted({0: 1})[0]
        self._type = count_type(int(histogram[: self.layout.split_sizes[0], self.layout.label_start :].sum()))
        return self._remember(0, histogram)

    def expand(self, splits: Sequence[NodeSplit]) -> list[tuple[NodeCounts, NodeCounts]]:
        self._asked.update({split.node: split for split in splits})
        wanted = [node for split in splits for node in self._to_count(split)]
        found = self._counted({node: i + 1 for i, node in enumerate(wanted)})
        histograms = dict(zip(wanted, found, strict=True))
        return [self._children(split, histograms) for split in splits]

    def _to_count(self, split: NodeSplit) -> list[int]:
        """The child to count: the smaller one; both where the parent's histogram was not kept."""
        parent = self._kept.get(split.node)
        if parent is None:
            return [split.left_node, split.right_node]
        start = self.layout.split_starts[split.attribute]
        of_value = parent[start : start + len(split.goes_left), self.layout.label_start :].sum(axis=1)
        is_small = 2 * of_value[split.goes_left].sum() <= of_value.sum()
        return [split.left_node if is_small else split.right_node]

    def _children(self, split: NodeSplit, counted: dict[int, Histogram]) -> tuple[NodeCounts, NodeCounts]:
        parent = self._kept.pop(split.node, None)
        if parent is not None:
            self._room += parent.nbytes
            small, large = split.left_node, split.right_node
            if small not in counted:
                small, large = large, small
            counted[large] = parent - counted[small]
        left, right = (self._remember(node, counted[node]) for node in (split.left_node, split.right_node))
        return left, right

    def _remember(self, node: int, histogram: Histogram) -> NodeCounts:
        histogram = histogram.astype(self._type, copy=False)
        if histogram.nbytes <= self._room:
            self._kept[node] = histogram
            self._room -= histogram.nbytes
        return NodeCounts(node, histogram)

    def _counted(self, numbers: dict[int, int]) -> list[Histogram]:
        """One pass: the histograms of these nodes, which are numbered from 1."""
        self.passes += 1
        counts = self._codes.fold(NodesFold(self.layout, self._walk(numbers), len(numbers)))
        return [histogram.astype(self._type, copy=True) for histogram in counts.reshape(-1, *self.layout.shape)]

    _type: npt.DTypeLike = np.int64  # until the number of records is known

    def _walk(self, numbers: dict[int, int]) -> Walk | None:
        """The way down to the nodes that are counted."""
        if 0 in numbers:
            return None
        splits = [self._asked[node] for node in sorted(self._on_the_way(numbers))]
        place = {split.node: i for i, split in enumerate(splits)}
        return Walk.of(
            [self.layout.splits[split.attribute] for split in splits],
            [split.goes_left for split in splits],
            [[_next(child, place, numbers) for child in (split.left_node, split.right_node)] for split in splits],
        )

    def _on_the_way(self, numbers: dict[int, int]) -> set[int]:
        parents = {child: split.node for split in self._asked.values() for child in (split.left_node, split.right_node)}
        passed: set[int] = set()
        for node in numbers:
            while node in parents:
                node = parents[node]
                passed.add(node)
        return passed


def _next(child: int, place: dict[int, int], numbers: dict[int, int]) -> int:
    """The next question, or where the walk ends."""
    return place[child] if child in place else ~numbers.get(child, _NOBODY)


@dataclass(frozen=True)
class NodesFold:
    """Histograms of nodes, one after another: the records of node i + 1 by a walk, or all of them without one."""

    layout: Layout
    walk: Walk | None
    nodes: int

    def empty(self) -> Counts:
        return np.zeros(self.nodes * self.layout.shape[0] * self.layout.shape[1], dtype=np.int64)

    def add(self, counts: Counts, codes: CodeArray) -> None:
        histograms = counts.reshape(-1, *self.layout.shape)
        for rows, histogram in zip(self._rows(codes), histograms, strict=True):
            add_rows(codes, rows, self.layout, histogram)

    def _rows(self, codes: CodeArray) -> list[npt.NDArray[np.uint32]]:
        """The rows of each node."""
        if self.walk is None:
            return [np.arange(len(codes), dtype=np.uint32)]
        leaves: Codes = self.walk.leaves(codes)
        order = np.argsort(leaves.astype(np.uint16), kind="stable").astype(np.uint32)
        ends: Ints = np.cumsum(np.bincount(leaves, minlength=self.nodes + 1))
        return np.split(order, ends)[1:-1]
