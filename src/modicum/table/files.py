"""Read and write table files with DuckDB.

A CSV file has no types. `read_table` finds the types that fit every row: whole numbers, decimals, `true` and `false`,
ISO dates; everything else stays text. `scan_table` takes the types from a schema, such as an artifact's, so the same
text means the same value in every file.
"""

import glob
import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import pandas as pd

from modicum.errors import DataError
from modicum.table.atomic_writing import replacing
from modicum.table.frames import as_frame
from modicum.table.schema import Attribute, Schema

if TYPE_CHECKING:
    import duckdb

CSV = (".csv", ".tsv", ".txt", ".data")
PARQUET = (".parquet", ".pq")
_TRUTHS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_ISO = r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d(:?\d\d)?)?)?"

Result = TypeVar("Result")


def is_csv(path: str | os.PathLike[str]) -> bool:
    """Whether the file's ending is that of a CSV file, compressed or not."""
    return os.fspath(path).lower().removesuffix(".gz").endswith(CSV)


def file_format(path: str | os.PathLike[str]) -> str:
    """Return 'csv' or 'parquet' by the file's ending; ignore a trailing .gz."""
    if os.fspath(path).lower().removesuffix(".gz").endswith(PARQUET):
        return "parquet"
    if is_csv(path):
        return "csv"
    raise DataError(f"The file {os.fspath(path)!r} is neither CSV nor Parquet by its ending (.csv, .tsv, .parquet).")


def read_table(
    path: str | os.PathLike[str], *, missing: Sequence[str] = (), schema: Schema | None = None
) -> pd.DataFrame:
    """Read a CSV or Parquet file, with the schema's types if given; texts in `missing` count as missing."""
    with open_connection() as connection:
        if schema is not None:
            relation = scan_table(connection, path, schema, missing=missing)
            return read_typed(path, relation, list(schema), relation.df)
        table = reading(path, lambda: _relation(connection, path, missing, typed=True).df())
    if file_format(path) == "csv":
        for name in table.columns:
            table[name] = _convert_text(table[name])
    return table


def scan_table(
    connection: "duckdb.DuckDBPyConnection",
    path: str | os.PathLike[str],
    schema: Schema,
    *,
    missing: Sequence[str] = (),
    only: Collection[str] | None = None,
) -> "duckdb.DuckDBPyRelation":
    """Open a file as a lazy relation; a CSV's columns in the schema, or only those in `only`, get its types."""
    markers = [*schema.missing, *missing]
    relation = reading(path, lambda: _relation(connection, path, () if only is not None else markers, typed=False))
    if file_format(path) == "parquet":
        return relation
    known = {a.name: a for a in schema if only is None or a.name in only}
    if only is not None and markers:  # other columns stay unchanged
        texts = ", ".join(map(quote_text, markers))
        marked = [
            f"CASE WHEN {quote_name(n)} NOT IN ({texts}) THEN {quote_name(n)} END AS {quote_name(n)}"
            if n in known
            else quote_name(n)
            for n in relation.columns
        ]
        relation = relation.project(", ".join(marked))
    parts = [f"{_build_cast(known[n]) if n in known else quote_name(n)} AS {quote_name(n)}" for n in relation.columns]
    return relation.project(", ".join(parts))


def scan_typed(
    connection: "duckdb.DuckDBPyConnection", path: str | os.PathLike[str], missing: Sequence[str] = ()
) -> "duckdb.DuckDBPyRelation":
    """Open a file as a lazy relation, with the types that fit every row."""
    return reading(path, lambda: _relation(connection, path, missing, typed=True))


def convert_text_columns(relation: "duckdb.DuckDBPyRelation") -> "duckdb.DuckDBPyRelation":
    """Convert text columns of a CSV's relation to booleans or dates if all their values are, as `read_table` does."""
    texts = [name for name, kind in zip(relation.columns, relation.types, strict=True) if str(kind) == "VARCHAR"]
    if not texts:
        return relation
    tests = (f"bool_and({_is_truth(name)}), bool_and({_is_moment(name)})" for name in texts)
    results = iter(relation.aggregate(", ".join(tests)).fetchall()[0])
    kinds = {name: (next(results), next(results)) for name in texts}
    return relation.project(
        ", ".join(f"{_build_conversion(n, *kinds.get(n, (0, 0)))} AS {quote_name(n)}" for n in relation.columns)
    )


def _build_conversion(name: str, is_truth: Any, is_moment: Any) -> str:
    if is_truth:
        return f"lower({quote_name(name)}) = 'true'"
    return f"CAST({_moment(name)} AS TIMESTAMP)" if is_moment else quote_name(name)


def _is_truth(name: str) -> str:
    return f"{quote_name(name)} IN ({', '.join(repr(word) for word in _TRUTHS)})"


def _is_moment(name: str) -> str:
    column = quote_name(name)
    return (
        f"CASE WHEN {column} IS NOT NULL THEN regexp_full_match({column}, '{_ISO}') AND {_moment(name)} IS NOT NULL END"
    )


def _moment(name: str) -> str:
    """SQL for a timestamp; DuckDB needs a colon in the offset."""
    with_colon = f"regexp_replace({quote_name(name)}, '([+-][0-9][0-9])([0-9][0-9])$', '\\1:\\2')"
    return f"TRY_CAST({with_colon} AS TIMESTAMP WITH TIME ZONE)"


def write_table(result: "duckdb.DuckDBPyRelation", path: str | os.PathLike[str]) -> None:
    """Write a relation to a CSV or Parquet file, streaming."""
    name = os.fspath(path)
    if file_format(path) == "parquet":
        result.write_parquet(name)
    else:
        result.write_csv(name, header=True, sep="\t" if name.lower().removesuffix(".gz").endswith(".tsv") else ",")


def write_frame(frame: Any, path: str | os.PathLike[str]) -> None:
    """Write a pandas or polars frame to a CSV or Parquet file, completely or not at all."""
    file_format(path)
    table = as_frame(frame).to_pandas()
    with open_connection() as connection, replacing(path) as temporary:
        write_table(connection.from_df(table), temporary)


def read_typed(
    path: str | os.PathLike[str],
    source: "duckdb.DuckDBPyRelation",
    attributes: Sequence[Attribute],
    read: Callable[[], Result],
) -> Result:
    """Run `read` on a typed source; if a column holds text instead of numbers or dates, name it in the error."""
    try:
        return reading(path, read)
    except DataError:
        culprit = _unreadable(source, attributes)
        if culprit is None:
            raise
        message = f"The column {culprit.name!r} holds text that cannot be read as a {culprit.kind}."
        raise DataError(message) from None


def _unreadable(source: "duckdb.DuckDBPyRelation", attributes: Sequence[Attribute]) -> Attribute | None:
    """The first attribute whose column holds text instead of numbers or dates."""
    import duckdb

    for attribute in attributes:
        if attribute.name in source.columns and not attribute.is_category:
            try:
                source.project(quote_name(attribute.name)).aggregate(f"count({quote_name(attribute.name)})").fetchall()
            except duckdb.ConversionException:
                return attribute
            except duckdb.Error:
                return None  # the file itself is faulty
    return None


@contextmanager
def open_connection() -> Iterator["duckdb.DuckDBPyConnection"]:
    """A new DuckDB connection in memory, in UTC, without a progress bar."""
    import duckdb

    connection = duckdb.connect()
    try:
        connection.execute("SET enable_progress_bar = false")
        connection.execute("SET TimeZone = 'UTC'")
        yield connection
    finally:
        connection.close()


def reading(path: str | os.PathLike[str], read: Callable[[], Result]) -> Result:
    """Run `read` on a file; replace DuckDB's error messages, which may quote the data."""
    import duckdb

    name = repr(os.fspath(path))
    try:
        return read()
    except duckdb.Error as error:
        own = re.search(r"modicum\.errors\.DataError: (.+)", str(error))
        if own:  # raised by modicum in a query
            raise DataError(own.group(1)) from None
        if re.search("invalid unicode|not utf-8 encoded|invalid utf", str(error), flags=re.IGNORECASE):
            raise DataError(f"The file {name} is not UTF-8 text; convert it to UTF-8 first.") from None
        if file_format(path) == "parquet":
            raise DataError(f"The file {name} cannot be read as Parquet ({type(error).__name__}).") from None
        line = re.search(r"CSV Error on Line: (\d+)", str(error))
        where = f"line {line.group(1)} does" if line else "its lines do"
        raise DataError(
            f"The file {name} cannot be read as CSV: {where} not have the fields that the header names, or a quote is "
            "not closed."
        ) from None


def scan_parquet(
    connection: "duckdb.DuckDBPyConnection", files: Sequence[str], hive_partitioning: bool = False
) -> "duckdb.DuckDBPyRelation":
    """Open Parquet files by name as one table; folder columns stay text.

    Most writers ignore NaN in a file's minimum and maximum. Without `can_have_nan`, DuckDB concludes from these that
    the file has no NaN, and `isnan` is false for every row.

    Examples
    --------
    >>> import duckdb, os, polars as pl, tempfile
    >>> from modicum.table.files import scan_parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "pay.parquet")
    ...     pl.DataFrame({"pay": [1.0, 2.0, float("nan")]}).write_parquet(file)
    ...     scan_parquet(duckdb.connect(), [file]).filter("isnan(pay)").fetchall()
    [(nan,)]
    """
    names = ", ".join(quote_text(glob.escape(file)) for file in files)  # relations with parameters cannot be joined
    hive = f"hive_partitioning={hive_partitioning}, hive_types_autocast=false"
    return connection.sql(f"SELECT * FROM read_parquet([{names}], can_have_nan=true, {hive})")


def _relation(
    connection: "duckdb.DuckDBPyConnection", path: str | os.PathLike[str], missing: Sequence[str], typed: bool
) -> "duckdb.DuckDBPyRelation":
    name = os.fspath(path)
    if not os.path.isfile(path):
        raise DataError(f"The file {name!r} does not exist.")
    if os.path.getsize(path) == 0:
        raise DataError(f"The file {name!r} is empty.")
    pattern = glob.escape(name)
    if file_format(path) == "parquet":
        return scan_parquet(connection, [name])
    _check_header(connection, pattern)
    relation = connection.read_csv(
        pattern,
        header=True,
        na_values=["", *missing],
        sample_size=-1 if typed else 20_480,
        all_varchar=not typed,
        compression=_compression(name),
        hive_partitioning=False,
        auto_type_candidates=["BIGINT", "DOUBLE", "VARCHAR"],
    )
    if len(relation.columns) == 1 and re.search("[,;\t]", relation.columns[0]):  # DuckDB found no consistent fields
        raise DataError(
            f"The file {name!r} cannot be read as CSV: not every line has the fields that the header names."
        )
    return relation


def _compression(name: str) -> Literal["gzip", "none"]:
    """DuckDB itself takes only a lower-case .gz for compressed."""
    return "gzip" if name.lower().endswith(".gz") else "none"


def _check_header(connection: "duckdb.DuckDBPyConnection", pattern: str) -> None:
    """Raise a `DataError` if a column is repeated; DuckDB would rename it silently."""
    rows: Any = (
        connection.read_csv(
            pattern, header=False, all_varchar=True, compression=_compression(pattern), hive_partitioning=False
        )
        .limit(1)
        .fetchall()
    )
    seen: set[str] = set()
    for cell in (str(cell) for cell in (rows[0] if rows else ()) if cell is not None):
        if cell.casefold() in seen:
            raise DataError(
                f"The column {cell!r} appears more than once in the first line (case does not count); give each column "
                "its own name, or add a header if there is none."
            )
        seen.add(cell.casefold())


def _convert_text(column: pd.Series) -> pd.Series:
    """Convert a text column to booleans or dates if all its values are; leave others unchanged."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    words = set(column.dropna().unique().tolist())
    if words and words <= set(_TRUTHS):
        return column.map(_TRUTHS).astype(object if column.isna().any() else bool)
    if words and all(isinstance(word, str) and re.fullmatch(_ISO, word) for word in words):
        dates = pd.to_datetime(column, format="ISO8601", utc=True, errors="coerce").dt.tz_localize(None)
        return column if bool((dates.isna() & column.notna()).any()) else dates
    return column


def quote_name(name: str) -> str:
    """Quote a column name for SQL; it may hold any characters.

    Examples
    --------
    >>> from modicum.table.files import quote_name
    >>> print(quote_name('a "b" c'))
    "a ""b"" c"
    """
    return '"' + name.replace('"', '""') + '"'


def quote_text(text: str) -> str:
    """Quote a text for SQL; it may hold any characters except NUL.

    Examples
    --------
    >>> from modicum.table.files import quote_text
    >>> print(quote_text("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


def normalize_column(name: str) -> str:
    """SQL for a text column in Unicode normal form C. Texts with a NUL stay unchanged: DuckDB would cut them there."""
    column = quote_name(name)
    return f"CASE WHEN contains({column}, chr(0)) THEN {column} ELSE nfc_normalize({column}) END"


def _build_cast(attribute: Attribute) -> str:
    """SQL that converts CSV text to a number, a date or canonical text, as in the artifact."""
    column = quote_name(attribute.name)
    if attribute.kind == "number":
        return f"CAST({column} AS DOUBLE)"
    if attribute.kind == "date":
        return f"CAST({column} AS TIMESTAMP)"
    as_text = normalize_column(attribute.name)
    if attribute.storage == "boolean":
        truths = " ".join(f"WHEN '{word}' THEN '{str(truth).lower()}'" for word, truth in _TRUTHS.items())
        return f"CASE {column} {truths} ELSE {as_text} END"
    if attribute.storage in ("integer", "float"):
        digits = f"CASE WHEN regexp_full_match({column}, '[+-]?[0-9]+') THEN TRY_CAST({column} AS HUGEINT) END"
        number = f"TRY_CAST({column} AS DOUBLE)"
        whole = f"CASE WHEN {number} = floor({number}) AND abs({number}) < 9e15 THEN CAST({number} AS BIGINT) END"
        texts = ", ".join(f"CAST({value} AS VARCHAR)" for value in (digits, whole, number))
        return f"coalesce({texts}, {as_text})"
    return as_text
