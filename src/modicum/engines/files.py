"""Files opened in an engine: CSV or Parquet, one file, a folder of them or a pattern.

Nothing is read but names and types until something is asked of the table. All Parquet files of a folder must have the
columns that are needed, each with one type. DuckDB reads within a bound of memory and spills to a folder that goes
away with it.
"""

import glob
import os
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

from modicum.engines.failures import asking
from modicum.engines.listing import Listing, listing
from modicum.engines.local_table import LocalTable
from modicum.engines.parquet_types import agreed
from modicum.engines.spark_files import in_spark
from modicum.engines.spark_session import session
from modicum.engines.spark_table import SparkTable
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError
from modicum.table.files import connected, quoted_name, reading, scan_table, scan_typed, with_found_types
from modicum.table.schema import Schema

if TYPE_CHECKING:
    import duckdb

ENGINES = ("duckdb", "spark")
MEMORY = "1500MB"  # that DuckDB may use before it spills


@contextmanager
def opened(
    path: str | os.PathLike[str],
    engine: str = "duckdb",
    schema: Schema | None = None,
    missing: Sequence[str] = (),
    *,
    only: Collection[str] | None = None,
    ordered: bool = False,
) -> Iterator[EngineTable]:
    """A table in files, where an engine evaluates it, for as long as the block lasts.

    Parameters
    ----------
    path : path
        A CSV or Parquet file, a folder of Parquet files (their folders may be named `column=value`), or a pattern with
        `*`; for Spark whatever it reads Parquet from, such as `s3://…`.
    engine : "duckdb" or "spark"
        Spark reads Parquet only.
    schema : Schema, optional
        Gives a CSV's texts their values, as an artifact understands them; without it, the types that fit every row.
    missing : list of str
        Texts of a CSV that count as missing.
    only : names, optional
        The columns of the schema that are needed; others stay as they are.
    ordered : bool
        Whether rows come in their order (DuckDB); without it, it needs less memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.engines.files import opened
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "a.csv"
    ...     _ = file.write_text("age,sex\\n31,f\\n44,m\\n")
    ...     with opened(file) as table:
    ...         table.columns, table.rows()
    (['age', 'sex'], 2)
    """
    if engine not in ENGINES:
        raise ParameterError(f"The 'engine' parameter must be 'duckdb' or 'spark'. Got {engine!r} instead.")
    needed = None if schema is None else set(schema.names if only is None else only)
    if engine == "spark":
        with session() as spark:
            yield SparkTable(in_spark(spark, os.fspath(path), needed))
        return
    with bounded(ordered) as connection:
        found = listing(_on_this_machine(path))
        if found.kind == "parquet":
            yield LocalTable(_parquet(connection, found, needed))
        else:
            yield LocalTable(_csv(connection, found, schema, missing, only))


@contextmanager
def bounded(ordered: bool = False) -> Iterator["duckdb.DuckDBPyConnection"]:
    """A DuckDB connection that keeps within a bound of memory; what is too much goes to a folder that is removed."""
    with tempfile.TemporaryDirectory(prefix="modicum-") as spill, connected() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute("SET temp_directory = $folder", {"folder": spill})
        connection.execute(f"SET preserve_insertion_order = {str(ordered).lower()}")
        yield connection


def _on_this_machine(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if "://" in name:
        raise DataError(f"The engine 'duckdb' reads files of this machine, not {name!r}; the engine 'spark' reads it.")
    return name


def _csv(
    connection: "duckdb.DuckDBPyConnection",
    found: Listing,
    schema: Schema | None,
    missing: Sequence[str],
    only: Collection[str] | None,
) -> "duckdb.DuckDBPyRelation":
    if len(found.files) > 1:
        raise DataError(f"The files of {found.path!r} are CSV; several files together must be Parquet.")
    if schema is None:
        file = found.files[0]
        return reading(file, lambda: with_found_types(scan_typed(connection, file, missing)))
    return scan_table(connection, found.files[0], schema, missing=missing, only=only)


def _parquet(
    connection: "duckdb.DuckDBPyConnection", found: Listing, needed: set[str] | None
) -> "duckdb.DuckDBPyRelation":
    columns = agreed(connection, found, needed)
    files = [glob.escape(file) for file in found.files]
    query = "SELECT * FROM read_parquet($files, hive_partitioning=$said, hive_types_autocast=false)"
    with asking("duckdb"):
        relation = connection.sql(query, params={"files": files, "said": bool(found.said)})
    said = {unquote(name): name for name in relation.columns[-len(found.said) :]} if found.said else {}
    parts = [quoted_name(name) for name in columns]
    parts += [f"{_said(found, name, quoted_name(said[name]))} AS {quoted_name(name)}" for name in found.said]
    return relation.project(", ".join(parts))


def _said(found: Listing, name: str, column: str) -> str:
    return f"CAST({column} AS BIGINT)" if found.whole(name) else column
