"""Collect under one version at a time: two generalizations of the same people together reveal more."""

from collections.abc import Collection

from modicum.errors import DataError
from modicum.service.stores.store import Store, StoredArtifact


def other_versions(store: Store, identity: str) -> list[StoredArtifact]:
    """Return the other artifacts under which the store holds records."""
    return [stored for stored in store.artifacts() if stored.id != identity]


def check_alone(store: Store, identity: str, accepted: Collection[str] = ()) -> None:
    """Refuse a store that holds records of another version ([Staab24 §5], adversary A6).

    `Store.write` refuses the same, since another version may come in later.

    Parameters
    ----------
    store : Store
    identity : identity of the artifact to collect under
    accepted : identities of other versions that were accepted after measuring them together with it

    Examples
    --------
    >>> import os, tempfile
    >>> from modicum.service.versions import check_alone
    >>> from modicum.service.stores.store import new_entry, open_store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = open_store(os.path.join(folder, "data.duckdb"))
    ...     check_alone(store, "0" * 64)
    ...     store.close()
    """
    others = [stored for stored in other_versions(store, identity) if stored.id not in accepted]
    if others:
        count = sum(stored.records for stored in others)
        raise DataError(
            f"The store {store.name!r} holds {count:,} records of {len(others)} other version"
            f"{'s' if len(others) > 1 else ''} of the generalization: someone who sees both can intersect them and "
            "learn more about a person than from either (adversary A6). Name another store, or measure this on full "
            "records with --accept-multi-breach --sample FILE."
        )
