"""The upper levels of a partition, grown from counts: which part of a table too large for memory a record belongs to.

Every node decides by itself, and what it must know of its records is how often each value occurs. So the upper levels
are grown from counts, one pass over the records a level (two where sides must be weighed), and are cut for cut those
that records in memory would give. A node with few enough records is a part, and finished where its records are; so is
one that cannot be split, however many it has.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.anonymizers.ranks import Ranked
from modicum.anonymizers.whole_columns import WholeColumn
from modicum.engines.work import Counts, Fold
from modicum.measures.requirement import Requirement
from modicum.table.values import Codes

_CELLS = 4_000_000  # counted in one pass
Ints = npt.NDArray[np.int64]
Folding = Callable[[Fold], Counts]


@dataclass(frozen=True)
class CutTree:
    """Cuts by node: codes of `attributes` below `limits` go to the node `lefts`, others to the next; -1 is a leaf."""

    attributes: Ints
    limits: Ints
    lefts: Ints

    @classmethod
    def root(cls) -> "CutTree":
        """One leaf."""
        return cls(np.array([-1]), np.array([0]), np.array([-1]))

    def nodes(self, codes: Codes) -> Codes:
        """The leaf that each record comes to."""
        from modicum.anonymizers.upper_kernel import route  # deferred: the compiler takes a second to import

        found = np.empty(len(codes), dtype=np.int64)
        route(codes, self.attributes, self.limits, self.lefts, found)
        return found

    def cut(self, cuts: Sequence[tuple[int, int, int]]) -> "CutTree":
        """The tree with some leaves cut: (node, attribute, limit)."""
        many = len(self.attributes)
        attributes, limits, lefts = (np.append(own, np.full(2 * len(cuts), -1)) for own in self._arrays)
        for i, (node, attribute, limit) in enumerate(cuts):
            attributes[node], limits[node], lefts[node] = attribute, limit, many + 2 * i
        return CutTree(attributes, limits, lefts)

    @property
    def _arrays(self) -> tuple[Ints, Ints, Ints]:
        return self.attributes, self.limits, self.lefts


@dataclass(frozen=True)
class Encoded:
    """Records as codes of the whole table."""

    whole: tuple[WholeColumn, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(each.attribute.name for each in self.whole)

    def codes(self, frame: nw.DataFrame[Any]) -> Codes:
        """One row per record, one column per attribute."""
        return np.column_stack([each.encode(frame[each.attribute.name]) for each in self.whole])


@dataclass(frozen=True)
class _Counting:
    """Counts of every code at some nodes."""

    encoded: Encoded
    tree: CutTree
    open: Ints

    @property
    def columns(self) -> tuple[str, ...]:
        return self.encoded.columns

    @property
    def starts(self) -> Ints:
        sizes = [each.size for each in self.encoded.whole]
        return np.cumsum([0, *sizes])

    def empty(self) -> Counts:
        return np.zeros(len(self.open) * int(self.starts[-1]), dtype=np.int64)

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        from modicum.anonymizers.upper_kernel import count_codes

        codes = self.encoded.codes(frame)
        starts = self.starts
        count_codes(codes, _slots(self.tree, self.open, codes), starts, starts[-1], counts)


@dataclass(frozen=True)
class _Weighing:
    """Counts of the codes of some attributes on the left side of every cut that nodes may make."""

    encoded: Encoded
    tree: CutTree
    open: Ints
    firsts: Ints
    attributes: Ints
    limits: Ints
    targets: Ints

    @property
    def columns(self) -> tuple[str, ...]:
        return self.encoded.columns

    @property
    def starts(self) -> Ints:
        return np.cumsum([0, *(self.encoded.whole[t].size for t in self.targets)])

    def empty(self) -> Counts:
        return np.zeros(len(self.limits) * int(self.starts[-1]), dtype=np.int64)

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        from modicum.anonymizers.upper_kernel import count_left

        codes = self.encoded.codes(frame)
        slots, starts = _slots(self.tree, self.open, codes), self.starts
        cuts = (self.firsts, self.attributes, self.limits)
        count_left(codes, slots, *cuts, self.targets, starts, starts[-1], counts)


def _slots(tree: CutTree, open_: Ints, codes: Codes) -> Codes:
    """Which of the open nodes each record is at; -1 for none."""
    place = np.full(len(tree.attributes), -1)
    place[open_] = np.arange(len(open_))
    return place[tree.nodes(codes)]


@dataclass
class UpperTree:
    """Grows the upper levels.

    Parameters
    ----------
    fold : counts where the records are
    quasi : the quasi-identifiers
    sensitive : what must be diverse or close, where that is asked
    requirement : of both sides of every cut
    tight : take the cut whose sides lose least, rather than one of the widest attribute
    rows : how many records a part may have
    """

    fold: Folding
    quasi: Sequence[WholeColumn]
    sensitive: WholeColumn | None
    requirement: Requirement
    tight: bool
    rows: int
    tree: CutTree = field(default_factory=CutTree.root)

    def __post_init__(self) -> None:
        ranked = Ranked(tuple(each.as_ranked() for each in self.quasi))
        self._table = (ranked.starts, ranked.sizes, ranked.positions, ranked.is_category, ranked.present)
        limited = self.sensitive is not None and not self.requirement.is_plain
        self._limited = limited
        self.encoded = Encoded((*self.quasi, *([self.sensitive] if limited and self.sensitive is not None else [])))

    def grow(self, n: int) -> CutTree:
        """Cut the n records of the whole table until every part is small enough."""
        open_ = {0: n}
        while open_ := {node: size for node, size in open_.items() if size > self.rows}:
            cuts, sizes = [], []
            for nodes in self._batches(list(open_)):
                for node, found in zip(nodes, self._decided(np.array(nodes)), strict=True):
                    if found is not None:
                        cuts.append((node, found[0], found[1]))
                        sizes.append((found[2], open_[node] - found[2]))
            first = len(self.tree.attributes)
            self.tree = self.tree.cut(cuts)
            open_ = {first + 2 * i + side: size for i, both in enumerate(sizes) for side, size in enumerate(both)}
        return self.tree

    def _batches(self, nodes: list[int]) -> list[list[int]]:
        """As many nodes at once as there is room to count; weighing takes more of it."""
        size = sum(each.size for each in self.encoded.whole)
        cuts = 3 * len(self.quasi) if self.tight else 1
        step = max(1, _CELLS // (size * cuts))
        return [nodes[start : start + step] for start in range(0, len(nodes), step)]

    def _decided(self, nodes: Ints) -> list[tuple[int, int, int] | None]:
        """For each node its cut: attribute, limit, how many go left; None where there is none."""
        work = _Counting(self.encoded, self.tree, nodes)
        counts = self.fold(work).reshape(len(nodes), -1)
        tried = [self._tried(own) for own in counts]
        if self._limited or self.tight:
            return self._weighed(nodes, counts, tried)
        return [own[0] if own else None for own in tried]

    def _tried(self, counts: Counts) -> list[tuple[int, int, int]]:
        """The cuts that a node may make, in the order in which they are tried."""
        from modicum.anonymizers.upper_kernel import counted_places, counted_spread

        starts, sizes, _, is_category, _ = self._table
        widths, limits = np.empty(len(sizes)), np.empty(3, dtype=np.int64)
        counted_spread(counts, self._table, widths)
        order = range(len(sizes)) if self.tight else [a for a in np.argsort(-widths, kind="stable") if widths[a] > 0]
        found = []
        for a in order:
            own = counts[starts[a] : starts[a] + sizes[a]]
            for limit in limits[: counted_places(own, self.requirement.k, is_category[a], limits)].tolist():
                found.append((int(a), limit, int(own[:limit].sum())))
        return found

    def _weighed(
        self, nodes: Ints, counts: Counts, tried: list[list[tuple[int, int, int]]]
    ) -> list[tuple[int, int, int] | None]:
        """Of the cuts that may be made the first, or tightest, whose sides are what is asked."""
        d, many = len(self.quasi), len(self.encoded.whole)
        targets = np.arange(0 if self.tight else d, many)
        firsts = np.cumsum([0, *map(len, tried)])
        attributes, limits = (np.array([cut[i] for own in tried for cut in own], dtype=np.int64) for i in (0, 1))
        if not len(limits):
            return [None] * len(nodes)
        work = _Weighing(self.encoded, self.tree, nodes, firsts, attributes, limits, targets)
        left = self.fold(work).reshape(len(limits), -1)
        whole = counts[:, -left.shape[1] :]
        return [
            self._best(own, whole[i], left[firsts[i] : firsts[i + 1]]) for i, own in enumerate(tried)
        ]

    def _best(self, tried: list[tuple[int, int, int]], counts: Counts, left: Counts) -> tuple[int, int, int] | None:
        from modicum.anonymizers.upper_kernel import loss_of_sides

        m = self.encoded.whole[-1].size - self._absent if self._limited else 0
        best, found = np.inf, None
        for cut, own in zip(tried, left, strict=True):
            if self._limited and not self._admitted(counts, own, m):
                continue
            if not self.tight:
                return cut
            n = int(counts[: self._table[1][0]].sum())
            loss = loss_of_sides(own, counts, cut[2], n - cut[2], self._table, np.empty(len(self.quasi)))
            if loss < best:
                best, found = loss, cut
        return found

    @property
    def _absent(self) -> int:
        """1 where nobody's sensitive value is missing, so that the requirement does not count it."""
        assert self.sensitive is not None
        return int(self.sensitive.missing == 0)

    def _admitted(self, counts: Counts, left: Counts, m: int) -> bool:
        size = self.encoded.whole[-1].size
        own, all_ = left[-size:][:m], counts[-size:][:m]
        return self.requirement.met_by(own) and self.requirement.met_by(all_ - own)
