"""The tree that learns the model's predictions: grown to pure leaves, then pruned [Goldsteen22 §3.1, §5.3]."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.measures.information_loss import domain_of, share_of_values, share_of_width
from modicum.minimizers.model_guided.outcomes import Outcomes
from modicum.progress import Stop
from modicum.table.codes import Coder, Coding, NumberCoding, all_counts
from modicum.table.counts import Layout, RowCounts
from modicum.trees import Criterion, Tree, grow
from modicum.typing import Codes, Floats, Mask


def homogeneous_tree(
    coder: Coder,
    codes: npt.NDArray[np.uint16],
    targets: npt.NDArray[np.uint16],
    free: Sequence[int],
    max_depth: int | None,
    stop: Stop,
) -> Tree:
    """Grow a Gini tree on the columns `free` until no split separates predictions.

    Parameters
    ----------
    coder : Coder
    codes : array, one row per record
    targets : array, one column per target
        What the tree learns; several columns for a number, one for each threshold.
    free : the attributes that may be asked for
    max_depth : int, optional
    stop : Stop
    """
    width = codes.shape[1]
    sizes = [int(column.max()) + 1 for column in targets.T]
    layout = Layout(
        splits=tuple(free),
        split_sizes=tuple(coder.sizes[j] for j in free),
        targets=tuple(width + t for t in range(targets.shape[1])),
        target_sizes=tuple(max(2, size) for size in sizes),
    )
    codings = [coder.codings[j] for j in free]
    criterion = Criterion(
        column_weights=np.ones(layout.shape[1]),
        has_order=np.array([c.attribute.has_order for c in codings]),
        missing=np.array([c.n_values if c.missing else -1 for c in codings], dtype=np.int64),
        min_leaf=1,
    )
    return grow(
        RowCounts(np.column_stack([codes, targets]), layout),
        criterion,
        value_counts=[all_counts(c) for c in codings],
        max_depth=max_depth,
        should_stop=lambda: stop.asked,
    )


# How much of an attribute is hidden if some of its codes are no longer distinguished [Goldsteen22 §2.2, §5.1]


class Losses:
    """The loss of each set of codes of each attribute, and the records' weighted mean of them.

    Parameters
    ----------
    coder : Coder
    shares : each attribute's weight; they sum to 1
    loss : 'ncp', 'entropy', or a function of an attribute's coding and the codes that remain possible
    """

    def __init__(self, coder: Coder, shares: Sequence[float], loss: Any) -> None:
        self.coder = coder
        self.shares = np.asarray(shares, dtype=np.float64)
        self.counts = [all_counts(coding) for coding in coder.codings]
        self.total = int(self.counts[0].sum())
        self._own = [_loss(loss, coding) for coding in coder.codings]
        self._known: list[dict[bytes, float]] = [{} for _ in coder.codings]

    def of(self, attribute: int, codes: Codes) -> float:
        """The loss if these codes remain possible: 0 for a single code in full detail, 1 if nothing is known."""
        if len(codes) == len(self.counts[attribute]):
            return 1.0
        key = codes.tobytes()
        known = self._known[attribute]
        if key not in known:
            known[key] = self._own[attribute](codes)
        return known[key]

    def part(self, attribute: int, codes: Codes) -> float:
        """What one bucket adds to the weighted mean over all records."""
        records = int(self.counts[attribute][codes].sum())
        return float(self.shares[attribute] * records * self.of(attribute, codes) / self.total)

    def mean(self, attribute: int, buckets: Sequence[Codes]) -> float:
        """The attribute's part in the weighted mean over all records."""
        return sum(self.part(attribute, codes) for codes in buckets)


def _loss(loss: Any, coding: Coding) -> Callable[[Codes], float]:
    if loss == "ncp":
        if isinstance(coding, NumberCoding):
            return _width_loss(coding)
        return lambda codes: share_of_values(len(codes), coding.n_codes)  # equation (2): how many values remain
    if loss == "entropy":
        return _entropy_loss(coding)
    if callable(loss):
        return lambda codes: _check_loss(loss(coding, codes))
    raise ParameterError(
        f"The 'loss' parameter of ModelGuided must be 'ncp', 'entropy' or a function. Got {loss!r} instead."
    )


def _check_loss(value: Any) -> float:
    if not isinstance(value, int | float | np.number) or not 0 <= value <= 1:
        raise ParameterError(f"The 'loss' function must return a number from 0 to 1. Got {value!r} instead.")
    return float(value)


def _width_loss(coding: NumberCoding) -> Callable[[Codes], float]:
    """Equation (1): a range's width over the domain's."""
    ends = np.concatenate([[-np.inf], coding.edges, [np.inf]])
    domain = domain_of(coding.attribute, coding.typical)

    def measure(codes: Codes) -> float:
        own = codes[codes < coding.n_values]
        if not len(own):
            return 0.0
        return share_of_width(ends[own.min()], ends[own.max() + 1], coding.attribute, domain)

    return measure


def _entropy_loss(coding: Coding) -> Callable[[Codes], float]:
    """The remaining entropy of the value if these codes are possible, over that of the attribute.

    H(v | v in G) / H(v), at most 1, from the records' shares. Rare values count less than in NCP.
    """
    counts = all_counts(coding)
    whole = _entropy(counts)
    return lambda codes: min(1.0, _entropy(counts[codes]) / whole) if whole > 0 else 0.0


def _entropy(counts: Any) -> float:
    total = counts.sum()
    if not total:
        return 0.0
    p: Floats = counts[counts > 0] / total
    return float(-(p * np.log(p)).sum())


# Which questions of the tree are worth their detail: its nodes, from the leaves up [Goldsteen22 §3.1 and §5.3].
#
# The paper prunes level by level. Weakest-link pruning (Breiman et al. 1984) is better, with the information loss
# instead of the tree's size: always remove the questions below the node where the fewest predictions change for each
# unit of loss that this adds. The trees along this path are nested.

_TINY = 1e-12


@dataclass(frozen=True)
class Nodes:
    """A tree's nodes: questions 0 … m-1 in the order of its splits, then its leaves as `Tree.apply` numbers them."""

    tree: Tree
    losses: Losses

    @cached_property
    def children(self) -> list[tuple[int, int]]:
        """The two sides of each question."""
        splits = self.tree.splits
        places = {split.node: i for i, split in enumerate(splits)}
        places |= {node: len(splits) + leaf for node, leaf in self.tree.leaf_numbers().items()}
        return [(places[2 * split.node + 1], places[2 * split.node + 2]) for split in splits]

    @cached_property
    def parents(self) -> list[int]:
        """The question above each node; -1 for the root."""
        found = [-1] * (2 * len(self.children) + 1)
        for parent, sides in enumerate(self.children):
            for child in sides:
                found[child] = parent
        return found

    @cached_property
    def heights(self) -> Codes:
        """The most questions that follow below each node."""
        found = np.zeros(len(self.parents), dtype=np.int64)
        for i, (left, right) in reversed(list(enumerate(self.children))):
            found[i] = 1 + max(found[left], found[right])
        return found

    def sum_leaves(self, of_leaves: Floats) -> Floats:
        """Sum values of leaves for every node."""
        m = len(self.children)
        found = np.concatenate([np.zeros((m, *of_leaves.shape[1:])), of_leaves])
        for i, (left, right) in reversed(list(enumerate(self.children))):
            found[i] = found[left] + found[right]
        return found

    @cached_property
    def information_loss(self) -> Floats:
        """How much a record's box hides at each node: the weighted mean over the attributes."""
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
        return self.tree.prune(stays)

    def by_level(self, level: int) -> Tree:
        """The paper's pruning: every node with at most this many questions below it becomes a leaf."""
        return self.cut(self.heights <= level)


@dataclass(frozen=True)
class Pruned:
    """A path from the whole tree to its root: the node that became a leaf at each step, and the cost of each tree.

    `costs` are those of the records to choose on; `hidden` is the mean information loss. Both start at the whole tree.
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
    costs : the cost of each node as a leaf, among the records that the tree has learned from
    other_costs : the same among the records to choose on
    """
    # Each node's cost, cost among the others and information loss: as a leaf, and now, by the leaves below it.
    own = np.column_stack([costs, other_costs, sizes * nodes.information_loss])
    m = len(nodes.children)
    now = nodes.sum_leaves(own[m:])

    def link(i: int) -> float:
        cost, _, hidden = own[i] - now[i]
        return float(cost / max(hidden, _TINY))

    heap = [(link(i), i, 0) for i in range(m)]
    heapq.heapify(heap)
    versions, gone = [0] * m, [False] * m
    ends: list[int] = []
    path = [now[0].copy()]
    while heap:
        _, i, version = heapq.heappop(heap)
        if gone[i] or version != versions[i]:
            continue
        _remove(i, nodes.children, gone)
        change = own[i] - now[i]
        at = i
        while at >= 0:
            now[at] += change
            if at != i:
                versions[at] += 1
                heapq.heappush(heap, (link(at), at, versions[at]))
            at = nodes.parents[at]
        ends.append(i)
        path.append(now[0].copy())
    _, others, hidden = np.array(path).T
    return Pruned(nodes, ends, others, hidden / sizes[0])


def _remove(node: int, children: Sequence[tuple[int, int]], gone: list[bool]) -> None:
    waiting = [node]
    while waiting:
        i = waiting.pop()
        if i < len(children) and not gone[i]:
            gone[i] = True
            waiting += children[i]


# The cost of each node as a leaf: the predictions that differ from its usual one


def node_costs(nodes: Nodes, outcomes: Outcomes, rows: Codes, leaves: Codes, others: Codes, at: Codes) -> list[Floats]:
    """Return records, costs among those learned from, and costs among the others (in the leaves `at`).

    The usual prediction of a node is the most frequent one among the records that the tree has learned from; for R² it
    is their mean, and the cost is the squared difference from it over the variance.
    """
    predictions, other_predictions = outcomes.guide[rows], outcomes.guide[others]
    n = nodes.tree.n_leaves
    sizes = nodes.sum_leaves(np.bincount(leaves, minlength=n).astype(np.float64))
    if outcomes.kind == "r2":
        mean = _sum_by_node(nodes, leaves, predictions) / np.maximum(sizes, 1)
        count = nodes.sum_leaves(np.bincount(at, minlength=n).astype(np.float64))
        own = _squares(nodes, leaves, predictions, mean, sizes)
        other = _squares(nodes, at, other_predictions, mean, count)
        return [sizes, own / outcomes.scale, other / outcomes.scale]
    k = int(outcomes.guide.max()) + 1
    table = nodes.sum_leaves(_count_predictions(leaves, predictions, n, k))
    other = nodes.sum_leaves(_count_predictions(at, other_predictions, n, k))
    usual, every = table.argmax(axis=1), np.arange(len(table))
    return [sizes, table.sum(axis=1) - table[every, usual], other.sum(axis=1) - other[every, usual]]


def _count_predictions(leaves: Codes, predictions: Codes, n_leaves: int, k: int) -> Floats:
    return np.bincount(leaves * k + predictions, minlength=n_leaves * k).reshape(n_leaves, k).astype(np.float64)


def _sum_by_node(nodes: Nodes, leaves: Codes, values: Floats) -> Floats:
    return nodes.sum_leaves(np.bincount(leaves, weights=values, minlength=nodes.tree.n_leaves).astype(np.float64))


def _squares(nodes: Nodes, leaves: Codes, values: Floats, mean: Floats, counts: Floats) -> Floats:
    """Σ (value − mean)² at every node, from sums alone."""
    return _sum_by_node(nodes, leaves, values**2) - 2 * mean * _sum_by_node(nodes, leaves, values) + counts * mean**2
