"""Which values a table's columns have and how many records have each, in one pass over all columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.table import EngineTable
from modicum.engines.value_counts import NO_LIMIT, Numbers, Words
from modicum.errors import require
from modicum.table.frames import column, readable_numbers, texts
from modicum.table.schema import Attribute
from modicum.table.values import Floats, Mask

LIMIT = 131_072  # distinct values that are counted one by one
_VALUE, _MISSING, _UNREADABLE, _SEEN_BELOW, _OVERFULL = range(5)  # what a row says that was sent


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
                seen_below = int(told[_SEEN_BELOW].min(initial=NO_LIMIT))
                known.merge(number[rows & (says == _VALUE)], told[_VALUE], seen_below)

    def sent(self, summary: list[Words | Numbers]) -> Any:
        pa = require("pyarrow", "scale")
        return pa.concat_tables([self.schema.empty_table(), *(self._part(i, known) for i, known in enumerate(summary))])

    def _part(self, i: int, known: Words | Numbers) -> Any:
        pa = require("pyarrow", "scale")
        values: Any
        if isinstance(known, Words):
            name, values, counts = "text", list(known.counts), np.array(list(known.counts.values()), dtype=np.int64)
            about = [(_MISSING, known.missing), *([(_OVERFULL, 1)] if known.overfull else [])]
        else:
            known.settle()
            name, values, counts = "number", known.distinct, known.counts
            about = [(_MISSING, known.missing), (_UNREADABLE, known.unreadable), (_SEEN_BELOW, known.seen_below)]
        size, form = len(values) + len(about), self.schema
        columns = {each: pa.nulls(size, form.field(each).type) for each in ("text", "number")}
        columns[name] = pa.concat_arrays([pa.array(values, form.field(name).type), columns[name][len(values) :]])
        columns["part"] = np.full(size, i, dtype=np.int32)
        columns["says"] = np.append(np.full(len(values), _VALUE), [what for what, _ in about])
        columns["n"] = np.append(counts, [n for _, n in about])
        return pa.table(columns).select(form.names).cast(form)


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
