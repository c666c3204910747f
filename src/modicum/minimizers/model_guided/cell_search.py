"""Cells for a target: the tree pruned as far as it goes; attributes told in full where the whole tree falls short.

Each leaf has one record that stands for it, and leaves and records together make the artifact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.generalization import CellPartition, Generalization
from modicum.generalization.bins import AnyPartition, Dropped, Groups
from modicum.generalization.build import drop, keep, partition
from modicum.generalization.cells import Ask, Cell, Entry
from modicum.generalization.core import bucket_tables
from modicum.minimizers.model_guided.outcomes import Outcomes
from modicum.minimizers.model_guided.records import Matrix, Records
from modicum.minimizers.model_guided.setting import Setting
from modicum.table.codes import Coder, Coding, all_counts, usual_code, weighted_median
from modicum.trees import Tree
from modicum.typing import Codes, Floats

# One record for each cell: made up from its box alone, so that the model says of it what it says of most of the cell.
#
# Each value is the middle of what *all* records have within the box's side: the median of an attribute with an order,
# the most frequent category. No cell's own records are looked at, of which there may be one. Where the model says
# something else of such a record, single values are moved within the box, then whole records are drawn from it, each
# attribute by itself; the nearest one of which the model says what it should is taken.

_SHARES = (0.05, 0.25, 0.75, 0.95)  # where a number is tried besides its median
_OTHERS = 4  # categories that are tried besides the most frequent
_DRAWN = 40  # whole records that are tried


def synthetic(setting: Setting, tree: Tree, leaves: Codes) -> Matrix:
    """A made-up record for each leaf, as codes."""
    asked, outcomes = setting.tried, setting.tried.outcomes
    boxes = _boxes(tree, setting.coder)
    found = np.array([box.middle() for box in boxes])
    usual = _usual_predictions(setting, leaves, tree.n_leaves)
    off = _off(outcomes, asked.predictions(found), usual)
    wrong = np.flatnonzero(off > _bearable(setting, leaves, tree.n_leaves))
    if not len(wrong):
        return found
    random = np.random.default_rng(0)
    tries = [boxes[leaf].nearby(found[leaf], random) for leaf in wrong.tolist()]
    said = np.split(asked.predictions(np.concatenate(tries)), np.cumsum([len(others) for others in tries])[:-1])
    for leaf, others, predictions in zip(wrong.tolist(), tries, said, strict=True):
        own = _off(outcomes, predictions, usual[leaf])
        if own.min() < off[leaf]:
            found[leaf] = others[int(np.argmin(own))]  # the first, which is the nearest
    return found


def nearest_records(setting: Setting, tree: Tree, leaves: Codes) -> Codes:
    """The paper's choice: the place of the actual record nearest to the middle, of those with the usual prediction."""
    outcomes, codings = setting.tried.outcomes, setting.coder.codings
    middles = np.array([box.middle() for box in _boxes(tree, setting.coder)])
    usual, said = _usual_predictions(setting, leaves, tree.n_leaves), outcomes.original[setting.rows]
    off = np.zeros(len(said)) if outcomes.classes is None else (said != usual[leaves]).astype(np.float64)
    order = np.lexsort([_distances(codings, setting.codes, middles[leaves]), off, leaves])
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


def _boxes(tree: Tree, coder: Coder) -> list[_Box]:
    """The box of each leaf."""
    leaves = sorted(tree.leaf_numbers().items(), key=lambda pair: pair[1])
    return [_Box.of(tree, node, coder) for node, _ in leaves]


def _usual_predictions(setting: Setting, leaves: Codes, n_leaves: int) -> Floats:
    """What the model says in each leaf: the most frequent class, or the mean number."""
    outcomes = setting.tried.outcomes
    said = outcomes.original[setting.rows]
    if outcomes.classes is None:
        return np.bincount(leaves, weights=said, minlength=n_leaves) / np.bincount(leaves, minlength=n_leaves)
    k = len(outcomes.classes)
    return np.bincount(leaves * k + said, minlength=n_leaves * k).reshape(n_leaves, k).argmax(axis=1)


def _off(outcomes: Outcomes, predictions: npt.NDArray[Any], usual: Floats | float) -> Floats:
    """How far predictions are from the usual one: 0 or 1 for a class, the difference for a number."""
    if outcomes.classes is None:
        return np.abs(predictions.astype(np.float64) - usual)
    return (predictions != outcomes.classes[np.asarray(usual, dtype=np.int64)]).astype(np.float64)


def _bearable(setting: Setting, leaves: Codes, n_leaves: int) -> Floats:
    """How far the model's word on a made-up record may be off: nothing for a class, half the spread for a number."""
    outcomes = setting.tried.outcomes
    if outcomes.classes is not None:
        return np.zeros(n_leaves)
    said = outcomes.original[setting.rows]
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
        leaves = tree.apply(setting.codes)
        sizes = np.bincount(leaves, minlength=tree.n_leaves)
        if representatives == "synthetic":
            numbers = synthetic(setting, tree, leaves)
            return cls(tree, sizes, setting.tried, setting.n_sample, numbers)
        people = setting.rows[nearest_records(setting, tree, leaves)]
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
    surplus = 0.0
    for _ in range(_TRIES):
        fitting = np.flatnonzero(way.costs <= setting.allowed - surplus)
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


# A pruned tree and one record for each leaf, made into the artifact.


def artifact(stands: Stands, kept: Sequence[int], setting: Setting, representatives: str) -> CellPartition:
    """The cells, with what the model says of each; the attributes kept are told in full."""
    asked, tree, coder = stands.asked, stands.tree, setting.coder
    said = [None if kept else asked.outcomes.plain(p) for p in asked.predictions(stands.numbers)]
    leaves = [
        Cell(prediction=word, values=tuple(asked.value(j, int(number)) for j, number in enumerate(row)))
        for word, row in zip(said, stands.numbers, strict=True)
    ]
    found = dict(zip(tree.layout.splits, tree.buckets(), strict=True))
    parts = [partition(c, found[j]) if j in found else drop(c) for j, c in enumerate(coder.codings)]
    detail = Generalization(coder.schema, parts)
    entries = _entries(tree, detail, coder, leaves)
    return CellPartition(detail, entries, kept=[keep(coder.codings[j]) for j in kept], representatives=representatives)


def _entries(tree: Tree, detail: Generalization, coder: Coder, leaves: Sequence[Cell]) -> list[Entry]:
    """The tree's questions, in buckets of `detail`, and its leaves, in the order in which they are asked."""
    tables = bucket_tables(detail.partitions, coder)
    made = {split.node: split for split in tree.splits}
    leaf_of = tree.leaf_numbers()
    found: list[Entry] = []
    waiting: list[tuple[int, dict[int, Any]]] = [(0, {})]
    while waiting:
        node, reaches = waiting.pop()
        if node in leaf_of:
            found.append(leaves[leaf_of[node]])
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


def one_cell(g: Generalization, representatives: str) -> CellPartition:
    """A generalization as a single cell, of which each attribute's bucket is told."""
    nothing = Generalization(g.schema, [Dropped(attribute=p.attribute, value=p.value) for p in g.partitions])
    kept = [p for p in g.partitions if not isinstance(p, Dropped)]
    values = tuple(p.value for p in g.partitions)
    return CellPartition(nothing, [Cell(values=values)], kept=kept, representatives=representatives)
