"""Cells for a target: the tree pruned as far as it goes; attributes told in full where the whole tree falls short."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modicum.generalization import CellPartition
from modicum.minimizers.guiding.making_cells import made_cells
from modicum.minimizers.guiding.pruning import Pruned, weakest_links
from modicum.minimizers.guiding.records import Matrix, Records
from modicum.minimizers.guiding.setting import Setting
from modicum.minimizers.guiding.stand_ins import nearest_records, synthetic
from modicum.table.values import Codes, Floats
from modicum.trees import Tree

_TRIES = 6  # trees of the way that are tried with their records


@dataclass(frozen=True)
class Stands:
    """A tree with one record per leaf, as numbers of `asked`, whose records from `start` on are those to choose on."""

    tree: Tree
    sizes: Codes
    asked: Records
    start: int
    numbers: Matrix

    @classmethod
    def of(cls, tree: Tree, setting: Setting, representatives: str) -> "Stands":
        leaves = tree.apply(setting.members.codes)
        sizes = np.bincount(leaves, minlength=tree.n_leaves)
        if representatives == "synthetic":
            numbers = synthetic(setting.members, leaves, tree.n_leaves, setting.tried)
            return cls(tree, sizes, setting.tried, setting.n_sample, numbers)
        people = setting.members.rows[nearest_records(setting.members, leaves, tree.n_leaves)]
        asked = setting.tried.beside(people, setting.n_sample)
        return cls(tree, sizes, asked, len(people), asked.exact[: len(people)])

    def misses(self, kept: Sequence[int]) -> Floats:
        """Of the records to choose on, where each one's cell stands for it but for the attributes that are kept."""
        matrix = self.numbers[self.tree.apply(self.asked.codes[self.start :])]
        matrix[:, list(kept)] = self.asked.exact[self.start :][:, list(kept)]
        return self.asked.misses(matrix, np.arange(self.start, len(self.asked)))


def searched(setting: Setting, representatives: str) -> tuple[Stands, list[int]]:
    """The tree and its records, and the attributes that are kept besides."""
    kept = [a for a, c in enumerate(setting.coder.codings) if a not in setting.free and not c.attribute.forbidden]
    way = pruned(setting)
    estimated = way.costs
    surplus = 0.0
    stands = None
    for _ in range(_TRIES):
        fitting = np.flatnonzero(estimated <= setting.allowed - surplus)
        if not len(fitting):
            break
        stands = Stands.of(way.tree(int(fitting[-1])), setting, representatives)
        missed = float(stands.misses(kept).sum())
        if missed <= setting.allowed:
            return stands, kept
        surplus += max(missed - setting.allowed, 1.0)
    stands = Stands.of(setting.tree, setting, representatives)
    return stands, released(stands, setting, kept)


def pruned(setting: Setting) -> Pruned:
    """The way from the whole tree to its root."""
    nodes, tree = setting.nodes, setting.tree
    outcomes, start = setting.tried.outcomes, setting.n_sample
    other = tree.apply(setting.tried.codes[start:])
    own_said = outcomes.guide[setting.members.rows]
    other_said = outcomes.guide[setting.tried.rows[start:]]
    sizes = nodes.summed(np.bincount(setting.leaves, minlength=tree.n_leaves).astype(np.float64))
    if outcomes.kind == "r2":
        costs, other_costs = _squares(setting, own_said, other, other_said, sizes)
    else:
        k = int(outcomes.guide.max()) + 1
        own = nodes.summed(_table(setting.leaves, own_said, tree.n_leaves, k))
        others = nodes.summed(_table(other, other_said, tree.n_leaves, k))
        usual = own.argmax(axis=1)
        at = np.arange(len(usual))
        costs, other_costs = own.sum(axis=1) - own[at, usual], others.sum(axis=1) - others[at, usual]
    return weakest_links(nodes, sizes, costs, other_costs)


def _table(leaves: Codes, said: Codes, n_leaves: int, k: int) -> Floats:
    return np.bincount(leaves * k + said.astype(np.int64), minlength=n_leaves * k).reshape(n_leaves, k).astype(float)


def _squares(setting: Setting, said: Floats, other: Codes, other_said: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Squared differences from each node's mean, as shares of the variance."""
    n, nodes, scale = setting.tree.n_leaves, setting.nodes, setting.tried.outcomes.scale
    total = nodes.summed(np.bincount(setting.leaves, weights=said, minlength=n))
    square = nodes.summed(np.bincount(setting.leaves, weights=said**2, minlength=n))
    mean = total / np.maximum(sizes, 1)
    count = nodes.summed(np.bincount(other, minlength=n).astype(np.float64))
    other_total = nodes.summed(np.bincount(other, weights=other_said, minlength=n))
    other_square = nodes.summed(np.bincount(other, weights=other_said**2, minlength=n))
    own = square - 2 * mean * total + sizes * mean**2
    others = other_square - 2 * mean * other_total + count * mean**2
    return own / scale, others / scale


def released(stands: Stands, setting: Setting, kept: Sequence[int]) -> list[int]:
    """More attributes told in full until the target is reached: always the one that saves most for what it tells."""
    kept = list(kept)
    missed = float(stands.misses(kept).sum())
    while missed > setting.allowed and not setting.stop.asked:
        left = [a for a in setting.free if a not in kept]
        if not left:
            break
        found = {a: float(stands.misses([*kept, a]).sum()) for a in left}
        best = max(left, key=lambda a: (missed - found[a]) / max(1e-6, float(setting.losses.shares[a])))
        kept.append(best)
        missed = found[best]
    return sorted(kept)


def artifact(stands: Stands, kept: Sequence[int], setting: Setting, representatives: str) -> CellPartition:
    """The cells, with what the model says of each."""
    asked, outcomes = stands.asked, stands.asked.outcomes
    values = [[asked.value(j, int(number)) for j, number in enumerate(row)] for row in stands.numbers]
    said = asked.predictions(stands.numbers)
    predictions = [None] * len(said) if kept else [outcomes.plain(p) for p in said]
    return made_cells(stands.tree, setting.coder, stands.sizes, values, predictions, kept, representatives)
