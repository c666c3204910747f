"""Write tables in their engine, completely or not at all, and part by part if they do not fit into memory.

On this machine the records are first written to a temporary folder, one file per part, and then processed part by part.
Spark sends all records of a part to one executor (`applyInArrow`). In both cases the results are written as Parquet
files into one folder, which can be opened as a table.
"""

import glob
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.dispatch import SPARK
from modicum.engines.failures import asking
from modicum.engines.file_tables import open_bounded_connection, open_table
from modicum.engines.local_table import LocalTable, batches_of, duckdb_relation
from modicum.engines.spark import SparkTable, frames_of, is_local
from modicum.engines.table import ArrowWork, EngineTable, engine_of
from modicum.errors import DataError, ParameterError, format_names, require
from modicum.table.atomic_writing import check_folder, new_folder, replacing
from modicum.table.files import PARQUET, file_format, is_csv, quote_name, scan_parquet, scan_table, write_table
from modicum.table.schema import Schema
from modicum.typing import Codes

_HELD = 1_000_000  # records that may wait in memory to be written
_PART = "(part)"  # an unlikely column name


class PartWork(ArrowWork, Protocol):
    """Work on the parts of a table; it may be sent to other processes."""

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """Return the part of each record of a batch."""

    def make(self, table: Any) -> Any:
        """Turn all records of one part into a pyarrow Table of the schema."""


def write_parts(table: EngineTable, work: PartWork, room: str) -> str:
    """Write the result of each part as a Parquet file; return their folder, which is inside `room`."""
    table.check(work.columns)
    table.check_free([_PART])
    folder = f"{room}/made"
    with asking(table.engine):
        if isinstance(table, SparkTable):
            _write_parts_in_spark(table, work, folder)
        else:
            assert isinstance(table, LocalTable)
            _write_local_parts(table, work, Path(folder))
    return folder


def _write_local_parts(table: LocalTable, work: PartWork, folder: Path) -> None:
    parquet = require("pyarrow.parquet", "scale")
    folder.mkdir()
    raw = folder.with_name(folder.name + "-raw")
    raw.mkdir()
    with Spill(raw) as spill:
        for frame in table.batches(work.columns):
            spill.add(frame.to_native(), work.which(frame))
    for file in sorted(raw.iterdir()):
        result = work.make(parquet.read_table(file))
        file.unlink()
        parquet.write_table(result, folder / file.name)


class Spill:
    """Write records into one file per part; collect small pieces in memory before writing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: dict[int, list[Any]] = {}
        self._writers: dict[int, Any] = {}
        self._held = 0

    def __enter__(self) -> "Spill":
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        for writer in self._writers.values():
            writer.close()

    def add(self, table: Any, which: Codes) -> None:
        """Add each record to its part."""
        order = np.argsort(which, kind="stable")
        sorted_ = table.take(order)
        parts, starts = np.unique(which[order], return_index=True)
        for part, start, end in zip(parts.tolist(), starts, np.append(starts[1:], len(which)), strict=True):
            self._waiting.setdefault(part, []).append(sorted_.slice(start, end - start))
        self._held += len(which)
        if self._held > _HELD:
            self._flush()

    def _flush(self) -> None:
        pyarrow, parquet = require("pyarrow", "scale"), require("pyarrow.parquet", "scale")
        for part, pieces in self._waiting.items():
            if part not in self._writers:
                path = self._folder / f"part-{part:08d}.parquet"
                self._writers[part] = parquet.ParquetWriter(path, pieces[0].schema)
            self._writers[part].write_table(pyarrow.concat_tables(pieces))
        self._waiting, self._held = {}, 0


def _write_parts_in_spark(table: SparkTable, work: PartWork, folder: str) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import LongType, StructField, StructType

    chosen = table.only(work.columns)
    with_part = StructType([*chosen.schema.fields, StructField(_PART, LongType())])
    parts = chosen.mapInArrow(partial(_add_part, work), with_part)
    results = parts.groupBy(_PART).applyInArrow(_wrap_make(work), from_arrow_schema(number_fields(work.schema)))
    results.toDF(*work.schema.names).write.parquet(folder)


def number_fields(schema: Any) -> Any:
    """Rename the fields of an Arrow schema to c0, c1, …: Spark reads a dot in a name as a struct field."""
    pyarrow = require("pyarrow", "scale")
    return pyarrow.schema([field.with_name(f"c{i}") for i, field in enumerate(schema)])


def _add_part(work: PartWork, batches: Iterator[Any]) -> Iterator[Any]:
    pyarrow = require("pyarrow", "scale")
    for batch in batches:
        for frame in frames_of(iter([batch]), work.columns):
            yield batch.append_column(_PART, pyarrow.array(work.which(frame), pyarrow.int64()))


def _wrap_make(work: PartWork) -> Any:
    names = number_fields(work.schema).names

    def make(table: Any) -> Any:  # PySpark needs type hints, which a partial lacks
        return work.make(table.drop_columns([_PART]).rename_columns(list(work.columns))).rename_columns(names)

    return make


# Write a lazy table with its engine: to a file or a folder of Parquet files, completely or not at all
#
# The result is written next to its target and then renamed, so an old result stays until the new one is complete.
# Files on other file systems (`s3://`, `hdfs://`, `abfss://`, `dbfs:/`) cannot be renamed from here. There, Spark's own
# committer shows a result only when every task has finished, and Spark writes only to a path that does not exist yet.

_WHAT = "folder of Parquet files"


def write(native: Any, path: str | os.PathLike[str], partition_by: Sequence[str] = ()) -> None:
    """Write a lazy table to a Parquet or CSV file, or to a folder of Parquet files.

    Parameters
    ----------
    native : DuckDB relation, Spark DataFrame, polars LazyFrame or Ibis table
    path : path
        A name that ends in .parquet or .csv is a file; a name without an ending is a folder of Parquet files. Spark
        writes only such folders, and a partitioned result is always one: their names may have any other ending than
        that of a CSV file.
    partition_by : names
        Columns that become folders, `column=value`.

    Examples
    --------
    >>> import duckdb, tempfile, pathlib
    >>> from modicum.engines.partitioned_writing import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = duckdb.sql("SELECT range AS n, range % 2 AS odd FROM range(4)")
    ...     write(table, pathlib.Path(folder) / "out", partition_by=["odd"])
    ...     sorted(each.name for each in (pathlib.Path(folder) / "out").iterdir())
    ['odd=0', 'odd=1']
    """
    with asking(engine_of(_lazy(native))):
        put(native, path, partition_by)


def put(native: Any, path: str | os.PathLike[str], partition_by: Sequence[str] = ()) -> None:
    """Write like `write`, but raise the engine's own errors, for callers that explain them better."""
    lazy, name = _lazy(native), os.fspath(path)
    _check_partitions(lazy.collect_schema().names(), partition_by)
    if lazy.implementation in SPARK:
        _write_spark(lazy.to_native(), name, partition_by)
    elif is_folder(name, "duckdb", bool(partition_by)):
        with new_folder(name, holds_only_parquet, _WHAT) as folder:
            _write_folder(lazy, folder, partition_by)
    elif os.path.isdir(name):
        raise DataError(f"The file {name!r} cannot be written: it is a folder.")
    else:
        with replacing(name) as temporary:
            _write_file(lazy, temporary)


def is_folder(name: str, engine: str, parted: bool) -> bool:
    """Whether a result is a folder of Parquet files, as it always is for Spark.

    Examples
    --------
    >>> from modicum.engines.partitioned_writing import is_folder
    >>> is_folder("out.parquet", "duckdb", False), is_folder("out.parquet", "spark", False)
    (False, True)
    """
    if engine == "spark" or parted:
        if is_csv(name):
            what = "The engine 'spark' writes" if engine == "spark" else "Partitions are written as"
            raise ParameterError(f"{what} folders of Parquet files, not CSV. Got {name!r} instead.")
        return True
    return os.path.splitext(name)[1] == "" or not file_format(name)  # raises for unknown endings


def check_output(name: str) -> None:
    """Raise a `DataError` for a local folder that cannot be written; Spark checks paths of other file systems."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", name):
        check_folder(name, holds_only_parquet, _WHAT)


def holds_only_parquet(folder: Path) -> bool:
    """Whether a folder holds only Parquet files and Spark's own files next to them."""
    files = (each.name for each in folder.rglob("*") if not each.is_dir())
    return all(name.endswith((*PARQUET, ".crc")) or name == "_SUCCESS" for name in files)


def _lazy(native: Any) -> nw.LazyFrame[Any]:
    frame: Any = nw.from_native(native)
    return frame.lazy() if isinstance(frame, nw.DataFrame) else frame


def _check_partitions(columns: Sequence[str], partition_by: Sequence[str]) -> None:
    unknown = [name for name in partition_by if name not in columns]
    if unknown:
        raise DataError(f"The column {unknown[0]!r} is not in the result; it has {format_names(columns, limit=8)}.")
    if partition_by and len(set(partition_by)) >= len(columns):
        raise ParameterError("The 'partition_by' parameter names every column; leave out at least one for the files.")


def _write_file(lazy: nw.LazyFrame[Any], path: str) -> None:
    if lazy.implementation is nw.Implementation.POLARS and file_format(path) == "parquet":
        with open(path, "wb") as file:  # given a name, a thread of polars could create the file after a failure
            lazy.to_native().sink_parquet(file)
    else:
        write_table(_relation(lazy), path)


def _write_folder(lazy: nw.LazyFrame[Any], folder: str, partition_by: Sequence[str]) -> None:
    if partition_by:
        _relation(lazy).write_parquet(folder, partition_by=list(partition_by), overwrite=True)
    else:
        _relation(lazy).write_parquet(folder, per_thread_output=True, overwrite=True)


def _relation(lazy: nw.LazyFrame[Any]) -> Any:
    """The table as a DuckDB relation; tables of other engines are read batch by batch."""
    relation = duckdb_relation(lazy)
    if relation is not None:
        return relation
    import duckdb

    pyarrow = require("pyarrow", "scale")
    batches = batches_of(lazy)
    first = next(batches, None)
    schema = lazy.head(0).collect(backend="pyarrow").to_native().schema if first is None else first.schema
    reader = pyarrow.RecordBatchReader.from_batches(schema, batches if first is None else chain([first], batches))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.from_arrow(reader)


def _write_spark(native: Any, path: str, partition_by: Sequence[str]) -> None:
    is_folder(path, "spark", bool(partition_by))
    if not is_local(native.sparkSession, path):
        _spark_parquet(native, partition_by, path, "errorifexists")
        return
    with new_folder(path.removeprefix("file://"), holds_only_parquet, _WHAT) as folder:
        _spark_parquet(native, partition_by, f"file://{folder}", "overwrite")


def _spark_parquet(native: Any, partition_by: Sequence[str], path: str, mode: str) -> None:
    native.write.mode(mode).partitionBy(*partition_by).parquet(path)


# Write a release: check it next to its target, then move it there
#
# On this machine, temporary folders next to the target hold everything; they are deleted in any case. On another file
# system (`s3://`, `hdfs://`, …), Spark also keeps temporary data next to the target, and writes the result only after
# the check, to a path that does not exist yet.

Check = Callable[[EngineTable], None]


def check_place(table: EngineTable, path: str | os.PathLike[str], partition_by: Sequence[str]) -> None:
    """Raise, before any work, if the result cannot be written to this path."""
    name = os.fspath(path)
    table.check(partition_by)
    to_folder = is_folder(name, table.engine, bool(partition_by))
    if not _is_here(table, name):
        return
    if to_folder:
        check_folder(name.removeprefix("file://"), holds_only_parquet, _WHAT)
    else:
        parent = Path(os.path.realpath(name)).parent
        if os.path.isdir(name) or not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            raise DataError(
                f"The file {name!r} cannot be written: its folder is missing or read-only, or it is a folder."
            )


def _is_here(table: EngineTable, name: str) -> bool:
    return not isinstance(table, SparkTable) or is_local(table.native.sparkSession, name)


@contextmanager
def working_folder(table: EngineTable, path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary folder next to the result, for intermediate data; deleted at the end."""
    name = os.fspath(path)
    if not _is_here(table, name):
        room = f"{name.rstrip('/')}-{secrets.token_hex(8)}"
        try:
            yield room
        finally:
            _delete(table, room)
        return
    target = Path(os.path.realpath(name.removeprefix("file://")))
    folder = target.parent / f".modicum-{secrets.token_hex(8)}"
    try:
        folder.mkdir()
    except OSError as error:
        raise DataError(f"No folder can be created next to {name!r}: {error.strerror}.") from None
    try:
        yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _delete(table: EngineTable, path: str) -> None:
    """Delete a folder on a file system of Spark."""
    assert isinstance(table, SparkTable)
    context = table.native.sparkSession.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    place.getFileSystem(context._jsc.hadoopConfiguration()).delete(place, True)


def put_release(
    table: EngineTable,
    result: Any,
    path: str | os.PathLike[str],
    partition_by: Sequence[str],
    check: Check,
    schema: Schema,
) -> None:
    """Write a lazy result, check the written data, and only then move it to its path.

    Parameters
    ----------
    table : the source table
    result : the lazy table to write
    path, partition_by : as in `modicum.engines.partitioned_writing.write`
    check : takes the written table and raises if it must not be released
    schema : the types of a result that is written as CSV
    """
    name = os.fspath(path)
    if not _is_here(table, name):
        check(SparkTable(result))
        write(result, name, partition_by)
        return
    folder = new_folder(name.removeprefix("file://"), holds_only_parquet, _WHAT)
    with folder if is_folder(name, table.engine, bool(partition_by)) else replacing(name) as temporary:
        write(result, temporary, partition_by)
        with reopen_table(table, temporary, schema) as written:
            check(written)


@contextmanager
def reopen_table(table: EngineTable, path: str, schema: Schema | None = None) -> Iterator[EngineTable]:
    """Open a written result as a table of the same engine."""
    if isinstance(table, SparkTable):
        yield SparkTable(table.native.sparkSession.read.parquet(path))
        return
    with open_table(path, "duckdb", schema if is_csv(path) else None) as written:
        yield written


@contextmanager
def reopen_together(table: EngineTable, paths: Sequence[str], schema: Schema) -> Iterator[list[EngineTable]]:
    """Open several written files (for Spark, folders) as tables that one query can use together."""
    if isinstance(table, SparkTable):
        yield [SparkTable(table.native.sparkSession.read.parquet(path)) for path in paths]
        return
    with open_bounded_connection() as connection:
        yield [
            LocalTable(scan_table(connection, path, schema) if is_csv(path) else scan_parquet(connection, [path]))
            for path in paths
        ]


def open_result(
    table: EngineTable, path: str | os.PathLike[str], partition_by: Sequence[str], types: Mapping[str, str]
) -> Any:
    """The final result as a lazy table that the caller may keep; a CSV file gets the DuckDB `types` of its columns."""
    name = os.fspath(path)
    if isinstance(table, SparkTable):
        return table.native.sparkSession.read.parquet(name)
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    if is_csv(name):
        text = scan_table(connection, name, Schema(attributes=()))
        casts = (f"CAST({quote_name(column)} AS {types[column]}) AS {quote_name(column)}" for column in text.columns)
        return text.project(", ".join(casts))
    if os.path.isfile(name):
        return scan_parquet(connection, [name])
    return connection.read_parquet(f"{glob.escape(name)}/**/*.parquet", hive_partitioning=bool(partition_by))


# Add columns in Python to the records of a table


class Tagging(ArrowWork, Protocol):
    """Work that transforms each batch; it may be sent to other processes."""

    def tag_batch(self, table: Any) -> Any:
        """Turn a batch into a pyarrow Table of the schema."""


@contextmanager
def tag_table(table: EngineTable, work: Tagging, room: str) -> Iterator[EngineTable]:
    """Apply the work once; store the result in a file in `room`, or on the disks of Spark's executors."""
    table.check(work.columns)
    if isinstance(table, SparkTable):
        from pyspark import StorageLevel
        from pyspark.sql.pandas.types import from_arrow_schema

        form = from_arrow_schema(number_fields(work.schema))
        tagged = table.only(work.columns).mapInArrow(partial(_tag_batches, work), form)
        tagged = tagged.toDF(*work.schema.names).persist(StorageLevel.DISK_ONLY)
        try:
            yield SparkTable(tagged)
        finally:
            tagged.unpersist()
        return
    assert isinstance(table, LocalTable)
    parquet = require("pyarrow.parquet", "scale")
    with asking(table.engine), parquet.ParquetWriter(f"{room}/tagged.parquet", work.schema) as writer:
        for frame in table.batches(work.columns):
            writer.write_table(work.tag_batch(frame.to_native()))
    with open_table(f"{room}/tagged.parquet") as tagged:
        yield tagged


def _tag_batches(work: Tagging, batches: Iterator[Any]) -> Iterator[Any]:
    names = number_fields(work.schema).names
    for frame in frames_of(batches, work.columns):
        yield from work.tag_batch(frame.to_native()).rename_columns(names).to_batches()
