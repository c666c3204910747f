"""Grow the upper levels of a partition from counts, to divide a table too large for memory into parts.

Every node is split independently, and needs only the counts of its values. So the upper levels grow from counts, with
one pass over the records per level (two if the sides must be weighed), and every cut is the same as in memory. A node
with few enough records is a part, finished where its records are; so is a node that cannot be split, whatever its size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from modicum.anonymizers.out_of_core.cut_tree import (
    CutTree,
    Encoded,
    Median,
    TreeCut,
    Upper,
    find_medians,
)
from modicum.anonymizers.out_of_core.whole_task import MOST_NUMBERS, AnyColumn, CoarseColumn, WholeTask
from modicum.anonymizers.ranks import Ranked
from modicum.engines.coded_table import CodedTable, CodeFold, DecodedFold
from modicum.engines.table import Counts, EngineTable
from modicum.errors import DataError
from modicum.table.codes import CodeArray
from modicum.typing import Ints

_CELLS = 4_000_000  # cells that are counted in one pass


@dataclass(frozen=True)
class _Counting:
    """Count every code at some nodes."""

    tree: CutTree
    open: Ints
    starts: Ints

    def empty(self) -> Counts:
        return np.zeros(len(self.open) * int(self.starts[-1]), dtype=np.int64)

    def add(self, counts: Counts, codes: CodeArray) -> None:
        from modicum.anonymizers.kernel import count_codes

        count_codes(codes, self.tree.slots(self.open, codes), self.starts, self.starts[-1], counts)


@dataclass(frozen=True)
class _Weighing:
    """Count the codes of the `targets` columns on the left side of every possible cut of some nodes."""

    tree: CutTree
    open: Ints
    firsts: Ints
    attributes: Ints
    limits: Ints
    targets: Ints
    starts: Ints

    def empty(self) -> Counts:
        return np.zeros(len(self.limits) * int(self.starts[-1]), dtype=np.int64)

    def add(self, counts: Counts, codes: CodeArray) -> None:
        from modicum.anonymizers.kernel import count_left

        cuts = (self.firsts, self.attributes, self.limits)
        slots = self.tree.slots(self.open, codes)
        count_left(codes, slots, *cuts, self.targets, self.starts, self.starts[-1], counts)


class UpperTree:
    """Grows the upper levels.

    Parameters
    ----------
    source : the records
    coded : their codes, sensitive values last; None if the codes change because a number has very many values, and are
        computed in every pass
    task : the quasi-identifiers, and the requirements on both sides of every cut
    rows : the maximum number of records of a part
    tight : choose the cut whose sides lose least instead of one of the widest attribute
    """

    def __init__(self, source: EngineTable, coded: CodedTable | None, task: WholeTask, rows: int, tight: bool) -> None:
        self._source, self._coded, self._rows, self._tight = source, coded, rows, tight
        self._records, self._sensitive, self._requirement = task.rows, task.sensitive, task.requirement
        self._coarse = [a for a, each in enumerate(task.quasi) if isinstance(each, CoarseColumn)]
        self._tree = CutTree.root()
        self._use_columns(task.quasi)

    def _use_columns(self, quasi: Sequence[AnyColumn]) -> None:
        """Use the codes of these columns from now on."""
        self._quasi, self._tree = quasi, self._tree.recode(quasi)
        self._table = Ranked(tuple(each.build_ranked_column() for each in quasi)).for_kernel()[1:]  # without codes
        last = () if self._sensitive is None else (self._sensitive,)
        self._encoded = Encoded((*quasi, *last))
        self._sizes = self._encoded.sizes

    def grow(self) -> Upper:
        """Cut the records of the whole table until every part is small enough."""
        open_ = {0: self._records}
        while open_ := {node: size for node, size in open_.items() if size > self._rows}:
            cuts = [cut for nodes in self._batches(list(open_)) for cut in self._choose_cuts(nodes)]
            first = len(self._tree.attributes)
            self._tree = self._tree.cut(cuts)
            self._use_columns([self._cut_column(a) for a in range(len(self._quasi))])
            sizes = [size for node, cut in cuts for size in (cut.left, open_[node] - cut.left)]
            open_ = {first + i: size for i, size in enumerate(sizes)}
        return Upper(self._tree, Encoded(tuple(self._quasi)))

    def _fold(self, work: CodeFold) -> Counts:
        """Count codes where the records are."""
        if self._coded is not None:
            return self._coded.fold(work)
        return self._source.fold(DecodedFold(work, self._encoded.encode, tuple(self._encoded.names)))

    def _batches(self, nodes: list[int]) -> list[list[int]]:
        """Batch the nodes by the room for counts; weighing the sides of cuts needs more room."""
        step = max(1, _CELLS // (sum(self._sizes) * (3 * len(self._quasi) if self._tight else 1)))
        return [nodes[start : start + step] for start in range(0, len(nodes), step)]

    def _choose_cuts(self, nodes: list[int]) -> list[tuple[int, TreeCut]]:
        """Choose the cut of each node that can be cut."""
        work = _Counting(self._tree, np.array(nodes), np.cumsum([0, *self._sizes]))
        counts = self._fold(work).reshape(len(nodes), -1)
        medians: list[dict[int, Median]] = [{} for _ in nodes]
        if self._coarse:
            medians = find_medians(self._source, self._encoded, self._tree, np.array(nodes), self._coarse, counts)
        tried = [self._propose_cuts(*each) for each in zip(counts, medians, strict=True)]
        if self._sensitive is not None or self._tight:
            if self._coarse:
                tried = self._recode_cuts(tried)
            tried = self._weigh_cuts(nodes, counts, tried)
        return [(node, own[0]) for node, own in zip(nodes, tried, strict=True) if own]

    def _cut_column(self, a: int, more: Sequence[float] = ()) -> AnyColumn:
        """Return an attribute whose codes distinguish the sides of all its cuts, and of the cuts at `more`."""
        column = self._quasi[a]
        if not isinstance(column, CoarseColumn):
            return column
        return column.cut_at(np.append(self._tree.values[self._tree.attributes == a], more))

    def _recode_cuts(self, tried: list[list[TreeCut]]) -> list[list[TreeCut]]:
        """Convert the cuts to codes that distinguish their sides."""
        values: dict[int, list[float]] = {a: [] for a in range(len(self._quasi))}
        for cut in (cut for cuts in tried for cut in cuts):
            values[cut.attribute].append(cut.value)
        self._use_columns([self._cut_column(a, values[a]) for a in range(len(self._quasi))])
        return [[self._recode_cut(cut) for cut in cuts] for cuts in tried]

    def _recode_cut(self, cut: TreeCut) -> TreeCut:
        column = self._quasi[cut.attribute]
        if not isinstance(column, CoarseColumn):
            return cut
        return replace(cut, limit=int(column.limit(np.array([cut.value]))[0]))

    def _propose_cuts(self, counts: Counts, medians: dict[int, Median]) -> list[TreeCut]:
        """List the possible cuts of a node in the order in which to try them."""
        from modicum.anonymizers.kernel import find_cut_places, measure_spread

        starts, sizes, _, is_category, _ = self._table
        widths, limits = np.empty(len(sizes)), np.empty(3, dtype=np.int64)
        measure_spread(counts, self._table, widths)
        for a, median in medians.items():
            widths[a] = median.width
        order = range(len(sizes)) if self._tight else [a for a in np.argsort(-widths, kind="stable") if widths[a] > 0]
        found = []
        for a in order:
            if a in medians:
                found += medians[a].cuts(int(a), self._requirement.k)
                continue
            own = counts[starts[a] : starts[a] + sizes[a]]
            many = find_cut_places(own, self._requirement.k, is_category[a], limits)
            found += [TreeCut(int(a), limit, int(own[:limit].sum())) for limit in limits[:many].tolist()]
        return found

    def _weigh_cuts(self, nodes: list[int], counts: Counts, tried: list[list[TreeCut]]) -> list[list[TreeCut]]:
        """Choose for each node the first, or tightest, of its possible cuts whose sides meet the requirements."""
        targets = np.arange(0 if self._tight else len(self._quasi), len(self._sizes))
        firsts = np.cumsum([0, *map(len, tried)])
        attributes = np.array([cut.attribute for own in tried for cut in own], dtype=np.int64)
        limits = np.array([cut.limit for own in tried for cut in own], dtype=np.int64)
        starts = np.cumsum([0, *(self._sizes[t] for t in targets)])
        work = _Weighing(self._tree, np.array(nodes), firsts, attributes, limits, targets, starts)
        left = (self._fold(work) if len(limits) else work.empty()).reshape(len(limits), int(starts[-1]))
        whole = counts[:, -int(starts[-1]) :]
        return [self._choose_best(own, whole[i], left[firsts[i] : firsts[i + 1]]) for i, own in enumerate(tried)]

    def _choose_best(self, tried: list[TreeCut], counts: Counts, left: Counts) -> list[TreeCut]:
        from modicum.anonymizers.kernel import loss_of_sides

        best, found = np.inf, []
        widths = np.empty(len(self._quasi))
        for cut, own in zip(tried, left, strict=True):
            if self._sensitive is not None and not self._sides_meet_requirement(counts, own):
                continue
            if not self._tight:
                return [cut]
            n = int(counts[: self._sizes[0]].sum())
            loss = loss_of_sides(own, counts, cut.left, n - cut.left, self._table, widths)
            if loss < best:
                best, found = loss, [cut]
        return found

    def _sides_meet_requirement(self, counts: Counts, left: Counts) -> bool:
        """Whether the sensitive values of both sides meet the requirement; missing counts as a value if it occurs."""
        start, many = len(counts) - self._sizes[-1], len(self._requirement.overall)
        own, both = left[start : start + many], counts[start : start + many]
        return self._requirement.is_met_by(own) and self._requirement.is_met_by(both - own)


# Grow the upper levels of Mondrian and the R+-tree in the engine.


def upper_levels(table: EngineTable, task: WholeTask, rows: int, *, tight: bool) -> Upper:
    """Divide the records into parts of at most `rows` records; only parts that cannot be split may be larger.

    Codes are computed once, unless a number has very many values: then its codes change with every cut.
    """
    if task.rows <= rows:
        return Upper(CutTree.root(), Encoded(task.quasi))  # encoding refuses values that are not in the columns
    coarse = [each.attribute.name for each in task.quasi if isinstance(each, CoarseColumn)]
    if coarse and tight:
        raise DataError(
            f"The column {coarse[0]!r} has more than {MOST_NUMBERS:,} different numbers, too many for RPlusTree in "
            "an engine; round them, or use Mondrian or AccuracyGuided."
        )
    if coarse:
        return UpperTree(table, None, task, rows, tight).grow()
    last = () if task.sensitive is None else (task.sensitive,)
    with CodedTable.of(table, Encoded((*task.quasi, *last))) as coded:
        return UpperTree(table, coded, task, rows, tight).grow()
