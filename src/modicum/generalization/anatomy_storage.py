"""An anatomy's tables in a folder: one file each and a description with their hashes, all of it or nothing.

A table is a CSV or Parquet file that any program reads. In CSV, text stands in quotes and a missing value is nothing at
all, so that an empty text is not missing; texts are read back in Unicode normal form C. What is written is read back
and compared before the folder gets its name.
"""

import hashlib
import os
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from modicum.errors import ArtifactError, DataError, ParameterError, SchemaError
from modicum.generalization.anatomy_files import check_same, read_columns, write_columns
from modicum.generalization.anatomy_release import AnatomyRelease
from modicum.generalization.anatomy_written import WrittenAnatomy
from modicum.generalization.storage import VERSION, parse_artifact_schema, read_json, write_json
from modicum.table.frames import as_frame
from modicum.table.schema import Schema

_KIND = "anatomy"
_DESCRIPTION = "release.json"
_MOST = 2**53  # records; more are in no table
_FORMATS = ("csv", "parquet")
_FIELDS: Mapping[str, type | tuple[type, ...]] = {
    "suppressed": int,
    "grouping": (str, type(None)),
    "label": (str, type(None)),
    "identifying": dict,
    "sensitive": list,
}


def save_release(release: AnatomyRelease, folder: str | os.PathLike[str], format: str = "csv") -> None:
    """Write a release into a new or empty folder; a reader sees all of it or nothing."""
    import duckdb  # deferred: it takes long to import

    if not isinstance(format, str) or format not in _FORMATS:
        raise ParameterError(f"The 'format' parameter of save must be 'csv' or 'parquet'. Got {format!r} instead.")
    target = Path(os.path.realpath(_path(folder, "save")))
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise DataError(f"The folder {os.fspath(folder)!r} is there already and not empty; name a new one.")
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
        raise DataError("The release holds text that is no valid Unicode, which files cannot hold.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def load_release(folder: str | os.PathLike[str]) -> AnatomyRelease:
    """Read what `save_release` wrote; tables that were changed, or are another release's, are refused."""
    where = Path(_path(folder, "load"))
    content = read_json(where / _DESCRIPTION)
    schema = _checked(content)
    entries = [content["identifying"], *content["sensitive"]]
    for entry in entries:
        _check_hash(where, entry)
    tables = [read_columns(where / entry["file"], entry["columns"], schema) for entry in entries]
    names = [entry["name"] for entry in content["sensitive"]]
    own = dict(zip(names, tables[1:], strict=True))
    return AnatomyRelease(tables[0], own, schema, content["suppressed"], content["grouping"])


def _path(folder: Any, what: str) -> str | os.PathLike[str]:
    """A folder that could be one."""
    if not isinstance(folder, str | os.PathLike):
        got = type(folder).__name__
        raise ParameterError(f"The 'folder' parameter of {what} must be a path. Got {got} instead.")
    if not os.fspath(folder) or "\0" in str(folder):
        raise ParameterError(f"The 'folder' parameter of {what} must be a path. Got {os.fspath(folder)!r} instead.")
    return folder


def _write(release: AnatomyRelease, folder: Path, format: str) -> None:
    """The files of a release in a folder that is there, read back and compared."""
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
    release: AnatomyRelease | WrittenAnatomy, entries: list[dict[str, Any]], folder: str | os.PathLike[str]
) -> None:
    """Write what the folder holds; each table's entry has its file, hash and columns, the identifying one first."""
    write_json(_described(release, entries), Path(folder) / _DESCRIPTION)


def entry_of(folder: Path, file: str, columns: list[str]) -> dict[str, Any]:
    """A table's entry in the description."""
    return {"file": file, "sha256": _hash(folder / file), "columns": columns}


def _described(release: AnatomyRelease | WrittenAnatomy, entries: list[dict[str, Any]]) -> dict[str, Any]:
    named = zip(release.sensitive_names, entries[1:], strict=True)
    return {
        "modicum": _KIND,
        "version": VERSION,
        "suppressed": release.suppressed,
        "grouping": release.grouping,
        "label": release.label,
        "identifying": entries[0],
        "sensitive": [{"name": name, **entry} for name, entry in named],
        "schema": release.schema.to_dict(),
    }


def table_files(format: str, many: int) -> list[str]:
    """What the tables' files are called: never after a column, whose name may be anything."""
    numbers = [""] if many == 1 else [f"-{i + 1}" for i in range(many)]
    return [f"identifying.{format}", *(f"sensitive{number}.{format}" for number in numbers)]


def _checked(content: dict[str, Any]) -> Schema:
    """The schema of a description in which every field is what it should be."""
    if content["modicum"] != _KIND:
        raise ArtifactError(f"The file {_DESCRIPTION!r} does not describe an anatomy, but another kind of artifact.")
    for field, kinds in _FIELDS.items():
        if field not in content or not isinstance(content[field], kinds) or isinstance(content[field], bool):
            raise ArtifactError(f"The release's field {field!r} is missing or not what it should be.")
    if not 0 <= content["suppressed"] < _MOST:
        raise ArtifactError("The release's field 'suppressed' must be a number of records.")
    _check_entries(content)
    try:
        schema = parse_artifact_schema(content)
    except SchemaError as error:
        raise ArtifactError(str(error)) from None
    if schema.label != content["label"]:
        raise ArtifactError("The release's field 'label' names another column than its schema.")
    return schema


def _check_entries(content: dict[str, Any]) -> None:
    entries = [content["identifying"], *content["sensitive"]]
    if not all(map(_is_entry, entries)):
        raise ArtifactError("Each table of the release needs the fields 'file', 'sha256' and 'columns'.")
    names = [entry.get("name") for entry in content["sensitive"]]
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ArtifactError("Each sensitive table of the release needs a 'name' of its own.")
    found = [entry["file"] for entry in entries]
    if found not in [table_files(format, len(names)) for format in _FORMATS]:
        raise ArtifactError("The release names files that are not those of a release.")


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


def _check_hash(folder: Path, entry: dict[str, Any]) -> None:
    file = entry["file"]
    try:
        found = _hash(folder / file)
    except OSError as error:
        raise ArtifactError(f"The release's file {file!r} cannot be read: {error.strerror}.") from None
    if found != entry["sha256"]:
        raise ArtifactError(f"The file {file!r} was changed, or does not belong to the release in {str(folder)!r}.")


def _hash(path: Path) -> str:
    """The hash of a file; of a folder of Parquet files, that of their names and hashes."""
    if path.is_dir():
        listed = "".join(f"{each.name} {_hash(each)}\n" for each in sorted(path.glob("*.parquet")))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
