"""Cells for a target: the tree pruned as far as it goes; attributes told in full where the whole tree falls short."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.generalization import CellPartition, Generalization
from modicum.generalization.bins import AnyPartition, Dropped, Groups, Scalar
from modicum.generalization.build import drop, keep, partition
from modicum.generalization.cells import Ask, Cell, Entry
from modicum.generalization.core import bucket_tables
from modicum.minimizers.model_guided.cell_records import nearest_records, synthetic
from modicum.minimizers.model_guided.records import Matrix, Records
from modicum.minimizers.model_guided.setting import Setting
from modicum.table.codes import Coder, usual_code
from modicum.trees import Tree
from modicum.typing import Codes, Floats

# A pruned tree and one record for each leaf, made into the artifact.


def make_cells(
    tree: Tree,
    coder: Coder,
    values: Sequence[Sequence[Scalar]],
    predictions: Sequence[Any],
    kept: Sequence[int],
    representatives: str,
) -> CellPartition:
    """The cells of a tree.

    Parameters
    ----------
    tree : Tree
        On the coder's codes.
    coder : Coder
    values : each leaf's record
    predictions : what the model says of each
    kept : attributes that are told in full
    representatives : whether the values are made up
    """
    found = dict(zip(tree.layout.splits, tree.buckets(), strict=True))
    parts: list[AnyPartition] = [partition(c, found[j]) if j in found else drop(c) for j, c in enumerate(coder.codings)]
    detail = Generalization(coder.schema, parts)
    entries = _entries(tree, detail, coder, values, predictions)
    return CellPartition(detail, entries, kept=[keep(coder.codings[j]) for j in kept], representatives=representatives)


def one_cell(g: Generalization, representatives: str) -> CellPartition:
    """A generalization as a single cell, of which each attribute's bucket is told."""
    nothing = Generalization(g.schema, [Dropped(attribute=p.attribute, value=p.value) for p in g.partitions])
    kept = [p for p in g.partitions if not isinstance(p, Dropped)]
    values = tuple(p.value for p in g.partitions)
    return CellPartition(nothing, [Cell(values=values)], kept=kept, representatives=representatives)


def _entries(
    tree: Tree,
    detail: Generalization,
    coder: Coder,
    values: Sequence[Sequence[Scalar]],
    predictions: Sequence[Any],
) -> list[Entry]:
    tables = bucket_tables(detail.partitions, coder)
    made = {split.node: split for split in tree.splits}
    leaf_of = tree.leaf_numbers()
    found: list[Entry] = []
    waiting: list[tuple[int, dict[int, Any]]] = [(0, {})]
    while waiting:
        node, reaches = waiting.pop()
        if node in leaf_of:
            leaf = leaf_of[node]
            found.append(Cell(prediction=predictions[leaf], values=tuple(values[leaf])))
            continue
        split = made[node]
        a = tree.layout.splits[split.attribute]
        here = reaches.get(a, np.ones(len(split.goes_left), dtype=bool))
        left = set(tables[a][here & split.goes_left].tolist())
        if split.goes_left[usual_code(coder.codings[a])]:
            left |= _find_unseen_codes(detail.partitions[a], tables[a])
        found.append(Ask(ask=detail.names[a], left=tuple(sorted(left))))
        waiting.append((2 * node + 2, reaches | {a: here & ~split.goes_left}))
        waiting.append((2 * node + 1, reaches | {a: here & split.goes_left}))
    return found


def _find_unseen_codes(part: AnyPartition, table: npt.NDArray[Any]) -> set[int]:
    """The codes of unseen and missing values that no record had: they go with the usual value, as in the search."""
    if isinstance(part, Dropped):
        return set()
    special = {getattr(part, "missing_code", -1), part.unseen_code if isinstance(part, Groups) else -1}
    return {code for code in special if code >= 0} - set(table.tolist())


# The search

_ROWS = 100_000  # that the model is asked about together
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
            numbers = synthetic(setting.members, tree, leaves, setting.tried)
            return cls(tree, sizes, setting.tried, setting.n_sample, numbers)
        people = setting.members.rows[nearest_records(setting.members, tree, leaves)]
        asked = setting.tried.beside(people, setting.n_sample)
        return cls(tree, sizes, asked, len(people), asked.exact[: len(people)])

    def matrix(self, kept: Sequence[int], which: Codes | slice = slice(None)) -> Matrix:
        """Some of the records to choose on, where each one's cell stands for it but for the attributes kept."""
        codes, exact = self.asked.codes[self.start :][which], self.asked.exact[self.start :][which]
        matrix = self.numbers[self.tree.apply(codes)]
        matrix[:, list(kept)] = exact[:, list(kept)]
        return matrix

    def misses(self, kept: Sequence[int]) -> Floats:
        """How far the model's word on those is from its word on the full records."""
        return self.asked.misses(self.matrix(kept), np.arange(self.start, len(self.asked)))

    def sum_misses_with(self, kept: Sequence[int], others: Sequence[int], which: Codes) -> Floats:
        """What some of those miss in all as one more attribute is kept, each of the others in turn."""
        at_once = max(1, _ROWS // max(1, len(which)))
        found: list[Floats] = []
        for start in range(0, len(others), at_once):
            matrices = [self.matrix([*kept, a], which) for a in others[start : start + at_once]]
            misses = self.asked.misses(np.concatenate(matrices), np.tile(self.start + which, len(matrices)))
            found.append(misses.reshape(len(matrices), -1).sum(axis=1))
        return np.concatenate(found)


def search_cells(setting: Setting, representatives: str) -> tuple[Stands, list[int]]:
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
    # The whole tree but for questions that no record to choose on needs.
    stands = Stands.of(way.tree(int(np.flatnonzero(way.costs <= way.costs.min())[-1])), setting, representatives)
    return stands, release_attributes(stands, setting, kept)


def release_attributes(stands: Stands, setting: Setting, kept: Sequence[int]) -> list[int]:
    """More attributes told in full until the target is reached: always the one that saves most for what it tells.

    What is saved is looked up among the records that are missed so far.
    """
    kept, misses = list(kept), stands.misses(kept)
    while misses.sum() > setting.allowed and not setting.stop.asked:
        others = [a for a in setting.free if a not in kept]
        if not others:
            break
        saved = misses.sum() - stands.sum_misses_with(kept, others, np.flatnonzero(misses))
        kept.append(others[int(np.argmax(saved / np.maximum(setting.losses.shares[others], 1e-6)))])
        misses = stands.misses(kept)
    return sorted(kept)


def hidden(stands: Stands, kept: Sequence[int], setting: Setting) -> float:
    """The information loss of all records in these cells, as the losses count it."""
    losses, tree = setting.losses, stands.tree
    found = 0.0
    for node, leaf in tree.leaf_numbers().items():
        reached = {tree.layout.splits[a]: np.flatnonzero(codes) for a, codes in tree.reaching(node).items()}
        told = [
            0.0 if a in kept else losses.of(a, reached[a]) if a in reached else 1.0 for a in range(len(losses.shares))
        ]
        found += float(stands.sizes[leaf] * (losses.shares @ told))
    return found / float(stands.sizes.sum())


def artifact(stands: Stands, kept: Sequence[int], setting: Setting, representatives: str) -> CellPartition:
    """The cells, with what the model says of each."""
    asked, outcomes = stands.asked, stands.asked.outcomes
    values = [[asked.value(j, int(number)) for j, number in enumerate(row)] for row in stands.numbers]
    said = asked.predictions(stands.numbers)
    predictions = [None] * len(said) if kept else [outcomes.plain(p) for p in said]
    return make_cells(stands.tree, setting.coder, values, predictions, kept, representatives)
