"""Partitions made from partitions: merge buckets, split one, intersect two."""

from collections.abc import Sequence

from modicum.errors import ArtifactError, quoted
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Group, Groups, Interval, Intervals
from modicum.generalization.build import groups, intervals
from modicum.table.values import canonical


def merged(partition: AnyPartition, labels: Sequence[str], label: str | None) -> AnyPartition:
    """The partition with the named buckets made one; naming `(other)` or `(missing)` lets that bucket take those."""
    if label is not None and not label:
        raise ArtifactError("A bucket's label cannot be empty text.")
    if not isinstance(partition, Intervals | Groups):
        raise ArtifactError(f"The attribute {partition.name!r} has no buckets to merge; it is {partition.action}.")
    unknown = [name for name in labels if name not in partition.labels]
    if unknown:
        raise ArtifactError(
            f"The attribute {partition.name!r} has no bucket {unknown[0]!r}; it has {quoted(partition.labels)}."
        )
    codes = sorted(partition.labels.index(name) for name in labels)
    own = [code for code in codes if code < partition.n_buckets]
    if not own:
        raise ArtifactError(
            f"Merging buckets of {partition.name!r} needs at least one that is not (other) or (missing)."
        )
    if isinstance(partition, Intervals):
        return _merged_intervals(partition, own, label, missing=partition.missing_code in codes)
    takes = {"unseen": partition.unseen_code in codes, "missing": partition.missing_code in codes}
    return _merged_groups(partition, own, label, takes)


def _merged_intervals(partition: Intervals, own: list[int], label: str | None, missing: bool) -> AnyPartition:
    if own != list(range(own[0], own[-1] + 1)):
        raise ArtifactError(f"Only neighbouring buckets of {partition.name!r} can be merged: it has an order.")
    joined = Interval(
        up_to=partition.buckets[own[-1]].up_to,
        value=partition.buckets[own[0]].value,
        label=label,
        takes=("missing",) if missing else (),
    )
    buckets = (*partition.buckets[: own[0]], joined, *partition.buckets[own[-1] + 1 :])
    return _checked(partition, buckets)


def _merged_groups(partition: Groups, own: list[int], label: str | None, takes: dict[str, bool]) -> AnyPartition:
    joined = Group(
        values=tuple(value for code in own for value in partition.buckets[code].values),
        value=partition.buckets[own[0]].value,
        label=label,
        takes=tuple(what for what in ("unseen", "missing") if takes[what]),
    )
    rest = [bucket for code, bucket in enumerate(partition.buckets) if code not in own]
    return _checked(partition, (*rest[: own[0]], joined, *rest[own[0] :]))


def _checked(partition: Intervals | Groups, buckets: Sequence[Interval | Group]) -> AnyPartition:
    fields = {name: getattr(partition, name) for name in type(partition).model_fields}
    try:
        return type(partition)(**fields | {"buckets": tuple(buckets)})
    except ValueError as error:
        reason = str(error).splitlines()[2].strip().removeprefix("Value error, ").split(" [type=")[0]
        raise ArtifactError(f"The attribute {partition.name!r} cannot be changed like this: {reason}.") from None


def refined(partition: AnyPartition, at: float | str | Sequence[str]) -> AnyPartition:
    """A number split at one more edge; or the named categories taken out into a bucket of their own."""
    if isinstance(partition, Intervals):
        return _refined_intervals(partition, at)
    if isinstance(partition, Groups):
        if isinstance(at, int | float):
            raise ArtifactError(f"The attribute {partition.name!r} is a category; name the values to split off.")
        return _refined_groups(partition, [at] if isinstance(at, str) else list(at))
    raise ArtifactError(f"The attribute {partition.name!r} has no buckets to split; it is {partition.action}.")


def _refined_intervals(partition: Intervals, at: float | str | Sequence[str]) -> AnyPartition:
    if not isinstance(at, str | int | float):
        raise ArtifactError(f"The attribute {partition.name!r} is split at one value.")
    try:
        edge = partition.as_number(at)
    except ValueError as error:
        raise ArtifactError(f"The attribute {partition.name!r} cannot be split there: {error}.") from None
    position = int((partition.edges < edge).sum())
    old = partition.buckets[position]
    value = None if old.value is None else partition.as_number(old.value)
    below = Interval(up_to=at, value=old.value if value is not None and value <= edge else None, takes=old.takes)
    above = Interval(up_to=old.up_to, value=old.value if value is not None and value > edge else None)
    return _checked(partition, (*partition.buckets[:position], below, above, *partition.buckets[position + 1 :]))


def _refined_groups(partition: Groups, values: Sequence[str]) -> AnyPartition:
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
    return _checked(partition, (*partition.buckets[:position], *parts, *partition.buckets[position + 1 :]))


def intersected(a: AnyPartition, b: AnyPartition) -> AnyPartition:
    """A partition as fine as both together: what an adversary knows who saw both (papers/0 §5, A6)."""
    if a.attribute.kind != b.attribute.kind:
        raise ArtifactError(
            f"The attribute {a.name!r} is a {a.attribute.kind} in one and a {b.attribute.kind} in the other."
        )
    if isinstance(a, Dropped) or isinstance(b, FullDetail):
        return b
    if isinstance(b, Dropped) or isinstance(a, FullDetail):
        return a
    if isinstance(a, Intervals) and isinstance(b, Intervals):
        return _intersected_intervals(a, b)
    assert isinstance(a, Groups)
    assert isinstance(b, Groups)
    return _intersected_groups(a, b)


def _intersected_intervals(a: Intervals, b: Intervals) -> Intervals:
    edges = sorted({*a.edges.tolist(), *b.edges.tolist()})
    inside = [
        (sum(edge < end for edge in a.edges), sum(edge < end for edge in b.edges)) for end in [*edges, float("inf")]
    ]
    joint = (a.missing_code, b.missing_code)
    found = intervals(a.attribute, edges, usual=a.value, missing_in=inside.index(joint) if joint in inside else None)
    refuse = "refuse" in (a.missing, b.missing)
    return found.model_copy(update={"missing": "refuse"}) if refuse else found


def _intersected_groups(a: Groups, b: Groups) -> Groups:
    cells = _cells(a, b)
    found = groups(a.attribute, [values for _, values in cells], usual=a.value)
    pairs = [pair for pair, _ in cells]
    updates: dict[str, object] = {}
    buckets = list(found.buckets)
    for what in ("unseen", "missing"):
        joint = (getattr(a, f"{what}_code"), getattr(b, f"{what}_code"))
        if joint in pairs:
            at = pairs.index(joint)
            buckets[at] = buckets[at].model_copy(update={"takes": (*buckets[at].takes, what)})
        elif min(joint) < 0:
            updates[what] = "refuse"
    return found.model_copy(update={"buckets": tuple(buckets), **updates})


def _cells(a: Groups, b: Groups) -> list[tuple[tuple[int, int], list[str]]]:
    """Values that share both buckets, with the pair of buckets; of an ordered attribute only neighbours share."""
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
