"""Open files as tables of an engine: CSV or Parquet, one file, a folder of files or a pattern.

Opening reads only names and types. All Parquet files of a folder must have the needed columns, each with one type.
DuckDB works within a memory limit and spills to a temporary folder.
"""

import glob
import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from modicum.engines.failures import asking
from modicum.engines.local_table import LocalTable
from modicum.engines.spark import SparkTable, in_ticks, is_local, session
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError, format_names, require
from modicum.table.files import (
    convert_text_columns,
    file_format,
    open_connection,
    quote_name,
    reading,
    scan_parquet,
    scan_table,
    scan_typed,
)
from modicum.table.schema import Schema

if TYPE_CHECKING:
    import duckdb


# The files of a path: one file, a folder of files or a pattern, and the values in folder names
#
# A folder `year=2020` means that the column `year` is 2020 in every file below it (Hive partitioning, which Spark and
# DuckDB write). As in Spark, names that begin with a dot or an underscore are not data.

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Listing:
    """The files of a path.

    Attributes
    ----------
    path : str
        The given path.
    root : str
        The folder below which folder names hold values.
    files : tuple of str
    kind : "csv" or "parquet"
    written : dict
        The values in folder names, escaped as in the name: column to one value per file.
    """

    path: str
    root: str
    files: tuple[str, ...]
    kind: str
    written: dict[str, tuple[str, ...]]

    @property
    def folder_values(self) -> dict[str, tuple[str | None, ...]]:
        """The values in folder names, unescaped: column to one value per file; None is missing."""
        return {name: tuple(map(value_of, values)) for name, values in self.written.items()}

    def whole(self, name: str) -> bool:
        """Whether the folder names give a column only whole numbers in their usual form."""
        return all(value is None or _is_whole(value) for value in self.folder_values[name])


def listing(path: str | os.PathLike[str]) -> Listing:
    """List the files of a path, sorted; raise a `DataError` if there is none or if they mix CSV and Parquet.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.engines.file_tables import listing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in (2020, 2021):
    ...         (pathlib.Path(folder) / f"year={year}").mkdir()
    ...         (pathlib.Path(folder) / f"year={year}" / "a.parquet").touch()
    ...     listing(folder).folder_values
    {'year': ('2020', '2021')}
    """
    name = os.fspath(path)
    if os.path.isfile(name):
        return Listing(name, os.path.dirname(name), (name,), file_format(name), {})
    if os.path.isdir(name):
        return _list_files(name, name, _walk(name), f"The folder {name!r} holds")
    if not glob.has_magic(name):
        raise DataError(f"The file {name!r} does not exist.")
    matches = glob.glob(name, recursive=True)
    files = {file for match in matches for file in (_walk(match) if os.path.isdir(match) else [match])}
    return _list_files(name, _find_root(name), files, f"The pattern {name!r} matches")


def _walk(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "_"))]
        yield from (os.path.join(parent, each) for each in files if not each.startswith((".", "_")))


def _list_files(path: str, root: str, files: Iterable[str], finds: str) -> Listing:
    kinds: dict[str, list[str]] = {"csv": [], "parquet": []}
    for file in sorted(files):
        try:
            kinds[file_format(file)].append(file)
        except DataError:
            continue  # such as a readme next to the data
    if all(kinds.values()):
        raise DataError(f"{finds} both CSV and Parquet files; use one folder for each.")
    if not any(kinds.values()):
        raise DataError(f"{finds} no CSV or Parquet file (.csv, .tsv, .parquet).")
    kind = "parquet" if kinds["parquet"] else "csv"
    return Listing(path, root, tuple(kinds[kind]), kind, _parse_folder_names(root, kinds[kind]))


def value_of(written: str) -> str | None:
    """Unescape a value in a folder name, where special characters are written %2F and the like."""
    return None if written == NO_VALUE else unquote(written)


def _parse_folder_names(root: str, files: Sequence[str]) -> dict[str, tuple[str, ...]]:
    pairs = [_pairs(os.path.relpath(file, root)) for file in files]
    for file, each in zip(files, pairs, strict=True):
        if list(each) != list(pairs[0]):
            raise DataError(
                f"The folders above {file!r} name {_format_columns(each)}, and those above {files[0]!r} name "
                f"{_format_columns(pairs[0])}; all files must lie under folders of the same columns."
            )
    return {column: tuple(each[column] for each in pairs) for column in pairs[0]}


def _pairs(relative: str) -> dict[str, str]:
    folders = Path(relative).parts[:-1]
    odd = next((folder for folder in folders if folder.count("=") > 1), None)
    if odd is not None:  # engines read it differently
        raise DataError(f"The name of the folder {odd!r} has more than one '='; write %3D for '=' in a value.")
    parts = (folder.partition("=") for folder in folders)
    return {unquote(key): value for key, sign, value in parts if sign and key}


def _format_columns(pairs: dict[str, str]) -> str:
    return format_names(pairs) if pairs else "no column"


def _find_root(pattern: str) -> str:
    """The folder above the first part of a pattern that has a wildcard."""
    parts = Path(pattern).parts
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return os.path.join(*parts[:plain]) if plain else "."


def _is_whole(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and value.isascii() and str(int(value)) == value and len(value) < 19


# Columns of Parquet files, from their footers: all files must agree on the needed ones

Types = dict[str, str]


def find_common_columns(connection: "duckdb.DuckDBPyConnection", found: Listing, needed: set[str] | None) -> list[str]:
    """Return the columns that every file has with one type, in the first file's order.

    Raise a `DataError` if a needed column (`needed` None: any column) is absent from a file or has another type there,
    or if a column is also in the folder names.
    """
    types = _types(connection, found.files)
    first = types[found.files[0]]
    everywhere = [name for name in first if all(each.get(name) == first[name] for each in types.values())]
    known = {name: file for file, each in reversed(types.items()) for name in each}
    for name, owner in sorted(known.items()):
        if name not in everywhere and (needed is None or name in needed):
            raise DataError(_describe_mismatch(name, owner, types))
    twice = [name for name in everywhere if name in found.written]
    if twice:
        raise DataError(
            f"The column {twice[0]!r} is in the files of {found.path!r} and in the names of their folders; "
            "remove it from one of them."
        )
    return everywhere


def _describe_mismatch(name: str, owner: str, types: dict[str, Types]) -> str:
    lacking = next((file for file, each in types.items() if name not in each), None)
    if lacking is not None:
        return f"The column {name!r} is not in the file {lacking!r}, but it is in {owner!r}."
    usual = Counter(each[name] for each in types.values()).most_common(1)[0][0]
    other, its = next((file, each[name]) for file, each in types.items() if each[name] != usual)
    owner = next(file for file, each in types.items() if each[name] == usual)
    return f"The column {name!r} is a {its} in the file {other!r}, but a {usual} in {owner!r}; give it one type."


def _types(connection: "duckdb.DuckDBPyConnection", files: Sequence[str]) -> dict[str, Types]:
    import duckdb

    try:
        entries = _footers(connection, files)
    except duckdb.Error:
        raise _unreadable(connection, files) from None
    nodes: dict[str, list[Any]] = {file: [] for file in files}
    for file, *node in entries:
        nodes[file].append(node)
    return {file: _top_level(each) for file, each in nodes.items()}


def _footers(connection: "duckdb.DuckDBPyConnection", files: Sequence[str]) -> list[Any]:
    query = (
        "SELECT file_name, name, duckdb_type, num_children FROM parquet_schema($files) ORDER BY file_name, column_id"
    )
    return connection.execute(query, {"files": [glob.escape(file) for file in files]}).fetchall()


def _top_level(nodes: list[Any]) -> Types:
    """Keep the columns of a footer; it lists every field of every struct, parents first."""
    columns: Types = {}
    inside = 0  # remaining fields of the current column
    for name, kind, children in nodes[1:]:
        if not inside:
            columns[name] = kind
        inside = max(inside - 1, 0) + (children or 0)
    return columns


def _unreadable(connection: "duckdb.DuckDBPyConnection", files: Sequence[str]) -> DataError:
    """The error for the first file without a readable footer."""
    import duckdb

    for file in files:
        try:
            _footers(connection, [file])
        except duckdb.Error as error:
            if os.path.getsize(file) == 0:
                return DataError(f"The file {file!r} is empty.")
            return DataError(f"The file {file!r} cannot be read as Parquet ({type(error).__name__}).")
    return DataError(f"The file {files[0]!r} cannot be read as Parquet.")


# Parquet files in Spark, with the same columns, types and values as in DuckDB

_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


def in_spark(spark: Any, path: str, needed: set[str] | None) -> Any:
    """Open the Parquet files of a path as a Spark DataFrame; Spark alone handles paths of other file systems."""
    if not is_local(spark, path):
        return spark.read.parquet(path)
    found = listing(path.removeprefix("file://"))
    if found.kind == "csv":
        raise DataError(
            f"The engine 'spark' reads Parquet, and {path!r} is CSV, which has no types; use the engine 'duckdb', or "
            "convert it to Parquet first."
        )
    with open_connection() as connection:
        columns = find_common_columns(connection, found, needed)
    frame = _read(spark, found)
    folder_columns = zip(found.written, frame.columns[len(frame.columns) - len(found.written) :], strict=True)
    return frame.select(
        *(frame[in_ticks(name)] for name in columns),
        *(_decode_folder_column(found, name, frame[in_ticks(as_read)]).alias(name) for name, as_read in folder_columns),
    )


def _read(spark: Any, found: Listing) -> Any:
    """Read the files with Spark, with folder columns as text."""
    before = spark.conf.get(_INFERENCE)
    spark.conf.set(_INFERENCE, "false")
    try:
        reader = spark.read.option("basePath", f"file://{os.path.abspath(found.root)}")
        return reader.parquet(*(f"file://{_as_pattern(os.path.abspath(file))}" for file in found.files))
    finally:
        spark.conf.set(_INFERENCE, before)


def _decode_folder_column(found: Listing, name: str, column: Any) -> Any:
    """Decode a folder column; Spark reads %C3%A9 as two characters, but it is one character of two bytes."""
    if found.whole(name):
        return column.cast("long")
    functions = require("pyspark.sql.functions", "spark")
    read = {
        written: re.sub("%([0-9A-Fa-f]{2})", lambda code: chr(int(code.group(1), 16)), written)
        for written in found.written[name]
    }
    if len(set(read.values())) < len(read):
        raise DataError(f"The names of the folders in {found.path!r} write a value of {name!r} in two ways; use one.")
    for written, as_read in read.items():
        if value_of(written) not in (None, as_read):
            column = functions.when(column == as_read, functions.lit(value_of(written))).otherwise(column)
    return column


def _as_pattern(path: str) -> str:
    """Escape a path, so that Hadoop does not read it as a pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


# Open files

ENGINES = ("duckdb", "spark")
MEMORY = "1500MB"  # what DuckDB may use before it spills


@contextmanager
def open_table(
    path: str | os.PathLike[str],
    engine: str = "duckdb",
    schema: Schema | None = None,
    missing: Sequence[str] = (),
    *,
    only: Collection[str] | None = None,
    ordered: bool = False,
) -> Iterator[EngineTable]:
    """Open files as a table of an engine for the block.

    Parameters
    ----------
    path : path
        A CSV or Parquet file, a folder of Parquet files (their folders may be named `column=value`), or a pattern with
        `*`; for Spark any path that it can read, such as `s3://…`.
    engine : "duckdb" or "spark"
        Spark reads Parquet only.
    schema : Schema, optional
        The types of a CSV's columns, as in an artifact; by default, the types that fit every row.
    missing : list of str
        Texts of a CSV that count as missing.
    only : names, optional
        The needed columns of the schema; other columns stay unchanged.
    ordered : bool
        Whether to keep the order of rows (DuckDB); False needs less memory.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.engines.file_tables import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "a.csv"
    ...     _ = file.write_text("age,sex\\n31,f\\n44,m\\n")
    ...     with open_table(file) as table:
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
    with open_bounded_connection(ordered) as connection:
        found = listing(_on_this_machine(path))
        if found.kind == "parquet":
            yield LocalTable(_parquet(connection, found, needed))
        else:
            yield LocalTable(_csv(connection, found, schema, missing, only))


@contextmanager
def open_bounded_connection(ordered: bool = False) -> Iterator["duckdb.DuckDBPyConnection"]:
    """A DuckDB connection with a memory limit; it spills to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="modicum-") as spill, open_connection() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute("SET temp_directory = $folder", {"folder": spill})
        connection.execute(f"SET preserve_insertion_order = {str(ordered).lower()}")
        yield connection


def _on_this_machine(path: str | os.PathLike[str]) -> str:
    name = os.fspath(path)
    if "://" in name:
        raise DataError(f"The engine 'duckdb' reads local files only, not {name!r}; use the engine 'spark'.")
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
        return reading(file, lambda: convert_text_columns(scan_typed(connection, file, missing)))
    return scan_table(connection, found.files[0], schema, missing=missing, only=only)


def _parquet(
    connection: "duckdb.DuckDBPyConnection", found: Listing, needed: set[str] | None
) -> "duckdb.DuckDBPyRelation":
    columns = find_common_columns(connection, found, needed)
    with asking("duckdb"):
        relation = scan_parquet(connection, found.files, hive_partitioning=bool(found.folder_values))
    as_read = (
        {unquote(name): name for name in relation.columns[-len(found.folder_values) :]} if found.folder_values else {}
    )
    parts = [quote_name(name) for name in columns]
    for name in found.folder_values:
        column = quote_name(as_read[name])
        value = f"CAST({column} AS BIGINT)" if found.whole(name) else column
        parts.append(f"{value} AS {quote_name(name)}")
    return relation.project(", ".join(parts))
