"""Trees of cuts: which leaf a record comes to, by the codes of its quasi-identifiers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anonymizers.out_of_core.whole_task import AnyColumn, CoarseColumn
from modicum.engines.coded_table import FrameCoder
from modicum.engines.table import Counts, EngineTable
from modicum.errors import DataError, require
from modicum.table.codes import CodeArray
from modicum.table.frames import numbers
from modicum.trees import Tree
from modicum.typing import Codes, Floats, Ints


@dataclass(frozen=True)
class TreeCut:
    """One cut of a node: codes of the attribute below the limit go left.

    `value` is the highest number that goes left, where the attribute is coded coarsely (infinity: all but missing), and
    `left` how many records do.
    """

    attribute: int
    limit: int
    left: int
    value: float = np.nan


@dataclass(frozen=True)
class CutTree:
    """Cuts by node: codes of `attributes` below `limits` go to the node `lefts`, others to the next; -1 is a leaf."""

    attributes: Ints
    limits: Ints
    lefts: Ints
    values: Floats

    @classmethod
    def root(cls) -> "CutTree":
        """One leaf."""
        return cls(np.array([-1]), np.array([0]), np.array([-1]), np.array([np.nan]))

    def apply(self, codes: CodeArray) -> Codes:
        """The leaf that each record comes to."""
        from modicum.anonymizers.kernel import route  # deferred: the compiler takes a second to import

        found = np.empty(len(codes), dtype=np.int64)
        route(codes, self.attributes, self.limits, self.lefts, found)
        return found

    def slots(self, open_: Ints, codes: CodeArray) -> Codes:
        """Which of some nodes each record is at; -1 for none."""
        place = np.full(len(self.attributes), -1)
        place[open_] = np.arange(len(open_))
        return place[self.apply(codes)]

    def cut(self, cuts: Sequence[tuple[int, TreeCut]]) -> "CutTree":
        """The tree with some leaves cut."""
        many, more = len(self.attributes), 2 * len(cuts)
        nodes = np.array([node for node, _ in cuts], dtype=np.int64)
        attributes, limits, lefts = (
            np.append(own, np.full(more, -1)) for own in (self.attributes, self.limits, self.lefts)
        )
        values = np.append(self.values, np.full(more, np.nan))
        attributes[nodes] = [cut.attribute for _, cut in cuts]
        limits[nodes], values[nodes] = [cut.limit for _, cut in cuts], [cut.value for _, cut in cuts]
        lefts[nodes] = many + 2 * np.arange(len(cuts))
        return CutTree(attributes, limits, lefts, values)

    def recode(self, columns: Sequence[AnyColumn]) -> "CutTree":
        """The same cuts in other codes of the columns that are coded coarsely."""
        limits = self.limits.copy()
        for a, column in enumerate(columns):
            if isinstance(column, CoarseColumn):
                own = self.attributes == a
                limits[own] = column.limit(self.values[own])
        return replace(self, limits=limits)


@dataclass(frozen=True)
class Encoded:
    """How records become codes of the whole table."""

    whole: tuple[AnyColumn, ...]

    @property
    def names(self) -> list[str]:
        return [each.attribute.name for each in self.whole]

    @property
    def sizes(self) -> list[int]:
        return [each.size for each in self.whole]

    def encode(self, X: Any) -> CodeArray:
        """One row per record, one column per attribute."""
        columns = [each.encode(X[each.attribute.name]).astype(np.uint16) for each in self.whole]
        return np.ascontiguousarray(np.column_stack(columns))


@dataclass(frozen=True)
class Upper:
    """The upper levels of a partition, a tree that tells the part of each record; they travel to where these are."""

    tree: CutTree | Tree
    coder: FrameCoder | None  # None where all records are one part

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """The part of each record of a batch."""
        if self.coder is None:
            return np.zeros(len(frame), dtype=np.int64)
        return self.tree.apply(self.coder.encode(frame))


def one_part(columns: Sequence[AnyColumn]) -> Upper:
    """All records together; a value that is not in the columns is refused."""
    return Upper(CutTree.root(), Encoded(tuple(columns)))


# What coarse codes do not tell of a node: its lowest and highest value, and the exact value in its middle.
#
# The counts of the ranges say in which range a node's middle lies. One more pass brings the values of just that range,
# as often as they occur there, so that the cut is the one that all values would give.

_FETCHED = 4_000_000  # records whose values are brought together in one pass
_LOW, _HIGH, _INSIDE = range(3)


@dataclass(frozen=True)
class Median:
    """An attribute at a node.

    Attributes
    ----------
    width : how much of the domain the node takes
    n, missing : its records, and those without a value
    value : in the middle of the records in order; infinite where that is missing
    below, same : the records below it, and those that have it
    """

    width: float
    n: int
    missing: int
    value: float
    below: int
    same: int

    def cuts(self, attribute: int, k: int) -> list[TreeCut]:
        """Where it may be cut, the best first: `kernel.places`."""
        present = self.n - self.missing
        found = [(present, np.inf)] if self.missing else []
        if np.isfinite(self.value):
            lower = (self.below, float(np.nextafter(self.value, -np.inf)))
            upper = (self.below + self.same, self.value)
            middle = self.n // 2
            found += [lower, upper] if middle - lower[0] <= upper[0] - middle else [upper, lower]
        else:
            found += [(present, np.inf)]
        return [TreeCut(attribute, -1, left, value) for left, value in found if left >= k and self.n - left >= k]


def find_medians(
    table: EngineTable, encoded: Encoded, tree: CutTree, nodes: Ints, coarse: Sequence[int], counts: Counts
) -> list[dict[int, Median]]:
    """Look at the records of nodes for what their coarse attributes are exactly: how wide, and where the middle is."""
    starts = np.cumsum([0, *encoded.sizes])
    own = [counts[:, starts[a] : starts[a + 1]] for a in coarse]
    middles = np.column_stack([_middle(each) for each in own])
    inside = np.column_stack([each[np.arange(len(nodes)), middles[:, i]] for i, each in enumerate(own)])
    found = []
    for some in _chunks(inside.sum(axis=1)):
        seen = table.gather(_Looked(encoded, tree, nodes[some], tuple(coarse), middles[some]))
        found += _medians(encoded, coarse, [each[some] for each in own], middles[some], seen)
    return found


def _middle(counts: Counts) -> Ints:
    """The range in which each node's middle lies."""
    reached = np.cumsum(counts, axis=1)
    return (reached <= reached[:, -1:] // 2).sum(axis=1)


def _chunks(sizes: Ints) -> Iterator[slice]:
    """Runs of nodes whose values can be brought together at once; one alone may be larger."""
    start, total = 0, 0
    for i, size in enumerate(sizes.tolist()):
        if total and total + size > _FETCHED:
            yield slice(start, i)
            start, total = i, 0
        total += size
    yield slice(start, len(sizes))


@dataclass(frozen=True)
class _Looked:
    """Lowest and highest values of nodes, and all in the ranges where their middles lie, attribute by attribute."""

    encoded: Encoded
    tree: CutTree
    open: Ints
    coarse: tuple[int, ...]
    middles: Ints

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.encoded.names)

    @property
    def schema(self) -> Any:
        pa = require("pyarrow", "scale")
        return pa.schema([("place", pa.int64()), ("says", pa.int64()), ("value", pa.float64()), ("n", pa.int64())])

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        pa = require("pyarrow", "scale")
        codes = self.encoded.encode(frame)
        slots = self.tree.slots(self.open, codes)
        told = [self._summarize_column(i, a, frame, codes[:, a], slots) for i, a in enumerate(self.coarse)]
        columns = [np.concatenate(each) for each in zip(*told, strict=True)]
        return pa.table(dict(zip(self.schema.names, columns, strict=True)), schema=self.schema)

    def _summarize_column(self, i: int, a: int, frame: nw.DataFrame[Any], codes: Any, slots: Ints) -> tuple[Any, ...]:
        attribute = self.encoded.whole[a].attribute
        values = numbers(frame[attribute.name], attribute)
        there = (slots >= 0) & ~np.isnan(values)
        slots, values, codes = slots[there], values[there], codes[there]
        order = np.lexsort((values, slots))
        slots, values, codes = slots[order], values[order], codes[order]
        first = np.flatnonzero(np.diff(slots, prepend=-1))
        last = np.append(first[1:], len(slots)) - 1 if len(first) else first
        inside = codes == self.middles[slots, i]
        pairs, counts = _count_values(slots[inside], values[inside])
        place = np.concatenate([slots[first], slots[last], pairs[0]]) + i * len(self.open)
        says = np.repeat([_LOW, _HIGH, _INSIDE], [len(first), len(last), len(counts)])
        ones = np.ones(2 * len(first), dtype=np.int64)
        return place, says, np.concatenate([values[first], values[last], pairs[1]]), np.append(ones, counts)


def _count_values(slots: Ints, values: Floats) -> tuple[tuple[Ints, Floats], Ints]:
    """The different values of each slot, for values in order, and how often they occur."""
    starts = np.flatnonzero(np.append(True, (slots[1:] != slots[:-1]) | (values[1:] != values[:-1])))[: len(slots)]
    return (slots[starts], values[starts]), np.diff(np.append(starts, len(slots)))


def _medians(
    encoded: Encoded, coarse: Sequence[int], counts: Sequence[Counts], middles: Ints, seen: Any
) -> list[dict[int, Median]]:
    """What was seen, together."""
    place, says, value, n = (seen.column(name).to_numpy() for name in seen.column_names)
    many = len(middles)
    found: list[dict[int, Median]] = [{} for _ in range(many)]
    low, high = np.full(many * len(coarse), np.inf), np.full(many * len(coarse), -np.inf)
    np.minimum.at(low, place[says == _LOW], value[says == _LOW])
    np.maximum.at(high, place[says == _HIGH], value[says == _HIGH])
    inside = says == _INSIDE
    order = np.lexsort((value[inside], place[inside]))
    place, value, n = place[inside][order], value[inside][order], n[inside][order]
    for i, a in enumerate(coarse):
        column = encoded.whole[a]
        assert isinstance(column, CoarseColumn)
        for node in range(many):
            at = i * many + node
            run = slice(*np.searchsorted(place, [at, at + 1]))
            own = counts[i][node]
            width = _width(column, low[at], high[at], int(own[-1]))
            found[node][a] = _median(own, int(middles[node, i]), width, value[run], n[run])
    return found


def _width(column: CoarseColumn, low: float, high: float, missing: int) -> float:
    """The node's NCP, as `kernel.spread` has it."""
    if low > high:
        return 0.0
    if missing:
        return 1.0
    ends = column.build_ranked_column().domain
    span = ends[1] - ends[0]
    return float((high - ends[0]) / span - (low - ends[0]) / span) if span > 0 else 0.0


def _median(counts: Counts, middle: int, width: float, values: Floats, n: Ints) -> Median:
    total, missing = int(counts.sum()), int(counts[-1])
    if middle == len(counts) - 1:
        return Median(width, total, missing, np.inf, total - missing, 0)
    if int(n.sum()) != int(counts[middle]):
        raise DataError("The table changed while it was read; give one that stays as it is.")
    reached = int(counts[:middle].sum()) + np.cumsum(n)
    which = int(np.searchsorted(reached, total // 2, side="right"))
    same = values == values[which]  # those of several batches lie one after another
    first = int(np.flatnonzero(same)[0])
    below = int(reached[first] - n[first])
    return Median(width, total, missing, float(values[which]), below, int(n[same].sum()))
