"""Best-first growth: always split the leaf whose best split lowers the criterion most.

Best-first trees are nested: the first k-1 splits of a large tree form the tree with k leaves.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace

from modicum.table.counts import CountSource, NodeCounts, NodeSplit
from modicum.trees.splitting import Criterion, FoundSplit, find_split
from modicum.trees.tree import Tree
from modicum.typing import Ints

_Heap = list[tuple[float, int, FoundSplit]]
_Children = dict[int, tuple[NodeCounts, NodeCounts]]


def grow(
    source: CountSource,
    criterion: Criterion,
    *,
    value_counts: Sequence[Ints],
    max_leaves: int | None = None,
    max_depth: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    admits: Callable[[NodeSplit], bool] | None = None,
) -> Tree:
    """Grow a tree from counts, without any row.

    Parameters
    ----------
    source : CountSource
        Provides the histograms of nodes.
    criterion : Criterion
        The criterion that a split must lower.
    value_counts : sequence of arrays
        For each split attribute, the overall count of each value; decides the side of a value absent at a node.
    max_leaves, max_depth : int, optional
        Limits; growth stops earlier if no split helps.
    should_stop : callable, optional
        Called before each split; growth stops if it returns True.
    admits : callable, optional
        Called with each split found; if it returns False, a split with larger sides is searched.

    Examples
    --------
    The label is 1 for the largest of three values, so one cut below it determines the label.

    >>> import numpy as np
    >>> from modicum.table.counts import Layout, RowCounts
    >>> from modicum.trees import Criterion, grow
    >>> codes = np.array([[0, 0], [1, 0], [2, 1], [0, 0], [1, 0], [2, 1]], dtype=np.uint16)  # a value, the label
    >>> layout = Layout(splits=(0,), split_sizes=(3,), targets=(1,), target_sizes=(2,))
    >>> plain = Criterion(np.ones(2), has_order=np.array([True]), missing=np.array([-1]), min_leaf=1)
    >>> tree = grow(RowCounts(codes, layout), plain, value_counts=[np.array([2, 2, 2])])
    >>> tree.n_leaves, tree.buckets()[0].tolist()
    (2, [1, 1, 0])
    """
    tree = Tree(source.layout, criterion.has_order, criterion.missing, value_counts)
    heap: _Heap = []
    ahead: _Children = {}
    deepest = None if max_depth is None else 2**max_depth - 1  # the first node that is too deep to be split
    if max_leaves != 1 and max_depth != 0 and source.layout.splits:
        _consider(source.root(), source, criterion, heap, admits)
    while heap and tree.n_leaves != max_leaves and not should_stop():
        is_last = tree.n_leaves + 1 == max_leaves
        node = heap[0][1]
        if not is_last and node not in ahead:
            ahead.update(_expand(source, heap, ahead))
        _, node, found = heapq.heappop(heap)
        tree.split(node, found)
        for child in () if is_last else ahead.pop(node):
            if deepest is None or child.node < deepest:
                _consider(child, source, criterion, heap, admits)
    return tree


def _consider(
    counts: NodeCounts,
    source: CountSource,
    criterion: Criterion,
    heap: _Heap,
    admits: Callable[[NodeSplit], bool] | None,
) -> None:
    found = find_split(counts.histogram, source.layout, criterion)
    while found is not None and admits is not None and not admits(_node_split(counts.node, found)):
        smaller = min(found.n_left, found.n_right)
        larger = replace(criterion, min_leaf=smaller + max(1, smaller // 4))
        found = find_split(counts.histogram, source.layout, larger)
    if found is not None:
        heapq.heappush(heap, (-found.gain, counts.node, found))


def _node_split(node: int, found: FoundSplit) -> NodeSplit:
    return NodeSplit(node, 2 * node + 1, 2 * node + 2, found.attribute, found.sides == 1)


def _expand(source: CountSource, heap: _Heap, ahead: _Children) -> _Children:
    """Count the children of the most promising leaves, as many at once as the source prefers."""
    leaves = [entry for entry in heapq.nsmallest(source.batch + len(ahead), heap) if entry[1] not in ahead]
    splits = [_node_split(node, found) for _, node, found in leaves[: source.batch]]
    return {split.node: pair for split, pair in zip(splits, source.expand(splits), strict=True)}
