"""Records in PostgreSQL; a connection that is lost is made again at the next write."""

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from modicum.errors import DataError, ParameterError, require
from modicum.service.store import ARTIFACTS, COLUMNS, RECORDS, Entry, StoredArtifact, StoreUnavailable, are_there

if TYPE_CHECKING:
    import psycopg

Result = TypeVar("Result")

_MAKING = 7_162_941_031  # an advisory lock: two services that start at once would both make the tables
_TABLES = f"""
CREATE TABLE IF NOT EXISTS {ARTIFACTS} (
    id text PRIMARY KEY, kind text NOT NULL, content json NOT NULL, first_used date NOT NULL);
CREATE TABLE IF NOT EXISTS {RECORDS} (
    id uuid PRIMARY KEY, artifact text NOT NULL, received date NOT NULL, label json, record json NOT NULL);
"""
_INSERT = f"""
INSERT INTO {RECORDS}
SELECT * FROM unnest(%s::uuid[], %s::text[], %s::date[], %s::text[]::json[], %s::text[]::json[])
ON CONFLICT DO NOTHING RETURNING id
"""
_SHARED = f"SELECT id::text, artifact, received, label::text, record::text FROM {RECORDS}"
_USED = f"""
SELECT a.id, a.kind, a.content::text, a.first_used, count(r.id) FROM {ARTIFACTS} a JOIN {RECORDS} r
ON r.artifact = a.id GROUP BY a.id, a.kind, a.content::text, a.first_used ORDER BY a.first_used, a.id
"""


class PostgresStore:
    """A PostgreSQL database as a store; a commit is on the server's disk when it returns.

    Parameters
    ----------
    url : postgresql://user:password@host:port/database
    """

    def __init__(self, url: str) -> None:
        require("psycopg", extra="serve")
        import psycopg

        self._url = url
        self.name = _shown(url)
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[Any] | None = None
        try:
            self._do(self._make)
        except StoreUnavailable:
            raise DataError(f"The store at {self.name} cannot be reached, or does not let this user in.") from None
        except psycopg.Error:
            self.close()
            raise DataError(
                f"The store at {self.name} cannot be used: this user may not make tables there, or there are tables of "
                "these names that modicum did not make."
            ) from None

    @staticmethod
    def _make(connection: "psycopg.Connection[Any]") -> None:
        connection.execute("SELECT pg_advisory_xact_lock(%s)", [_MAKING])
        connection.execute(_TABLES)
        connection.execute(f"{_SHARED} LIMIT 0")
        connection.execute(f"{_USED} LIMIT 0")

    def _connected(self) -> "psycopg.Connection[Any]":
        if self._connection is None or self._connection.closed:
            import psycopg

            # A network that swallows what is sent would otherwise be noticed after a quarter of an hour.
            found = psycopg.connect(
                self._url, connect_timeout=5, application_name="modicum", keepalives_idle=30, tcp_user_timeout=10_000
            )
            mode = found.execute("SHOW synchronous_commit").fetchone()
            if mode == ("off",):  # a commit would return before it is on disk
                found.execute("SET synchronous_commit = on")
            found.commit()
            self._connection = found
        return self._connection

    def _do(self, work: Callable[["psycopg.Connection[Any]"], Result]) -> Result:
        """Work in one transaction; where the connection fails nothing is certain, and it is made again next time."""
        import psycopg

        with self._lock:
            try:
                connection = self._connected()
                with connection.transaction():
                    return work(connection)
            except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError):  # the last: read-only
                self._drop()
                raise StoreUnavailable("The store cannot be reached now.") from None

    def write(self, entries: Sequence[Entry]) -> list[bool]:
        """Keep all of them or none, and say which are there."""
        if not entries:
            self._all("SELECT 1")
            return []
        columns = [[getattr(entry, column) for entry in entries] for column in COLUMNS]
        new = self._all(_INSERT, columns)
        ids = columns[0] if len(new) < len(entries) else []
        return are_there(entries, self._found("id = ANY(%s::uuid[])", ids) if ids else None)

    def register(self, id: str, kind: str, content: str) -> None:
        """Keep an artifact, if it is new."""
        statement = f"INSERT INTO {ARTIFACTS} VALUES (%s, %s, %s, %s) ON CONFLICT DO NOTHING"
        self._do(lambda connection: connection.execute(statement, [id, kind, content, datetime.now(UTC).date()]))

    def artifacts(self) -> list[StoredArtifact]:
        """The artifacts that records were collected under."""
        return [StoredArtifact(*row) for row in self._all(_USED)]

    def entries(self, artifact: str) -> list[Entry]:
        """The records collected under an artifact."""
        return self._found("artifact = %s ORDER BY received, id", artifact)

    def _found(self, condition: str, parameter: Any) -> list[Entry]:
        return [Entry(*row) for row in self._all(f"{_SHARED} WHERE {condition}", [parameter])]

    def close(self) -> None:
        """Let go of the connection."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _all(self, query: Any, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._do(lambda connection: connection.execute(query, parameters).fetchall())


def _shown(url: str) -> str:
    """Where a URL leads, without who goes there and how they get in."""
    import psycopg

    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise ParameterError(
            "The store's URL cannot be read; it is written postgresql://user:password@host:port/database."
        ) from None
    host, port = parts.get("host") or "the local socket", parts.get("port") or 5432
    return f"{host}, port {port}, database {str(parts.get('dbname') or 'of the user')!r}"
