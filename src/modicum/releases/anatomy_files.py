"""Write and read an anatomy's tables in a folder: one file each and a description with their hashes.

A table is a CSV or Parquet file that any program can read. In CSV, text is quoted and a missing value is an empty
field, so empty text is not missing; text is read back in Unicode normal form C. Before the folder gets its name, the
written files are read back and compared.
"""

import csv
import glob
import hashlib
import os
import secrets
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NotRequired, TypedDict, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import ArtifactError, DataError, ParameterError, SchemaError
from modicum.generalization.storage import VERSION, parse_artifact_schema, read_json, write_json
from modicum.releases.anatomy_release import AnatomyFigures, AnatomyRelease, GroupFigures, describe_tables
from modicum.table.files import file_format, open_connection, quote_name, quote_text, reading
from modicum.table.frames import as_frame, numbers, texts
from modicum.table.inference import storage_of
from modicum.table.plain_data import PlainSchema
from modicum.table.schema import Attribute, Schema, Storage

# Write a table of a release to a file and read it, with the types of the schema.
#
# CSV always has quoted text and empty fields for missing values, so that reading needs no guesses.

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
    """Write a table; values other than numbers and dates become canonical text."""
    names = list(frame.columns)
    folded = [name.casefold() for name in names]
    twice = [name for name in names if folded.count(name.casefold()) > 1]
    if any("\0" in name for name in names):
        raise DataError("A column's name contains the character NUL, which files cannot hold; rename it before saving.")
    if twice or "" in names:
        which = f"{twice[0]!r} and {twice[1]!r} differ only in case; rename one" if twice else "one has none; name it"
        raise DataError(f"The columns of a file need different names, but {which} before saving.")
    for name in names:
        check_holdable(frame[name])
    table = pd.DataFrame({name: _convert_column(frame[name]) for name in names})
    options = "FORMAT parquet"
    if file_format(path) == "csv":
        words = [quote_name(name) for name in names if table[name].dtype == object]
        options = "FORMAT csv, HEADER true" + (f", FORCE_QUOTE ({', '.join(words)})" if words else "")
    with open_connection() as connection:
        connection.register("released", table)
        connection.execute(f"COPY released TO {quote_text(os.fspath(path))} ({options})")


def own_storage(series: nw.Series[Any]) -> Storage:
    """Return the storage of a column's values; of a categorical column, of its categories.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.releases.anatomy_files import own_storage
    >>> from modicum.table.frames import as_frame
    >>> own_storage(as_frame(pd.DataFrame({"class": pd.Categorical([1, 2])}))["class"])
    'integer'
    """
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        series = nw.from_native(pd.Series(native.cat.categories), series_only=True)
    return storage_of(series)


def check_holdable(series: nw.Series[Any]) -> None:
    """Refuse values other than text, numbers, booleans and dates, which are all that a release holds.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.releases.anatomy_files import check_holdable
    >>> from modicum.table.frames import as_frame
    >>> check_holdable(as_frame(pd.DataFrame({"age": [31, 45]}))["age"])
    """
    held = _infer_kind(series)
    if held in _NOT_HELD:
        raise DataError(
            f"The column {series.name!r} holds {_NOT_HELD[held]}, which cannot be released; convert it to text or "
            "numbers, or leave it out."
        )
    if series.dtype in (nw.Object, nw.String) and not _is_unicode(series):
        raise DataError(
            f"The column {series.name!r} holds text that is not valid Unicode; correct it, or leave it out."
        )


def _infer_kind(series: nw.Series[Any]) -> str:
    if series.dtype.is_nested():
        return "nested"
    kinds = {nw.Duration: "timedelta", nw.Binary: "bytes", nw.Time: "time"}
    known = [held for dtype, held in kinds.items() if series.dtype == dtype]
    if known or series.dtype not in (nw.Object, nw.Unknown):
        return known[0] if known else "plain"
    values = series.to_numpy()
    return "complex" if values.dtype.kind == "c" else pd.api.types.infer_dtype(values, skipna=True)


def _is_unicode(series: nw.Series[Any]) -> bool:
    """Whether all text can be encoded; only pandas' object columns can hold other text."""
    native = series.to_native()
    if not isinstance(native, pd.Series) or native.dtype != object:
        return True
    try:
        "".join(value for value in native.array if isinstance(value, str)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _convert_column(series: nw.Series[Any]) -> Any:
    """Convert a column to a form that DuckDB accepts."""
    exact = series.dtype.is_integer() or series.dtype == nw.Boolean
    if exact and series.null_count():  # numpy would convert them to floats or objects
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
    with open_connection() as connection:
        pattern = glob.escape(os.fspath(path)) + ("/*.parquet" if path.is_dir() else "")
        if file_format(path) == "parquet":
            table = reading(path, lambda: connection.read_parquet(pattern, hive_partitioning=False).df())
        else:
            _check_names(path, _header(path), columns)
            table = reading(path, lambda: _csv(connection, pattern, columns).df())
    _check_names(path, list(table.columns), columns)
    storage = {name: schema[name].storage for name in columns if name in schema}
    # Group numbers are not in the schema.
    return pd.DataFrame({name: _restore_type(table[name], storage.get(name, "integer")) for name in columns})


def _header(path: Path) -> list[str]:
    """Read the names in the first line of a CSV file, which DuckDB skips if the columns are given."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return next(csv.reader(file, strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        raise ArtifactError(f"The first line of the file {path.name!r} cannot be read as column names.") from None


def _check_names(path: Path, names: list[str], columns: Sequence[str]) -> None:
    if names != list(columns):
        raise ArtifactError(f"The file {path.name!r} does not have the columns of its release in their order.")


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


def _restore_type(column: pd.Series, storage: Storage) -> Any:
    """Convert a column that was read to the type of its storage."""
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
    """Refuse a table that changes when it is written and read back."""
    dates = {attribute.name: attribute for attribute in schema if attribute.kind == "date"}
    for name in before.columns:
        typed = name in schema and (schema[name].is_category or name == schema.label)
        if not _same(before[name], after[name], dates.get(name)) or (typed and not _alike(before[name], after[name])):
            raise DataError(f"The column {name!r} changes when it is read back from the file; try the other format.")


def _alike(before: nw.Series[Any], after: nw.Series[Any]) -> bool:
    """Whether both are text, both numbers, both booleans or both dates."""
    one, other = own_storage(before), own_storage(after)
    return _ALIKE.get(one, one) == _ALIKE.get(other, other)


def _same(before: nw.Series[Any], after: nw.Series[Any], date: Attribute | None) -> bool:
    written, read = before.to_numpy(), after.to_numpy()
    exact = not (before.dtype.is_integer() and before.null_count())  # else numpy has converted them to floats
    if exact and written.dtype.kind in "iuf" and read.dtype.kind in "iuf":
        return bool(np.array_equal(written, read, equal_nan=True))
    if date is not None:
        return bool(np.array_equal(numbers(before, date), numbers(after, date), equal_nan=True))
    (codes, words), (codes_read, words_read) = texts(before), texts(after)
    return words == words_read and np.array_equal(codes, codes_read)


# An anatomy's tables that an engine has written, which may be too large for memory.


@dataclass(frozen=True, eq=False)
class WrittenAnatomy:
    """The files that `Anatomy.release_to` wrote, and their measures.

    Attributes
    ----------
    folder : the folder of the tables; `AnatomyRelease.load` reads them if they fit into memory
    columns : the columns of each table, by a readable name of the table
    identifying_names : the attributes of the identifying table, without the class and the group numbers
    sensitive_names : the sensitive attributes
    schema : kinds and roles of all columns except the group numbers
    rows : number of released records
    suppressed : number of records left out
    grouping : the grouping method
    groups : for each sensitive attribute ℓ, the number of groups, the smallest and largest size, and the number of
        values
    """

    folder: Path
    columns: dict[str, list[str]]
    identifying_names: list[str]
    sensitive_names: list[str]
    schema: Schema = field(repr=False)
    rows: int
    suppressed: int
    grouping: str
    groups: dict[str, GroupFigures]

    @property
    def label(self) -> str | None:
        """The class column of the identifying table, if it has one."""
        return self.schema.label

    @property
    def l(self) -> int:  # noqa: E743 ([Mancuhan16] calls it ℓ, as do the parameters of Anatomy)
        """The largest ℓ for which no value is more than 1/ℓ of any group [Mancuhan16 Definition 9]."""
        return min(each["l"] for each in self.groups.values())

    def to_dict(self) -> AnatomyFigures:
        """Return the figures of the release as plain data, as `AnatomyRelease.to_dict` does."""
        return describe_tables(self, self.groups)


# The folder


class TableEntry(TypedDict):
    """A table in the description of a release."""

    name: NotRequired[str]
    file: str
    sha256: str
    columns: list[str]


class AnatomyDescription(TypedDict):
    """The content of a release's description file."""

    modicum: str
    version: int
    suppressed: int
    grouping: str | None
    label: str | None
    identifying: TableEntry
    sensitive: list[TableEntry]
    schema: PlainSchema


_KIND = "anatomy"
_DESCRIPTION = "release.json"
_MOST = 2**53  # more records than any table has
_FORMATS = ("csv", "parquet")
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "suppressed": int,
    "grouping": (str, type(None)),
    "label": (str, type(None)),
    "identifying": dict,
    "sensitive": list,
}


def save_release(release: AnatomyRelease, folder: str | os.PathLike[str], format: str = "csv") -> None:
    """Write a release to a new or empty folder, completely or not at all."""
    import duckdb  # deferred: it takes long to import

    if not isinstance(format, str) or format not in _FORMATS:
        raise ParameterError(f"The 'format' parameter of save must be 'csv' or 'parquet'. Got {format!r} instead.")
    target = Path(os.path.realpath(_path(folder, "save")))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"The folder {os.fspath(folder)!r} exists and is not empty; choose a new one.")
    temporary = target.parent / f".modicum-{secrets.token_hex(8)}"
    try:
        temporary.mkdir()
        _write(release, temporary, format)
        if target.exists():
            target.rmdir()
        temporary.rename(target)
    except OSError as error:
        raise DataError(f"The folder {os.fspath(folder)!r} cannot be written: {error.strerror}.") from None
    except duckdb.Error as error:  # its message may quote the data
        why = "is the disk full?" if isinstance(error, duckdb.IOException) else type(error).__name__
        raise DataError(f"The folder {os.fspath(folder)!r} cannot be written ({why}).") from None
    except UnicodeEncodeError:
        raise DataError(
            "The release holds text that is not valid Unicode, which files cannot hold; correct it."
        ) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_release(folder: str | os.PathLike[str]) -> AnatomyRelease:
    """Read what `save_release` wrote; refuse tables that were changed or belong to another release."""
    where = Path(_path(folder, "load"))
    content, schema = _check_description(read_json(where / _DESCRIPTION))
    entries = [content["identifying"], *content["sensitive"]]
    for entry in entries:
        _check_hash(where, entry)
    tables = [read_columns(where / entry["file"], entry["columns"], schema) for entry in entries]
    sensitive = dict(zip([entry["name"] for entry in content["sensitive"]], tables[1:], strict=True))
    return AnatomyRelease(tables[0], sensitive, schema, content["suppressed"], content["grouping"])


def _path(folder: Any, what: str) -> str | os.PathLike[str]:
    """Refuse anything that cannot be the path of a folder."""
    if not isinstance(folder, str | os.PathLike):
        got = type(folder).__name__
        raise ParameterError(f"The 'folder' parameter of {what} must be a path. Got {got} instead.")
    if not os.fspath(folder) or "\0" in str(folder):
        raise ParameterError(f"The 'folder' parameter of {what} must be a path. Got {os.fspath(folder)!r} instead.")
    return folder


def _write(release: AnatomyRelease, folder: Path, format: str) -> None:
    """Write the files of a release to an existing folder, read them back and compare."""
    files = table_files(format, len(release.sensitive_tables))
    tables = [release.identifying, *release.sensitive_tables.values()]
    entries = []
    for file, table in zip(files, tables, strict=True):
        write_columns(as_frame(table), folder / file)
        entries.append(entry_of(folder, file, list(as_frame(table).columns)))
    write_description(release, entries, folder)
    read = load_release(folder)
    for before, after in zip(tables, [read.identifying, *read.sensitive_tables.values()], strict=True):
        check_same(as_frame(before), as_frame(after), release.schema)


def write_description(
    release: AnatomyRelease | WrittenAnatomy, entries: list[TableEntry], folder: str | os.PathLike[str]
) -> None:
    """Write the description; `entries` has the identifying table first, then the sensitive ones."""
    named = zip(release.sensitive_names, entries[1:], strict=True)
    description: AnatomyDescription = {
        "modicum": _KIND,
        "version": VERSION,
        "suppressed": release.suppressed,
        "grouping": release.grouping,
        "label": release.label,
        "identifying": entries[0],
        "sensitive": [{"name": name, **entry} for name, entry in named],
        "schema": release.schema.to_dict(),
    }
    write_json(description, Path(folder) / _DESCRIPTION)


def entry_of(folder: Path, file: str, columns: list[str]) -> TableEntry:
    """Build a table's entry in the description."""
    return {"file": file, "sha256": _hash(folder / file), "columns": columns}


def table_files(format: str, many: int) -> list[str]:
    """Name the tables' files, without column names, which may contain any character."""
    numbers = [""] if many == 1 else [f"-{i + 1}" for i in range(many)]
    return [f"identifying.{format}", *(f"sensitive{number}.{format}" for number in numbers)]


def _check_description(read: Mapping[str, object]) -> tuple[AnatomyDescription, Schema]:
    """Check every field of a description; return it and its schema."""
    if read["modicum"] != _KIND:
        raise ArtifactError(f"The file {_DESCRIPTION!r} describes another kind of artifact, not an anatomy.")
    for name, kinds in _FIELDS.items():
        if name not in read or not isinstance(read[name], kinds) or isinstance(read[name], bool):
            raise ArtifactError(f"The release's field {name!r} is missing or has a wrong type.")
    content = cast(AnatomyDescription, read)
    if not 0 <= content["suppressed"] < _MOST:
        raise ArtifactError("The release's field 'suppressed' must be a number of records, at least 0.")
    _check_entries(content)
    try:
        schema = parse_artifact_schema(content)
    except SchemaError as error:
        raise ArtifactError(str(error)) from None
    if schema.label != content["label"]:
        raise ArtifactError("The release's field 'label' names another column than its schema.")
    return content, schema


def _check_entries(content: AnatomyDescription) -> None:
    entries = [content["identifying"], *content["sensitive"]]
    if not all(map(_is_entry, entries)):
        raise ArtifactError("Each table of the release needs the fields 'file', 'sha256' and 'columns'.")
    names = [entry.get("name") for entry in content["sensitive"]]
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ArtifactError("Each sensitive table of the release needs a 'name' of its own.")
    files = [entry["file"] for entry in entries]
    if files not in [table_files(format, len(names)) for format in _FORMATS]:
        raise ArtifactError("The release names files that no release has.")


def _is_entry(entry: Any) -> bool:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(field), str) for field in ("file", "sha256")):
        return False
    columns = entry.get("columns")
    return (
        isinstance(columns, list)
        and bool(columns)
        and all(isinstance(name, str) for name in columns)
        and len({name.casefold() for name in columns}) == len(columns)
    )


def _check_hash(folder: Path, entry: TableEntry) -> None:
    file = entry["file"]
    try:
        found = _hash(folder / file)
    except OSError as error:
        raise ArtifactError(f"The release's file {file!r} cannot be read: {error.strerror}.") from None
    if found != entry["sha256"]:
        raise ArtifactError(f"The file {file!r} was changed or does not belong to the release in {str(folder)!r}.")


def _hash(path: Path) -> str:
    """Hash a file; for a folder of Parquet files, their names and hashes."""
    if path.is_dir():
        listed = "".join(f"{each.name} {_hash(each)}\n" for each in sorted(path.glob("*.parquet")))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
