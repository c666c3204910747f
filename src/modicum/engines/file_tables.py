"""Open files as tables of an engine: CSV or Parquet, one file, a folder of them or a pattern.

Nothing is read but names and types until something is asked of the table. All Parquet files of a folder must have the
columns that are needed, each with one type. DuckDB reads within a bound of memory and spills to a folder that goes
away with it.
"""

import glob
import os
import re
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
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


# Which files a path stands for: one file, a folder of them, or a pattern, and what the folders' names say.
#
# A folder `year=2020` says that the column `year` is 2020 in every file beneath it (Hive's way, which Spark and DuckDB
# write). Names that begin with a dot or an underscore are not data, as Spark has it.

NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


@dataclass(frozen=True)
class Listing:
    """The files of a path.

    Attributes
    ----------
    path : str
        As it was given.
    root : str
        The folder under which folders' names say something.
    files : tuple of str
    kind : "csv" or "parquet"
    written : dict
        What folders' names say: column to the values above each file, as they are written in a name.
    """

    path: str
    root: str
    files: tuple[str, ...]
    kind: str
    written: dict[str, tuple[str, ...]]

    @property
    def said(self) -> dict[str, tuple[str | None, ...]]:
        """What folders' names say: column to the values above each file; None is missing."""
        return {name: tuple(map(value_of, values)) for name, values in self.written.items()}

    def whole(self, name: str) -> bool:
        """Whether all that the folders say of a column are whole numbers, as one writes them."""
        return all(value is None or _is_whole(value) for value in self.said[name])


def listing(path: str | os.PathLike[str]) -> Listing:
    """The files of a path, sorted; refused where there is none, or where they are of two kinds.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from modicum.engines.file_tables import listing
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for year in (2020, 2021):
    ...         (pathlib.Path(folder) / f"year={year}").mkdir()
    ...         (pathlib.Path(folder) / f"year={year}" / "a.parquet").touch()
    ...     listing(folder).said
    {'year': ('2020', '2021')}
    """
    name = os.fspath(path)
    if os.path.isfile(name):
        return Listing(name, os.path.dirname(name), (name,), file_format(name), {})
    if os.path.isdir(name):
        return _of(name, name, sorted(_inside(name)), f"The folder {name!r} holds")
    if not glob.has_magic(name):
        raise DataError(f"The file {name!r} does not exist.")
    matches = sorted(glob.glob(name, recursive=True))
    found = {file for match in matches for file in (_inside(match) if os.path.isdir(match) else [match])}
    return _of(name, _find_root(name), sorted(found), f"The pattern {name!r} matches")


def _inside(folder: str) -> Iterator[str]:
    for where, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "_"))]
        yield from (os.path.join(where, each) for each in files if not each.startswith((".", "_")))


def _of(path: str, root: str, files: Sequence[str], finds: str) -> Listing:
    kinds: dict[str, list[str]] = {"csv": [], "parquet": []}
    for file in files:
        try:
            kinds[file_format(file)].append(file)
        except DataError:
            continue  # a note beside the data, say
    if all(kinds.values()):
        raise DataError(f"{finds} both CSV and Parquet files; keep them apart.")
    if not any(kinds.values()):
        raise DataError(f"{finds} no CSV or Parquet file (.csv, .tsv, .parquet).")
    kind = "parquet" if kinds["parquet"] else "csv"
    return Listing(path, root, tuple(kinds[kind]), kind, _parse_folder_names(root, kinds[kind]))


def value_of(written: str) -> str | None:
    """What a part of a folder's name means: characters that a name may not hold are written %2F and the like."""
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
    if odd is not None:  # engines do not agree on what that says
        raise DataError(f"The name of the folder {odd!r} has more than one '='; in a value it is written %3D.")
    parts = (folder.partition("=") for folder in folders)
    return {unquote(key): value for key, sign, value in parts if sign and key}


def _format_columns(pairs: dict[str, str]) -> str:
    return format_names(pairs) if pairs else "no column"


def _find_root(pattern: str) -> str:
    """The folder above the first part of a pattern that is not plain."""
    parts = Path(pattern).parts
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return os.path.join(*parts[:plain]) if plain else "."


def _is_whole(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and value.isascii() and str(int(value)) == value and len(value) < 19


# The columns that Parquet files have, by their footers: all files must agree on those that are needed.

Types = dict[str, str]


def find_common_columns(connection: "duckdb.DuckDBPyConnection", found: Listing, needed: set[str] | None) -> list[str]:
    """The columns that every file has with one type, in the first file's order.

    A needed column (all of them, where nothing says which are) that a file lacks, or has with another type, is refused;
    so is one that the folders' names speak of as well.
    """
    types = _types(connection, found.files)
    first = types[found.files[0]]
    everywhere = [name for name in first if all(each.get(name) == first[name] for each in types.values())]
    known = {name: file for file, each in reversed(types.items()) for name in each}
    for name, owner in sorted(known.items()):
        if name not in everywhere and (needed is None or name in needed):
            raise DataError(_complaint(name, owner, types))
    twice = [name for name in everywhere if name in found.written]
    if twice:
        raise DataError(f"The column {twice[0]!r} is in the files of {found.path!r} and in the names of their folders.")
    return everywhere


def _complaint(name: str, owner: str, types: dict[str, Types]) -> str:
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
    """The columns of a footer, which lists every field of every struct, parents first."""
    found: Types = {}
    inside = 0  # fields that are still to come below a column
    for name, kind, children in nodes[1:]:
        if not inside:
            found[name] = kind
        inside = max(inside - 1, 0) + (children or 0)
    return found


def _unreadable(connection: "duckdb.DuckDBPyConnection", files: Sequence[str]) -> DataError:
    """What to say of files of which one has no good footer."""
    import duckdb

    for file in files:
        try:
            _footers(connection, [file])
        except duckdb.Error as error:
            if os.path.getsize(file) == 0:
                return DataError(f"The file {file!r} is empty.")
            return DataError(f"The file {file!r} cannot be read as Parquet ({type(error).__name__}).")
    return DataError(f"The file {files[0]!r} cannot be read as Parquet.")


# Parquet files as Spark reads them, with the same columns, types and values as in DuckDB.

_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


def in_spark(spark: Any, path: str, needed: set[str] | None) -> Any:
    """The Parquet files of a path as a Spark DataFrame; a path of another file system is Spark's own affair."""
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
    said = zip(found.written, frame.columns[len(frame.columns) - len(found.written) :], strict=True)
    return frame.select(
        *(frame[in_ticks(name)] for name in columns),
        *(_decode_folder_column(found, name, frame[in_ticks(as_read)]).alias(name) for name, as_read in said),
    )


def _read(spark: Any, found: Listing) -> Any:
    """The files as Spark reads them, what their folders say as text."""
    before = spark.conf.get(_INFERENCE)
    spark.conf.set(_INFERENCE, "false")
    try:
        reader = spark.read.option("basePath", f"file://{os.path.abspath(found.root)}")
        return reader.parquet(*(f"file://{_as_pattern(os.path.abspath(file))}" for file in found.files))
    finally:
        spark.conf.set(_INFERENCE, before)


def _decode_folder_column(found: Listing, name: str, column: Any) -> Any:
    """What the folders say of a column; Spark takes %C3%A9 for two characters, where it is the two bytes of one."""
    if found.whole(name):
        return column.cast("long")
    functions = require("pyspark.sql.functions", "spark")
    read = {written: _unescape(written) for written in found.written[name]}
    if len(set(read.values())) < len(read):
        raise DataError(f"The names of the folders in {found.path!r} write a value of {name!r} in two ways.")
    for written, as_read in read.items():
        if value_of(written) not in (None, as_read):
            column = functions.when(column == as_read, functions.lit(value_of(written))).otherwise(column)
    return column


def _unescape(written: str) -> str:
    return re.sub("%([0-9A-Fa-f]{2})", lambda code: chr(int(code.group(1), 16)), written)


def _as_pattern(path: str) -> str:
    """A path in which Hadoop sees no pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)


# Open files

ENGINES = ("duckdb", "spark")
MEMORY = "1500MB"  # that DuckDB may use before it spills


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
    """A DuckDB connection that keeps within a bound of memory; what is too much goes to a folder that is removed."""
    with tempfile.TemporaryDirectory(prefix="modicum-") as spill, open_connection() as connection:
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
        return reading(file, lambda: convert_text_columns(scan_typed(connection, file, missing)))
    return scan_table(connection, found.files[0], schema, missing=missing, only=only)


def _parquet(
    connection: "duckdb.DuckDBPyConnection", found: Listing, needed: set[str] | None
) -> "duckdb.DuckDBPyRelation":
    columns = find_common_columns(connection, found, needed)
    with asking("duckdb"):
        relation = scan_parquet(connection, found.files, hive_partitioning=bool(found.said))
    said = {unquote(name): name for name in relation.columns[-len(found.said) :]} if found.said else {}
    parts = [quote_name(name) for name in columns]
    parts += [
        f"{_cast_folder_column(found, name, quote_name(said[name]))} AS {quote_name(name)}" for name in found.said
    ]
    return relation.project(", ".join(parts))


def _cast_folder_column(found: Listing, name: str, column: str) -> str:
    return f"CAST({column} AS BIGINT)" if found.whole(name) else column
