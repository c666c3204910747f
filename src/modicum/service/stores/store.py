"""Where records are kept: three tables in DuckDB or PostgreSQL, and how to read them again.

Attribute names and categories are hostile, so that none becomes a name in SQL: a record is one JSON text, ASCII with
escapes, in which everything survives, NUL too. When a record came is kept as a day: a time of day would be a detail
about a person that nobody needs.
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
    """The store cannot be reached now; nothing that waits was kept for certain."""


class OtherVersions(StoreUnavailable):
    """The store holds records of another version, beside which this one was not accepted; nothing was kept."""


class StoreRefused(DataError):
    """The database rejects the request; nothing was kept, and to try again does not help."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"The store {name!r} rejected the request: a record is malformed, or its tables are not as modicum made "
            "them."
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """One record as it is kept: `label` and `record` are JSON."""

    id: str
    artifact: str
    received: date
    label: str | None
    record: str

    @property
    def content(self) -> tuple[str, str | None, str]:
        """All that was sent."""
        return self.artifact, self.label, self.record


@dataclass(frozen=True)
class StoredArtifact:
    """An artifact under which records were collected, and how many they are."""

    id: str
    kind: str
    content: str
    first_used: date
    records: int


class Store(Protocol):
    """What the service needs of a database. Messages name the store, never what is in it."""

    name: str

    def write(self, entries: Sequence[Entry], beside: Collection[str] = ()) -> list[bool]:
        """Keep all that have a new id, or none: durable on return, else `StoreUnavailable` or `StoreRefused`.

        Says of each whether it is there: False where its id belongs to another. `OtherVersions` where the store holds
        records of versions other than the entries' own that are not among those that it may be `beside`; a version
        whose records are there already goes on.
        """
        ...

    def check(self, version: str, beside: Collection[str] = ()) -> None:
        """Return if records of a version could be kept now, else fail as `write` would."""
        ...

    def register(self, id: str, kind: str, content: str) -> None:
        """Keep an artifact, if it is new."""
        ...

    def artifacts(self) -> list[StoredArtifact]:
        """The artifacts that records were collected under, also where these were deleted since."""
        ...

    def entries(self, artifact: str) -> list[Entry]:
        """The records collected under an artifact, by day, in an order that says nothing more."""
        ...

    def close(self) -> None:
        """Let go of the database."""
        ...


def open_store(place: str, patience: float = PATIENCE) -> Store:
    """The store at a DuckDB file, which is made where there is none, or at a PostgreSQL URL.

    Parameters
    ----------
    place : a path, or postgresql://user:password@host:port/database
    patience : seconds that a server may take to answer when something is written

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
    """A record with a random name, received today; the name follows from the random id that was sent, if one was."""
    name = str(uuid.uuid4()) if sent is None else derive_name(sent)
    kept = None if label is None else json.dumps(label, allow_nan=False)
    return Entry(name, artifact, datetime.now(UTC).date(), kept, json.dumps(record, allow_nan=False))


def derive_name(sent: str) -> str:
    """The name of a record that was sent under an id, always the same.

    It does not lead back to the id: who sees a receipt or the store cannot send guesses under that id, and learn from
    the answer which of them is what was kept.

    Examples
    --------
    >>> from modicum.service.stores.store import derive_name
    >>> derive_name("1b4e28ba-2fa1-4d2e-883f-0016d3cca427")
    'b1549d01-83b4-44ef-889e-7c3406afb768'
    """
    return str(uuid.UUID(bytes=hashlib.sha256(f"modicum record {sent}".encode()).digest()[:16], version=4))


def are_there(entries: Sequence[Entry], found: Iterable[Entry] | None) -> list[bool]:
    """Which entries are in a store that holds these of the same names; None where all of them were new."""
    if found is None:
        return [True] * len(entries)
    there = {entry.id: entry.content for entry in found}
    return [there.get(entry.id) == entry.content for entry in entries]


def artifact_of(stored: StoredArtifact) -> Collected:
    """The artifact again."""
    return with_content(stored.kind, json.loads(stored.content), "The store")


def read_records(store: Store, artifact: Collected) -> tuple[pd.DataFrame, pd.Series]:
    """What was collected under an artifact, as a model is trained on it, and the outcomes (None where there is none).

    Returns
    -------
    frame, series : as `artifact.transform` has it, of labels; of a questionnaire's records, which differ in what they
        tell, the values that a model is given. Both are indexed by the records' names.

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
    kept = store.entries(identity(artifact))
    format = record_format(artifact)
    told = [format.check(json.loads(entry.record)) for entry in kept]
    names = pd.Index([entry.id for entry in kept], name="id", dtype=object)
    Z = format.inputs(told, "values" if isinstance(artifact, Questionnaire) else "labels").set_index(names)
    labels = [None if entry.label is None else json.loads(entry.label) for entry in kept]
    return Z, pd.Series(labels, index=names, name="label", dtype=None if labels else object)


# The versions under which a store collects: a list that a version joins with its first record, and never leaves.
#
# Whether another version may join is decided in the transaction that keeps its first record. Stores let one version
# join
# at a time, so that the second sees the first; two that did not wait would take the same place, which is a primary key.

VERSIONS = "modicum_versions"
LISTED = f"SELECT place, id FROM {VERSIONS}"


def next_place(listed: Sequence[tuple[int, str]], version: str, beside: Collection[str]) -> int | None:
    """The place that a version takes in the list; None where it is there, `OtherVersions` where it may not join.

    Parameters
    ----------
    listed : places and versions that are there
    version : the one that is collected
    beside : other versions beside which it may be

    Examples
    --------
    >>> from modicum.service.stores.store import next_place
    >>> next_place([], "a", ()), next_place([(1, "a")], "a", ()), next_place([(1, "a")], "b", {"a"})
    (1, None, 2)
    """
    there = {id for _, id in listed}
    if version in there:
        return None
    if there - set(beside):
        raise OtherVersions("The store holds records of another version.")
    return max((place for place, _ in listed), default=0) + 1
