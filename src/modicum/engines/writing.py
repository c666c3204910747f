"""Lazy tables written by their engine: to a file or a folder of Parquet files, whole or not at all.

The result is written beside its place and then renamed, so that an old one stays as it is until the new one is whole.
On a file system that is not this machine's (`s3://`, `hdfs://`, `abfss://`, `dbfs:/`), nothing can be renamed from
here: Spark writes there with its own committer, which shows a result only when every task has finished, and only to a
place where there is nothing yet.
"""

import os
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from modicum.engines.failures import asking
from modicum.engines.local_table import batches_of
from modicum.engines.opening import SPARK
from modicum.engines.spark_session import is_local
from modicum.engines.table import engine_of
from modicum.errors import DataError, ParameterError, quoted, require
from modicum.table.atomic_writing import beside_folder, check_folder, replacing
from modicum.table.files import CSV, PARQUET, file_format, write_table

_WHAT = "folder of Parquet files"


def write(native: Any, path: str | os.PathLike[str], partition_by: Sequence[str] = ()) -> None:
    """Write a lazy table to a Parquet or CSV file, or to a folder of Parquet files.

    Parameters
    ----------
    native : DuckDB relation, Spark DataFrame, polars LazyFrame or Ibis table
    path : path
        A name that ends in .parquet or .csv is a file, another one a folder of Parquet files. Spark writes Parquet
        only, and always a folder.
    partition_by : names
        Columns that become folders, `column=value`: then it is always a folder.

    Examples
    --------
    >>> import duckdb, tempfile, pathlib
    >>> from modicum.engines.writing import write
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = duckdb.sql("SELECT range AS n, range % 2 AS odd FROM range(4)")
    ...     write(table, pathlib.Path(folder) / "out", partition_by=["odd"])
    ...     sorted(each.name for each in (pathlib.Path(folder) / "out").iterdir())
    ['odd=0', 'odd=1']
    """
    with asking(engine_of(_lazy(native))):
        put(native, path, partition_by)


def put(native: Any, path: str | os.PathLike[str], partition_by: Sequence[str] = ()) -> None:
    """As `write`, with the engine's own errors as they are, for a caller who can say more of them."""
    lazy, name = _lazy(native), os.fspath(path)
    _check_partitions(lazy.collect_schema().names(), partition_by)
    if lazy.implementation in SPARK:
        _write_spark(lazy.to_native(), name, partition_by)
    elif is_folder(name, "duckdb", bool(partition_by)):
        with beside_folder(name, holds_only_parquet, _WHAT) as folder:
            _write_folder(lazy, folder, partition_by)
    else:
        with replacing(_no_folder(name)) as temporary:
            _write_file(lazy, temporary)


def is_folder(name: str, engine: str, parted: bool) -> bool:
    """Whether a result goes to a folder of Parquet files: Spark's always does.

    Examples
    --------
    >>> from modicum.engines.writing import is_folder
    >>> is_folder("out.parquet", "duckdb", False), is_folder("out.parquet", "spark", False)
    (False, True)
    """
    if engine == "spark" or parted:
        if name.lower().removesuffix(".gz").endswith(CSV):
            what = "The engine 'spark' writes" if engine == "spark" else "Partitions are"
            raise ParameterError(f"{what} folders of Parquet files, not CSV. Got {name!r} instead.")
        return True
    return os.path.splitext(name)[1] == "" or not file_format(name)


def check_output(name: str) -> None:
    """Refuse a folder that cannot be written, before any work is done; one elsewhere is Spark's affair."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", name):
        check_folder(name, holds_only_parquet, _WHAT)


def holds_only_parquet(folder: Path) -> bool:
    """Whether a folder holds nothing but Parquet files and what Spark leaves beside them."""
    files = (each.name for each in folder.rglob("*") if not each.is_dir())
    return all(name.endswith((*PARQUET, ".crc")) or name == "_SUCCESS" for name in files)


def _lazy(native: Any) -> nw.LazyFrame[Any]:
    frame: Any = nw.from_native(native)
    return frame.lazy() if isinstance(frame, nw.DataFrame) else frame


def _no_folder(name: str) -> str:
    if os.path.isdir(name):
        raise DataError(f"The file {name!r} cannot be written: it is a folder.")
    return name


def _check_partitions(columns: Sequence[str], partition_by: Sequence[str]) -> None:
    unknown = [name for name in partition_by if name not in columns]
    if unknown:
        raise DataError(f"The column {unknown[0]!r} is not in the result; it has {quoted(columns, limit=8)}.")
    if partition_by and len(set(partition_by)) >= len(columns):
        raise ParameterError("The 'partition_by' parameter names every column; a file needs one that is left.")


def _write_file(lazy: nw.LazyFrame[Any], path: str) -> None:
    native = _own(lazy)
    if lazy.implementation is nw.Implementation.POLARS and file_format(path) == "parquet":
        native.sink_parquet(path)
    elif hasattr(native, "write_parquet"):
        write_table(native, path)
    else:
        write_table(_through_arrow(lazy), path)


def _write_folder(lazy: nw.LazyFrame[Any], folder: str, partition_by: Sequence[str]) -> None:
    native = _own(lazy)
    if not hasattr(native, "write_parquet"):
        native = _through_arrow(lazy)
    if partition_by:
        native.write_parquet(folder, partition_by=list(partition_by), overwrite=True)
    else:
        native.write_parquet(folder, per_thread_output=True, overwrite=True)


def _own(lazy: nw.LazyFrame[Any]) -> Any:
    """The table in its engine's words; Ibis over DuckDB is asked in DuckDB's."""
    native: Any = lazy.to_native()
    if lazy.implementation is nw.Implementation.IBIS and native.get_backend().name == "duckdb":
        return native.get_backend().con.sql(str(native.compile()))
    return native


def _through_arrow(lazy: nw.LazyFrame[Any]) -> Any:
    """The table as a DuckDB relation that reads it batch by batch."""
    import duckdb

    pyarrow = require("pyarrow", "scale")
    batches = batches_of(pyarrow, lazy)
    first = next(batches, None)
    kinds = lazy.head(0).collect(backend="pyarrow").to_native().schema if first is None else first.schema
    reader = pyarrow.RecordBatchReader.from_batches(kinds, batches if first is None else chain([first], batches))
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.from_arrow(reader)


def _write_spark(native: Any, path: str, partition_by: Sequence[str]) -> None:
    is_folder(path, "spark", bool(partition_by))
    if not is_local(native.sparkSession, path):
        _spark_parquet(native, partition_by, path, "errorifexists")
        return
    with beside_folder(path.removeprefix("file://"), holds_only_parquet, _WHAT) as folder:
        _spark_parquet(native, partition_by, f"file://{folder}", "overwrite")


def _spark_parquet(native: Any, partition_by: Sequence[str], path: str, mode: str) -> None:
    native.write.mode(mode).partitionBy(*partition_by).parquet(path)
