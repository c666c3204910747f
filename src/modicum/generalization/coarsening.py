"""Merge buckets until every observed combination of them has k records (the guarantee [Staab24 §9] hopes for).

Records with the same buckets form a cell. The cost of merging is the rise of the label's entropy given the cell, in
nats over all records: a classifier on z minimizes log-loss, which unlike Gini impurity still distinguishes nearly pure
cells. Only cells of at least k records are compared, so that their labels are not mere chance.

The coarsest state always has groups of k (locked attributes are checked first). From there, `_split` undoes merges one
at a time, each time the one that lowers the entropy most without leaving a cell smaller than k. Each step is exact, and
few steps are needed, because far fewer splits remain in the end than merges would be needed. An early split may block
later ones that are worth more together, so `_search` also tries to split single attributes last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError, format_names
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Group, Groups, Interval, Intervals
from modicum.generalization.build import partition as partition_of
from modicum.generalization.description import persons_in
from modicum.generalization.representatives import encode_column
from modicum.progress import Stop, stoppable, track_progress
from modicum.table.codes import MAX_CODES, EqualCounts, first_rows, group_numbers, group_rows
from modicum.table.estimator_input import person_codes
from modicum.table.frames import as_frame, column, numbers
from modicum.table.schema import Schema
from modicum.table.targets import Labels, label_name, label_values
from modicum.typing import Codes, Floats


@dataclass(frozen=True)
class _Axis:
    """An attribute that may be coarsened: `seen` are the codes of its buckets that occur, `records` how often.

    It is `exact` if no two values that were distinguished share a bucket.
    """

    partition: Intervals | Groups
    seen: Codes
    records: Codes
    exact: bool

    @property
    def special(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.seen >= self.partition.n_buckets)

    @property
    def ordered(self) -> bool:
        return self.partition.attribute.has_order


@dataclass(frozen=True)
class _Cells:
    """Groups of equal records: buckets per axis, the locked part, records per label, sizes, (cell, person) pairs."""

    codes: Codes
    fixed: Codes
    labels: Floats
    sizes: Codes
    people: tuple[Codes, Codes] | None


def coarsen_partitions(
    partitions: Sequence[AnyPartition], schema: Schema, X: Any, y: Any, min_group: int, label_bins: int | None = None
) -> list[AnyPartition]:
    """Coarsen partitions until each combination of buckets in X has `min_group` records, or persons.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.coarsening import coarsen_partitions
    >>> X = pd.DataFrame({"age": [18, 19, 60, 61], "job": ["a", "b", "a", "b"]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_
    >>> [p.action for p in coarsen_partitions(g.partitions, g.schema, X, ["no", "no", "yes", "yes"], 2)]
    ['coarsened', 'dropped']
    """
    frame = as_frame(X, [p.name for p in partitions])
    persons = person_codes(schema, frame)
    _check(min_group, len(frame), persons)
    labels = Labels.fit(label_values(y, len(frame), label_name(y)), label_bins, name=label_name(y))
    classes = labels.encode(y)
    codes = [encode_column(p, frame) for p in partitions]
    if _smallest_group(codes, persons) >= min_group:
        return list(partitions)
    held = [j for j, p in enumerate(partitions) if p.attribute.locked]
    _check_locked([partitions[j] for j in held], [codes[j] for j in held], persons, min_group)
    free = [j for j in range(len(partitions)) if j not in held and codes[j].min() < codes[j].max()]
    pairs = [_make_axis(partitions[j], codes[j], frame) for j in free]
    axes, places = [axis for axis, _ in pairs], [place for _, place in pairs]
    fixed = group_rows(np.column_stack([codes[j] for j in held])) if held else np.zeros(len(frame), dtype=np.int64)
    cells = _combine_records(places, fixed, classes, len(labels), persons)
    with stoppable("making groups larger") as stop:
        groups = _search(cells, axes, min_group, stop)
    coarser = list(partitions)
    for j, axis, group in zip(free, axes, groups, strict=True):
        coarser[j] = _merge_buckets(partitions[j], axis, group)
    # Check the guarantee on the records themselves.
    if _smallest_group([encode_column(p, frame) for p in coarser], persons) < min_group:
        raise DataError(f"No coarser generalization was found in which every group has {min_group:,} members.")
    return coarser


def _check(min_group: Any, n: int, persons: Codes | None) -> None:
    if isinstance(min_group, bool) or not isinstance(min_group, int | np.integer) or min_group < 1:
        raise ParameterError(f"The 'min_group' parameter must be an int ≥ 1. Got {min_group!r} instead.")
    if not n:
        raise DataError("The data has no rows, so there are no groups to make larger.")
    available, unit = (n, "records") if persons is None else (int(persons.max()) + 1, "persons")
    if min_group > available:
        raise ParameterError(f"The 'min_group' parameter is {min_group:,}, more than the {available:,} {unit} in X.")


def _check_locked(held: Sequence[AnyPartition], codes: Sequence[Codes], persons: Codes | None, k: int) -> None:
    if not held or _smallest_group(codes, persons) >= k:
        return
    alone = [
        p.name for p, column_codes in zip(held, codes, strict=True) if _smallest_group([column_codes], persons) < k
    ]
    raise DataError(
        f"Groups of at least {k:,} need coarser buckets of {format_names(alone[:1] or [p.name for p in held])}, which "
        "the schema locks; lower the 'min_group' parameter or change the schema."
    )


def _smallest_group(codes: Sequence[Codes], persons: Codes | None) -> int:
    return int(persons_in(group_rows(np.column_stack(codes)), persons).min())


def _make_axis(partition: AnyPartition, codes: Codes, frame: Any) -> tuple[_Axis, Codes]:
    """Return the buckets that occur and each record's position among them; first cut a number in full detail."""
    exact = len(np.unique(codes))
    if isinstance(partition, FullDetail):
        values = numbers(column(frame, partition.name), partition.attribute)
        coding = group_numbers(partition.attribute, values, None, EqualCounts(MAX_CODES).starts)
        cut = partition_of(coding, np.arange(coding.n_codes))
        partition = cut.model_copy(update={"missing": partition.missing})
        codes = partition.encode(column(frame, partition.name))
    assert isinstance(partition, Intervals | Groups)
    seen, places, records = np.unique(codes, return_inverse=True, return_counts=True)
    return _Axis(partition, seen, records, exact == len(seen)), places


# Cells


def _combine_records(
    places: Sequence[Codes], fixed: Codes, classes: Codes, n_classes: int, persons: Codes | None
) -> _Cells:
    """Combine the records with the same buckets to cells."""
    table = np.column_stack([*places, fixed])
    of_row = group_rows(table)
    m = int(of_row.max()) + 1
    first = first_rows(of_row)
    counts = np.bincount(of_row * n_classes + classes, minlength=m * n_classes).reshape(m, n_classes)
    people = None
    if persons is not None:
        width = int(persons.max()) + 1
        pairs = np.unique(of_row * width + persons)
        people = (pairs // width, pairs % width)
    codes = table[first, :-1]
    sizes = counts.sum(axis=1) if people is None else np.bincount(people[0], minlength=m)
    return _Cells(codes, fixed[first], counts.astype(np.float64), sizes, people)


def _per_bucket(codes: Codes, counts: Floats, size: int = 0) -> Floats:
    return np.stack([np.bincount(codes, weights=c, minlength=size) for c in counts.T], axis=1)


def _draw_keys(axes: Sequence[_Axis], cells: _Cells) -> tuple[list[npt.NDArray[np.uint64]], npt.NDArray[np.uint64]]:
    """Draw a number for every bucket; a cell's key is their sum, so an axis is left out by subtracting.

    The numbers have 64 bits and a fixed seed, so two cells hardly ever share a key by chance. The final count would
    find a group that became too small because of it.
    """
    random = np.random.default_rng(0)
    marks = [random.integers(0, 2**64, len(axis.seen), dtype=np.uint64) for axis in axes]
    fixed = random.integers(0, 2**64, int(cells.fixed.max()) + 1, dtype=np.uint64)[cells.fixed]
    return marks, fixed


def _label_order(codes: Codes, counts: Floats, special: npt.NDArray[np.bool_]) -> Codes:
    """Return each bucket's place if a category's buckets are ordered by P(y | bucket), on the first principal axis."""
    per_bucket = _per_bucket(codes, counts, len(special))
    total = per_bucket.sum(axis=1, keepdims=True)
    share = per_bucket / total
    centred = (share - per_bucket.sum(axis=0) / total.sum()) * np.sqrt(total)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    order = np.lexsort((np.arange(len(special)), share @ axis, special))
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place


# The search


def _search(cells: _Cells, axes: Sequence[_Axis], k: int, stop: Stop) -> list[Codes]:
    """Return for each axis the group of each bucket, named by its first bucket, such that every cell has k.

    After the plain greedy search, try searches that split one more attribute after all others, as long as that helps.
    Every cell has k at all times, so the search can stop at any time.
    """
    nothing = [np.zeros(len(axis.seen), dtype=np.int64) for axis in axes]
    best, loss = _split(cells, axes, nothing, k, stop)
    held: frozenset[int] = frozenset()
    for _ in track_progress(axes, "Making groups larger"):
        tried = [held | {j} for j in range(len(axes)) if j not in held and best[j].any()]
        waiting = [_split(cells, axes, nothing, k, stop, last=last)[0] for last in tried]
        found = [_split(cells, axes, groups, k, stop) for groups in waiting]
        lowest = min(range(len(found)), key=lambda i: found[i][1], default=-1)
        if lowest < 0 or found[lowest][1] >= loss - 1e-6:
            break
        (best, loss), held = found[lowest], tried[lowest]
    return best


def _loss(cells: _Cells, groups: Sequence[Codes]) -> float:
    """Return the label's entropy given the cell, in nats over all records."""
    codes = [group[cells.codes[:, j]] for j, group in enumerate(groups)]
    counts = _per_bucket(group_rows(np.column_stack([*codes, cells.fixed])), cells.labels)
    return float(_xlogx(counts.sum(axis=1)).sum() - _xlogx(counts).sum())


def _split(
    cells: _Cells,
    axes: Sequence[_Axis],
    groups: Sequence[Codes],
    k: int,
    stop: Stop,
    last: frozenset[int] = frozenset(),
) -> tuple[list[Codes], float]:
    """Split the groups one at a time, where the entropy falls most and every cell still has k.

    A group that cannot be split now can never be split: other splits only make cells smaller.
    """
    groups = [group.copy() for group in groups]
    marks, fixed = _draw_keys(axes, cells)
    orders = [_member_order(cells, j, axis) for j, axis in enumerate(axes)]
    open_groups = {
        (j, int(g))
        for j, group in enumerate(groups)
        for g in np.unique(group)
        if j not in last and (group == g).sum() > 1
    }
    while open_groups and not stop.asked:
        parts = [mark[group[cells.codes[:, j]]] for j, (mark, group) in enumerate(zip(marks, groups, strict=True))]
        key = fixed + sum(parts[1:], parts[0])
        best: tuple[float, int, int, Codes] | None = None
        for j, g in sorted(open_groups):
            members = orders[j][groups[j][orders[j]] == g]
            found = _best_split(cells, key - parts[j], j, axes[j], members, k)
            if found is None:
                open_groups.discard((j, g))
            elif best is None or found[0] > best[0]:
                best = (found[0], j, g, members[: found[1]])
        if best is None:
            break
        _, j, g, left = best
        right = np.setdiff1d(np.flatnonzero(groups[j] == g), left)
        open_groups.discard((j, g))
        for part in (left, right):
            groups[j][part] = part.min()
            if len(part) > 1:
                open_groups.add((j, int(part.min())))
    return groups, _loss(cells, groups)


def _member_order(cells: _Cells, j: int, axis: _Axis) -> Codes:
    if axis.ordered:
        return np.arange(len(axis.seen))
    return np.argsort(_label_order(cells.codes[:, j], cells.labels, axis.special))


def _best_split(
    cells: _Cells, others: npt.NDArray[np.uint64], j: int, axis: _Axis, members: Codes, k: int
) -> tuple[float, int] | None:
    """Return the gain and place of a group's best split; None if every split leaves a cell too small."""
    place = np.full(len(axis.seen), -1)
    place[members] = np.arange(len(members))
    at = place[cells.codes[:, j]]
    inside = np.flatnonzero(at >= 0)
    runs, run = np.unique(others[inside], return_inverse=True)
    shape = (len(runs), len(members))
    flat = run * shape[1] + at[inside]
    left, right = _sizes_of_sides(cells, inside, run, at, flat, shape)
    allowed = ((left == 0) | (left >= k)).all(axis=0) & ((right == 0) | (right >= k)).all(axis=0)
    special = axis.special[members]
    # (other) and (missing) come last, and no bucket can hold only these two.
    where = np.flatnonzero(allowed)
    where = where[(len(members) - special.sum() > where + 1) | (where == len(members) - 2)]
    if not len(where):
        return None
    gain = np.zeros(len(where))
    whole: Any = 0.0
    below: Any = 0.0
    above: Any = 0.0
    for c in range(cells.labels.shape[1]):
        table = np.cumsum(
            np.bincount(flat, weights=cells.labels[inside, c], minlength=shape[0] * shape[1]).reshape(shape), axis=1
        )
        low, high = table[:, where], table[:, -1:] - table[:, where]
        gain += (_xlogx(low) + _xlogx(high) - _xlogx(table[:, -1:])).sum(axis=0)
        whole, below, above = whole + table[:, -1:], below + low, above + high
    gain -= (_xlogx(below) + _xlogx(above) - _xlogx(whole)).sum(axis=0)
    best = int(np.argmax(gain))
    return float(gain[best]), int(where[best]) + 1


def _xlogx(x: Any) -> Any:
    return x * np.log(np.maximum(x, 1e-300))


def _sizes_of_sides(
    cells: _Cells, inside: Codes, run: Codes, at: Codes, flat: Codes, shape: tuple[int, int]
) -> tuple[Codes, Codes]:
    """Count each run's records, or persons, up to each member except the last, and after it."""
    if cells.people is None:
        table = np.bincount(flat, weights=cells.sizes[inside], minlength=shape[0] * shape[1]).reshape(shape)
        left = np.cumsum(table, axis=1)
        return left[:, :-1], left[:, -1:] - left[:, :-1]
    cell, person = cells.people
    run_of = np.full(len(at), -1)
    run_of[inside] = run
    there = run_of[cell] >= 0
    pair = run_of[cell[there]] * (int(person.max()) + 1) + person[there]
    order = np.lexsort((at[cell[there]], pair))
    pair, spot, of_run = pair[order], at[cell[there]][order], run_of[cell[there]][order]
    first = np.append(True, pair[1:] != pair[:-1])
    last = np.append(pair[1:] != pair[:-1], True)
    start = np.bincount(of_run[first] * shape[1] + spot[first], minlength=shape[0] * shape[1]).reshape(shape)
    end = np.bincount(of_run[last] * shape[1] + spot[last], minlength=shape[0] * shape[1]).reshape(shape)
    return np.cumsum(start, axis=1)[:, :-1], (end.sum(axis=1, keepdims=True) - np.cumsum(end, axis=1))[:, :-1]


# The partitions


def _merge_buckets(old: AnyPartition, axis: _Axis, group: Codes) -> AnyPartition:
    """Merge the buckets of each group in the attribute's partition."""
    partition = axis.partition
    if (group == np.arange(len(group))).all():
        return old if axis.exact else partition
    if (group == group[0]).all():
        return Dropped(attribute=partition.attribute, value=partition.value)
    codes = axis.seen
    home = np.arange(partition.n_buckets)
    for g in np.unique(group):
        own = codes[(group == g) & ~axis.special]
        if len(own):
            inside = np.arange(own[0], own[-1] + 1) if axis.ordered else own
            home[inside] = own[0]
    weight = np.zeros(partition.n_buckets, dtype=np.int64)
    weight[codes[~axis.special]] = axis.records[~axis.special]
    takers = {int(c): int(codes[group == g].min()) for g, c in zip(group, codes, strict=True) if c >= len(home)}
    buckets = [_bucket(partition, np.flatnonzero(home == h), weight, takers) for h in np.unique(home)]
    fields = {name: getattr(partition, name) for name in type(partition).model_fields}
    return type(partition)(**fields | {"buckets": tuple(buckets)})


def _bucket(partition: Intervals | Groups, members: Codes, weight: Codes, takers: dict[int, int]) -> Interval | Group:
    old = [partition.buckets[i] for i in members]
    missing = bool(takers.get(partition.missing_code) == members[0])
    unseen = isinstance(partition, Groups) and bool(takers.get(partition.unseen_code) == members[0])
    takes = [*(w for b in old for w in b.takes), *["unseen"] * unseen, *["missing"] * missing]
    if len(old) == 1:
        return old[0].model_copy(update={"takes": tuple(takes)})
    value = old[int(np.argmax(weight[members]))].value
    if isinstance(partition, Intervals):
        return Interval(up_to=old[-1].up_to, value=value, takes=tuple(takes))
    return Group(values=tuple(v for b in old for v in b.values), value=value, takes=tuple(takes))
