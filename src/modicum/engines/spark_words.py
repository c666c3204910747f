"""Texts in Unicode normal form C in Spark, which has no function for it.

Hardly any table holds a text in another form. So Spark first looks for texts beyond ASCII; where there are some, those
in another form are gathered, each once, and replaced one by one.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from modicum.engines.failures import asking
from modicum.engines.table import EngineTable, collected
from modicum.errors import DataError, require

MOST = 10_000  # texts of a column that are replaced one by one
_BEYOND_ASCII = r"[^\x00-\x7F]"


@dataclass(frozen=True)
class OtherForms:
    """Picks the texts that are not in normal form C, and the number of their column."""

    columns: tuple[str, ...]

    @property
    def schema(self) -> Any:
        pyarrow = require("pyarrow", "scale")
        return pyarrow.schema([("column", pyarrow.int64()), ("word", pyarrow.string())])

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        found = [(i, word) for i, name in enumerate(self.columns) for word in frame[name].unique().to_list()]
        odd = [(i, word) for i, word in found if word is not None and not unicodedata.is_normalized("NFC", word)]
        pyarrow = require("pyarrow", "scale")
        return pyarrow.table({"column": [i for i, _ in odd], "word": [word for _, word in odd]}, schema=self.schema)


def formed(table: EngineTable, names: Sequence[str]) -> list[nw.Expr]:
    """Each column of texts in normal form C."""
    beyond = _beyond_ascii(table, names)
    others: dict[str, set[str]] = {name: set() for name in names}
    if beyond:
        picked = table.gather(OtherForms(tuple(beyond)))
        for i, word in zip(picked["column"].to_pylist(), picked["word"].to_pylist(), strict=True):
            others[beyond[i]].add(word)
    return [_replaced(table, name, sorted(others[name])) for name in names]


def _beyond_ascii(table: EngineTable, names: Sequence[str]) -> list[str]:
    """The columns in which a text has a character that is not ASCII: one pass, in the engine."""
    asked = [
        table.col(name).str.contains(_BEYOND_ASCII).cast(nw.Int64).max().alias(f"c{i}") for i, name in enumerate(names)
    ]
    with asking(table.engine):
        found = collected(table.lazy.select(*asked))
    return [name for i, name in enumerate(names) if found[f"c{i}"][0]]


def _replaced(table: EngineTable, name: str, odd: list[str]) -> nw.Expr:
    column = table.col(name)
    if not odd:
        return column
    if len(odd) > MOST:
        raise DataError(
            f"The column {name!r} holds more than {MOST:,} different texts that are not in Unicode normal form C, "
            f"which the engine {table.engine!r} cannot make; normalise it first, or use DuckDB or polars."
        )
    new = [unicodedata.normalize("NFC", word) for word in odd]
    return nw.when(column.is_in(odd)).then(column.replace_strict(odd, new, default=None)).otherwise(column)
