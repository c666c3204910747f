"""Files: tables read by DuckDB, results written beside their place and then renamed.

A CSV file has no types, so the file's own types are found by reading all of it (`read_table`), or taken from a schema
(`scan_table`), which an artifact carries: then the same text means the same value in every file.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from modicum.errors import DataError
from modicum.table.schema import Attribute, Schema

if TYPE_CHECKING:
    import duckdb

_CSV = (".csv", ".tsv", ".txt", ".data")
_PARQUET = (".parquet", ".pq")


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """A temporary file beside `path` that takes its place when the block ends well, and vanishes when it does not.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.table.files import replacing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = pathlib.Path(folder) / "a.txt"
    ...     with replacing(target) as temporary:
    ...         _ = pathlib.Path(temporary).write_text("done")
    ...     target.read_text()
    'done'
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=".modicum-", suffix=target.suffix, dir=target.parent)
    except OSError as error:
        raise DataError(f"The file {os.fspath(path)!r} cannot be written: {error.strerror}.") from error
    os.close(handle)
    os.chmod(temporary, 0o644)
    try:
        yield temporary
        os.replace(temporary, target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(temporary)


def file_format(path: str | os.PathLike[str]) -> str:
    """'csv' or 'parquet', by the file's ending; a trailing .gz is passed over."""
    name = os.fspath(path).lower().removesuffix(".gz")
    if name.endswith(_PARQUET):
        return "parquet"
    if name.endswith(_CSV):
        return "csv"
    raise DataError(f"The file {os.fspath(path)!r} is neither CSV nor Parquet by its ending (.csv, .tsv, .parquet).")


def read_table(path: str | os.PathLike[str], *, missing: Sequence[str] = ()) -> pd.DataFrame:
    """A whole CSV or Parquet file; types are those that fit every row; `missing` texts count as missing."""
    with connected() as connection:
        return _complaining(path, lambda: _relation(connection, path, missing).df())


def scan_table(
    connection: "duckdb.DuckDBPyConnection",
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    missing: Sequence[str] = (),
) -> "duckdb.DuckDBPyRelation":
    """A file as a lazy DuckDB relation; the columns of a CSV that the schema knows get the types it gives them."""
    relation = _complaining(path, lambda: _relation(connection, path, missing, typed=False))
    if file_format(path) == "parquet":
        return relation
    known = {attribute.name: attribute for attribute in schema if attribute.collectable}
    parts = [f"{_typed(known[n]) if n in known else _name(n)} AS {_name(n)}" for n in relation.columns]
    return relation.project(", ".join(parts))


def copy_table(result: "duckdb.DuckDBPyRelation", path: str, source: "duckdb.DuckDBPyRelation", schema: Schema) -> None:
    """Write a relation derived from `source` to a CSV or Parquet file, streaming."""
    import duckdb

    try:
        if file_format(path) == "parquet":
            result.write_parquet(path)
        else:
            result.write_csv(path, header=True)
    except duckdb.ConversionException:
        kinds = {a.name: a.kind for a in schema if not a.is_category}
        for name in (name for name in source.columns if name in kinds):
            try:
                source.project(_name(name)).aggregate(f"count({_name(name)})").fetchall()
            except duckdb.ConversionException:
                raise DataError(f"The column {name!r} holds text that cannot be read as a {kinds[name]}.") from None
        raise DataError("The file holds a value that does not fit the type the artifact gives its column.") from None


@contextmanager
def connected() -> Iterator["duckdb.DuckDBPyConnection"]:
    """A DuckDB connection of its own, in memory, without a progress bar."""
    import duckdb

    connection = duckdb.connect()
    try:
        connection.execute("SET enable_progress_bar = false")
        yield connection
    finally:
        connection.close()


def _relation(
    connection: "duckdb.DuckDBPyConnection", path: str | os.PathLike[str], missing: Sequence[str], typed: bool = True
) -> "duckdb.DuckDBPyRelation":
    name = os.fspath(path)
    if not os.path.isfile(path):
        raise DataError(f"The file {name!r} does not exist.")
    if os.path.getsize(path) == 0:
        raise DataError(f"The file {name!r} is empty.")
    if file_format(path) == "parquet":
        return connection.read_parquet(name)
    _check_header(connection, name)
    return connection.read_csv(
        name, header=True, sample_size=-1 if typed else 20_480, na_values=["", *missing], all_varchar=not typed
    )


def _check_header(connection: "duckdb.DuckDBPyConnection", name: str) -> None:
    """DuckDB would rename a repeated column; a person should hear of it."""
    rows: Any = connection.read_csv(name, header=False, all_varchar=True).limit(1).fetchall()
    header = [str(cell) for cell in (rows[0] if rows else ()) if cell is not None]
    repeated = next((cell for cell in header if header.count(cell) > 1), None)
    if repeated is not None:
        raise DataError(f"The column {repeated!r} appears more than once; give each column its own name.")


def _complaining(path: str | os.PathLike[str], read: Any) -> Any:
    """DuckDB's own messages may quote the data, so they are not passed on."""
    import duckdb

    name = repr(os.fspath(path))
    try:
        return read()
    except duckdb.Error as error:
        if "utf-8" in str(error).lower() or "unicode" in str(error).lower():
            raise DataError(f"The file {name} is not UTF-8 text; convert it to UTF-8 first.") from None
        kind = file_format(path).replace("csv", "CSV").replace("parquet", "Parquet")
        raise DataError(f"The file {name} cannot be read as {kind} ({type(error).__name__}).") from None


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _typed(attribute: Attribute) -> str:
    """SQL that gives a CSV text the value it has in the artifact: a number, a date, or canonical text."""
    column = _name(attribute.name)
    if attribute.kind == "number":
        return f"CAST({column} AS DOUBLE)"
    if attribute.kind == "date":
        return f"CAST({column} AS TIMESTAMP)"
    as_text = f"nfc_normalize({column})"
    if attribute.storage == "boolean":
        return f"coalesce(CAST(TRY_CAST({column} AS BOOLEAN) AS VARCHAR), {as_text})"
    if attribute.storage in ("integer", "float"):
        number = f"TRY_CAST({column} AS DOUBLE)"
        whole = f"CASE WHEN {number} = floor({number}) AND abs({number}) < 9e15 THEN CAST({number} AS BIGINT) END"
        return f"coalesce(CAST({whole} AS VARCHAR), CAST({number} AS VARCHAR), {as_text})"
    return as_text
