"""The better search that papers/1 §5.3 asks for: merge the buckets whose loss the model feels least, down to nothing.

Every step to less detail is tried on a sample of the records *with the model itself*: how many predictions does it
change, and how much does it hide? The steps that hide most for each changed prediction are taken together, as many as
a small budget of changed predictions allows.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from modicum.minimizers.guiding.grouping import Grouping, Groupings, coarser, column_of, numbers_of
from modicum.minimizers.guiding.losses import Losses
from modicum.minimizers.guiding.records import Matrix, Records
from modicum.progress import Stop
from modicum.table.values import Floats

LEAST_STEP = 0.002  # of the predictions, that one round may change
NEAR, FAR = 0.2, 0.5  # or this share of those that are changed already: on the way to the target, and beyond it
_DOUBT = 0.3  # changed predictions that a step on few records may hide
_TINY = 1e-12


@dataclass(frozen=True)
class Step:
    """An attribute in less detail: which buckets it touches, how many predictions it changes, what it hides."""

    attribute: int
    grouping: Grouping
    touched: tuple[int, ...]
    gain: float
    cost: float

    @property
    def price(self) -> float:
        return (max(self.cost, 0.0) + _DOUBT) / max(self.gain, _TINY)


@dataclass
class State:
    """Where a search is: the buckets, the records as numbers, and each one's miss."""

    groupings: Groupings
    matrix: Matrix
    misses: Floats

    @classmethod
    def of(cls, groupings: Groupings, records: Records) -> "State":
        matrix = numbers_of(groupings, records)
        if all(grouping.exact for grouping in groupings) and not (records.strange >= 0).any():
            return cls(groupings, matrix, np.zeros(len(records)))
        return cls(groupings, matrix, records.misses(matrix, np.arange(len(records))))

    def missed(self, start: int = 0) -> float:
        """How much is missed by the records from `start` on."""
        return float(self.misses[start:].sum())

    def agreement_of(self, start: int = 0) -> float:
        """The agreement on the records from `start` on."""
        return 1.0 - float(self.misses[start:].mean())

    def after(self, steps: Sequence[Step], records: Records) -> "State":
        """The state once these steps are made, which touch different buckets."""
        groupings = list(self.groupings)
        for step in steps:
            groupings[step.attribute] = _joined(groupings[step.attribute], self.groupings[step.attribute], step)
        return self.changed(groupings, records)

    def changed(self, groupings: Groupings, records: Records) -> "State":
        """The state with other buckets; only what changes is asked again."""
        matrix = numbers_of(groupings, records)
        misses = self.misses.copy()
        changed = np.flatnonzero((matrix != self.matrix).any(axis=1))
        misses[changed] = records.misses(matrix[changed], changed)
        return State(groupings, matrix, misses)


def _joined(now: Grouping, before: Grouping, step: Step) -> Grouping:
    """A merge made before other merges of the same attribute, made after them."""
    if now is before or len(step.touched) != 2:
        return step.grouping
    one, other = (int(now.bucket_of[before.members[bucket][0]]) for bucket in step.touched)
    return now.merged(one, other, int(before.stands[step.touched[1]]))


def descend(
    start: State, records: Records, n_sample: int, losses: Losses, free: Sequence[int], stop: Stop
) -> Iterator[State]:
    """The states of a path from `start` to nothing collected of the free attributes, each coarser than the last.

    Steps are tried on the first `n_sample` records; what they do together is measured on all.
    """
    state = start
    while not stop.asked:
        steps = tried(state, records, n_sample, losses, free)
        if not steps:
            return
        budget = budget_of(state, n_sample, FAR)
        state = state.after(chosen(steps, budget), records)
        yield state


def budget_of(state: State, n_sample: int, rate: float) -> float:
    """How many predictions one round may change."""
    return max(LEAST_STEP * n_sample, rate * float(state.misses[:n_sample].sum()))


def tried(state: State, records: Records, n_sample: int, losses: Losses, free: Sequence[int]) -> list[Step]:
    """Every step to less detail, with what it costs on the first records and what it hides; the cheapest first."""
    found: list[tuple[int, Grouping, tuple[int, ...], float]] = []
    which, numbers, attributes = [], [], []
    for a in free:
        grouping = state.groupings[a]
        parts = [] if grouping.exact else [losses.part(a, members) for members in grouping.members]
        for new, touched in coarser(losses.coder.codings[a], grouping, losses.counts[a]):
            column = column_of(new, records, a)[:n_sample]
            rows = np.flatnonzero(column != state.matrix[:n_sample, a])
            found.append((a, new, touched, _gain(losses, a, grouping, parts, new, touched)))
            which.append(rows)
            numbers.append(column[rows])
            attributes.append(np.full(len(rows), a))
    if not found:
        return []
    rows = np.concatenate(which)
    matrix = state.matrix[rows]
    matrix[np.arange(len(rows)), np.concatenate(attributes)] = np.concatenate(numbers)
    rise = records.misses(matrix, rows) - state.misses[rows]
    owner = np.repeat(np.arange(len(found)), [len(w) for w in which])
    costs = np.bincount(owner, weights=rise, minlength=len(found)).tolist()
    return sorted((Step(*own, cost) for own, cost in zip(found, costs, strict=True)), key=lambda step: step.price)


def _gain(
    losses: Losses, a: int, old: Grouping, parts: Sequence[float], new: Grouping, touched: Sequence[int]
) -> float:
    """What a step hides, from the buckets that it touches."""
    if len(touched) != 2:
        return losses.mean(a, new.members) - sum(parts)
    both = np.sort(np.concatenate([old.members[bucket] for bucket in touched]))
    return losses.part(a, both) - sum(parts[bucket] for bucket in touched)


def chosen(steps: Sequence[Step], budget: float) -> list[Step]:
    """The cheapest step, and as many of the next ones as fit the budget and do not stand in each other's way.

    A bucket whose stand stays may take in several others; one that is taken in cannot do anything else.
    """
    taken: list[Step] = []
    moved: set[tuple[int, int]] = set()
    stays: set[tuple[int, int]] = set()
    left, most = budget, max(1, len(steps) // 3)
    for step in steps:
        own = [(step.attribute, bucket) for bucket in step.touched]
        goes, holds = (set(own[:1]), set(own[1:])) if len(own) == 2 else (set(own), set())
        free = not goes & (moved | stays) and not holds & moved
        if not taken or (max(step.cost, 0.0) <= left and free):
            taken.append(step)
            moved |= goes
            stays |= holds
            left -= max(step.cost, 0.0)
        if len(taken) >= most:
            break
    return taken
