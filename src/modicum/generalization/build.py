"""Build partitions from edges, groups of values, codes or other partitions; compare two generalizations."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from modicum.errors import ArtifactError, check_words, format_names
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Group, Groups, Interval, Intervals, Scalar
from modicum.table.codes import CategoryCoding, Coding, NumberCoding, usual_code, weighted_median
from modicum.table.schema import Attribute, first_complaint
from modicum.table.values import canonical, iso

if TYPE_CHECKING:
    from modicum.generalization.core import Generalization


def intervals(
    attribute: Attribute,
    edges: Sequence[float],
    *,
    values: Sequence[Scalar] | None = None,
    usual: Scalar = None,
    missing_in: int | None = None,
) -> Intervals:
    """Build the partition of a number or date from its edges; `missing_in` is the bucket that takes missing values.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.build import intervals
    >>> age = Attribute(name="age", kind="number", storage="integer")
    >>> intervals(age, [19.5, 63.5]).labels
    ('≤ 19', '20–63', '≥ 64', '(missing)')
    """
    ends: list[float | str | None] = [iso(edge) if attribute.kind == "date" else float(edge) for edge in edges]
    buckets = [
        Interval(
            up_to=end,
            value=None if values is None else values[i],
            takes=("missing",) if missing_in == i else (),
        )
        for i, end in enumerate([*ends, None])
    ]
    return Intervals(attribute=attribute, buckets=tuple(buckets), value=usual)


def groups(
    attribute: Attribute,
    members: Sequence[Sequence[str]],
    *,
    values: Sequence[Scalar] | None = None,
    usual: Scalar = None,
    missing_in: int | None = None,
) -> Groups:
    """Build the partition of a category from groups of values; `missing_in` is the group that takes missing values.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.build import groups
    >>> job = Attribute(name="job", kind="category")
    >>> groups(job, [["nurse", "doctor"], ["clerk"]]).labels
    ('nurse | doctor', 'clerk', '(other)', '(missing)')
    """
    buckets = [
        Group(
            values=tuple(group),
            value=None if values is None else values[i],
            takes=("missing",) if missing_in == i else (),
        )
        for i, group in enumerate(members)
    ]
    return Groups(attribute=attribute, buckets=tuple(buckets), value=usual)


def drop(coding: Coding, stands: int | None = None) -> Dropped:
    """Build the partition of an attribute that is not collected; `stands` is the code that represents it.

    By default it is the usual code.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.build import drop
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"job": ["nurse", "clerk", "nurse"]})
    >>> drop(Coder.fit(X, md.Schema.infer(X)).codings[0]).value
    'nurse'
    """
    return Dropped(attribute=coding.attribute, value=_usual(coding) if stands is None else value_of(coding, stands))


def keep(coding: Coding) -> AnyPartition:
    """Build the partition of an attribute that is collected in full detail.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.build import keep
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"job": ["nurse", "clerk", "nurse"]})
    >>> keep(Coder.fit(X, md.Schema.infer(X)).codings[0]).labels
    ('clerk', 'nurse', '(other)', '(missing)')
    """
    if isinstance(coding, NumberCoding):
        return FullDetail(attribute=coding.attribute, value=_usual(coding))
    return groups(attach_order(coding), [[value] for value in coding.values], usual=_usual(coding))


def partition(coding: Coding, bucket_of: npt.ArrayLike, stands: Mapping[int, int] | None = None) -> AnyPartition:
    """Build the partition in which codes with the same number share a bucket; if all do, the attribute is dropped.

    `bucket_of` has one entry per value, and one more for missing if the data for fitting had missing values. Each
    bucket of an ordered attribute must hold consecutive values. `stands` maps a bucket to the code that represents it;
    the default is its median, or its most frequent category.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.build import partition
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"job": ["clerk", "nurse", "smith"]})
    >>> partition(Coder.fit(X, md.Schema.infer(X)).codings[0], [0, 1, 1]).labels
    ('clerk', 'nurse | smith', '(other)', '(missing)')
    """
    own = np.asarray(bucket_of)[: coding.n_values]
    missing = int(np.asarray(bucket_of)[coding.n_values]) if coding.missing else None
    kinds = {*own.tolist(), *([] if missing is None else [missing])}
    if len(kinds) == 1:
        return drop(coding, None if stands is None else stands[kinds.pop()])
    order = list(dict.fromkeys(own.tolist()))
    joins = order.index(missing) if missing in order else None
    members = [np.flatnonzero(own == bucket) for bucket in order]
    chosen = [middle_code(coding, group) for group in members] if stands is None else [stands[b] for b in order]
    values = [value_of(coding, code) for code in chosen]
    if isinstance(coding, NumberCoding):
        edges = coding.edges[[int(group[-1]) for group in members[:-1]]].tolist()
        return intervals(coding.attribute, edges, values=values, usual=_usual(coding), missing_in=joins)
    named = [[coding.values[i] for i in group] for group in members]
    return groups(attach_order(coding), named, values=values, usual=_usual(coding), missing_in=joins)


def middle_code(coding: Coding, codes: npt.NDArray[np.intp]) -> int:
    """Return the code that best represents several codes: their median, or the most frequent category."""
    counts = coding.counts[codes]
    return int(codes[weighted_median(counts) if isinstance(coding, NumberCoding) else np.argmax(counts)])


def value_of(coding: Coding, code: int) -> Scalar:
    """Return the value that represents a code, as an artifact writes it; None for missing."""
    if code >= coding.n_values:
        return None
    return coding.values[code] if isinstance(coding, CategoryCoding) else plain(coding.typical[code], coding.attribute)


def attach_order(coding: CategoryCoding) -> Attribute:
    """Add the order of an ordered attribute to it as its domain."""
    attribute = coding.attribute
    if attribute.kind != "ordered" or attribute.domain is not None:
        return attribute
    return attribute.model_copy(update={"domain": coding.values})


def _usual(coding: Coding) -> Scalar:
    return value_of(coding, usual_code(coding))


def plain(value: float, attribute: Attribute) -> Scalar:
    """Write a float as the artifact does: as a whole number, a decimal or an ISO date."""
    if attribute.kind == "date":
        return iso(float(value))
    return int(value) if attribute.storage == "integer" and float(value).is_integer() else float(value)


# Partitions made from partitions: merge buckets, split one, intersect two.


def merge_buckets(partition: AnyPartition, labels: Sequence[str], label: str | None) -> AnyPartition:
    """Merge the named buckets; with `(other)` or `(missing)`, the merged bucket takes those values."""
    check_words(label=label)
    if label == "":
        raise ArtifactError("A bucket's label cannot be empty text.")
    if not isinstance(partition, Intervals | Groups):
        raise ArtifactError(f"The attribute {partition.name!r} has no buckets to merge; it is {partition.action}.")
    unknown = [name for name in labels if name not in partition.labels]
    if unknown:
        raise ArtifactError(
            f"The attribute {partition.name!r} has no bucket {unknown[0]!r}; it has {format_names(partition.labels)}."
        )
    codes = sorted(partition.labels.index(name) for name in labels)
    own = [code for code in codes if code < partition.n_buckets]
    if not own:
        raise ArtifactError(
            f"Merging buckets of {partition.name!r} needs at least one other than (other) and (missing)."
        )
    if isinstance(partition, Intervals) and own != list(range(own[0], own[-1] + 1)):
        raise ArtifactError(f"Only neighbouring buckets of {partition.name!r} can be merged, as they are ordered.")
    joined = _join_buckets(partition, own, label, codes)
    buckets: tuple[Interval | Group, ...] = partition.buckets
    rest = [bucket for code, bucket in enumerate(buckets) if code not in own]
    return _replace_buckets(partition, (*rest[: own[0]], joined, *rest[own[0] :]))


def _join_buckets(
    partition: Intervals | Groups, own: Sequence[int], label: str | None, codes: Sequence[int]
) -> Interval | Group:
    """Join the buckets `own`; the result takes unseen or missing values if their code is among `codes`."""
    value = partition.buckets[own[0]].value
    missing: tuple[Literal["missing"], ...] = ("missing",) if partition.missing_code in codes else ()
    if isinstance(partition, Intervals):
        return Interval(up_to=partition.buckets[own[-1]].up_to, value=value, label=label, takes=missing)
    unseen: tuple[Literal["unseen"], ...] = ("unseen",) if partition.unseen_code in codes else ()
    members = tuple(member for code in own for member in partition.buckets[code].values)
    return Group(values=members, value=value, label=label, takes=(*unseen, *missing))


def _replace_buckets(partition: Intervals | Groups, buckets: Sequence[Interval | Group]) -> AnyPartition:
    fields = {name: getattr(partition, name) for name in type(partition).model_fields}
    try:
        return type(partition)(**fields | {"buckets": tuple(buckets)})
    except ValidationError as error:
        reason = first_complaint(error, fields)
        raise ArtifactError(f"The attribute {partition.name!r} cannot be changed in this way: {reason}.") from None


def refine_buckets(partition: AnyPartition, at: float | str | Sequence[str]) -> AnyPartition:
    """Split a number's bucket at a new edge, or move the named categories into a bucket of their own."""
    if isinstance(partition, Intervals):
        return _refine_intervals(partition, at)
    if isinstance(partition, Groups):
        if isinstance(at, int | float):
            raise ArtifactError(f"The attribute {partition.name!r} is a category; name the values to split off.")
        return _refine_groups(partition, [at] if isinstance(at, str) else list(at))
    raise ArtifactError(f"The attribute {partition.name!r} has no buckets to split; it is {partition.action}.")


def _refine_intervals(partition: Intervals, at: float | str | Sequence[str]) -> AnyPartition:
    if not isinstance(at, str | int | float):
        raise ArtifactError(f"The attribute {partition.name!r} can only be split at a single value.")
    try:
        edge = partition.as_number(at)
    except ValueError as error:
        raise ArtifactError(f"The attribute {partition.name!r} cannot be split there: {error}.") from None
    position = int((partition.edges < edge).sum())
    old = partition.buckets[position]
    value = None if old.value is None else partition.as_number(old.value)
    below = Interval(up_to=at, value=old.value if value is not None and value <= edge else None, takes=old.takes)
    above = Interval(up_to=old.up_to, value=old.value if value is not None and value > edge else None)
    return _replace_buckets(
        partition, (*partition.buckets[:position], below, above, *partition.buckets[position + 1 :])
    )


def _refine_groups(partition: Groups, values: Sequence[str]) -> AnyPartition:
    wanted = [canonical(value) for value in values]
    source = {partition.code_of.get(value, -1) for value in wanted}
    if len(source) != 1 or -1 in source:
        raise ArtifactError(f"The values to split off from {partition.name!r} must all be in one of its buckets.")
    old = partition.buckets[next(iter(source))]
    rest = tuple(value for value in old.values if value not in wanted)
    if not rest:
        return partition
    parts = [
        old.model_copy(update={"values": rest, "value": old.value if old.value in rest else None, "label": None}),
        Group(values=tuple(v for v in old.values if v in wanted), value=old.value if old.value in wanted else None),
    ]
    parts.sort(key=lambda group: old.values.index(group.values[0]))
    position = next(iter(source))
    return _replace_buckets(partition, (*partition.buckets[:position], *parts, *partition.buckets[position + 1 :]))


def intersect_partitions(a: AnyPartition, b: AnyPartition) -> AnyPartition:
    """Intersect two partitions: what an adversary who saw both knows ([Staab24 §5], A6)."""
    if a.attribute.kind != b.attribute.kind:
        raise ArtifactError(
            f"The attribute {a.name!r} is a {a.attribute.kind} in one and a {b.attribute.kind} in the other."
        )
    if isinstance(a, Dropped) or isinstance(b, FullDetail):
        return b
    if isinstance(b, Dropped) or isinstance(a, FullDetail):
        return a
    if isinstance(a, Intervals) and isinstance(b, Intervals):
        return _intersect_intervals(a, b)
    assert isinstance(a, Groups)
    assert isinstance(b, Groups)
    return _intersect_groups(a, b)


def _intersect_intervals(a: Intervals, b: Intervals) -> Intervals:
    edges = sorted({*a.edges.tolist(), *b.edges.tolist()})
    inside = [
        (sum(edge < end for edge in a.edges), sum(edge < end for edge in b.edges)) for end in [*edges, float("inf")]
    ]
    joint = (a.missing_code, b.missing_code)
    partition = intervals(
        a.attribute, edges, usual=a.value, missing_in=inside.index(joint) if joint in inside else None
    )
    refuse = "refuse" in (a.missing, b.missing)
    return partition.model_copy(update={"missing": "refuse"}) if refuse else partition


def _intersect_groups(a: Groups, b: Groups) -> Groups:
    cells = _cells(a, b)
    partition = groups(a.attribute, [values for _, values in cells], usual=a.value)
    pairs = [pair for pair, _ in cells]
    updates: dict[str, object] = {}
    buckets = list(partition.buckets)
    for what in ("unseen", "missing"):
        joint = (getattr(a, f"{what}_code"), getattr(b, f"{what}_code"))
        if joint in pairs:
            at = pairs.index(joint)
            buckets[at] = buckets[at].model_copy(update={"takes": (*buckets[at].takes, what)})
        elif min(joint) < 0:
            updates[what] = "refuse"
    return partition.model_copy(update={"buckets": tuple(buckets), **updates})


def _cells(a: Groups, b: Groups) -> list[tuple[tuple[int, int], list[str]]]:
    """Group the values that share both buckets, with the pair of buckets; if ordered, only consecutive values."""
    named = dict.fromkeys([*a.code_of, *b.code_of])
    ordered = a.attribute.kind == "ordered" and a.attribute.domain is not None
    if ordered:
        named = dict.fromkeys(str(value) for value in a.attribute.domain or () if value in named) | named
    cells: list[tuple[tuple[int, int], list[str]]] = []
    position: dict[tuple[int, int], int] = {}
    for value in named:
        pair = (a.code_of.get(value, a.unseen_code), b.code_of.get(value, b.unseen_code))
        if min(pair) < 0:
            continue
        if pair not in position or (ordered and position[pair] != len(cells) - 1):
            position[pair] = len(cells)
            cells.append((pair, []))
        cells[position[pair]][1].append(value)
    return cells


# What changed from one generalization to another, attribute by attribute.


@dataclass(frozen=True)
class PartitionChange:
    """A change in one attribute: how the second partition relates to the first, and the bucket labels of both."""

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
    """All changes; empty, and false, if the two generalizations put every record in the same buckets."""

    changes: tuple[PartitionChange, ...]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __str__(self) -> str:
        return "\n".join(map(str, self.changes)) or "no difference"

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as plain data."""
        return asdict(self)


def difference(before: "Generalization", after: "Generalization") -> Difference:
    """Compare two generalizations of the same attributes, attribute by attribute."""
    if set(before.names) != set(after.names):
        only = sorted(set(before.names) ^ set(after.names))
        raise ArtifactError(f"The two generalizations differ in their attributes: {only[0]!r} is in only one of them.")
    changes = []
    for a in before.partitions:
        b = after[a.name]
        relation = _relation(a, b)
        if relation != "same":
            changes.append(PartitionChange(a.name, relation, a.labels, b.labels))
    return Difference(tuple(changes))


def _relation(a: AnyPartition, b: AnyPartition) -> str:
    first, second = _difference_cells(a), _difference_cells(b)
    if first == second:
        return "same" if a.labels == b.labels else "renamed"
    joint = _difference_cells(intersect_partitions(a, b))
    return "finer" if joint == second else "coarser" if joint == first else "regrouped"


def _difference_cells(partition: AnyPartition) -> Any:
    """Return what defines a partition, without labels and representatives."""
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
