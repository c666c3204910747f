"""The best generalization for a target: refine what the tree made where it is too coarse, then merge what can be."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from modicum.minimizers.guiding.descent import NEAR, State, Step, budget_of, chosen, descend, tried
from modicum.minimizers.guiding.grouping import Grouping, column_of, exactly
from modicum.minimizers.guiding.points import GuidedPoint
from modicum.minimizers.guiding.setting import Setting

_FAILURES = 4  # steps that did not fit, before the search ends


@dataclass(frozen=True)
class Found:
    """The way from full detail to nothing, and which of its points was chosen."""

    path: list[GuidedPoint]
    chosen: int


def best(setting: Setting) -> Iterator[Found]:
    """Search; each state found on the way is given as the last of a path, so that progress shows."""
    path: list[GuidedPoint] = []

    def noted(state: State) -> Found:
        path.append(setting.point(state.groupings, state.agreement_of(setting.n_sample)))
        return Found(path, len(path) - 1)

    yield noted(State.of(setting.untouched(), setting.tried))
    state = refined(State.of(setting.of_tree(setting.tree), setting.tried), setting)
    yield noted(state)
    for closer in constrained(state, setting):
        state = closer
        yield noted(state)
    at = len(path) - 1
    for beyond in descend(state, setting.tried, setting.n_sample, setting.losses, setting.free, setting.stop):
        yield Found(noted(beyond).path, at)
    yield Found(path, at)


def refined(state: State, setting: Setting) -> State:
    """The state with more detail, until the target is reached (or everything is as it was).

    Always the attribute whose detail saves most predictions for each unit of information loss given up: to all its
    codes apart, or where that is not enough to its exact values. `ILAG` (papers/1 equation 3) is the inverse of that;
    but it prefers, by its second case, attributes that save nothing at all. What is saved is looked up among the
    records that are missed so far.
    """
    while state.missed(setting.n_sample) > setting.allowed and not setting.stop.asked:
        options = [(a, g) for a in setting.free for g in _finer(state.groupings[a], a, setting)]
        if not options:
            return state
        a, grouping = options[int(np.argmax(_worth(state, options, setting)))]
        groupings = list(state.groupings)
        groupings[a] = grouping
        state = state.changed(groupings, setting.tried)
    return state


def _finer(grouping: Grouping, a: int, setting: Setting) -> list[Grouping]:
    if grouping.exact:
        return []
    finest = setting.finest(a)
    return [*([finest] if grouping.n_buckets < finest.n_buckets else []), exactly(setting.coder.codings[a])]


def _worth(state: State, options: Sequence[tuple[int, Grouping]], setting: Setting) -> list[float]:
    """Predictions saved by each option for the information loss that it gives up."""
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


def constrained(state: State, setting: Setting) -> Iterator[State]:
    """Steps to less detail as long as the target is kept on the records to choose on."""
    refused: set[tuple[int, tuple[int, ...]]] = set()
    failures = 0
    while failures < _FAILURES and not setting.stop.asked:
        steps = tried(state, setting.tried, setting.n_sample, setting.losses, setting.free)
        room = setting.allowed - state.missed(setting.n_sample)
        if room < 0:
            return
        most = room * setting.n_sample / max(1, setting.n_choose)
        steps = [step for step in steps if (step.attribute, step.touched) not in refused and step.cost <= most]
        if not steps:
            return
        taken = chosen(steps, min(budget_of(state, setting.n_sample, NEAR), most))
        after = _kept(state, taken, setting)
        if after is None:
            refused.add((taken[0].attribute, taken[0].touched))
            failures += 1
            continue
        if any(after.groupings[a].n_buckets != state.groupings[a].n_buckets for a, _ in refused):
            refused.clear()  # buckets are numbered anew
        state = after
        yield state


def _kept(state: State, steps: Sequence[Step], setting: Setting) -> State | None:
    """The state after as many of the steps as keep the target; None where the first alone does not."""
    while steps:
        after = state.after(steps, setting.tried)
        if after.missed(setting.n_sample) <= setting.allowed:
            return after
        steps = steps[: len(steps) // 2]
    return None
