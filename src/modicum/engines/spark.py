"""Tables in Spark: the executors run the work by `mapInArrow`, and Spark adds up the counts.

Each task sends the non-zero cells of its array, and Spark sums them cell by cell, so the driver receives one number per
cell. Spark reruns a lost task and ignores its first attempt, so the sums stay the same.
"""

import os
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.failures import asking
from modicum.engines.table import Counts, Digest, EngineTable, Fold, Gather, collect_arrow
from modicum.errors import DataError, ParameterError, require

_CELLS = 1_000_000  # cells per batch that a task sends


class SparkTable(EngineTable):
    """A Spark DataFrame."""

    engine = "spark"

    def _fold(self, work: Fold) -> Counts:
        cells = self.only(work.columns).mapInArrow(partial(_count, work), "cell long, n long")
        sums = cells.groupBy("cell").sum("n").toArrow()
        counts = work.empty()
        counts[sums.column(0).to_numpy()] = sums.column(1).to_numpy()
        return counts

    def _gather(self, work: Gather) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        picked = self.only(work.columns).mapInArrow(partial(_pick, work), from_arrow_schema(work.schema))
        return picked.toArrow().cast(work.schema)

    def _digest(self, work: Digest) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        form = from_arrow_schema(work.schema)
        parts = self.only(work.columns).mapInArrow(partial(_summarize, work), form).repartition("part")
        summary = work.empty()
        work.merge(summary, parts.mapInArrow(partial(_merge, work), form).toArrow().cast(work.schema))
        return summary

    def only(self, columns: Sequence[str]) -> Any:
        """Select columns under numbered names: `mapInArrow` reads a dot in a name as a struct field."""
        native: Any = self.lazy.to_native()
        return native.selectExpr(*(f"{in_ticks(name)} AS c{i}" for i, name in enumerate(columns)))

    def col(self, name: str) -> nw.Expr:
        """Quote names with a dot or a backtick: narwhals passes names to Spark, which reads a dot as syntax."""
        return nw.col(in_ticks(name) if set(".`") & set(name) else name)

    def select_keys(self, keys: Sequence[str | nw.Expr]) -> tuple[nw.LazyFrame[Any], list[str]]:
        names = [key for key in keys if isinstance(key, str)]
        if len(names) < len(keys):
            return super().select_keys(keys)
        return nw.from_native(self.only(names)), names


def in_ticks(name: str) -> str:
    """Quote any column name for Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def frames_of(batches: Iterator[Any], columns: Sequence[str]) -> Iterator[nw.DataFrame[Any]]:
    """Yield the batches of `SparkTable.only` as frames with the original column names."""
    pyarrow = require("pyarrow", "scale")
    for batch in batches:
        if batch.num_rows:
            table = pyarrow.Table.from_batches([batch]).rename_columns(list(columns))
            yield nw.from_native(table, eager_only=True)


def _count(work: Fold, batches: Iterator[Any]) -> Iterator[Any]:
    pyarrow = require("pyarrow", "scale")
    counts = work.empty()
    for frame in frames_of(batches, work.columns):
        work.add(counts, frame)
    cells = np.flatnonzero(counts)
    for start in range(0, len(cells), _CELLS):
        some = cells[start : start + _CELLS]
        yield pyarrow.record_batch({"cell": some.astype(np.int64), "n": counts[some]})


def _pick(work: Gather, batches: Iterator[Any]) -> Iterator[Any]:
    for frame in frames_of(batches, work.columns):
        yield from work.pick(frame).to_batches()


def _summarize(work: Digest, batches: Iterator[Any]) -> Iterator[Any]:
    summary = work.empty()
    for frame in frames_of(batches, work.columns):
        work.add(summary, frame)
    yield from work.pack_summary(summary).to_batches()


def _merge(work: Digest, batches: Iterator[Any]) -> Iterator[Any]:
    pyarrow = require("pyarrow", "scale")
    summary = work.empty()
    for batch in batches:
        work.merge(summary, pyarrow.Table.from_batches([batch]).cast(work.schema))
    yield from work.pack_summary(summary).to_batches()


# The Spark session: the active one, the launcher's, or a local one

_LAUNCHED = ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE")  # set by spark-submit and Spark Connect
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.driver.memory": "2g",
}


@contextmanager
def session() -> Iterator[Any]:
    """A Spark session for the block; at the end, only a session that was created here is stopped.

    An active session (Databricks, a notebook, a program's own) is used unchanged. Under `spark-submit`, the session has
    the options given there. Otherwise it runs on this machine only, on all cores, in UTC.
    """
    sql = require("pyspark.sql", "spark")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PySpark warns about pandas 3, which we do not use with it
        active = sql.SparkSession.getActiveSession()
        spark = active or _make_session(sql.SparkSession.builder)
    try:
        yield spark
    finally:
        if active is None:
            spark.stop()


def _make_session(builder: Any) -> Any:
    builder = builder.appName("modicum")
    if any(os.environ.get(name) for name in _LAUNCHED):
        return builder.getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = builder.master("local[*]").config(map=_LOCAL).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")  # exceptions report the errors
    return spark


def is_local(spark: Any, path: str) -> bool:
    """Whether Spark reads a path from this machine; its default file system may be another one."""
    scheme = re.match(r"([A-Za-z][A-Za-z0-9+.-]+):", path)
    if scheme:
        return scheme.group(1).lower() == "file"
    try:
        return str(spark.sparkContext._jsc.hadoopConfiguration().get("fs.defaultFS")).startswith("file:")
    except Exception:  # Spark Connect has no context here, and its files are on the server
        return False


# Unicode normal form C in Spark, which has no function for it
#
# Texts in another form are rare. So Spark first looks for texts beyond ASCII. If there are any, the texts in another
# form are gathered, each once, and replaced one by one.

MOST = 10_000  # texts of a column to replace one by one
_BEYOND_ASCII = r"[^\x00-\x7F]"


@dataclass(frozen=True)
class OtherForms:
    """Gather the texts that are not in normal form C, with the number of their column."""

    columns: tuple[str, ...]

    @property
    def schema(self) -> Any:
        pyarrow = require("pyarrow", "scale")
        return pyarrow.schema([("column", pyarrow.int64()), ("word", pyarrow.string())])

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        words = [(i, word) for i, name in enumerate(self.columns) for word in frame[name].unique().to_list()]
        odd = [(i, word) for i, word in words if word is not None and not unicodedata.is_normalized("NFC", word)]
        pyarrow = require("pyarrow", "scale")
        return pyarrow.table({"column": [i for i, _ in odd], "word": [word for _, word in odd]}, schema=self.schema)


def normalize_texts(table: EngineTable, names: Sequence[str]) -> list[nw.Expr]:
    """Expressions for text columns in normal form C."""
    non_ascii = _find_non_ascii(table, names)
    others: dict[str, set[str]] = {name: set() for name in names}
    if non_ascii:
        picked = table.gather(OtherForms(tuple(non_ascii)))
        for i, word in zip(picked["column"].to_pylist(), picked["word"].to_pylist(), strict=True):
            others[non_ascii[i]].add(word)
    return [_replace_other_forms(table, name, sorted(others[name])) for name in names]


def _find_non_ascii(table: EngineTable, names: Sequence[str]) -> list[str]:
    """Find the columns with a non-ASCII character, in one pass in the engine."""
    tests = [
        table.col(name).str.contains(_BEYOND_ASCII).cast(nw.Int64).max().alias(f"c{i}") for i, name in enumerate(names)
    ]
    with asking(table.engine):
        has_non_ascii = collect_arrow(table.lazy.select(*tests))
    return [name for i, name in enumerate(names) if has_non_ascii[f"c{i}"][0]]


def _replace_other_forms(table: EngineTable, name: str, odd: list[str]) -> nw.Expr:
    column = table.col(name)
    if not odd:
        return column
    if len(odd) > MOST:
        raise DataError(
            f"The column {name!r} holds more than {MOST:,} different texts that are not in Unicode normal form C, "
            f"too many for the engine {table.engine!r}; normalise it first, or use DuckDB or polars."
        )
    new = [unicodedata.normalize("NFC", word) for word in odd]
    return nw.when(column.is_in(odd)).then(column.replace_strict(odd, new, default=None)).otherwise(column)


# Tasks on Spark's executors, for more computing than data
#
# The shared object is broadcast once. Each task is a Spark job, started by a thread here, so Spark runs as many at once
# as it has room for, and reruns those of a lost executor.


class Shared(Protocol):
    """An object that is sent to every executor and runs tasks."""

    def do(self, piece: Any) -> Any:
        """Run one task and return its result."""


class SparkWorkers:
    """The executors of a Spark session.

    Parameters
    ----------
    session : SparkSession
        A classic session; Spark Connect cannot broadcast the shared object.
    shared : object with a method `do(piece)`
        Sent to the executors.
    """

    def __init__(self, session: Any, shared: Shared) -> None:
        context = getattr(session, "_sc", None)  # `sparkContext` of a Connect session raises
        if context is None or not hasattr(context, "broadcast"):
            raise ParameterError(
                "The 'workers' parameter must be a Spark session with a driver of its own (not Spark Connect), or None "
                f"for threads of this process. Got {type(session).__name__} instead."
            )
        self._context = context
        self._shared = context.broadcast(shared)

    def __enter__(self) -> "SparkWorkers":
        return self

    def __exit__(self, *error: object) -> None:
        self._shared.destroy()

    @property
    def slots(self) -> int:
        """How many tasks run at once."""
        return max(1, int(self._context.defaultParallelism))

    def do(self, piece: Any) -> Any:
        """Run one task on any executor and return its result."""
        shared = self._shared
        return self._context.parallelize([piece], 1).map(lambda each: shared.value.do(each)).collect()[0]
