"""Which files a path stands for: one file, a folder of them, or a pattern, and what the folders' names say.

A folder `year=2020` says that the column `year` is 2020 in every file beneath it (Hive's way, which Spark and DuckDB
write). Names that begin with a dot or an underscore are not data, as Spark has it.
"""

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from modicum.errors import DataError, quoted
from modicum.table.files import file_format

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
    >>> from modicum.engines.listing import listing
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
    return _of(name, _fixed(name), sorted(found), f"The pattern {name!r} matches")


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
    return Listing(path, root, tuple(kinds[kind]), kind, _written(root, kinds[kind]))


def value_of(written: str) -> str | None:
    """What a part of a folder's name means: characters that a name may not hold are written %2F and the like."""
    return None if written == NO_VALUE else unquote(written)


def _written(root: str, files: Sequence[str]) -> dict[str, tuple[str, ...]]:
    pairs = [_pairs(os.path.relpath(file, root)) for file in files]
    for file, each in zip(files, pairs, strict=True):
        if list(each) != list(pairs[0]):
            raise DataError(
                f"The folders above {file!r} name {_named(each)}, and those above {files[0]!r} name "
                f"{_named(pairs[0])}; all files must lie under folders of the same columns."
            )
    return {column: tuple(each[column] for each in pairs) for column in pairs[0]}


def _pairs(relative: str) -> dict[str, str]:
    folders = Path(relative).parts[:-1]
    odd = next((folder for folder in folders if folder.count("=") > 1), None)
    if odd is not None:  # engines do not agree on what that says
        raise DataError(f"The name of the folder {odd!r} has more than one '='; in a value it is written %3D.")
    parts = (folder.partition("=") for folder in folders)
    return {unquote(key): value for key, sign, value in parts if sign and key}


def _named(pairs: dict[str, str]) -> str:
    return quoted(pairs) if pairs else "no column"


def _fixed(pattern: str) -> str:
    """The folder above the first part of a pattern that is not plain."""
    parts = Path(pattern).parts
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return os.path.join(*parts[:plain]) if plain else "."


def _is_whole(value: str) -> bool:
    return value.removeprefix("-").isdecimal() and value.isascii() and str(int(value)) == value and len(value) < 19
