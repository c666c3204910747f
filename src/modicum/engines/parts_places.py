"""Where a release is made and put: beside its place until it has been checked, then in its place.

On this machine everything lies in folders beside the result, which are gone at the end, whatever happens. On another
file system (`s3://`, `hdfs://`, …) Spark keeps what is made beside the result too, and writes the result only after the
check, to a place where there is nothing yet.
"""

import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from modicum.engines.files import bounded, opened
from modicum.engines.local_table import LocalTable
from modicum.engines.spark_session import is_local
from modicum.engines.spark_table import SparkTable
from modicum.engines.table import EngineTable
from modicum.engines.writing import holds_only_parquet, write
from modicum.errors import DataError, ParameterError
from modicum.table.atomic_writing import beside_folder, check_folder, replacing
from modicum.table.files import file_format, scan_table
from modicum.table.schema import Schema

_WHAT = "folder of Parquet files"
Check = Callable[[EngineTable], None]


def check_place(table: EngineTable, path: str | os.PathLike[str], partition_by: Sequence[str]) -> None:
    """Refuse, before any work, a place where the result could not be put."""
    name = os.fspath(path)
    table.check(partition_by)
    if is_csv(name) and (isinstance(table, SparkTable) or partition_by):
        who = "The engine 'spark' writes" if isinstance(table, SparkTable) else "Partitions are written as"
        raise ParameterError(f"{who} folders of Parquet files, not CSV. Got {name!r} instead.")
    if not _is_here(table, name):
        return
    if _is_one_file(table, name, partition_by):
        parent = Path(os.path.realpath(name)).parent
        if os.path.isdir(name) or not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
            raise DataError(f"The file {name!r} cannot be written there.")
    else:
        check_folder(name.removeprefix("file://"), holds_only_parquet, _WHAT)


def is_csv(name: str) -> bool:
    """Whether a result of this name is a CSV file."""
    return os.path.splitext(name.removesuffix(".gz"))[1] in (".csv", ".tsv", ".txt", ".data")


def _is_one_file(table: EngineTable, name: str, partition_by: Sequence[str]) -> bool:
    if isinstance(table, SparkTable) or partition_by or not os.path.splitext(name)[1]:
        return False
    return bool(file_format(name))


def _is_here(table: EngineTable, name: str) -> bool:
    return not isinstance(table, SparkTable) or is_local(table.native.sparkSession, name)


@contextmanager
def room_beside(table: EngineTable, path: str | os.PathLike[str]) -> Iterator[str]:
    """A folder for what is made on the way, beside the result; gone at the end."""
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
        raise DataError(f"Nothing can be written beside {name!r}: {error.strerror}.") from None
    try:
        yield str(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _delete(table: EngineTable, path: str) -> None:
    """Remove a folder of a file system that Spark knows."""
    assert isinstance(table, SparkTable)
    context = table.native.sparkSession.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    place.getFileSystem(context._jsc.hadoopConfiguration()).delete(place, True)


def put(
    table: EngineTable,
    result: Any,
    path: str | os.PathLike[str],
    partition_by: Sequence[str],
    check: Check,
    schema: Schema,
) -> None:
    """Write a lazy result, check what was written, and only then let it take its place.

    Parameters
    ----------
    table : where the records came from
    result : the lazy table to write
    path, partition_by : as `modicum.engines.writing.write` takes them
    check : is given what was written, and raises where that may not be
    schema : tells the types of what is written as CSV
    """
    name = os.fspath(path)
    if not _is_here(table, name):
        check(SparkTable(result))
        write(result, name, partition_by)
        return
    with replacing(name) if _is_one_file(table, name, partition_by) else _folder(name) as beside:
        write(result, beside, partition_by)
        with reopened(table, beside, schema) as written:
            check(written)


def _folder(name: str) -> Any:
    return beside_folder(name.removeprefix("file://"), holds_only_parquet, _WHAT)


@contextmanager
def reopened(table: EngineTable, path: str, schema: Schema | None = None) -> Iterator[EngineTable]:
    """What was written, as a table of the engine that wrote it."""
    if isinstance(table, SparkTable):
        yield SparkTable(table.native.sparkSession.read.parquet(path))
        return
    with opened(path, "duckdb", schema if is_csv(path) else None) as written:
        yield written


@contextmanager
def reopened_together(table: EngineTable, paths: Sequence[str], schema: Schema) -> Iterator[list[EngineTable]]:
    """Several single files that were written, as tables that one query may ask; for Spark folders."""
    if isinstance(table, SparkTable):
        yield [SparkTable(table.native.sparkSession.read.parquet(path)) for path in paths]
        return
    with bounded() as connection:
        yield [
            LocalTable(
                scan_table(connection, path, schema) if is_csv(path) else connection.read_parquet(glob.escape(path))
            )
            for path in paths
        ]


def lasting(table: EngineTable, path: str | os.PathLike[str], partition_by: Sequence[str] = ()) -> Any:
    """What was put in its place, as a lazy table for the caller to keep."""
    name = os.fspath(path)
    if isinstance(table, SparkTable):
        return table.native.sparkSession.read.parquet(name)
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    if is_csv(name):
        return connection.read_csv(glob.escape(name))
    files = glob.escape(name) if os.path.isfile(name) else f"{glob.escape(name)}/**/*.parquet"
    return connection.read_parquet(files, hive_partitioning=bool(partition_by))
