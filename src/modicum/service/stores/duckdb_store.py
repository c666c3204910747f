"""Store records in a DuckDB file, which only one program at a time may open."""

import os
import threading
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakValueDictionary

from modicum.errors import DataError
from modicum.service.stores.store import (
    ARTIFACTS,
    COLUMNS,
    LISTED,
    RECORDS,
    VERSIONS,
    Entry,
    StoredArtifact,
    StoreRefused,
    StoreUnavailable,
    match_stored,
    next_place,
)

if TYPE_CHECKING:
    import duckdb


Result = TypeVar("Result")

_TABLES = f"""
CREATE TABLE IF NOT EXISTS {ARTIFACTS} (
    id VARCHAR PRIMARY KEY, kind VARCHAR NOT NULL, content JSON NOT NULL, first_used DATE NOT NULL);
CREATE TABLE IF NOT EXISTS {RECORDS} (
    id UUID PRIMARY KEY, artifact VARCHAR NOT NULL, received DATE NOT NULL, label JSON, record JSON NOT NULL);
CREATE TABLE IF NOT EXISTS {VERSIONS} (place INTEGER PRIMARY KEY, id VARCHAR UNIQUE NOT NULL);
INSERT INTO {VERSIONS} SELECT row_number() OVER (ORDER BY artifact), artifact FROM (
    SELECT DISTINCT artifact FROM {RECORDS} WHERE NOT EXISTS (SELECT 1 FROM {VERSIONS}));
"""
_INSERT = f"""
INSERT INTO {RECORDS} SELECT unnest(?::UUID[]), unnest(?::VARCHAR[]), unnest(?::DATE[]), unnest(?::JSON[]),
    unnest(?::JSON[])
"""
_SHARED = f"SELECT {', '.join(COLUMNS)} FROM {RECORDS}"
_USED = f"""
SELECT a.id, a.kind, a.content, a.first_used, count(r.id) FROM {ARTIFACTS} a JOIN {VERSIONS} v ON v.id = a.id
LEFT JOIN {RECORDS} r ON r.artifact = a.id GROUP BY ALL ORDER BY a.first_used, a.id
"""
_CONFIG = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false", "threads": "1"}
_locks: "WeakValueDictionary[str, threading.Lock]" = WeakValueDictionary()
_locks_lock = threading.Lock()


class DuckDBStore:
    """A DuckDB file as a store; a commit is on disk when it returns.

    Parameters
    ----------
    path : path of the file, which is made if it does not exist; its folder is not
    """

    def __init__(self, path: str) -> None:
        self.name = os.path.basename(path)
        self._path = os.path.realpath(path)
        self._lock = _lock_of(self._path)
        self._listed: set[str] = set()  # versions known to be in the list; they never leave it
        self._connection: duckdb.DuckDBPyConnection | None = None
        with self._lock:
            self._connection = self._prepare(self._open(path))

    def _prepare(self, connection: "duckdb.DuckDBPyConnection") -> "duckdb.DuckDBPyConnection":
        """Make missing tables, and check that modicum made the others."""
        try:
            connection.execute(_TABLES)
            connection.execute(f"{_SHARED} LIMIT 0")
            connection.execute(f"{_USED} LIMIT 0")
        except Exception:
            connection.close()
            raise DataError(
                f"The store {self.name!r} has tables with modicum's names that modicum did not make."
            ) from None
        return connection

    def _open(self, path: str) -> "duckdb.DuckDBPyConnection":
        import duckdb

        if os.path.isdir(path) or not os.path.isdir(os.path.dirname(os.path.abspath(path))):
            reason = "it is a folder" if os.path.isdir(path) else "its folder does not exist"
            raise DataError(f"The store {path!r} cannot be opened: {reason}.")
        _check_kind(path)
        try:
            return duckdb.connect(self._path, config=dict(_CONFIG))
        except (duckdb.Error, ValueError) as error:
            raise DataError(f"The store {path!r} cannot be opened: {_reason(str(error))}.") from None

    def write(self, entries: Sequence[Entry], other_versions: Collection[str] = ()) -> list[bool]:
        """Store all entries or none, and return which are there."""
        if not entries:
            return []
        columns = [[getattr(entry, column) for entry in entries] for column in COLUMNS]
        versions = set(columns[1])
        try:
            if versions <= self._listed:
                self._all(_INSERT, columns)  # a transaction of its own
            else:
                self._write_first(versions, other_versions, columns)
        except StoreRefused:  # rare: an id is taken; a check each time would halve the speed
            self._write_first(versions, other_versions, columns, "ON CONFLICT DO NOTHING")
            return match_stored(entries, self._find_entries("id IN (SELECT unnest(?::UUID[]))", columns[0]))
        return match_stored(entries, None)

    def _write_first(
        self, versions: set[str], other_versions: Collection[str], columns: list[Any], rest: str = ""
    ) -> None:
        """Store the first records of some versions, and add the versions to the list."""

        def work(connection: "duckdb.DuckDBPyConnection") -> None:
            for version in sorted(versions):
                listed = connection.execute(LISTED).fetchall()
                place = next_place(listed, version, other_versions)
                if place is not None:
                    connection.execute(f"INSERT INTO {VERSIONS} VALUES (?, ?)", [place, version])
            connection.execute(f"{_INSERT} {rest}", columns)

        self._do(work)
        self._listed |= versions

    def check(self, version: str, other_versions: Collection[str] = ()) -> None:
        """Return if records of a version could be stored now."""
        next_place(self._all(LISTED), version, other_versions)

    def register(self, id: str, kind: str, content: str) -> None:
        """Store an artifact if it is new."""
        statement = f"INSERT INTO {ARTIFACTS} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        self._all(statement, [id, kind, content, datetime.now(UTC).date()])

    def artifacts(self) -> list[StoredArtifact]:
        """Return the artifacts that records were collected under."""
        return [StoredArtifact(*row) for row in self._all(_USED)]

    def entries(self, artifact: str) -> list[Entry]:
        """Return the records collected under an artifact."""
        return self._find_entries("artifact = ? ORDER BY received, id", artifact)

    def _find_entries(self, condition: str, parameter: Any) -> list[Entry]:
        return [Entry(str(row[0]), *row[1:]) for row in self._all(f"{_SHARED} WHERE {condition}", [parameter])]

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def _all(self, query: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._use_connection(lambda connection: connection.execute(query, list(parameters)).fetchall())

    def _do(self, work: Callable[["duckdb.DuckDBPyConnection"], Result]) -> Result:
        """Work in one transaction."""

        def whole(connection: "duckdb.DuckDBPyConnection") -> Result:
            connection.begin()
            try:
                result = work(connection)
                connection.commit()
            except Exception:
                with suppress(Exception):  # a failed commit has ended it already
                    connection.rollback()
                raise
            return result

        return self._use_connection(whole)

    def _use_connection(self, work: Callable[["duckdb.DuckDBPyConnection"], Result]) -> Result:
        """Work with the lock held; after an error that DuckDB does not recover from, open the file again next time."""
        import duckdb

        with self._lock:
            try:
                self._connection = self._connection or self._open(self._path)
                return work(self._connection)
            except duckdb.FatalException:  # such as a full disk during a checkpoint
                self._drop()
                raise StoreUnavailable("The store cannot be used now.") from None
            except (duckdb.OperationalError, DataError):
                raise StoreUnavailable("The store cannot be used now.") from None
            except duckdb.Error:
                raise StoreRefused(self.name) from None

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _lock_of(path: str) -> threading.Lock:
    """Return the lock of a file, which all stores of this process share.

    Another process cannot open the file, but DuckDB lets several connections of one process work in parallel. Of two
    that write the same, the second gets an error; with the lock it waits, and sees what the first has written.
    """
    with _locks_lock:
        return _locks.setdefault(path, threading.Lock())


def _check_kind(path: str) -> None:
    """Refuse a file of another kind: DuckDB opens some, but then keeps writes in memory only."""
    try:
        with open(path, "rb") as file:
            start = file.read(12)
    except FileNotFoundError:
        return
    except OSError as error:
        raise DataError(f"The store {path!r} cannot be opened: {error.strerror}.") from None
    if start[8:] != b"DUCK":
        raise DataError(f"The store {path!r} cannot be opened: it is not a DuckDB file.")


def _reason(message: str) -> str:
    """Say why a file cannot be opened; DuckDB's own messages contain paths and process numbers."""
    if "lock" in message:
        return "another program has it open"
    if "not a valid DuckDB database" in message:
        return "it is not a DuckDB file"
    return "it cannot be read and written, or another version of DuckDB wrote it"
