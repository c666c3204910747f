"""The alternatives to how one attribute is collected: one step coarser, not at all, or in full detail."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals
from modicum.generalization.build import partition as partition_of
from modicum.learners.backoff import Backoff
from modicum.learners.inputs import Inputs, count_table
from modicum.table.codes import EqualCounts, group_numbers
from modicum.table.frames import column, numbers
from modicum.table.values import Codes, Floats

RANGES = 20  # of a number that is in full detail now
_LEVELS = 100  # of what the other attributes say, about


@dataclass(frozen=True)
class OneStep:
    """A generalization that differs in one attribute alone, and the change in words."""

    attribute: str
    kind: str  # "coarser", "without" or "in_full"
    what: str
    generalization: Generalization


def replaced(g: Generalization, changed: AnyPartition) -> Generalization:
    """The generalization with one partition in another's place."""
    return Generalization(g.schema, [changed if p.name == changed.name else p for p in g.partitions])


def one_step_changes(
    g: Generalization, raw: Generalization, train: Any, codes: Codes, y: Codes, classes: int, random_state: int
) -> list[OneStep]:
    """Every alternative to every attribute, in order; `codes` are those that `g` gives the training records."""
    found = []
    for partition in g.partitions:
        name = partition.name
        if isinstance(partition, Dropped):
            if not isinstance(raw[name], Dropped):
                found.append(OneStep(name, "in_full", "asked in full detail", replaced(g, raw[name])))
            continue
        step = _coarser(g, partition, train, codes, y, classes, random_state)
        if step is not None:
            found.append(OneStep(name, "coarser", *step))
        found.append(OneStep(name, "without", "left out", g.drop(name)))
    return found


def _coarser(
    g: Generalization, partition: AnyPartition, train: Any, codes: Codes, y: Codes, classes: int, random_state: int
) -> tuple[str, Generalization] | None:
    if isinstance(partition, FullDetail):
        cut = in_ranges(partition, train)
        return None if cut is None else (f"in {cut.n_buckets} ranges of about equal frequency", replaced(g, cut))
    if partition.n_buckets < 3:
        return None
    j = g.names.index(partition.name)
    others = context(Inputs.of_codes(g, codes, without=[partition.name]), y, classes, random_state)
    a, b = least_loss(others, codes[:, j], y, classes, partition.n_buckets, partition.attribute.has_order)
    labels = partition.labels[a], partition.labels[b]
    coarser = g.merge(partition.name, labels)
    assert isinstance(partition, Intervals | Groups)
    return f"“{labels[0]}” and “{labels[1]}” made one: “{coarser[partition.name].labels[a]}”", coarser


def in_ranges(partition: FullDetail, train: Any) -> AnyPartition | None:
    """A number in 20 ranges of about equal frequency, or half as many as it has values; None below two."""
    values = numbers(column(train, partition.name), partition.attribute)
    ranges = min(RANGES, len(np.unique(values[~np.isnan(values)])) // 2)
    if ranges < 2:
        return None
    coding = group_numbers(partition.attribute, values, None, EqualCounts(ranges).starts)
    cut = partition_of(coding, np.arange(coding.n_codes))
    return None if isinstance(cut, Dropped) else cut.model_copy(update={"missing": partition.missing})


def context(others: Inputs, y: Codes, classes: int, random_state: int) -> Codes:
    """What the other attributes say of each record's label, in a few levels.

    Counts with back-off (`Backoff`) give every record's classes a chance, learned from the other half of the records,
    so that no record speaks of itself. Its level is the most likely class, and into which tenth of the records with
    that class its chance falls; of more than ten classes wider parts, so that there are about a hundred levels.
    """
    inputs, cells = others.distinct()
    half = np.random.default_rng(random_state).permutation(len(y)) % 2 == 0
    chances = np.empty((len(y), classes))
    for part in (half, ~half):
        table = count_table(cells[part], y[part], (len(inputs), classes))
        filled = np.unique(cells[part])
        model = Backoff().fit(inputs[filled], [table[filled]])
        chances[~part] = model.predict(inputs)[0][cells[~part]]
    likely = chances.argmax(axis=1)
    parts = int(np.clip(_LEVELS // classes, 1, 10))
    level = np.zeros(len(y), dtype=np.int64)
    for label in np.unique(likely):
        rows = likely == label
        top = chances[rows, label]
        edges = np.quantile(top, np.arange(1, parts) / parts, method="lower")
        level[rows] = np.searchsorted(edges, top, side="left")
    return np.unique(likely * parts + level, return_inverse=True)[1]


def least_loss(contexts: Codes, buckets: Codes, y: Codes, classes: int, size: int, has_order: bool) -> tuple[int, int]:
    """The two buckets whose merging loses least about the label, given what the other attributes say of it.

    With n_r(b, y) records in context r, bucket b and class y, merging a and b raises the label's entropy, in nats over
    all records, by

        Σ_r [ φ(n_r(a)+n_r(b)) − φ(n_r(a)) − φ(n_r(b)) − Σ_y ( φ(n_r(a,y)+n_r(b,y)) − φ(n_r(a,y)) − φ(n_r(b,y)) ) ]

    with φ(x) = x ln x. Buckets that are alike still differ by chance: half a nat for each context that has both, and
    each class but one in it, is taken off. Only neighbours of an attribute with an order are compared, and only
    buckets that occur, where there are two such; `(other)` and `(missing)` stay as they are.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.evaluation.steps import least_loss
    >>> buckets, y = np.repeat([0, 1, 2], 100), np.repeat([0, 1, 1], 100)
    >>> least_loss(np.zeros(300, dtype=int), buckets, y, 2, 3, has_order=True)
    (1, 2)
    """
    own = buckets < size
    contexts, buckets, y = contexts[own], buckets[own], y[own]
    levels = int(contexts.max(initial=0)) + 1
    places = (buckets * levels + contexts) * classes + y
    counts = np.bincount(places, minlength=size * levels * classes).reshape(size, levels, classes).astype(np.float64)
    first, second = _pairs(counts.sum(axis=(1, 2)) > 0, has_order)
    best = int(np.argmin(np.concatenate([_cost(counts, int(a), second[first == a]) for a in np.unique(first)])))
    return int(first[best]), int(second[best])


def _pairs(there: Any, has_order: bool) -> tuple[Codes, Codes]:
    """The pairs that may be merged, sorted by their first bucket."""
    size = len(there)
    first, second = (np.arange(size - 1), np.arange(1, size)) if has_order else np.triu_indices(size, 1)
    both = there[first] & there[second]
    return (first[both], second[both]) if both.any() else (first, second)


def _cost(counts: Floats, a: int, others: Codes) -> Floats:
    """What merging bucket a with each of some others loses, less what it would by chance."""
    one, two = counts[a], counts[others]
    both = one + two
    lost = _phi(both.sum(axis=2)) - _phi(one.sum(axis=1)) - _phi(two.sum(axis=2))
    lost -= (_phi(both) - _phi(one) - _phi(two)).sum(axis=2)
    shared = (one.sum(axis=1) > 0) & (two.sum(axis=2) > 0)
    chance = shared * ((both > 0).sum(axis=2) - 1) / 2
    return np.asarray((lost - chance).sum(axis=1))


def _phi(x: Any) -> Any:
    return x * np.log(np.maximum(x, 1e-300))
