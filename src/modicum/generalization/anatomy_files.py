"""One table of a release as a file and back, with the types that the schema tells.

CSV is written in one fixed manner, so that nothing has to be guessed when it is read: text in quotes, a missing value
as nothing.
"""

import csv
import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import ArtifactError, DataError
from modicum.table.files import connected, file_format, quoted_name, reading
from modicum.table.frames import numbers, texts
from modicum.table.inference import storage_of
from modicum.table.schema import Attribute, Schema, Storage

_NOT_HELD = {
    "bytes": "bytes",
    "complex": "complex numbers",
    "timedelta": "durations",
    "timedelta64": "durations",
    "time": "times of day",
    "nested": "lists or the like",
}
_ALIKE: dict[Storage, str] = {"integer": "number", "float": "number", "date": "date", "datetime": "date"}
_TRUTHS = {"true": True, "false": False}


def write_columns(frame: nw.DataFrame[Any], path: Path) -> None:
    """Write a table; what is neither a number nor a date is written as canonical text."""
    names = list(frame.columns)
    folded = [name.casefold() for name in names]
    twice = [name for name in names if folded.count(name.casefold()) > 1]
    if any("\0" in name for name in names):
        raise DataError("A column's name holds the character NUL, which files cannot; rename before saving.")
    if twice or "" in names:
        which = f"{twice[0]!r} and {twice[1]!r} differ only in case" if twice else "'' has no name"
        raise DataError(f"The columns of a file need different names, but {which}; rename before saving.")
    for name in names:
        check_holdable(frame[name])
    table = pd.DataFrame({name: _written(frame[name]) for name in names})
    with connected() as connection:
        connection.register("released", table)
        connection.execute(f"COPY released TO '{_literal(path)}' ({_options(table, path)})")


def _literal(path: Path) -> str:
    return os.fspath(path).replace("'", "''")


def _options(table: pd.DataFrame, path: Path) -> str:
    if file_format(path) == "parquet":
        return "FORMAT parquet"
    words = [quoted_name(name) for name in table.columns if table[name].dtype == object]
    return "FORMAT csv, HEADER true" + (f", FORCE_QUOTE ({', '.join(words)})" if words else "")


def own_storage(series: nw.Series[Any]) -> Storage:
    """How a column's values are written; those of a categorical as its categories are.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.generalization.anatomy_files import own_storage
    >>> from modicum.table.frames import as_frame
    >>> own_storage(as_frame(pd.DataFrame({"class": pd.Categorical([1, 2])}))["class"])
    'integer'
    """
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        series = nw.from_native(pd.Series(native.cat.categories), series_only=True)
    return storage_of(series)


def check_holdable(series: nw.Series[Any]) -> None:
    """Refuse what is neither text, number, truth nor date: a release holds only these.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.generalization.anatomy_files import check_holdable
    >>> from modicum.table.frames import as_frame
    >>> check_holdable(as_frame(pd.DataFrame({"age": [31, 45]}))["age"])
    """
    held = _held(series)
    if held in _NOT_HELD:
        raise DataError(
            f"The column {series.name!r} holds {_NOT_HELD[held]}, which cannot be released; make text or numbers of "
            "them, or leave it out."
        )
    if series.dtype in (nw.Object, nw.String) and not _is_unicode(series):
        raise DataError(f"The column {series.name!r} holds text that is no valid Unicode; mend it, or leave it out.")


def _held(series: nw.Series[Any]) -> str:
    if series.dtype.is_nested():
        return "nested"
    kinds = {nw.Duration: "timedelta", nw.Binary: "bytes", nw.Time: "time"}
    known = [held for dtype, held in kinds.items() if series.dtype == dtype]
    if known or series.dtype not in (nw.Object, nw.Unknown):
        return known[0] if known else "plain"
    values = series.to_numpy()
    return "complex" if values.dtype.kind == "c" else pd.api.types.infer_dtype(values, skipna=True)


def _is_unicode(series: nw.Series[Any]) -> bool:
    """Whether all text could be encoded; only pandas' columns of objects can hold other text."""
    native = series.to_native()
    if not isinstance(native, pd.Series) or native.dtype != object:
        return True
    try:
        "".join(value for value in native.array if isinstance(value, str)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _storage(schema: Schema, name: str) -> Storage:
    return schema[name].storage if name in schema else "integer"  # the number of a group is in no schema


def _written(series: nw.Series[Any]) -> Any:
    """A column as DuckDB takes it."""
    exact = series.dtype.is_integer() or series.dtype == nw.Boolean
    if exact and series.null_count():  # numpy would make floats or objects of them
        return pd.Series(series.to_list(), dtype="boolean" if series.dtype == nw.Boolean else "Int64")
    values = series.to_numpy()
    if values.dtype.kind in "iufbM":
        return values
    held = pd.api.types.infer_dtype(values, skipna=True)
    if held in ("boolean", "integer", "floating", "mixed-integer-float"):
        plain = pd.Series(values, dtype=object)
        return plain.astype("boolean") if held == "boolean" else pd.to_numeric(plain)
    codes, words = texts(series)
    return pd.Series(np.array([*words, None], dtype=object)[codes], dtype=object)


def read_columns(path: Path, columns: Sequence[str], schema: Schema) -> pd.DataFrame:
    """Read what `write_columns` wrote."""
    with connected() as connection:
        pattern = glob.escape(os.fspath(path)) + ("/*.parquet" if path.is_dir() else "")
        if file_format(path) == "parquet":
            table = reading(path, lambda: connection.read_parquet(pattern, hive_partitioning=False).df())
        else:
            _check_names(path, _header(path), columns)
            table = reading(path, lambda: _csv(connection, pattern, columns).df())
    _check_names(path, list(table.columns), columns)
    return pd.DataFrame({name: _typed(table[name], _storage(schema, name)) for name in columns})


def _header(path: Path) -> list[str]:
    """The names in the first line of a CSV file, which DuckDB passes over where it is told the columns."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return next(csv.reader(file, strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        raise ArtifactError(f"The first line of the file {path.name!r} cannot be read as names of columns.") from None


def _check_names(path: Path, found: list[str], columns: Sequence[str]) -> None:
    if found != list(columns):
        raise ArtifactError(f"The file {path.name!r} does not have the columns that its release names, in their order.")


def _csv(connection: Any, pattern: str, columns: Sequence[str]) -> Any:
    return connection.read_csv(
        pattern,
        header=True,
        auto_detect=False,
        columns=dict.fromkeys(columns, "VARCHAR"),
        delimiter=",",
        quotechar='"',
        escapechar='"',
        allow_quoted_nulls=False,
        hive_partitioning=False,
    )


def _typed(column: pd.Series, storage: Storage) -> Any:
    """A column that was read, with the type that its values have."""
    words = column.dtype == object or isinstance(column.dtype, pd.StringDtype)
    if not words or storage == "text":
        return column
    try:
        if storage in ("date", "datetime"):
            return pd.to_datetime(column, format="ISO8601", utc=True).dt.tz_localize(None)
        if storage == "boolean":
            known = column.map(_TRUTHS)
            return known.astype(object if known.isna().any() else bool)
        return pd.to_numeric(column)
    except (ValueError, TypeError):
        raise DataError(f"The column {column.name!r} holds text that cannot be read as {storage}.") from None


def check_same(before: nw.DataFrame[Any], after: nw.DataFrame[Any], schema: Schema) -> None:
    """Refuse a table that is not read back as it was written."""
    dates = {attribute.name: attribute for attribute in schema if attribute.kind == "date"}
    for name in before.columns:
        typed = name in schema and (schema[name].is_category or name == schema.label)
        if not _same(before[name], after[name], dates.get(name)) or (typed and not _alike(before[name], after[name])):
            raise DataError(f"The column {name!r} is not read back from the file as it is; the other format may do.")


def _alike(before: nw.Series[Any], after: nw.Series[Any]) -> bool:
    """Whether both are texts, both numbers, both truths or both dates."""
    one, other = own_storage(before), own_storage(after)
    return _ALIKE.get(one, one) == _ALIKE.get(other, other)


def _same(before: nw.Series[Any], after: nw.Series[Any], date: Attribute | None) -> bool:
    values, found = before.to_numpy(), after.to_numpy()
    exact = not (before.dtype.is_integer() and before.null_count())  # else numpy has made floats of them
    if exact and values.dtype.kind in "iuf" and found.dtype.kind in "iuf":
        return bool(np.array_equal(values, found, equal_nan=True))
    if date is not None:
        return bool(np.array_equal(numbers(before, date), numbers(after, date), equal_nan=True))
    (codes, words), (read, known) = texts(before), texts(after)
    return words == known and np.array_equal(codes, read)
