"""One version at a time: who sees the same people under two generalizations sees what both leave possible."""

from collections.abc import Collection

from modicum.errors import DataError
from modicum.service.stores.store import Store, StoredArtifact


def other_versions(store: Store, identity: str) -> list[StoredArtifact]:
    """The other artifacts under which the store holds records."""
    return [stored for stored in store.artifacts() if stored.id != identity]


def check_alone(store: Store, identity: str, accepted: Collection[str] = ()) -> None:
    """Refuse a store that holds records of another version ([Staab24 §5], adversary A6).

    `Store.write` refuses the same, since another version may come in later.

    Parameters
    ----------
    store : Store
    identity : of what is to be collected
    accepted : identities of other versions that were measured together with it, and accepted

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
            f"{'s' if len(others) > 1 else ''} of what is collected: whoever sees both can intersect them and learn "
            "more of a person than either tells (adversary A6); name another store, or measure it on full records with "
            "--accept-multi-breach --sample FILE."
        )
