"""A table where it lives, and the few things that methods ask of it there.

Two ways to ask. An expression (`lazy`) is pushed down by narwhals: bucketing, filters, group-bys. Work in Python
(`fold`, `gather`, `digest`) is sent to the records and sees them as Arrow batches. Only counts, and what was picked
out or summed up, come back.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.engines.failures import asking
from modicum.errors import DataError, format_names, require

# What is done to records where they are: a piece of work that an engine is given.
#
# All kinds see the records batch by batch, in no particular order, and all travel to other processes.

Counts = npt.NDArray[np.int64]


class TableWork(Protocol):
    """Anything that is done to records."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read."""


class ArrowWork(TableWork, Protocol):
    """Anything that is done to records and sends Arrow tables."""

    @property
    def schema(self) -> Any:
        """The pyarrow Schema of what is sent."""


class Fold(TableWork, Protocol):
    """Counting: each batch adds to an array, and the arrays of all batches are added up.

    Whole numbers add up to the same however the records are dealt out, so that every engine finds the same.
    """

    def empty(self) -> Counts:
        """An array of zeros, of one dimension."""

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        """Add a batch, which has the `columns`."""


class Gather(ArrowWork, Protocol):
    """Picking out a few: what is picked of all batches is brought together, in any order."""

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        """A pyarrow Table of what is wanted of a batch."""


class Digest(ArrowWork, Protocol):
    """Summing up: each batch goes into a summary that stays small, and the summaries of all batches become one.

    A summary travels as a table with a column `part`; rows of one part are brought together before they are merged.
    """

    def empty(self) -> Any:
        """A summary of nothing."""

    def add(self, summary: Any, frame: nw.DataFrame[Any]) -> None:
        """Take a batch in, which has the `columns`."""

    def merge(self, summary: Any, sent: Any) -> None:
        """Take another summary in, or some of its parts, as it was sent."""

    def pack_summary(self, summary: Any) -> Any:
        """The summary as a pyarrow Table."""


# The table

COUNT = "(records)"  # hardly a name that data has


class EngineTable(ABC):
    """A lazily evaluated table.

    Parameters
    ----------
    native : DuckDB relation, Spark DataFrame, polars LazyFrame, Ibis table, or a pandas or polars frame

    Attributes
    ----------
    engine : str
        What evaluates it: "duckdb", "spark", "polars", …
    types : narwhals Schema
        The columns and their types.
    """

    engine: str

    def __init__(self, native: Any) -> None:
        self.native = native
        with asking(self.engine):
            self.types = self.lazy.collect_schema()
        many = [name for name in self.types if name == "*" or (name.startswith("^") and name.endswith("$"))]
        if many:
            raise DataError(f"The column {many[0]!r} has a name that stands for several columns; rename it.")

    @property
    def lazy(self) -> nw.LazyFrame[Any]:
        """The table as a narwhals expression."""
        frame: Any = nw.from_native(self.native)
        return frame.lazy() if isinstance(frame, nw.DataFrame) else frame

    @property
    def columns(self) -> list[str]:
        return list(self.types.names())

    def col(self, name: str) -> nw.Expr:
        """A column as an expression, whatever its name."""
        return nw.col(name)

    def part(self, names: Sequence[str]) -> "EngineTable":
        """The table of some columns."""
        return type(self)(self.lazy.select(*(self.col(name).alias(name) for name in names)).to_native())

    def check(self, names: Sequence[str]) -> None:
        """Raise where a column is not there."""
        absent = [name for name in names if name not in self.types]
        if absent:
            raise DataError(
                f"The column {absent[0]!r} is not in the data; it has {format_names(self.columns, limit=8)}."
            )

    def check_free(self, names: Sequence[str], among: Sequence[str] | None = None) -> None:
        """Raise where a column, or one among these, has a name under which something is put beside the columns."""
        taken = [name for name in names if name in (self.columns if among is None else among)]
        if taken:
            raise DataError(f"The column {taken[0]!r} has a name that is needed for something else here; rename it.")

    def rows(self) -> int:
        """How many records there are: a count in the engine."""
        with asking(self.engine):
            return int(collect_arrow(self.lazy.select(nw.len().alias(COUNT)))[COUNT][0])

    def count_distinct(self, name: str) -> int:
        """How many different values a column has, missing one of them: a count in the engine."""
        return int(collect_arrow(self.lazy.select(self.col(name).n_unique().alias(COUNT)))[COUNT][0])

    def count_by(self, keys: Sequence[str | nw.Expr]) -> nw.DataFrame[Any]:
        """Every combination of the keys that occurs, and in the column `COUNT` how many records have it: a group-by.

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
            found = collect_arrow(chosen.group_by(plain).agg(nw.len().alias(COUNT)))
            return found.rename(dict(zip(plain, names, strict=True)))

    def select_keys(self, keys: Sequence[str | nw.Expr]) -> tuple[nw.LazyFrame[Any], list[str]]:
        """The keys alone, under plain names that every engine can group by, and what they are called."""
        with asking(self.engine):
            chosen = self.lazy.select(*(self.col(key).alias(key) if isinstance(key, str) else key for key in keys))
            names = chosen.collect_schema().names()
        return chosen.rename({name: f"modicum_key{i}" for i, name in enumerate(names)}), list(names)

    def fold(self, work: Fold) -> Counts:
        """Count where the records are: one pass over the columns that the work names."""
        self.check(work.columns)
        with asking(self.engine):
            return self._fold(work)

    def gather(self, work: Gather) -> Any:
        """Pick out where the records are: a pyarrow Table."""
        self.check(work.columns)
        with asking(self.engine):
            return self._gather(work)

    def digest(self, work: Digest) -> Any:
        """Sum up where the records are: one pass over the columns that the work names, and one summary."""
        self.check(work.columns)
        with asking(self.engine):
            return self._digest(work)

    @abstractmethod
    def _fold(self, work: Fold) -> Counts:
        """The counting, in the engine's way."""

    @abstractmethod
    def _gather(self, work: Gather) -> Any:
        """The picking, in the engine's way."""

    @abstractmethod
    def _digest(self, work: Digest) -> Any:
        """The summing up, in the engine's way."""


def engine_of(lazy: nw.LazyFrame[Any]) -> str:
    """The engine's name, as people know it."""
    name = str(lazy.implementation)
    return "spark" if name.startswith("pyspark") else name


def collect_arrow(lazy: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    """A small result, as a frame of Arrow columns."""
    require("pyarrow", "scale")
    with asking(engine_of(lazy)):
        return lazy.collect(backend="pyarrow")
