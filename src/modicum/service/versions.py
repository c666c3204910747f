"""The versions under which a store collects: a list that a version joins with its first record, and never leaves.

Whether another version may join is decided in the transaction that keeps its first record. Stores let one version join
at a time, so that the second sees the first; two that did not wait would take the same place, which is a primary key.
"""

from collections.abc import Collection, Sequence

from modicum.service.store import OtherVersions

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
    >>> from modicum.service.versions import next_place
    >>> next_place([], "a", ()), next_place([(1, "a")], "a", ()), next_place([(1, "a")], "b", {"a"})
    (1, None, 2)
    """
    there = {id for _, id in listed}
    if version in there:
        return None
    if there - set(beside):
        raise OtherVersions("The store holds records of another version.")
    return max((place for place, _ in listed), default=0) + 1
