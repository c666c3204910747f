"""Cells for a target: the tree pruned as far as it goes; attributes told in full where the whole tree falls short."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modicum.generalization import CellPartition
from modicum.minimizers.guiding.making_cells import made_cells
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
    way = setting.pruned
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
