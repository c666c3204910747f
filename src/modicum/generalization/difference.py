"""What changed from one generalization to another, attribute by attribute."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from modicum.errors import ArtifactError
from modicum.generalization.algebra import intersected
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals

if TYPE_CHECKING:
    from modicum.generalization.core import Generalization


@dataclass(frozen=True)
class Change:
    """One attribute that differs: how the second relates to the first, and both sets of bucket labels."""

    attribute: str
    relation: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    def __str__(self) -> str:
        def shown(labels: tuple[str, ...]) -> str:
            return " · ".join(labels) or "full detail"

        return f"{self.attribute} ({self.relation}): {shown(self.before)} → {shown(self.after)}"


@dataclass(frozen=True)
class Difference:
    """All changes; empty, and false, where the two generalizations put every record in the same buckets."""

    changes: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.changes)) or "no difference"

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def difference(before: "Generalization", after: "Generalization") -> Difference:
    """Compare attribute by attribute; both must speak of the same attributes."""
    if set(before.names) != set(after.names):
        only = sorted(set(before.names) ^ set(after.names))
        raise ArtifactError(f"The two generalizations differ in their attributes: {only[0]!r} is in only one of them.")
    changes = []
    for a in before.partitions:
        b = after[a.name]
        relation = _relation(a, b)
        if relation != "same":
            changes.append(Change(a.name, relation, a.labels, b.labels))
    return Difference(tuple(changes))


def _relation(a: AnyPartition, b: AnyPartition) -> str:
    first, second = _cells(a), _cells(b)
    if first == second:
        return "same" if a.labels == b.labels else "renamed"
    joint = _cells(intersected(a, b))
    return "finer" if joint == second else "coarser" if joint == first else "regrouped"


def _cells(partition: AnyPartition) -> Any:
    """What distinguishes a partition apart from labels and representatives."""
    if isinstance(partition, Intervals):
        return tuple(partition.edges.tolist()), partition.missing_code
    if isinstance(partition, Groups):
        special = (partition.unseen_code, partition.missing_code)
        named = [frozenset(bucket.values) for bucket in partition.buckets]
        taking = tuple(
            named[code] if 0 <= code < len(named) else "separate" if code >= 0 else "refuse" for code in special
        )
        return frozenset(named), taking
    assert isinstance(partition, Dropped | FullDetail)
    return type(partition).__name__
