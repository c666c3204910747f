"""The kinds of a table's columns, learned where it lives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.table import EngineTable
from modicum.engines.work import Counts
from modicum.errors import DataError
from modicum.table.frames import column, readable_numbers
from modicum.table.inference import not_whole, stored_as
from modicum.table.schema import Attribute, Schema

_DAY = 86_400


@dataclass(frozen=True)
class Uneven:
    """How many values of each column are no whole numbers (a unit of 1) or not at midnight (a day's seconds)."""

    columns: tuple[str, ...]
    units: tuple[int, ...]

    def empty(self) -> Counts:
        return np.zeros(len(self.columns), dtype=np.int64)

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        for i, (name, unit) in enumerate(zip(self.columns, self.units, strict=True)):
            if not counts[i]:  # one is enough
                attribute = Attribute(name=name, kind="number" if unit == 1 else "date")
                counts[i] = not_whole(readable_numbers(column(frame, name), attribute)[0], unit)


def schema_at(table: EngineTable, names: Sequence[str] | None = None) -> Schema:
    """The kinds of the named columns, or of all: what `Schema.infer` finds, without its suggestions.

    Floats and datetimes are read, in one pass over all of them; of other columns the type says enough.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.coding import schema_at
    >>> table = table_at(duckdb.sql("SELECT 1.0::DOUBLE AS n, true AS yes, DATE '2020-02-03' AS day, 'a' AS word"))
    >>> [(each.kind, each.storage) for each in schema_at(table)]
    [('number', 'integer'), ('category', 'boolean'), ('date', 'date'), ('category', 'text')]
    """
    names = table.columns if names is None else list(names)
    table.check(names)
    if not names:
        raise DataError("The data has no columns.")
    units = {name: unit for name in names if (unit := _unit(table.types[name]))}
    uneven = dict(zip(units, table.fold(Uneven(tuple(units), tuple(units.values()))), strict=True)) if units else {}
    return Schema(attributes=tuple(_attribute(name, table.types[name], bool(uneven.get(name))) for name in names))


def _unit(dtype: Any) -> int | None:
    """Of what a column's values may or may not all be multiples; None where the type already says it."""
    if isinstance(dtype, nw.Datetime):
        return _DAY
    return 1 if dtype.is_numeric() and not dtype.is_integer() else None


def _attribute(name: str, dtype: Any, uneven: bool) -> Attribute:
    if isinstance(dtype, nw.Enum):
        return Attribute(name=name, kind="ordered", domain=tuple(dtype.categories))
    if dtype == nw.Boolean:
        return stored_as(name, "boolean")
    if isinstance(dtype, nw.Datetime | nw.Date):
        return stored_as(name, "datetime" if uneven else "date")
    if dtype.is_numeric():
        return stored_as(name, "float" if uneven else "integer")
    return stored_as(name, "text")
