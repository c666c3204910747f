"""Which values a table's columns have and how many records have each, in one pass over all columns.

A column of texts is counted text by text. A number is counted value by value up to a limit. Beyond it only a sample of
the values is kept, each still with its exact count: those whose hash is smallest (Bar-Yossef et al., "Counting distinct
elements in a data stream", RANDOM 2002, §2.3), and the smallest and the largest value. What is kept does not depend on
the order of the records nor on how they are dealt out: a value that every part keeps was counted by every part.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.engines.table import EngineTable
from modicum.errors import require
from modicum.table.frames import column, readable_numbers, texts
from modicum.table.schema import Attribute
from modicum.table.values import Floats, Mask

LIMIT = 131_072  # distinct values that are counted one by one
Weights = npt.NDArray[np.int64]
_NO_LIMIT = np.iinfo(np.int64).max
_VALUE, _MISSING, _UNREADABLE, _SEEN_BELOW, _OVERFULL = range(5)  # what a row says that was sent


@dataclass
class Words:
    """The texts of a column and how many records have each; none where there are more than the limit."""

    limit: int
    counts: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    overfull: bool = False

    def add(self, words: Sequence[str], counts: Weights) -> None:
        if self.overfull:
            return
        for word, n in zip(words, counts.tolist(), strict=True):
            self.counts[word] = self.counts.get(word, 0) + n
        if len(self.counts) > self.limit:
            self.counts, self.overfull = {}, True


@dataclass
class Numbers:
    """The distinct numbers of a column in order and how many records have each: all, or a sample by their hashes."""

    limit: int
    distinct: Floats = field(default_factory=lambda: np.empty(0))
    counts: Weights = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    missing: int = 0
    unreadable: int = 0
    seen_below: int = _NO_LIMIT  # values with a smaller hash are all here
    waiting: list[tuple[Floats, Weights]] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all values are here."""
        return self.seen_below == _NO_LIMIT

    def add(self, values: Floats) -> None:
        """Count values, none of them missing."""
        self._take(*np.unique(values[self._kept(values)], return_counts=True))

    def merge(self, distinct: Floats, counts: Weights, seen_below: int) -> None:
        self.seen_below = min(self.seen_below, seen_below)
        self._take(distinct, counts)

    def settle(self) -> None:
        """Bring what waits together with the rest."""
        if self.waiting:
            values, counts = (np.concatenate(each) for each in zip((self.distinct, self.counts), *self.waiting))
            self.waiting.clear()
            order = np.argsort(values, kind="stable")
            values, counts = values[order], counts[order]
            starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.empty(0, int)
            self.distinct, self.counts = values[starts], np.add.reduceat(counts, starts) if len(starts) else counts
        if len(self.distinct) > self.limit:
            smallest = np.partition(_hashes(self.distinct), self.limit)[self.limit]
            self.seen_below = min(self.seen_below, int(smallest))
        kept = self._kept(self.distinct)
        self.distinct, self.counts = self.distinct[kept], self.counts[kept]

    def _take(self, distinct: Floats, counts: Weights) -> None:
        self.waiting.append((distinct, counts))
        if sum(len(each) for each, _ in self.waiting) > self.limit:
            self.settle()

    def _kept(self, values: Floats) -> Mask:
        """Whose hash is small enough, and the smallest and largest value so far."""
        if self.complete or not len(values):
            return np.ones(len(values), dtype=bool)
        low, high = self._extremes(values)
        return (_hashes(values) < self.seen_below) | (values <= low) | (values >= high)

    def _extremes(self, values: Floats) -> tuple[float, float]:
        known = self.distinct if len(self.distinct) else values
        return min(known[0], values.min()), max(known[-1], values.max())


@dataclass(frozen=True)
class Survey:
    """The pass itself: what is to be counted of which columns.

    `within` says of some numbers between which values, both of them left out, they are looked at: two arrays.
    """

    attributes: tuple[Attribute, ...]
    limits: tuple[int, ...]
    within: Mapping[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def schema(self) -> Any:
        pa = require("pyarrow", "scale")
        return pa.schema(
            [
                ("part", pa.int32()),
                ("says", pa.int32()),
                ("text", pa.string()),
                ("number", pa.float64()),
                ("n", pa.int64()),
            ]
        )

    def empty(self) -> list[Words | Numbers]:
        return [
            Words(limit) if attribute.is_category else Numbers(limit)
            for attribute, limit in zip(self.attributes, self.limits, strict=True)
        ]

    def add(self, summary: list[Words | Numbers], frame: nw.DataFrame[Any]) -> None:
        for attribute, known in zip(self.attributes, summary, strict=True):
            series = column(frame, attribute.name)
            if isinstance(known, Words):
                codes, words = texts(series)
                counts = np.bincount(codes + 1, minlength=len(words) + 1)
                known.missing += int(counts[0])
                known.add(words, counts[1:])
            else:
                values, unreadable = readable_numbers(series, attribute)
                known.unreadable += unreadable
                self._add_numbers(known, attribute.name, values)

    def _add_numbers(self, known: Numbers, name: str, values: Floats) -> None:
        absent = np.isnan(values)
        known.missing += int(absent.sum())
        values = values[~absent] + 0.0  # -0.0 is 0.0
        known.add(values[_inside(values, *self.within[name])] if name in self.within else values)

    def merge(self, summary: list[Words | Numbers], sent: Any) -> None:
        part, says, number, n = (sent.column(name).to_numpy() for name in ("part", "says", "number", "n"))
        for i, known in enumerate(summary):
            rows = part == i
            told = {what: n[rows & (says == what)] for what in range(5)}
            known.missing += int(told[_MISSING].sum())
            if isinstance(known, Words):
                known.overfull |= bool(len(told[_OVERFULL]))
                chosen = np.flatnonzero(rows & (says == _VALUE))
                known.add(sent.column("text").take(chosen).to_pylist(), told[_VALUE])
            else:
                known.unreadable += int(told[_UNREADABLE].sum())
                seen_below = int(told[_SEEN_BELOW].min(initial=_NO_LIMIT))
                known.merge(number[rows & (says == _VALUE)], told[_VALUE], seen_below)

    def sent(self, summary: list[Words | Numbers]) -> Any:
        pa = require("pyarrow", "scale")
        return pa.concat_tables([self.schema.empty_table(), *(self._part(i, known) for i, known in enumerate(summary))])

    def _part(self, i: int, known: Words | Numbers) -> Any:
        pa = require("pyarrow", "scale")
        if isinstance(known, Words):
            values, counts = list(known.counts), list(known.counts.values())
            about = [(_MISSING, known.missing), *([(_OVERFULL, 1)] if known.overfull else [])]
        else:
            known.settle()
            values, counts = known.distinct, known.counts
            about = [(_MISSING, known.missing), (_UNREADABLE, known.unreadable), (_SEEN_BELOW, known.seen_below)]
        nothing = [None] * len(about)
        columns = {
            "part": np.full(len(values) + len(about), i, dtype=np.int32),
            "says": np.append(np.full(len(values), _VALUE), [what for what, _ in about]).astype(np.int32),
            "text": [*values, *nothing]
            if isinstance(known, Words)
            else pa.nulls(len(values) + len(about), pa.string()),
            "number": np.append(values, np.zeros(len(about)))
            if isinstance(known, Numbers)
            else np.zeros(len(values) + len(about)),
            "n": np.append(np.asarray(counts, dtype=np.int64), [n for _, n in about]).astype(np.int64),
        }
        return pa.table(columns, schema=self.schema)


def surveyed(
    table: EngineTable,
    attributes: Sequence[Attribute],
    limit: int = LIMIT,
    within: Mapping[str, tuple[Floats, Floats]] | None = None,
    words: int = LIMIT,
) -> dict[str, Any]:
    """What the columns hold, by name: `Words` of categories, `Numbers` of numbers and dates. One pass.

    Examples
    --------
    >>> import duckdb
    >>> from modicum import Attribute
    >>> from modicum.engines import table_at
    >>> from modicum.engines.survey import surveyed
    >>> table = table_at(duckdb.sql("SELECT unnest([3, 1, 3, NULL]) AS n"))
    >>> found = surveyed(table, [Attribute(name="n", kind="number")])["n"]
    >>> found.distinct.tolist(), found.counts.tolist(), found.missing
    ([1.0, 3.0], [1, 2], 1)
    """
    if not attributes:
        return {}
    limits = tuple(words if attribute.is_category else limit for attribute in attributes)
    work = Survey(tuple(attributes), limits, within or {})
    found = dict(zip(work.columns, table.digest(work), strict=True))
    for known in found.values():
        if isinstance(known, Numbers):
            known.settle()
    return found


def _inside(values: Floats, low: Floats, high: Floats) -> Mask:
    """Which values lie strictly between a low and its high; the pairs are in order and do not overlap."""
    nearest = np.searchsorted(low, values, side="left") - 1
    return (nearest >= 0) & (values < high[nearest])


def _hashes(values: Floats) -> npt.NDArray[np.int64]:
    """Numbers mixed so that no rule of the data shows in them."""
    mixed = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return (mixed >> np.uint64(1)).view(np.int64)
