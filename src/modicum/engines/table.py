"""The interface of a table in an engine.

narwhals pushes expressions (`lazy`) down to the engine: bucketing, filters, group-bys. Python work (`fold`, `gather`,
`digest`) runs where the records are and sees them as Arrow batches. Only counts, selected rows and summaries come back.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.engines.failures import asking
from modicum.errors import DataError, format_names, require

# Python work that an engine runs on batches of records, in no particular order and possibly in other processes

Counts = npt.NDArray[np.int64]


class TableWork(Protocol):
    """Work on records."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""


class ArrowWork(TableWork, Protocol):
    """Work on records that returns Arrow tables."""

    @property
    def schema(self) -> Any:
        """The pyarrow Schema of the result."""


class Fold(TableWork, Protocol):
    """Count: each batch adds to an array, and the engine adds up the arrays of all batches.

    Sums of integers do not depend on how the records are partitioned, so every engine returns the same counts.
    """

    def empty(self) -> Counts:
        """A one-dimensional array of zeros."""

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        """Add a batch of the `columns`."""


class Gather(ArrowWork, Protocol):
    """Select a few rows of each batch; the engine concatenates them in any order."""

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        """Return the selected rows of a batch as a pyarrow Table."""


class Digest(ArrowWork, Protocol):
    """Summarize: each batch goes into a small summary, and the engine merges the summaries of all batches.

    A summary is sent as a table with a column `part`; the engine collects all rows of one part before it merges them.
    """

    def empty(self) -> Any:
        """An empty summary."""

    def add(self, summary: Any, frame: nw.DataFrame[Any]) -> None:
        """Add a batch of the `columns`."""

    def merge(self, summary: Any, sent: Any) -> None:
        """Merge another summary, or some of its parts, in the form of `pack_summary`."""

    def pack_summary(self, summary: Any) -> Any:
        """Return the summary as a pyarrow Table."""


# The table

COUNT = "(records)"  # an unlikely column name


class EngineTable(ABC):
    """A lazily evaluated table.

    Parameters
    ----------
    native : DuckDB relation, Spark DataFrame, polars LazyFrame, Ibis table, or a pandas or polars frame

    Attributes
    ----------
    engine : str
        The engine's name: "duckdb", "spark", "polars", …
    types : narwhals Schema
        The columns and their types.
    """

    engine: str

    def __init__(self, native: Any) -> None:
        self.native = native
        with asking(self.engine):
            self.types = self.lazy.collect_schema()
        patterns = [name for name in self.types if name == "*" or (name.startswith("^") and name.endswith("$"))]
        if patterns:
            raise DataError(f"The column name {patterns[0]!r} is a pattern for several columns; rename the column.")

    @property
    def lazy(self) -> nw.LazyFrame[Any]:
        """The table as a narwhals expression."""
        frame: Any = nw.from_native(self.native)
        return frame.lazy() if isinstance(frame, nw.DataFrame) else frame

    @property
    def columns(self) -> list[str]:
        return list(self.types.names())

    def col(self, name: str) -> nw.Expr:
        """Return a column as an expression; its name may hold any characters."""
        return nw.col(name)

    def part(self, names: Sequence[str]) -> "EngineTable":
        """Return a table of these columns only."""
        return type(self)(self.lazy.select(*(self.col(name).alias(name) for name in names)).to_native())

    def check(self, names: Sequence[str]) -> None:
        """Raise a `DataError` if the table lacks a column."""
        absent = [name for name in names if name not in self.types]
        if absent:
            raise DataError(
                f"The column {absent[0]!r} is not in the data; it has {format_names(self.columns, limit=8)}."
            )

    def check_free(self, names: Sequence[str], among: Sequence[str] | None = None) -> None:
        """Raise a `DataError` if a column (or a name in `among`) has one of these reserved names."""
        taken = [name for name in names if name in (self.columns if among is None else among)]
        if taken:
            raise DataError(f"The column name {taken[0]!r} is reserved for internal use; rename the column.")

    def rows(self) -> int:
        """Count the records in the engine."""
        with asking(self.engine):
            return int(collect_arrow(self.lazy.select(nw.len().alias(COUNT)))[COUNT][0])

    def count_distinct(self, name: str) -> int:
        """Count a column's distinct values in the engine; missing is one of them."""
        return int(collect_arrow(self.lazy.select(self.col(name).n_unique().alias(COUNT)))[COUNT][0])

    def count_by(self, keys: Sequence[str | nw.Expr]) -> nw.DataFrame[Any]:
        """Group by the keys: each combination that occurs, with its number of records in the column `COUNT`.

        Examples
        --------
        >>> import duckdb
        >>> from modicum.engines import table_at
        >>> table = table_at(duckdb.sql("SELECT unnest(['a', 'b', 'a']) AS word"))
        >>> sorted(table.count_by(["word"]).rows())
        [('a', 2), ('b', 1)]
        """
        with asking(self.engine):
            chosen, names = self.select_keys(keys)
            self.check_free([COUNT], among=names)
            plain = chosen.collect_schema().names()
            counts = collect_arrow(chosen.group_by(plain).agg(nw.len().alias(COUNT)))
            return counts.rename(dict(zip(plain, names, strict=True)))

    def select_keys(self, keys: Sequence[str | nw.Expr]) -> tuple[nw.LazyFrame[Any], list[str]]:
        """Select the keys under plain names that every engine can group by; also return their original names."""
        with asking(self.engine):
            chosen = self.lazy.select(*(self.col(key).alias(key) if isinstance(key, str) else key for key in keys))
            names = chosen.collect_schema().names()
        return chosen.rename({name: f"modicum_key{i}" for i, name in enumerate(names)}), list(names)

    def fold(self, work: Fold) -> Counts:
        """Run a `Fold` in the engine: one pass over its columns."""
        self.check(work.columns)
        with asking(self.engine):
            return self._fold(work)

    def gather(self, work: Gather) -> Any:
        """Run a `Gather` in the engine; return a pyarrow Table."""
        self.check(work.columns)
        with asking(self.engine):
            return self._gather(work)

    def digest(self, work: Digest) -> Any:
        """Run a `Digest` in the engine: one pass over its columns, one summary."""
        self.check(work.columns)
        with asking(self.engine):
            return self._digest(work)

    @abstractmethod
    def _fold(self, work: Fold) -> Counts:
        """Run a `Fold`."""

    @abstractmethod
    def _gather(self, work: Gather) -> Any:
        """Run a `Gather`."""

    @abstractmethod
    def _digest(self, work: Digest) -> Any:
        """Run a `Digest`."""


def engine_of(lazy: nw.LazyFrame[Any]) -> str:
    """The usual name of the engine."""
    name = str(lazy.implementation)
    return "spark" if name.startswith("pyspark") else name


def collect_arrow(lazy: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """Collect a small result as a frame of Arrow columns."""
    require("pyarrow", "scale")
    with asking(engine_of(lazy)):
        return lazy.collect(backend="pyarrow")
