"""The upper levels of a partition, grown from counts: which part of a table too large for memory a record belongs to.

Every node decides by itself, and what it must know of its records is how often each value occurs. So the upper levels
are grown from counts, one pass over the records a level (two where sides must be weighed), and are cut for cut those
that records in memory would give. A node with few enough records is a part, and finished where its records are; so is
one that cannot be split, however many it has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anonymizers.out_of_core.cut_tree import (
    CutParts,
    CutTree,
    Encoded,
    Looking,
    Median,
    TreeCut,
    make_median_finder,
)
from modicum.anonymizers.out_of_core.part_release import Upper, WholeTask
from modicum.anonymizers.out_of_core.whole_columns import MOST_NUMBERS, AnyColumn, CoarseColumn, WholeColumn
from modicum.anonymizers.ranks import Ranked
from modicum.engines.coded_table import CodedTable, CodeFold
from modicum.engines.table import Counts, EngineTable
from modicum.errors import DataError
from modicum.measures.requirement import Requirement
from modicum.table.codes import CodeArray
from modicum.typing import Codes, Ints

_CELLS = 4_000_000  # counted in one pass
Folding = Callable[[CodeFold, Encoded], Counts]


@dataclass(frozen=True)
class _Counting:
    """Counts of every code at some nodes."""

    tree: CutTree
    open: Ints
    starts: Ints

    def empty(self) -> Counts:
        return np.zeros(len(self.open) * int(self.starts[-1]), dtype=np.int64)

    def add(self, counts: Counts, codes: CodeArray) -> None:
        from modicum.anonymizers.out_of_core.kernel import count_codes

        count_codes(codes, _slots(self.tree, self.open, codes), self.starts, self.starts[-1], counts)


@dataclass(frozen=True)
class _Weighing:
    """Counts of the codes of some columns, the `targets`, on the left side of every cut that nodes may make."""

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
        from modicum.anonymizers.out_of_core.kernel import count_left

        cuts = (self.firsts, self.attributes, self.limits)
        slots = _slots(self.tree, self.open, codes)
        count_left(codes, slots, *cuts, self.targets, self.starts, self.starts[-1], counts)


def _slots(tree: CutTree, open_: Ints, codes: CodeArray) -> Codes:
    """Which of the open nodes each record is at; -1 for none."""
    place = np.full(len(tree.attributes), -1)
    place[open_] = np.arange(len(open_))
    return place[tree.nodes(codes)]


@dataclass
class UpperTree:
    """Grows the upper levels.

    Parameters
    ----------
    fold : counts codes where the records are; their columns are the quasi-identifiers, then what is sensitive
    quasi : the quasi-identifiers
    sensitive : what must be diverse or close, where that is asked
    requirement : of both sides of every cut
    tight : take the cut whose sides lose least, rather than one of the widest attribute
    rows : how many records a part may have
    look : looks at the records for what coarse codes do not tell, where a number has very many values
    """

    fold: Folding
    quasi: Sequence[AnyColumn]
    sensitive: WholeColumn | None
    requirement: Requirement
    tight: bool
    rows: int
    look: Looking | None = None
    tree: CutTree = field(default_factory=CutTree.root)

    def __post_init__(self) -> None:
        self._coarse = [a for a, each in enumerate(self.quasi) if isinstance(each, CoarseColumn)]
        self._code(self.quasi)

    def _code(self, quasi: Sequence[AnyColumn]) -> None:
        """Take these codes from now on."""
        self.quasi, self.tree = quasi, self.tree.recode(quasi)
        ranked = Ranked(tuple(each.build_ranked_column() for each in quasi))
        self._table = (ranked.starts, ranked.sizes, ranked.positions, ranked.is_category, ranked.present)
        last = () if self.sensitive is None else (self.sensitive,)
        self._encoded = Encoded((*quasi, *last))
        self._sizes = self._encoded.sizes

    def grow_parts(self, n: int) -> CutParts:
        """The same, with the codes that tell the parts."""
        return CutParts(self.grow(n), Encoded(tuple(self.quasi)))

    def grow(self, n: int) -> CutTree:
        """Cut the n records of the whole table until every part is small enough."""
        open_ = {0: n}
        while open_ := {node: size for node, size in open_.items() if size > self.rows}:
            cuts = [cut for nodes in self._batches(list(open_)) for cut in self._cuts(nodes)]
            first = len(self.tree.attributes)
            self.tree = self.tree.cut(cuts)
            self._code([self._with_cuts(a) for a in range(len(self.quasi))])
            sizes = [size for node, cut in cuts for size in (cut.left, open_[node] - cut.left)]
            open_ = {first + i: size for i, size in enumerate(sizes)}
        return self.tree

    def _batches(self, nodes: list[int]) -> list[list[int]]:
        """As many nodes at once as there is room to count; weighing the sides of cuts takes more of it."""
        step = max(1, _CELLS // (sum(self._sizes) * (3 * len(self.quasi) if self.tight else 1)))
        return [nodes[start : start + step] for start in range(0, len(nodes), step)]

    def _cuts(self, nodes: list[int]) -> list[tuple[int, TreeCut]]:
        """Each node's cut, where it has one."""
        work = _Counting(self.tree, np.array(nodes), np.cumsum([0, *self._sizes]))
        counts = self.fold(work, self._encoded).reshape(len(nodes), -1)
        looks = self._find_medians(nodes, counts)
        tried = [self._propose_cuts(own, look) for own, look in zip(counts, looks, strict=True)]
        if self._coarse and (self.sensitive is not None or self.tight):
            tried = self._recode_cuts(tried)
        if self.sensitive is not None or self.tight:
            tried = self._weigh_cuts(nodes, counts, tried)
        return [(node, own[0]) for node, own in zip(nodes, tried, strict=True) if own]

    def _find_medians(self, nodes: list[int], counts: Counts) -> list[dict[int, Median]]:
        """For each node what its coarse attributes are exactly: how wide, and where their middle is."""
        if self.look is None or not self._coarse:
            return [{} for _ in nodes]
        return self.look(self._encoded, self.tree, np.array(nodes), self._coarse, counts)

    def _with_cuts(self, a: int, more: Sequence[float] = ()) -> AnyColumn:
        """An attribute whose codes tell the sides of all its cuts apart, and of more."""
        column = self.quasi[a]
        if not isinstance(column, CoarseColumn):
            return column
        return column.cut_at(np.append(self.tree.values[self.tree.attributes == a], more))

    def _recode_cuts(self, tried: list[list[TreeCut]]) -> list[list[TreeCut]]:
        """The same cuts, in codes that tell their sides apart."""
        values: dict[int, list[float]] = {a: [] for a in range(len(self.quasi))}
        for cut in (cut for cuts in tried for cut in cuts):
            values[cut.attribute].append(cut.value)
        self._code([self._with_cuts(a, values[a]) for a in range(len(self.quasi))])
        return [[self._in_codes(cut) for cut in cuts] for cuts in tried]

    def _in_codes(self, cut: TreeCut) -> TreeCut:
        column = self.quasi[cut.attribute]
        if not isinstance(column, CoarseColumn):
            return cut
        return replace(cut, limit=int(column.limit(np.array([cut.value]))[0]))

    def _propose_cuts(self, counts: Counts, looked: dict[int, Median]) -> list[TreeCut]:
        """The cuts that a node may make, in the order in which they are tried."""
        from modicum.anonymizers.out_of_core.kernel import find_cut_places, measure_spread

        starts, sizes, _, is_category, _ = self._table
        widths, limits = np.empty(len(sizes)), np.empty(3, dtype=np.int64)
        measure_spread(counts, self._table, widths)
        for a, median in looked.items():
            widths[a] = median.width
        order = range(len(sizes)) if self.tight else [a for a in np.argsort(-widths, kind="stable") if widths[a] > 0]
        found = []
        for a in order:
            if a in looked:
                found += looked[a].cuts(int(a), self.requirement.k)
                continue
            own = counts[starts[a] : starts[a] + sizes[a]]
            many = find_cut_places(own, self.requirement.k, is_category[a], limits)
            found += [TreeCut(int(a), limit, int(own[:limit].sum())) for limit in limits[:many].tolist()]
        return found

    def _weigh_cuts(self, nodes: list[int], counts: Counts, tried: list[list[TreeCut]]) -> list[list[TreeCut]]:
        """Of the cuts that each node may make the first, or tightest, whose sides are what is asked."""
        targets = np.arange(0 if self.tight else len(self.quasi), len(self._sizes))
        firsts = np.cumsum([0, *map(len, tried)])
        attributes = np.array([cut.attribute for own in tried for cut in own], dtype=np.int64)
        limits = np.array([cut.limit for own in tried for cut in own], dtype=np.int64)
        starts = np.cumsum([0, *(self._sizes[t] for t in targets)])
        work = _Weighing(self.tree, np.array(nodes), firsts, attributes, limits, targets, starts)
        left = (self.fold(work, self._encoded) if len(limits) else work.empty()).reshape(len(limits), int(starts[-1]))
        whole = counts[:, -int(starts[-1]) :]
        return [self._best(own, whole[i], left[firsts[i] : firsts[i + 1]]) for i, own in enumerate(tried)]

    def _best(self, tried: list[TreeCut], counts: Counts, left: Counts) -> list[TreeCut]:
        from modicum.anonymizers.out_of_core.kernel import loss_of_sides

        best, found = np.inf, []
        widths = np.empty(len(self.quasi))
        for cut, own in zip(tried, left, strict=True):
            if self.sensitive is not None and not self._sides_meet_requirement(counts, own):
                continue
            if not self.tight:
                return [cut]
            n = int(counts[: self._sizes[0]].sum())
            loss = loss_of_sides(own, counts, cut.left, n - cut.left, self._table, widths)
            if loss < best:
                best, found = loss, [cut]
        return found

    def _sides_meet_requirement(self, counts: Counts, left: Counts) -> bool:
        """Whether the sensitive values of both sides are what is asked; missing counts where it occurs at all."""
        start, many = len(counts) - self._sizes[-1], len(self.requirement.overall)
        own, both = left[start : start + many], counts[start : start + many]
        return self.requirement.is_met_by(own) and self.requirement.is_met_by(both - own)


# The upper levels of Mondrian and the R+-tree, grown where the table lives.


def upper_levels(table: EngineTable, task: WholeTask, rows: int, *, tight: bool) -> Upper:
    """Which part each record belongs to, no part with more than so many records unless it cannot be split.

    Codes are made once, unless a number has very many values: then its codes change as it is cut.
    """
    if task.rows <= rows:
        return CutParts(CutTree.root(), Encoded(task.quasi))
    coarse = [each.attribute.name for each in task.quasi if isinstance(each, CoarseColumn)]
    if coarse:
        return _grow_from_table(table, task, rows, tight, coarse[0])
    last = () if task.sensitive is None else (task.sensitive,)
    with CodedTable.of(table, Encoded((*task.quasi, *last))) as coded:
        tree = UpperTree(
            lambda work, _: coded.fold(work), task.quasi, task.sensitive, task.requirement, tight, rows
        ).grow(task.rows)
    return CutParts(tree, Encoded(task.quasi))


def _grow_from_table(table: EngineTable, task: WholeTask, rows: int, tight: bool, name: str) -> Upper:
    if tight:
        raise DataError(
            f"The column {name!r} has more than {MOST_NUMBERS:,} different numbers, too many for RPlusTree where the "
            "table lives; round them, or take Mondrian or AccuracyGuided."
        )
    upper = UpperTree(
        lambda work, encoded: table.fold(_Raw(encoded, work)),
        task.quasi,
        task.sensitive,
        task.requirement,
        tight,
        rows,
        make_median_finder(table),
    )
    return upper.grow_parts(task.rows)


@dataclass(frozen=True)
class _Raw:
    """Counting codes that are made on the way."""

    encoded: Encoded
    work: CodeFold

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.encoded.names)

    def empty(self) -> Counts:
        return self.work.empty()

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        self.work.add(counts, self.encoded.encode(frame))
