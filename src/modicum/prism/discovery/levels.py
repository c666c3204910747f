"""The search by levels (papers/3, Figure 4): sets of one attribute, then of two, …, each tested only if it must."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from modicum.errors import ParameterError
from modicum.prism.discovery.measure import ROUNDING, Assessed, Measure, Sets, first_candidates, next_candidates
from modicum.typing import Floats, Ints

CORRECTIONS = ("bonferroni", "fdr")


@dataclass(frozen=True)
class SearchRule:
    """When a set correlates: strength ≥ threshold and p ≤ p_value, the latter corrected within a level."""

    threshold: float
    p_value: float
    correction: str | None


@dataclass(frozen=True)
class Hit:
    """A set that correlates: its columns, and the λ (by position) with which it does so most strongly."""

    columns: tuple[int, ...]
    label: int
    strength: float
    p_value: float
    by_chance: float
    cells: int


def search_levels(
    measure: Measure,
    positions: Ints,
    rule: SearchRule,
    max_size: int,
    known: Collection[tuple[int, ...]],
    progress: bool,
) -> tuple[list[Hit], tuple[int, ...]]:
    """The minimal correlating sets besides the known ones, and how many sets of each size were tested."""
    hits: list[Hit] = []
    tested: list[int] = []
    sets = first_candidates(positions)
    while len(sets):
        size = sets.shape[1]
        sets = sets[~_is_known(sets, {each for each in known if len(each) == size})]
        if not len(sets):
            break
        correlates = np.zeros(len(sets), dtype=bool)
        for i, hit in _level(measure, sets, rule, progress):
            correlates[i] = True
            hits.append(hit)
        tested.append(len(sets))
        if size == max_size:
            break
        sets = next_candidates(sets[~correlates])
    return hits, tuple(tested)


def _is_known(sets: Sets, known: Collection[tuple[int, ...]]) -> np.ndarray:
    found = np.zeros(len(sets), dtype=bool)
    for each in known:
        found |= (sets == np.array(each)).all(axis=1)
    return found


def _level(measure: Measure, sets: Sets, rule: SearchRule, progress: bool) -> Iterator[tuple[int, Hit]]:
    """The sets of one level that correlate, each by its strongest λ."""
    _check_attainable(measure, rule, sets)
    title = f"testing {len(sets):,} set{'s' * (len(sets) > 1)} of {sets.shape[1]}"
    passing: list[_Passing] = []
    low: list[Floats] = []  # the p-values that a correction looks at
    done = tests = 0
    for part in measure.assess(sets, rule.threshold, title, progress):
        passing.append(_passing(part, rule, done))
        if rule.correction == "fdr":
            low.append(part.p_value[part.p_value <= rule.p_value])
        done, tests = done + len(part.strength), tests + part.p_value.size
    cutoff = _cutoff(rule, tests, low)
    for each in passing:
        for i, hit in each.strongest(cutoff):
            yield i, Hit(tuple(sets[i].tolist()), *hit)


def _check_attainable(measure: Measure, rule: SearchRule, sets: Sets) -> None:
    """Refuse a correction under which a set that alone correlates could never be found."""
    tests = len(sets) * measure.labels
    most = rule.p_value / tests
    if rule.correction is not None and measure.smallest_p > most:
        raise ParameterError(
            f"The correction {rule.correction!r} of {tests:,} tests needs p-values of {most:.2g} or less, but those of "
            f"the measure {measure.name!r}, from permutations, are {measure.smallest_p:g} or more, so that it would "
            "miss correlations; use correction=None or another measure."
        )


@dataclass(frozen=True)
class _Passing:
    """Sets (by number) and λ that are strong enough, before a correction."""

    number: Ints
    label: Ints
    strength: Floats
    p_value: Floats
    by_chance: Floats
    cells: Ints

    def strongest(self, cutoff: float) -> Iterator[tuple[int, tuple[int, float, float, float, int]]]:
        kept = np.flatnonzero(self.p_value <= cutoff)
        order = kept[np.lexsort((self.label[kept], -self.strength[kept], self.number[kept]))]
        _, first = np.unique(self.number[order], return_index=True)
        for i in order[first]:
            yield (
                int(self.number[i]),
                (
                    int(self.label[i]),
                    float(self.strength[i]),
                    float(self.p_value[i]),
                    float(self.by_chance[i]),
                    int(self.cells[i]),
                ),
            )


def _passing(part: Assessed, rule: SearchRule, start: int) -> _Passing:
    strong = (part.strength >= rule.threshold - ROUNDING) & (part.p_value <= rule.p_value)
    i, j = np.nonzero(strong)
    return _Passing(i + start, j, part.strength[i, j], part.p_value[i, j], part.by_chance[i, j], part.cells[i])


def _cutoff(rule: SearchRule, tests: int, low: list[Floats]) -> float:
    """The p-value up to which tests of one level count as significant."""
    if rule.correction == "bonferroni":
        return rule.p_value / tests
    if rule.correction is None:
        return rule.p_value
    ordered = np.sort(np.concatenate(low))  # Benjamini and Hochberg: the largest p_(k) with p_(k) ≤ k · p_value / tests
    good = np.flatnonzero(ordered <= np.arange(1, len(ordered) + 1) * rule.p_value / tests)
    return float(ordered[good[-1]]) if len(good) else -1.0
