"""Find the best buckets for a target: refine the tree's buckets if they are too coarse, then merge."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from modicum.minimizers.model_guided.cell_search import LeafRecords
from modicum.minimizers.model_guided.guiding_tree import Losses
from modicum.minimizers.model_guided.records import Matrix, Records
from modicum.minimizers.model_guided.setting import (
    AttributeGrouping,
    Groupings,
    GuidedPoint,
    Setting,
    coarser,
    column_of,
    exactly,
    finest,
    numbers_of,
)
from modicum.typing import Floats

# The better search that [Goldsteen22 §5.3] asks for: merge the buckets that matter least to the model, down to nothing.
#
# Every step to less detail is tried on a sample of the records *with the model itself*: how many predictions does it
# change, and how much does it hide? The steps that hide most for each changed prediction are taken together, as many as
# a small budget of changed predictions allows.

LEAST_STEP = 0.002  # of the predictions, that one round may change
NEAR, FAR = 0.2, 0.5  # or this share of those already changed: on the way to the target, and beyond it
_DOUBT = 0.3  # changed predictions that a step may have, although it changed none in the sample
_TINY = 1e-12


@dataclass(frozen=True)
class DescentStep:
    """A step of one attribute to less detail: the buckets it touches, what it hides, the predictions it changes."""

    attribute: int
    grouping: AttributeGrouping
    touched: tuple[int, ...]
    gain: float
    cost: float

    @property
    def price(self) -> float:
        return (max(self.cost, 0.0) + _DOUBT) / max(self.gain, _TINY)


@dataclass
class State:
    """The state of a search: the buckets, the records as numbers, and each record's miss."""

    groupings: Groupings
    matrix: Matrix
    misses: Floats

    @classmethod
    def of(cls, groupings: Groupings, records: Records) -> "State":
        matrix = numbers_of(groupings, records)
        if all(grouping.exact for grouping in groupings) and not (records.strange >= 0).any():
            return cls(groupings, matrix, np.zeros(len(records)))
        return cls(groupings, matrix, records.misses(matrix, np.arange(len(records))))

    def sum_misses(self, start: int = 0) -> float:
        """The total miss of the records from `start` on."""
        return float(self.misses[start:].sum())

    def agreement_of(self, start: int = 0) -> float:
        """The agreement on the records from `start` on."""
        return 1.0 - float(self.misses[start:].mean())

    def after(self, steps: Sequence[DescentStep], records: Records) -> "State":
        """The state after these steps, which touch different buckets."""
        groupings = list(self.groupings)
        for step in steps:
            groupings[step.attribute] = _redo_merge(groupings[step.attribute], self.groupings[step.attribute], step)
        return self.change_groupings(groupings, records)

    def change_groupings(self, groupings: Groupings, records: Records) -> "State":
        """The state with other buckets; the model is asked only about records that change."""
        matrix = numbers_of(groupings, records)
        misses = self.misses.copy()
        changed = np.flatnonzero((matrix != self.matrix).any(axis=1))
        misses[changed] = records.misses(matrix[changed], changed)
        return State(groupings, matrix, misses)


def _redo_merge(now: AttributeGrouping, before: AttributeGrouping, step: DescentStep) -> AttributeGrouping:
    """Repeat a merge after other merges of the same attribute."""
    if now is before or len(step.touched) != 2:
        return step.grouping
    one, other = (int(now.bucket_of[before.members[bucket][0]]) for bucket in step.touched)
    return now.merge_buckets(one, other, int(before.representatives[step.touched[1]]))


def descend(state: State, setting: Setting) -> Iterator[State]:
    """Yield the states from this one to nothing collected of the free attributes, each coarser than the last.

    Steps are tried on the first `n_sample` records; their joint effect is measured on all.
    """
    while not setting.stop.asked:
        steps = try_steps(state, setting)
        if not steps:
            return
        state = state.after(choose_steps(steps, budget_of(state, setting, FAR)), setting.tried)
        yield state


def budget_of(state: State, setting: Setting, rate: float) -> float:
    """How many predictions one round may change."""
    return max(LEAST_STEP * setting.n_sample, rate * float(state.misses[: setting.n_sample].sum()))


def try_steps(state: State, setting: Setting) -> list[DescentStep]:
    """List every step to less detail, with its cost on the first records and what it hides; the cheapest first."""
    records, losses, matrix = setting.tried, setting.losses, state.matrix[: setting.n_sample]
    found: list[tuple[int, AttributeGrouping, tuple[int, ...], float]] = []
    which, changed = [], []
    for a in setting.free:
        grouping = state.groupings[a]
        parts = [] if grouping.exact else [losses.part(a, members) for members in grouping.members]
        for new, touched in coarser(losses.coder.codings[a], grouping, losses.counts[a]):
            column = column_of(new, records, a)[: setting.n_sample]
            rows = np.flatnonzero(column != matrix[:, a])
            found.append((a, new, touched, _gain(losses, a, grouping, parts, new, touched)))
            which.append(rows)
            changed.append(matrix[rows])
            changed[-1][:, a] = column[rows]
    if not found:
        return []
    rows = np.concatenate(which)
    rise = records.misses(np.concatenate(changed), rows) - state.misses[rows]
    owner = np.repeat(np.arange(len(found)), [len(w) for w in which])
    costs = np.bincount(owner, weights=rise, minlength=len(found)).tolist()
    steps = [DescentStep(*own, cost) for own, cost in zip(found, costs, strict=True)]
    return sorted(steps, key=lambda step: step.price)


def _gain(
    losses: Losses,
    a: int,
    old: AttributeGrouping,
    parts: Sequence[float],
    new: AttributeGrouping,
    touched: Sequence[int],
) -> float:
    """How much a step hides, computed from the buckets that it touches."""
    if len(touched) != 2:
        return losses.mean(a, new.members) - sum(parts)
    both = np.sort(np.concatenate([old.members[bucket] for bucket in touched]))
    return losses.part(a, both) - sum(parts[bucket] for bucket in touched)


def choose_steps(steps: Sequence[DescentStep], budget: float) -> list[DescentStep]:
    """Choose the cheapest step, and as many of the next ones as fit the budget and do not conflict.

    A bucket that keeps its representative may absorb several others; an absorbed one cannot take part in another step.
    """
    taken: list[DescentStep] = []
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


# The best for a target

_FAILURES = 4  # steps that did not fit, before the search ends


@dataclass(frozen=True)
class FoundBuckets:
    """The path from full detail to nothing, and which of its points was chosen."""

    path: list[GuidedPoint]
    chosen: int


def best(setting: Setting) -> Iterator[FoundBuckets]:
    """Search; yield the path after each new state, to show progress."""
    path: list[GuidedPoint] = []

    def add_point(state: State) -> FoundBuckets:
        path.append(setting.point(state.groupings, state.agreement_of(setting.n_sample)))
        return FoundBuckets(path, len(path) - 1)

    yield add_point(State.of(setting.build_exact_groupings(), setting.tried))
    state = refine_state(State.of(setting.of_tree(setting.tree), setting.tried), setting)
    yield add_point(state)
    for closer in descend_within_target(state, setting):
        state = closer
        yield add_point(state)
    at = len(path) - 1
    for beyond in descend(state, setting):
        yield FoundBuckets(add_point(beyond).path, at)
    yield FoundBuckets(path, at)


def refine_state(state: State, setting: Setting) -> State:
    """Add detail until the target is reached (or everything is in full detail).

    Each step refines the attribute that saves most predictions for each unit of information loss given up: to a bucket
    for each code, or if that is not enough to exact values. `ILAG` [Goldsteen22 equation 3] is the inverse of that, but
    its second case prefers attributes that save nothing at all. Savings are measured on the records missed so far.
    """
    while state.sum_misses(setting.n_sample) > setting.allowed and not setting.stop.asked:
        options = [(a, g) for a in setting.free for g in _finer(state.groupings[a], a, setting)]
        if not options:
            return state
        a, grouping = options[int(np.argmax(_worth(state, options, setting)))]
        groupings = list(state.groupings)
        groupings[a] = grouping
        state = state.change_groupings(groupings, setting.tried)
    return state


def _finer(grouping: AttributeGrouping, a: int, setting: Setting) -> list[AttributeGrouping]:
    if grouping.exact:
        return []
    coding = setting.coder.codings[a]
    return [*([finest(coding)] if grouping.n_buckets < coding.n_codes else []), exactly(coding)]


def _worth(state: State, options: Sequence[tuple[int, AttributeGrouping]], setting: Setting) -> list[float]:
    """The predictions that each option saves for each unit of information loss that it gives up."""
    missed = np.flatnonzero(state.misses)
    matrices = []
    for a, grouping in options:
        matrix = state.matrix[missed]
        matrix[:, a] = column_of(grouping, setting.tried, a)[missed]
        matrices.append(matrix)
    left = setting.tried.misses(np.concatenate(matrices), np.tile(missed, len(options))).reshape(len(options), -1)
    saved = state.misses.sum() - left.sum(axis=1)
    lost = []
    for a, grouping in options:
        after = 0.0 if grouping.exact else setting.losses.mean(a, grouping.members)
        lost.append(setting.losses.mean(a, state.groupings[a].members) - after)
    return [float((s + 1e-6) / max(loss, 1e-6)) for s, loss in zip(saved, lost, strict=True)]


def descend_within_target(state: State, setting: Setting) -> Iterator[State]:
    """Go to less detail as long as the records to choose on keep the target."""
    refused: set[tuple[int, tuple[int, ...]]] = set()
    failures = 0
    while failures < _FAILURES and not setting.stop.asked:
        steps = try_steps(state, setting)
        room = setting.allowed - state.sum_misses(setting.n_sample)
        if room < 0:
            return
        most = room * setting.n_sample / max(1, setting.n_choose)
        steps = [step for step in steps if (step.attribute, step.touched) not in refused and step.cost <= most]
        if not steps:
            return
        taken = choose_steps(steps, min(budget_of(state, setting, NEAR), most))
        after = _take_steps(state, taken, setting)
        if after is None:
            refused.add((taken[0].attribute, taken[0].touched))
            failures += 1
            continue
        if any(after.groupings[a].n_buckets != state.groupings[a].n_buckets for a, _ in refused):
            refused.clear()  # buckets have new numbers
        state = after
        yield state


def _take_steps(state: State, steps: Sequence[DescentStep], setting: Setting) -> State | None:
    """The state after as many of the steps as keep the target; None if even the first alone does not."""
    while steps:
        after = state.after(steps, setting.tried)
        if after.sum_misses(setting.n_sample) <= setting.allowed:
            return after
        steps = steps[: len(steps) // 2]
    return None


# The search of [Goldsteen22 §3.1], as published


@dataclass(frozen=True)
class PaperStep:
    """One iteration: the tree, the attributes taken out of the generalization, and its buckets as a point.

    `agreement` is that of the cells, by which the paper decides; the point has that of the buckets alone.
    """

    leaf_records: LeafRecords
    kept: list[int]
    agreement: float
    point: GuidedPoint


def paper(setting: Setting, representatives: str) -> list[PaperStep]:
    """Return the iterations of the paper's search, the chosen one last.

    If the leaves of the homogeneous tree reach the target, the tree is pruned level by level as long as they still do.
    If not, the attribute with the lowest ILAG leaves the generalization, one after another until they do:

        ILAG(f) = NCP(f) / gain(f), or NCP(f) where the gain is 0  (equation 3),

    with NCP(f) of the global recoding, and gain(f) the rise of the agreement if f stays exact (a fall counts as 0).
    """
    locked = [a for a, c in enumerate(setting.coder.codings) if a not in setting.free and not c.attribute.forbidden]
    steps = [_step(LeafRecords.of(setting.tree, setting, representatives), locked, setting)]
    if steps[0].agreement >= setting.target:
        return _prune_levels(steps, setting, representatives)
    while (
        steps[-1].agreement < setting.target
        and not setting.stop.asked
        and len(steps[-1].kept) < len(locked) + len(setting.free)
    ):
        last = steps[-1]
        left = [a for a in setting.free if a not in last.kept]
        everyone = np.arange(setting.n_choose)
        agreements = 1.0 - last.leaf_records.sum_misses_with(last.kept, left, everyone) / setting.n_choose
        losses = [setting.loss_of(a, last.point.groupings[a]) for a in left]
        gains = np.maximum(0.0, agreements - last.agreement)
        ilag = [loss / gain if gain else loss for loss, gain in zip(losses, gains, strict=True)]
        steps.append(_step(last.leaf_records, [*last.kept, left[int(np.argmin(ilag))]], setting))
    return steps


def _prune_levels(steps: list[PaperStep], setting: Setting, representatives: str) -> list[PaperStep]:
    for level in range(1, int(setting.nodes.heights[0]) + 1):
        step = _step(LeafRecords.of(setting.nodes.by_level(level), setting, representatives), steps[0].kept, setting)
        if step.agreement < setting.target or setting.stop.asked:
            break
        steps.append(step)
    return steps


def _step(leaf_records: LeafRecords, kept: Sequence[int], setting: Setting) -> PaperStep:
    groupings = setting.of_tree(leaf_records.tree)
    for a in kept:
        groupings[a] = exactly(setting.coder.codings[a])
    agreement = 1.0 - float(leaf_records.misses(kept).mean())
    recoded = State.of(groupings, setting.tried).agreement_of(setting.n_sample)
    return PaperStep(leaf_records, sorted(kept), agreement, setting.point(groupings, recoded))
