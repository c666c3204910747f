"""The columns that Parquet files have, by their footers: all files must agree on those that are needed."""

import glob
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from modicum.engines.listing import Listing
from modicum.errors import DataError

if TYPE_CHECKING:
    import duckdb

Types = dict[str, str]


def agreed(connection: "duckdb.DuckDBPyConnection", found: Listing, needed: set[str] | None) -> list[str]:
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
