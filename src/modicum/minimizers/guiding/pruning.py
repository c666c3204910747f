"""Which questions of the tree are worth their detail: its nodes, from the leaves up (papers/1 §3.1 and §5.3).

The paper prunes level by level. The better way is weakest-link pruning (Breiman et al. 1984) with the information loss
in the place of the tree's size: always remove the questions below the node where the fewest predictions change for
each unit of loss that this adds. The trees along that way are nested.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from modicum.minimizers.guiding.losses import Losses
from modicum.table.values import Codes, Floats, Mask
from modicum.trees import Tree

_TINY = 1e-12


@dataclass(frozen=True)
class Nodes:
    """A tree's nodes: questions 0 … m-1 in the order of its splits, then its leaves as `Tree.apply` numbers them."""

    tree: Tree
    losses: Losses

    @cached_property
    def _places(self) -> dict[int, int]:
        m = len(self.tree.splits)
        return {split.node: i for i, split in enumerate(self.tree.splits)} | {
            node: m + leaf for node, leaf in self.tree.leaf_numbers().items()
        }

    @cached_property
    def children(self) -> list[tuple[int, int]]:
        """Of each question, its two sides."""
        places = self._places
        return [(places[2 * s.node + 1], places[2 * s.node + 2]) for s in self.tree.splits]

    @cached_property
    def parents(self) -> list[int]:
        """Of each node the question above, -1 for the root."""
        found = [-1] * (2 * len(self.children) + 1)
        for parent, sides in enumerate(self.children):
            for child in sides:
                found[child] = parent
        return found

    @cached_property
    def heights(self) -> Codes:
        """How many questions follow below each node, at most."""
        found = np.zeros(len(self.parents), dtype=np.int64)
        for i, (left, right) in reversed(list(enumerate(self.children))):
            found[i] = 1 + max(found[left], found[right])
        return found

    def summed(self, of_leaves: Floats) -> Floats:
        """A sum for every node, from those of the leaves."""
        m = len(self.children)
        found = np.concatenate([np.zeros((m, *of_leaves.shape[1:])), of_leaves])
        for i, (left, right) in reversed(list(enumerate(self.children))):
            found[i] = found[left] + found[right]
        return found

    @cached_property
    def information_loss(self) -> Floats:
        """What a record's box hides at each node: the weighted mean over the attributes."""
        losses, splits = self.losses, self.tree.layout.splits
        found = np.zeros(len(self.parents))
        found[0] = 1.0
        boxes: dict[int, dict[int, Codes]] = {0: {}}
        for i, (split, sides) in enumerate(zip(self.tree.splits, self.children, strict=True)):
            box, a = boxes.pop(i), splits[split.attribute]
            codes = box.get(a, np.arange(len(losses.counts[a])))
            rest = found[i] - losses.shares[a] * losses.of(a, codes)
            goes_left = split.goes_left[codes]
            for child, own in zip(sides, (codes[goes_left], codes[~goes_left]), strict=True):
                found[child] = rest + losses.shares[a] * losses.of(a, own)
                boxes[child] = box | {a: own}
        return found

    def cut(self, ends: Mask) -> Tree:
        """The tree that ends at the marked nodes."""
        stays: list[bool] = []
        for i, parent in enumerate(self.parents[: len(self.children)]):
            stays.append((parent < 0 or stays[parent]) and not ends[i])
        return self.tree.pruned(stays)

    def by_level(self, level: int) -> Tree:
        """The paper's pruning: every node with at most this many questions below it becomes a leaf."""
        return self.cut(self.heights <= level)


@dataclass(frozen=True)
class Pruned:
    """A way from the whole tree to its root: which node became a leaf at each step, and what each tree then costs.

    `costs` are those of the records to choose on; `hidden` is the mean information loss. Both begin with no step.
    """

    nodes: Nodes
    ends: list[int]
    costs: Floats
    hidden: Floats

    def tree(self, steps: int) -> Tree:
        """The tree after so many steps."""
        marked = np.zeros(len(self.nodes.parents), dtype=bool)
        marked[self.ends[:steps]] = True
        return self.nodes.cut(marked)


def weakest_links(nodes: Nodes, sizes: Floats, costs: Floats, other_costs: Floats) -> Pruned:
    """Prune the node first where a unit of information loss costs least.

    Parameters
    ----------
    nodes : Nodes
    sizes : records at each node
    costs : what each node costs as a leaf, among the records that the tree has learned from
    other_costs : the same among the records to choose on
    """
    hidden = sizes * nodes.information_loss
    m = len(nodes.children)
    now = {"cost": costs.copy(), "other": other_costs.copy(), "hidden": hidden.copy()}
    for i, (left, right) in reversed(list(enumerate(nodes.children))):
        for values in now.values():
            values[i] = values[left] + values[right]

    def link(i: int) -> float:
        return float((costs[i] - now["cost"][i]) / max(hidden[i] - now["hidden"][i], _TINY))

    heap = [(link(i), i, 0) for i in range(m)]
    heapq.heapify(heap)
    versions, gone = [0] * m, [False] * m
    ends: list[int] = []
    path = [(now["other"][0], now["hidden"][0])]
    while heap:
        _, i, version = heapq.heappop(heap)
        if gone[i] or version != versions[i]:
            continue
        _remove(i, nodes.children, gone)
        change = {"cost": costs[i], "other": other_costs[i], "hidden": hidden[i]}
        change = {name: value - now[name][i] for name, value in change.items()}
        at = i
        while at >= 0:
            for name, value in change.items():
                now[name][at] += value
            if at != i:
                versions[at] += 1
                heapq.heappush(heap, (link(at), at, versions[at]))
            at = nodes.parents[at]
        ends.append(i)
        path.append((now["other"][0], now["hidden"][0]))
    found = np.array(path)
    return Pruned(nodes, ends, found[:, 0], found[:, 1] / sizes[0])


def _remove(node: int, children: Sequence[tuple[int, int]], gone: list[bool]) -> None:
    waiting = [node]
    while waiting:
        i = waiting.pop()
        if i < len(children) and not gone[i]:
            gone[i] = True
            waiting += children[i]
