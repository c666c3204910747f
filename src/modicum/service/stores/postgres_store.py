"""Store records in PostgreSQL; a lost connection is made again at the next write."""

import os
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from modicum.errors import DataError, ParameterError, require
from modicum.service.stores.store import (
    ARTIFACTS,
    COLUMNS,
    LISTED,
    PATIENCE,
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
    import psycopg


# A time limit for connections: a server may fall silent without closing them

_LOOKS = 4  # checks within the time limit; a thread for each wait would cost more than most waits


class Deadline:
    """End connections that are in use for too long; the code that waits for one then sees it fail.

    Parameters
    ----------
    seconds : time limit of a use; it is ended at most a quarter later

    Examples
    --------
    >>> import socket
    >>> from modicum.service.stores.postgres_store import Deadline
    >>> here, there = socket.socketpair()
    >>> deadline = Deadline(0.01)
    >>> with here, there, deadline.of(here.fileno()):
    ...     here.recv(1)
    b''
    >>> deadline.close()
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._used: tuple[int, float] | None = None
        self._closed = threading.Event()
        threading.Thread(target=self._watch, name="modicum-deadline", daemon=True).start()

    @contextmanager
    def of(self, file: int) -> Iterator[None]:
        """Use the socket with this file number, one at a time; it must stay open inside."""
        with self._lock:
            self._used = (file, time.monotonic() + self._seconds)
        try:
            yield
        finally:
            with self._lock:  # from here on another connection may have the number
                self._used = None

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()

    def _watch(self) -> None:
        while not self._closed.wait(self._seconds / _LOOKS):
            with self._lock:
                if self._used is not None and time.monotonic() >= self._used[1]:
                    _end(self._used[0])


def _end(file: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(file)) as same:  # an error: it is closed already
        same.shutdown(socket.SHUT_RDWR)


# The store

Result = TypeVar("Result")

_MAKING = 7_162_941_031  # advisory lock: two services that start at once would both make the tables
_JOINING = 7_162_941_032  # another: if two versions join the list at once, the second sees the first
_TABLES = f"""
CREATE TABLE IF NOT EXISTS {ARTIFACTS} (
    id text PRIMARY KEY, kind text NOT NULL, content json NOT NULL, first_used date NOT NULL);
CREATE TABLE IF NOT EXISTS {RECORDS} (
    id uuid PRIMARY KEY, artifact text NOT NULL, received date NOT NULL, label json, record json NOT NULL);
CREATE TABLE IF NOT EXISTS {VERSIONS} (place integer PRIMARY KEY, id text UNIQUE NOT NULL);
INSERT INTO {VERSIONS} SELECT row_number() OVER (ORDER BY artifact), artifact FROM (
    SELECT DISTINCT artifact FROM {RECORDS} WHERE NOT EXISTS (SELECT FROM {VERSIONS})) AS found;
"""
_INSERT = f"""
INSERT INTO {RECORDS} SELECT sent.* FROM
unnest(%s::uuid[], %s::text[], %s::date[], %s::text[]::json[], %s::text[]::json[]) AS sent({", ".join(COLUMNS)})
JOIN {VERSIONS} ON {VERSIONS}.id = sent.artifact
ON CONFLICT DO NOTHING
"""
_SHARED = f"SELECT id::text, artifact, received, label::text, record::text FROM {RECORDS}"
_USED = f"""
SELECT a.id, a.kind, a.content::text, a.first_used, count(r.id) FROM {ARTIFACTS} a
JOIN {VERSIONS} v ON v.id = a.id LEFT JOIN {RECORDS} r ON r.artifact = a.id
GROUP BY a.id, a.kind, a.content::text, a.first_used ORDER BY a.first_used, a.id
"""


class PostgresStore:
    """A PostgreSQL database as a store; a commit is on the server's disk when it returns.

    Parameters
    ----------
    url : postgresql://user:password@host:port/database
    patience : seconds that the server may take to answer a write
    """

    def __init__(self, url: str, patience: float = PATIENCE) -> None:
        require("psycopg", extra="serve")
        import psycopg

        self._url = url
        self._patience = patience
        self.name = _describe_url(url)
        self._deadline = Deadline(patience)
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        try:
            self._do(self._make)
        except StoreUnavailable:
            self.close()
            raise DataError(f"The store at {self.name} cannot be reached, or refuses this user.") from None
        except StoreRefused:
            self.close()
            raise DataError(
                f"The store at {self.name} cannot be used: this user may not make tables there, or it has tables with "
                "modicum's names that modicum did not make."
            ) from None

    @staticmethod
    def _make(connection: "psycopg.Connection[Any]") -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING])
        connection.execute(_TABLES)
        connection.execute(f"{_SHARED} LIMIT 0")
        connection.execute(f"{_USED} LIMIT 0")

    def _connect(self) -> "psycopg.Connection[Any]":
        if self._connection is None or self._connection.closed:
            import psycopg

            # A network that swallows what is sent would otherwise be noticed after a quarter of an hour.
            found = psycopg.connect(
                self._url, connect_timeout=5, application_name="modicum", keepalives_idle=30, tcp_user_timeout=10_000
            )
            found.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # each statement sees the newest commits
            with self._deadline.of(found.fileno()):
                self._prepare(found)
            self._connection = found
        return self._connection

    def _prepare(self, connection: "psycopg.Connection[Any]") -> None:
        """Make commits durable, and limit the time to wait for locks."""
        modes = connection.execute(
            "SELECT current_setting('synchronous_commit'), set_config('lock_timeout', %s, false)",
            [f"{max(1, int(1000 * self._patience))}ms"],
        ).fetchone()
        if modes is not None and modes[0] == "off":
            connection.execute("SET synchronous_commit = on")
        connection.commit()

    def _do(self, work: Callable[["psycopg.Connection[Any]"], Result], bounded: bool = True) -> Result:
        """Work in one transaction; if the connection fails nothing is certain, and it is made again next time.

        Parameters
        ----------
        bounded : whether the time limit applies; False for work that may read a lot
        """
        import psycopg

        with self._lock:
            try:
                connection = self._connect()
                limit = self._deadline.of(connection.fileno()) if bounded else nullcontext()
                with limit, connection.transaction():
                    return work(connection)
            except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError):  # the last: read-only
                self._drop()
                raise StoreUnavailable("The store cannot be reached now.") from None
            except psycopg.Error:
                raise StoreRefused(self.name) from None

    def write(self, entries: Sequence[Entry], other_versions: Collection[str] = ()) -> list[bool]:
        """Store all entries or none, and return which are there."""
        if not entries:
            return []
        columns = [[getattr(entry, column) for entry in entries] for column in COLUMNS]

        def work(connection: "psycopg.Connection[Any]") -> list[bool]:
            new = connection.execute(_INSERT, columns).rowcount
            if new < len(entries):  # a version was not in the list yet, or an id is taken
                _join(connection, columns[1], other_versions)
                new += connection.execute(_INSERT, columns).rowcount
            if new == len(entries):
                return match_stored(entries, None)
            rows = connection.execute(f"{_SHARED} WHERE id = ANY(%s::uuid[])", [columns[0]])
            return match_stored(entries, [Entry(*row) for row in rows])

        return self._do(work)

    def check(self, version: str, other_versions: Collection[str] = ()) -> None:
        """Return if records of a version could be stored now."""
        listed = self._do(lambda connection: connection.execute(LISTED).fetchall())
        next_place(listed, version, other_versions)

    def register(self, id: str, kind: str, content: str) -> None:
        """Store an artifact if it is new."""
        statement = f"INSERT INTO {ARTIFACTS} VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
        self._do(lambda connection: connection.execute(statement, [id, kind, content, datetime.now(UTC).date()]))

    def artifacts(self) -> list[StoredArtifact]:
        """Return the artifacts that records were collected under."""
        return [StoredArtifact(*row) for row in self._all(_USED)]

    def entries(self, artifact: str) -> list[Entry]:
        """Return the records collected under an artifact."""
        return [Entry(*row) for row in self._all(f"{_SHARED} WHERE artifact = %s ORDER BY received, id", [artifact])]

    def close(self) -> None:
        """Close the connection."""
        self._deadline.close()
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _all(self, query: Any, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._do(lambda connection: connection.execute(query, parameters).fetchall(), bounded=False)


def _join(connection: "psycopg.Connection[Any]", versions: Collection[str], other_versions: Collection[str]) -> None:
    """Add missing versions to the list; of two services, the second waits for the first one's commit.

    If all are in the list there is no lock: waiting for it while holding rows could last forever.
    """
    if set(versions) <= {id for _, id in connection.execute(LISTED).fetchall()}:
        return
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_JOINING])
    for version in sorted(set(versions)):
        place = next_place(connection.execute(LISTED).fetchall(), version, other_versions)
        if place is not None:
            connection.execute(f"INSERT INTO {VERSIONS} VALUES (%s, %s)", [place, version])


def _describe_url(url: str) -> str:
    """Describe a URL without user and password."""
    import psycopg

    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise ParameterError(
            "The store's URL cannot be parsed; write it as postgresql://user:password@host:port/database."
        ) from None
    host, port = parts.get("host") or "the local socket", parts.get("port") or 5432
    return f"{host}, port {port}, database {str(parts.get('dbname') or 'of the user')!r}"
