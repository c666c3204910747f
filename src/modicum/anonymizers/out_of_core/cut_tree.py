"""Trees of cuts, which assign records to leaves by the codes of their quasi-identifiers."""

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

    `left` is the number of records that go left. For a coarsely coded attribute, `value` is the highest number that
    goes left (infinity: all except missing).
    """

    attribute: int
    limit: int
    left: int
    value: float = np.nan


@dataclass(frozen=True)
class CutTree:
    """Cuts by node: codes of `attributes` below `limits` go to node `lefts`, others to the one after; -1 is a leaf."""

    attributes: Ints
    limits: Ints
    lefts: Ints
    values: Floats

    @classmethod
    def root(cls) -> "CutTree":
        """Make a tree of one leaf."""
        return cls(np.array([-1]), np.array([0]), np.array([-1]), np.array([np.nan]))

    def apply(self, codes: CodeArray) -> Codes:
        """Find the leaf of each record."""
        from modicum.anonymizers.kernel import route  # deferred: numba takes a second to import

        leaves = np.empty(len(codes), dtype=np.int64)
        route(codes, self.attributes, self.limits, self.lefts, leaves)
        return leaves

    def slots(self, open_: Ints, codes: CodeArray) -> Codes:
        """Find the index of each record's node in `open_`; -1 for other nodes."""
        place = np.full(len(self.attributes), -1)
        place[open_] = np.arange(len(open_))
        return place[self.apply(codes)]

    def cut(self, cuts: Sequence[tuple[int, TreeCut]]) -> "CutTree":
        """Cut some leaves."""
        many, added = len(self.attributes), 2 * len(cuts)
        nodes = np.array([node for node, _ in cuts], dtype=np.int64)
        attributes, limits, lefts = (
            np.append(own, np.full(added, -1)) for own in (self.attributes, self.limits, self.lefts)
        )
        values = np.append(self.values, np.full(added, np.nan))
        attributes[nodes] = [cut.attribute for _, cut in cuts]
        limits[nodes], values[nodes] = [cut.limit for _, cut in cuts], [cut.value for _, cut in cuts]
        lefts[nodes] = many + 2 * np.arange(len(cuts))
        return CutTree(attributes, limits, lefts, values)

    def recode(self, columns: Sequence[AnyColumn]) -> "CutTree":
        """Convert the cuts of coarsely coded columns to their new codes."""
        limits = self.limits.copy()
        for a, column in enumerate(columns):
            if isinstance(column, CoarseColumn):
                own = self.attributes == a
                limits[own] = column.limit(self.values[own])
        return replace(self, limits=limits)


@dataclass(frozen=True)
class Encoded:
    """Encode records as codes of the whole table."""

    whole: tuple[AnyColumn, ...]

    @property
    def names(self) -> list[str]:
        return [each.attribute.name for each in self.whole]

    @property
    def sizes(self) -> list[int]:
        return [each.size for each in self.whole]

    def encode(self, X: Any) -> CodeArray:
        """Return one row per record and one column per attribute."""
        columns = [each.encode(X[each.attribute.name]).astype(np.uint16) for each in self.whole]
        return np.ascontiguousarray(np.column_stack(columns))


@dataclass(frozen=True)
class Upper:
    """The upper levels of a partition: a tree that assigns records to parts. Engines send it to their workers."""

    tree: CutTree | Tree
    coder: FrameCoder | None  # None if all records are one part

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """Return the part of each record in a batch."""
        if self.coder is None:
            return np.zeros(len(frame), dtype=np.int64)
        return self.tree.apply(self.coder.encode(frame))


# Find what coarse codes do not show about a node: its lowest and highest value, and the exact middle value.
#
# The counts of the ranges show which range contains a node's middle. One more pass fetches only the values in that
# range, with their counts, so the cut is the same as with all values.

_FETCHED = 4_000_000  # records whose values are fetched in one pass
_LOW, _HIGH, _INSIDE = range(3)


@dataclass(frozen=True)
class Median:
    """The exact middle of an attribute at a node.

    Attributes
    ----------
    width : the share of the domain that the node spans
    n, missing : how many records the node has, and how many of them are missing
    value : the value in the middle of the sorted records; infinite if that is missing
    below, same : how many records are below it, and how many have it
    """

    width: float
    n: int
    missing: int
    value: float
    below: int
    same: int

    def cuts(self, attribute: int, k: int) -> list[TreeCut]:
        """Find the possible cuts, best first, as `kernel.places` does."""
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
    """Read the records of nodes to find the exact width and middle of each coarse attribute."""
    starts = np.cumsum([0, *encoded.sizes])
    own = [counts[:, starts[a] : starts[a + 1]] for a in coarse]
    middles = np.column_stack([_find_middle_range(each) for each in own])
    inside = np.column_stack([each[np.arange(len(nodes)), middles[:, i]] for i, each in enumerate(own)])
    found = []
    for some in _chunks(inside.sum(axis=1)):
        values = table.gather(_MiddleValues(encoded, tree, nodes[some], tuple(coarse), middles[some]))
        found += _build_medians(encoded, coarse, [each[some] for each in own], middles[some], values)
    return found


def _find_middle_range(counts: Counts) -> Ints:
    """Find the range that contains each node's middle."""
    reached = np.cumsum(counts, axis=1)
    return (reached <= reached[:, -1:] // 2).sum(axis=1)


def _chunks(sizes: Ints) -> Iterator[slice]:
    """Yield runs of nodes whose values can be fetched at once; a single node may be larger."""
    start, total = 0, 0
    for i, size in enumerate(sizes.tolist()):
        if total and total + size > _FETCHED:
            yield slice(start, i)
            start, total = i, 0
        total += size
    yield slice(start, len(sizes))


@dataclass(frozen=True)
class _MiddleValues:
    """Collect each node's lowest and highest values, and all values in its middle range, attribute by attribute."""

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
        return pa.schema([("place", pa.int64()), ("purpose", pa.int64()), ("value", pa.float64()), ("n", pa.int64())])

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        pa = require("pyarrow", "scale")
        codes = self.encoded.encode(frame)
        slots = self.tree.slots(self.open, codes)
        summaries = [self._summarize_column(i, a, frame, codes[:, a], slots) for i, a in enumerate(self.coarse)]
        columns = [np.concatenate(each) for each in zip(*summaries, strict=True)]
        return pa.table(dict(zip(self.schema.names, columns, strict=True)), schema=self.schema)

    def _summarize_column(self, i: int, a: int, frame: nw.DataFrame[Any], codes: Any, slots: Ints) -> tuple[Any, ...]:
        attribute = self.encoded.whole[a].attribute
        values = numbers(frame[attribute.name], attribute)
        present = (slots >= 0) & ~np.isnan(values)
        slots, values, codes = slots[present], values[present], codes[present]
        order = np.lexsort((values, slots))
        slots, values, codes = slots[order], values[order], codes[order]
        first = np.flatnonzero(np.diff(slots, prepend=-1))
        last = np.append(first[1:], len(slots)) - 1 if len(first) else first
        inside = codes == self.middles[slots, i]
        inner_slots, inner_values, counts = _count_values(slots[inside], values[inside])
        place = np.concatenate([slots[first], slots[last], inner_slots]) + i * len(self.open)
        purpose = np.repeat([_LOW, _HIGH, _INSIDE], [len(first), len(last), len(counts)])
        ones = np.ones(2 * len(first), dtype=np.int64)
        return place, purpose, np.concatenate([values[first], values[last], inner_values]), np.append(ones, counts)


def _count_values(slots: Ints, values: Floats) -> tuple[Ints, Floats, Ints]:
    """Count how often each distinct value of each slot occurs, for sorted values."""
    starts = np.flatnonzero(np.append(True, (slots[1:] != slots[:-1]) | (values[1:] != values[:-1])))[: len(slots)]
    return slots[starts], values[starts], np.diff(np.append(starts, len(slots)))


def _build_medians(
    encoded: Encoded, coarse: Sequence[int], counts: Sequence[Counts], middles: Ints, collected: Any
) -> list[dict[int, Median]]:
    """Combine the collected values into medians."""
    place, purpose, value, n = (collected.column(name).to_numpy() for name in collected.column_names)
    many = len(middles)
    found: list[dict[int, Median]] = [{} for _ in range(many)]
    low, high = np.full(many * len(coarse), np.inf), np.full(many * len(coarse), -np.inf)
    np.minimum.at(low, place[purpose == _LOW], value[purpose == _LOW])
    np.maximum.at(high, place[purpose == _HIGH], value[purpose == _HIGH])
    inside = purpose == _INSIDE
    order = np.lexsort((value[inside], place[inside]))
    place, value, n = place[inside][order], value[inside][order], n[inside][order]
    for i, a in enumerate(coarse):
        column = encoded.whole[a]
        assert isinstance(column, CoarseColumn)
        for node in range(many):
            at = i * many + node
            run = slice(*np.searchsorted(place, [at, at + 1]))
            own = counts[i][node]
            width = _compute_width(column, low[at], high[at], int(own[-1]))
            found[node][a] = _build_median(own, int(middles[node, i]), width, value[run], n[run])
    return found


def _compute_width(column: CoarseColumn, low: float, high: float, missing: int) -> float:
    """Compute the node's NCP, as `kernel.spread` does."""
    if low > high:
        return 0.0
    if missing:
        return 1.0
    ends = column.build_ranked_column().domain
    span = ends[1] - ends[0]
    return float((high - ends[0]) / span - (low - ends[0]) / span) if span > 0 else 0.0


def _build_median(counts: Counts, middle: int, width: float, values: Floats, n: Ints) -> Median:
    total, missing = int(counts.sum()), int(counts[-1])
    if middle == len(counts) - 1:
        return Median(width, total, missing, np.inf, total - missing, 0)
    if int(n.sum()) != int(counts[middle]):
        raise DataError("The table changed while it was read; use one that does not change.")
    reached = int(counts[:middle].sum()) + np.cumsum(n)
    which = int(np.searchsorted(reached, total // 2, side="right"))
    same = values == values[which]  # equal values from several batches are adjacent
    first = int(np.flatnonzero(same)[0])
    below = int(reached[first] - n[first])
    return Median(width, total, missing, float(values[which]), below, int(n[same].sum()))
