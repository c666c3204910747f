"""What each node of the tree would cost as a leaf: the predictions that are not its usual one."""

import numpy as np

from modicum.minimizers.guiding.outcomes import Outcomes
from modicum.minimizers.guiding.pruning import Nodes
from modicum.table.values import Codes, Floats


def node_costs(nodes: Nodes, outcomes: Outcomes, rows: Codes, leaves: Codes, others: Codes, at: Codes) -> list[Floats]:
    """Records, costs among those learned from, and costs among the others (rows and the leaves they are in).

    The usual prediction of a node is that of most records that the tree has learned from; for R² it is their mean, and
    the cost is the squared difference from it over the variance.
    """
    said, other_said = outcomes.guide[rows], outcomes.guide[others]
    n = nodes.tree.n_leaves
    sizes = nodes.summed(np.bincount(leaves, minlength=n).astype(np.float64))
    if outcomes.kind == "r2":
        mean = _summed(nodes, leaves, said) / np.maximum(sizes, 1)
        count = nodes.summed(np.bincount(at, minlength=n).astype(np.float64))
        own = _squares(nodes, leaves, said, mean, sizes)
        return [sizes, own / outcomes.scale, _squares(nodes, at, other_said, mean, count) / outcomes.scale]
    k = int(outcomes.guide.max()) + 1
    table = nodes.summed(_counted(leaves, said, n, k))
    other = nodes.summed(_counted(at, other_said, n, k))
    usual, every = table.argmax(axis=1), np.arange(len(table))
    return [sizes, table.sum(axis=1) - table[every, usual], other.sum(axis=1) - other[every, usual]]


def _counted(leaves: Codes, said: Codes, n_leaves: int, k: int) -> Floats:
    return np.bincount(leaves * k + said, minlength=n_leaves * k).reshape(n_leaves, k).astype(np.float64)


def _summed(nodes: Nodes, leaves: Codes, values: Floats) -> Floats:
    return nodes.summed(np.bincount(leaves, weights=values, minlength=nodes.tree.n_leaves).astype(np.float64))


def _squares(nodes: Nodes, leaves: Codes, values: Floats, mean: Floats, counts: Floats) -> Floats:
    """Σ (value − mean)² at every node, from sums alone."""
    return _summed(nodes, leaves, values**2) - 2 * mean * _summed(nodes, leaves, values) + counts * mean**2
