"""Store records in three tables of DuckDB or PostgreSQL, and read them again.

Attribute names and categories are untrusted, so none becomes a name in SQL: a record is one JSON text, ASCII with
escapes, which preserves everything, even NUL. Only the day is stored on which a record came: nobody needs the time.
"""

import hashlib
import json
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Protocol

import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.generalization import Questionnaire
from modicum.generalization.loading import Collected, with_content
from modicum.generalization.record_format import record_format
from modicum.provenance import identity

RECORDS, ARTIFACTS = "modicum_records", "modicum_artifacts"
PATIENCE = 10.0  # seconds that a store may take to answer
COLUMNS = ("id", "artifact", "received", "label", "record")


class StoreUnavailable(Exception):
    """The store cannot be reached now; it is not certain whether anything that waits was stored."""


class OtherVersions(StoreUnavailable):
    """The store holds records of another version that was not accepted; nothing was stored."""


class StoreRefused(DataError):
    """The database rejects the request; nothing was stored, and to try again does not help."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The store {name!r} rejected the request: a record is malformed, or its tables are not as modicum made "
            "them."
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One record as stored; `label` and `record` are JSON."""

    id: str
    artifact: str
    received: date
    label: str | None
    record: str

    @property
    def content(self) -> tuple[str, str | None, str]:
        """Everything that was sent."""
        return self.artifact, self.label, self.record


@dataclass(frozen=True)
class StoredArtifact:
    """An artifact under which records were collected, and their number."""

    id: str
    kind: str
    content: str
    first_used: date
    records: int


class Store(Protocol):
    """What the service needs of a database. Messages name the store, never its content."""

    name: str

    def write(self, entries: Sequence[Entry], other_versions: Collection[str] = ()) -> list[bool]:
        """Store all entries with a new id, or none: durable on return, else `StoreUnavailable` or `StoreRefused`.

        Return for each whether it is stored: False if its id belongs to another record. Raise `OtherVersions` if the
        store holds records of versions that are neither the entries' own nor in `other_versions`; a version that
        already has records there may go on.
        """
        ...

    def check(self, version: str, other_versions: Collection[str] = ()) -> None:
        """Return if records of a version could be stored now, else fail as `write` would."""
        ...

    def register(self, id: str, kind: str, content: str) -> None:
        """Store an artifact if it is new."""
        ...

    def artifacts(self) -> list[StoredArtifact]:
        """Return the artifacts that records were collected under, even if the records were deleted since."""
        ...

    def entries(self, artifact: str) -> list[Entry]:
        """Return the records collected under an artifact, ordered by day and then by their random names."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...


def open_store(place: str, patience: float = PATIENCE) -> Store:
    """Open a store: a DuckDB file, which is made if it does not exist, or a PostgreSQL URL.

    Parameters
    ----------
    place : a path, or postgresql://user:password@host:port/database
    patience : seconds that a server may take to answer a write

    Examples
    --------
    >>> import os, tempfile
    >>> from modicum.service.stores.store import new_entry, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(os.path.join(folder, "data.duckdb"))
    ...     there = store.write([new_entry("0" * 64, {"age": "≥ 51"}, "yes")])
    ...     kept = store.entries("0" * 64)
    ...     store.close()
    >>> kept[0].record, kept[0].label
    ('{"age": "\\\\u2265 51"}', '"yes"')
    """
    if place.startswith(("postgresql://", "postgres://")):
        from modicum.service.stores.postgres_store import PostgresStore

        return PostgresStore(place, patience)
    if "://" in place or not place:
        raise ParameterError("The store must be a DuckDB file or a URL that begins with postgresql://.")
    from modicum.service.stores.duckdb_store import DuckDBStore

    return DuckDBStore(place)


def new_entry(artifact: str, record: Mapping[str, object], label: Any = None, sent: str | None = None) -> Entry:
    """Return an entry received today, with a random name; if a random id was sent, the name is derived from it."""
    name = str(uuid.uuid4()) if sent is None else derive_name(sent)
    outcome = None if label is None else json.dumps(label, allow_nan=False)
    return Entry(name, artifact, datetime.now(UTC).date(), outcome, json.dumps(record, allow_nan=False))


def derive_name(sent: str) -> str:
    """Return the name of a record that was sent under an id, always the same.

    It does not reveal the id: someone who sees a receipt or the store cannot send guesses under that id and learn from
    the answers which one was stored.

    Examples
    --------
    >>> from modicum.service.stores.store import derive_name
    >>> derive_name("1b4e28ba-2fa1-4d2e-883f-0016d3cca427")
    'b1549d01-83b4-44ef-889e-7c3406afb768'
    """
    return str(uuid.UUID(bytes=hashlib.sha256(f"modicum record {sent}".encode()).digest()[:16], version=4))


def match_stored(entries: Sequence[Entry], found: Iterable[Entry] | None) -> list[bool]:
    """Return which entries are stored, given the stored ones with the same names (None if all entries were new)."""
    if found is None:
        return [True] * len(entries)
    there = {entry.id: entry.content for entry in found}
    return [there.get(entry.id) == entry.content for entry in entries]


def artifact_of(stored: StoredArtifact) -> Collected:
    """Load a stored artifact."""
    return with_content(stored.kind, json.loads(stored.content), "The store")


def read_records(store: Store, artifact: Collected) -> tuple[pd.DataFrame, pd.Series]:
    """Return the records collected under an artifact, to train a model on, and the outcomes (None if none was sent).

    Returns
    -------
    frame, series : labels, as `artifact.transform` returns them; for a questionnaire, whose records differ in what they
        contain, the values that a model receives. Both are indexed by the records' names.

    Examples
    --------
    >>> import os, tempfile, pandas as pd, modicum as md
    >>> from modicum.provenance import identity
    >>> from modicum.service.stores.store import new_entry, open_store, read_records
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(os.path.join(folder, "data.duckdb"))
    ...     there = store.write([new_entry(identity(g), {"age": "≥ 51"}, "yes")])
    ...     Z, y = read_records(store, g)
    ...     store.close()
    >>> Z["age"].tolist(), y.tolist()
    (['≥ 51'], ['yes'])
    """
    entries = store.entries(identity(artifact))
    format = record_format(artifact)
    records = [format.check(json.loads(entry.record)) for entry in entries]
    names = pd.Index([entry.id for entry in entries], name="id", dtype=object)
    Z = format.inputs(records, "values" if isinstance(artifact, Questionnaire) else "labels").set_index(names)
    labels = [None if entry.label is None else json.loads(entry.label) for entry in entries]
    return Z, pd.Series(labels, index=names, name="label", dtype=None if labels else object)


# The versions under which a store collects: a version joins the list with its first record, and never leaves it.
#
# The transaction that stores a version's first record decides whether it may join. One version joins at a time, so that
# the second sees the first; otherwise both would take the same place, which is a primary key.

VERSIONS = "modicum_versions"
LISTED = f"SELECT place, id FROM {VERSIONS}"


def next_place(listed: Sequence[tuple[int, str]], version: str, other_versions: Collection[str]) -> int | None:
    """Return the place that a version takes in the list; None if it is listed, `OtherVersions` if it may not join.

    Parameters
    ----------
    listed : places and versions in the list
    version : the version to collect under
    other_versions : other versions that the store may hold

    Examples
    --------
    >>> from modicum.service.stores.store import next_place
    >>> next_place([], "a", ()), next_place([(1, "a")], "a", ()), next_place([(1, "a")], "b", {"a"})
    (1, None, 2)
    """
    there = {id for _, id in listed}
    if version in there:
        return None
    if there - set(other_versions):
        raise OtherVersions("The store holds records of another version.")
    return max((place for place, _ in listed), default=0) + 1
