"""A sample of a table that is the same whoever draws it and in whatever order the records come.

Which records are drawn follows from a hash of what they hold. Where records repeat themselves, copies would be drawn
all or none, so that they are counted instead, and as many copies of each are drawn as fall to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.engines.grouped import counted_few
from modicum.engines.table import EngineTable, collected
from modicum.errors import ParameterError, require

SAMPLE = 200_000

_HASH = "modicum_hash"
_REPEATED = 2  # copies of a record on average, from which on copies are counted

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class _Drawing:
    """Picks the records whose hash is at most `limit`, which comes with them."""

    columns: tuple[str, ...]
    schema: Any
    limit: int
    seed: int

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        hashes = record_hashes(frame.select(list(self.columns)), self.seed)
        chosen = np.flatnonzero(hashes <= np.uint64(self.limit))
        pyarrow = require("pyarrow", "scale")
        some = frame.select(list(self.columns)).to_native().take(chosen)
        own = pyarrow.array(hashes[chosen].view(np.int64))
        return some.append_column(_HASH, own).cast(self.schema)


def drawn(table: EngineTable, columns: Sequence[str], n: int = SAMPLE, seed: int = 0) -> nw.DataFrame[Any]:
    """About n records, or all where there are no more, in an order that follows from what they hold.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> from modicum.engines.drawing import drawn
    >>> found = drawn(table_at(duckdb.sql("SELECT range AS n FROM range(10000)")), ["n"], 100)
    >>> 70 < len(found) < 130, len(set(found["n"].to_list())) == len(found)
    (True, True)
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ParameterError(f"The 'sample' parameter must be an int ≥ 1. Got {n!r} instead.")
    table.check(columns)
    rows = table.rows()
    limit = 2**64 - 1 if rows <= n else int(2**64 * (n / rows))
    found = nw.from_native(table.gather(_Drawing(tuple(columns), _schema(table, columns), limit, seed)))
    hashes = found[_HASH].to_numpy()
    if rows > n and len(np.unique(hashes)) * _REPEATED <= len(hashes):
        return _drawn_copies(table, columns, n, seed)
    return found[np.argsort(hashes, kind="stable").tolist()].drop(_HASH)


def _drawn_copies(table: EngineTable, columns: Sequence[str], n: int, seed: int) -> nw.DataFrame[Any]:
    """n of the records, from how many there are of each."""
    found, records = counted_few(table.lazy, list(columns), "all attributes")
    order = np.argsort(record_hashes(found, seed), kind="stable")
    ends = np.cumsum(records[order])
    places = np.sort(np.random.default_rng(seed).choice(int(ends[-1]), n, replace=False))
    return found[order[np.searchsorted(ends, places, side="right")].tolist()]


def record_hashes(frame: nw.DataFrame[Any], seed: int) -> Hashes:
    """A number for each record that follows from what it holds."""
    found = np.full(len(frame), _mixed(np.array([seed], dtype=np.uint64))[0], dtype=np.uint64)
    for name in frame.columns:
        found = _mixed(found ^ _column_hashes(frame[name])) * np.uint64(0x9E3779B97F4A7C15)
    return _mixed(found)


def _column_hashes(series: nw.Series[Any]) -> Hashes:
    if series.dtype.is_numeric() or series.dtype == nw.Boolean:
        values = np.asarray(series.cast(nw.Float64).fill_null(float("nan")).to_numpy(), dtype=np.float64) + 0.0
        return np.where(np.isnan(values), np.nan, values).view(np.uint64)
    if series.dtype.is_temporal():
        return np.asarray(series.to_numpy()).astype("datetime64[us]").view(np.uint64)
    words = np.asarray(series.cast(nw.String).fill_null("\x00").to_list(), dtype=object)
    return pd.util.hash_array(words, categorize=True)


def _mixed(values: Hashes) -> Hashes:
    """Every bit of a number spread over all of them (the finalizer of SplitMix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _schema(table: EngineTable, columns: Sequence[str]) -> Any:
    pyarrow = require("pyarrow", "scale")
    empty = collected(table.lazy.select(list(columns)).head(0)).to_native()
    return empty.select(list(columns)).schema.append(pyarrow.field(_HASH, pyarrow.int64()))
