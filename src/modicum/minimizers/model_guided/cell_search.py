"""Find cells for a target: prune the tree as far as possible, or add exact attributes if the whole tree falls short.

One record represents each leaf; leaves and records together make the artifact.
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

# One synthetic record for each cell: made from its box alone, and with the cell's usual prediction
#
# Each value is the middle of what *all* records have within the box: the median of an attribute with an order, else the
# most frequent category. A cell's own records are not used, since there may be only one. If the model has another
# prediction for this record, single values are moved within the box, then whole records are drawn from it, each
# attribute independently; the nearest one with the usual prediction is taken.

_SHARES = (0.05, 0.25, 0.75, 0.95)  # quantiles to try besides the median of a number
_OTHERS = 4  # categories to try besides the most frequent
_DRAWN = 40  # whole records to try


def synthetic(setting: Setting, tree: Tree, leaves: Codes) -> Matrix:
    """Make a synthetic record for each leaf, as codes."""
    records, outcomes = setting.tried, setting.tried.outcomes
    boxes = _boxes(tree, setting.coder)
    found = np.array([box.middle() for box in boxes])
    usual = _usual_predictions(setting, leaves, tree.n_leaves)
    off = _off(outcomes, records.predictions(found), usual)
    wrong = np.flatnonzero(off > _tolerance(setting, leaves, tree.n_leaves))
    if not len(wrong):
        return found
    random = np.random.default_rng(0)
    tries = [boxes[leaf].nearby(found[leaf], random) for leaf in wrong.tolist()]
    ends = np.cumsum([len(others) for others in tries])
    predictions = np.split(records.predictions(np.concatenate(tries)), ends[:-1])
    for leaf, others, predicted in zip(wrong.tolist(), tries, predictions, strict=True):
        own = _off(outcomes, predicted, usual[leaf])
        if own.min() < off[leaf]:
            found[leaf] = others[int(np.argmin(own))]  # the first, which is the nearest
    return found


def nearest_records(setting: Setting, tree: Tree, leaves: Codes) -> Codes:
    """The paper's choice: the place of the actual record nearest to the middle that has the usual prediction."""
    outcomes, codings = setting.tried.outcomes, setting.coder.codings
    middles = np.array([box.middle() for box in _boxes(tree, setting.coder)])
    usual, predictions = _usual_predictions(setting, leaves, tree.n_leaves), outcomes.original[setting.rows]
    off = np.zeros(len(predictions)) if outcomes.classes is None else (predictions != usual[leaves]).astype(np.float64)
    order = np.lexsort([_distances(codings, setting.codes, middles[leaves]), off, leaves])
    return order[np.unique(leaves[order], return_index=True)[1]]


@dataclass(frozen=True)
class _Box:
    """The codes of each attribute that are possible in a leaf, and their counts among all records."""

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
            own = values if len(values) else own  # missing is a representative only if nothing else is possible
            codes.append(own)
            counts.append(all_counts(coding)[own])
        return cls(coder.codings, codes, counts)

    def middle(self) -> Codes:
        return np.array([self._at(j, 0.5) for j in range(len(self.codes))], dtype=np.int64)

    def _at(self, j: int, share: float) -> int:
        """The code of an attribute below which this share of the records lies; or the most frequent category."""
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
    """The usual prediction in each leaf: the most frequent class, or the mean number."""
    outcomes = setting.tried.outcomes
    predictions = outcomes.original[setting.rows]
    if outcomes.classes is None:
        return np.bincount(leaves, weights=predictions, minlength=n_leaves) / np.bincount(leaves, minlength=n_leaves)
    k = len(outcomes.classes)
    return np.bincount(leaves * k + predictions, minlength=n_leaves * k).reshape(n_leaves, k).argmax(axis=1)


def _off(outcomes: Outcomes, predictions: npt.NDArray[Any], usual: Floats | float) -> Floats:
    """How far predictions are from the usual one: 0 or 1 for a class, the difference for a number."""
    if outcomes.classes is None:
        return np.abs(predictions.astype(np.float64) - usual)
    return (predictions != outcomes.classes[np.asarray(usual, dtype=np.int64)]).astype(np.float64)


def _tolerance(setting: Setting, leaves: Codes, n_leaves: int) -> Floats:
    """How far the prediction of a synthetic record may be off: not at all for a class, half the spread for a number."""
    outcomes = setting.tried.outcomes
    if outcomes.classes is not None:
        return np.zeros(n_leaves)
    predictions = outcomes.original[setting.rows]
    counts = np.bincount(leaves, minlength=n_leaves)
    mean = np.bincount(leaves, weights=predictions, minlength=n_leaves) / counts
    square = np.bincount(leaves, weights=predictions**2, minlength=n_leaves) / counts
    return 0.5 * np.sqrt(np.maximum(square - mean**2, 0.0))


def _distances(codings: Sequence[Coding], codes: npt.NDArray[np.integer], middles: Matrix) -> Floats:
    """Sum over attributes the steps apart, as a share of all steps; 1 for another category without order."""
    total = np.zeros(len(codes))
    for j, coding in enumerate(codings):
        one, other = codes[:, j].astype(np.int64), middles[:, j]
        apart = np.abs(one - other) / max(1, coding.n_codes - 1)
        total += apart if coding.attribute.has_order else (one != other)
    return total


# The search

_ROWS = 100_000  # that the model predicts at once
_TRIES = 6  # pruned trees to try with their records


@dataclass(frozen=True)
class LeafRecords:
    """A tree with one record per leaf, as numbers of `records`; those from `start` on are the records to choose on."""

    tree: Tree
    sizes: Codes
    records: Records
    start: int
    numbers: Matrix

    @classmethod
    def of(cls, tree: Tree, setting: Setting, representatives: str) -> "LeafRecords":
        leaves = tree.apply(setting.codes)
        sizes = np.bincount(leaves, minlength=tree.n_leaves)
        if representatives == "synthetic":
            numbers = synthetic(setting, tree, leaves)
            return cls(tree, sizes, setting.tried, setting.n_sample, numbers)
        people = setting.rows[nearest_records(setting, tree, leaves)]
        records = setting.tried.preceded_by(people, setting.n_sample)
        return cls(tree, sizes, records, len(people), records.exact[: len(people)])

    def matrix(self, kept: Sequence[int], which: Codes | slice = slice(None)) -> Matrix:
        """Some of the records to choose on, replaced by their leaves' records except in the kept attributes."""
        codes, exact = self.records.codes[self.start :][which], self.records.exact[self.start :][which]
        matrix = self.numbers[self.tree.apply(codes)]
        matrix[:, list(kept)] = exact[:, list(kept)]
        return matrix

    def misses(self, kept: Sequence[int]) -> Floats:
        """How far the predictions for these are from those for the full records."""
        return self.records.misses(self.matrix(kept), np.arange(self.start, len(self.records)))

    def sum_misses_with(self, kept: Sequence[int], others: Sequence[int], which: Codes) -> Floats:
        """The total miss of some of these if one more attribute is kept, for each of the others."""
        at_once = max(1, _ROWS // max(1, len(which)))
        found: list[Floats] = []
        for start in range(0, len(others), at_once):
            matrices = [self.matrix([*kept, a], which) for a in others[start : start + at_once]]
            misses = self.records.misses(np.concatenate(matrices), np.tile(self.start + which, len(matrices)))
            found.append(misses.reshape(len(matrices), -1).sum(axis=1))
        return np.concatenate(found)


def search_cells(setting: Setting, representatives: str) -> tuple[LeafRecords, list[int]]:
    """Return the tree with its records, and the attributes to keep exact."""
    kept = [a for a, c in enumerate(setting.coder.codings) if a not in setting.free and not c.attribute.forbidden]
    way = setting.pruned
    surplus = 0.0
    for _ in range(_TRIES):
        fitting = np.flatnonzero(way.costs <= setting.allowed - surplus)
        if not len(fitting):
            break
        leaf_records = LeafRecords.of(way.tree(int(fitting[-1])), setting, representatives)
        missed = float(leaf_records.misses(kept).sum())
        if missed <= setting.allowed:
            return leaf_records, kept
        surplus += max(missed - setting.allowed, 1.0)
    # The whole tree, except for questions that no record to choose on needs.
    leaf_records = LeafRecords.of(
        way.tree(int(np.flatnonzero(way.costs <= way.costs.min())[-1])), setting, representatives
    )
    return leaf_records, release_attributes(leaf_records, setting, kept)


def release_attributes(leaf_records: LeafRecords, setting: Setting, kept: Sequence[int]) -> list[int]:
    """Keep more attributes exact until the target is reached, always the one that saves most for what it reveals.

    Savings are measured on the records missed so far.
    """
    kept, misses = list(kept), leaf_records.misses(kept)
    while misses.sum() > setting.allowed and not setting.stop.asked:
        others = [a for a in setting.free if a not in kept]
        if not others:
            break
        saved = misses.sum() - leaf_records.sum_misses_with(kept, others, np.flatnonzero(misses))
        kept.append(others[int(np.argmax(saved / np.maximum(setting.losses.shares[others], 1e-6)))])
        misses = leaf_records.misses(kept)
    return sorted(kept)


def hidden(leaf_records: LeafRecords, kept: Sequence[int], setting: Setting) -> float:
    """The information loss of all records in these cells, by the losses of the setting."""
    losses, tree = setting.losses, leaf_records.tree
    found = 0.0
    for node, leaf in tree.leaf_numbers().items():
        reached = {tree.layout.splits[a]: np.flatnonzero(codes) for a, codes in tree.reaching(node).items()}
        lost = [
            0.0 if a in kept else losses.of(a, reached[a]) if a in reached else 1.0 for a in range(len(losses.shares))
        ]
        found += float(leaf_records.sizes[leaf] * (losses.shares @ lost))
    return found / float(leaf_records.sizes.sum())


# The artifact, from a pruned tree and one record for each leaf


def artifact(leaf_records: LeafRecords, kept: Sequence[int], setting: Setting, representatives: str) -> CellPartition:
    """Return the cells with the prediction of each; kept attributes are collected exactly."""
    records, tree, coder = leaf_records.records, leaf_records.tree, setting.coder
    predictions = [None if kept else records.outcomes.plain(p) for p in records.predictions(leaf_records.numbers)]
    leaves = [
        Cell(prediction=prediction, values=tuple(records.value(j, int(number)) for j, number in enumerate(row)))
        for prediction, row in zip(predictions, leaf_records.numbers, strict=True)
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
    """Return a generalization as a single cell that keeps each attribute's bucket."""
    nothing = Generalization(g.schema, [Dropped(attribute=p.attribute, value=p.value) for p in g.partitions])
    kept = [p for p in g.partitions if not isinstance(p, Dropped)]
    values = tuple(p.value for p in g.partitions)
    return CellPartition(nothing, [Cell(values=values)], kept=kept, representatives=representatives)
