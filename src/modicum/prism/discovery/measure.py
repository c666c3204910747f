"""The interface of a measure of correlation, and the search by levels [Barbato25 Figure 4] for sets that correlate.

For sets of attributes and every label λ, a measure returns a strength, a p-value and a null value. Sets of one
attribute are tested first, then of two, and so on, each only if necessary.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numba
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import ParameterError
from modicum.prism.discovery.attribute_codes import CodedAttributes, Label, SensitiveAttribute
from modicum.progress import results, track_progress
from modicum.typing import Floats, Ints

Sets = npt.NDArray[np.int32]  # rows of column positions, each row and the rows themselves in ascending order

ROUNDING = 1e-12  # a strength may miss the threshold by this, so that a perfect correlation passes threshold 1


@dataclass(frozen=True)
class CountedSets:
    """The records that a measure counts: coded attributes, classes of each sensitive attribute, records per row."""

    attributes: CodedAttributes
    sensitive: tuple[SensitiveAttribute, ...]
    weights: Ints

    @property
    def records(self) -> int:
        return int(self.weights.sum())

    @property
    def labels(self) -> tuple[Label, ...]:
        return tuple(label for each in self.sensitive for label in each.labels)

    def signs(self, label: Label) -> npt.NDArray[np.bool_]:
        """Return λ for each row."""
        owner = next(each for each in self.sensitive if each.name == label.sensitive)
        return owner.classes == label.position


@dataclass(frozen=True)
class Assessed:
    """The measures of some sets: arrays with a row per set and a column per λ; cells are -1 if not counted."""

    strength: Floats
    p_value: Floats
    by_chance: Floats
    cells: Ints


class Measure(Protocol):
    """A measure assesses sets of columns of one size, piece by piece, in order.

    If a set is below the threshold for some λ, its p-value may be 1 without computation. No p-value is below
    `smallest_p`. `labels` is the number of λ.
    """

    name: str
    smallest_p: float
    labels: int

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]: ...


def in_pieces(
    work: Callable[[Sets], Assessed], sets: Sets, size: int, title: str, progress: bool
) -> Iterator[Assessed]:
    """Apply `work` to `size` sets at a time, on all cores, and yield the results in order."""
    pieces = [partial(work, sets[i : i + size]) for i in range(0, len(sets), size)]
    return track_progress(results(pieces, -1), title, total=len(pieces), progress=progress)


# The next sets to test: all subsets one smaller were tested and do not correlate [Barbato25 Figure 4, line 7].

MOST_SETS = 5_000_000  # of one size: keeps positions and results within a few hundred megabytes


def next_candidates(left: Sets) -> Sets:
    """Return the sets one larger whose subsets one smaller are all among those left.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.discovery.measure import next_candidates
    >>> next_candidates(np.array([[0, 1], [0, 2], [1, 2], [1, 3]], dtype=np.int32)).tolist()
    [[0, 1, 2]]
    """
    found = _join_sets(left, MOST_SETS, np.empty((0, left.shape[1] + 1), np.int32))
    if found > MOST_SETS:
        raise ParameterError(
            f"More than {MOST_SETS:,} sets of {left.shape[1] + 1} attributes would have to be tested. Lower 'max_size' "
            f"to {left.shape[1]}, lower 'threshold', or combine one-hot columns (groups='attribute')."
        )
    sets = np.empty((found, left.shape[1] + 1), np.int32)
    _join_sets(left, MOST_SETS, sets)
    return sets


@numba.njit(cache=True, nogil=True)
def _join_sets(left, most, sets):  # type: ignore[no-untyped-def]
    """Write the next sets if there is room for them; return how many there are, or `most` + 1 if there are more."""
    m, c = left.shape
    found = 0
    larger = np.empty(c + 1, np.int32)
    for i in range(m):
        larger[:c] = left[i]
        for k in range(i + 1, m):
            if _compare(left[k, : c - 1], left[i], c) != 0:  # they differ before the last attribute
                break
            larger[c] = left[k, c - 1]
            if not _subsets_are_left(left, larger):
                continue
            if len(sets):
                sets[found] = larger
            found += 1
            if found > most:
                return found
    return found


@numba.njit(cache=True, nogil=True)
def _subsets_are_left(left, larger):  # type: ignore[no-untyped-def]
    """Whether the subsets without one of the attributes before the last two are all left; the other two are known."""
    for skip in range(len(larger) - 2):
        low, high = 0, len(left)
        while low < high:
            middle = (low + high) // 2
            if _compare(left[middle], larger, skip) < 0:
                low = middle + 1
            else:
                high = middle
        if low == len(left) or _compare(left[low], larger, skip) != 0:
            return False
    return True


@numba.njit(cache=True, nogil=True)
def _compare(row, larger, skip):  # type: ignore[no-untyped-def]
    """Compare a row with the larger set without its attribute number `skip`: -1 before it, 0 equal, 1 after it."""
    for j in range(len(row)):
        other = larger[j if j < skip else j + 1]
        if row[j] != other:
            return -1 if row[j] < other else 1
    return 0


# The search by levels

CORRECTIONS = ("bonferroni", "fdr")


@dataclass(frozen=True)
class SearchRule:
    """When a set correlates: strength ≥ threshold and p ≤ p_value, the latter corrected within a level."""

    threshold: float
    p_value: float
    correction: str | None


@dataclass(frozen=True)
class Hit:
    """A set that correlates: its columns, and the λ (by position) with the strongest correlation."""

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
    """Find the minimal correlating sets that are not known, and count the sets of each size that were tested."""
    hits: list[Hit] = []
    tested: list[int] = []
    sets = np.sort(positions).astype(np.int32).reshape(-1, 1)  # every attribute alone (Figure 4, line 6)
    while len(sets):
        size = sets.shape[1]
        sets = sets[~_is_known(sets, {each for each in known if len(each) == size})]
        if not len(sets):
            break
        found = _search_level(measure, sets, rule, progress)
        hits += [Hit(tuple(sets[i].tolist()), *hit) for i, *hit in found.itertuples(index=False, name=None)]
        tested.append(len(sets))
        if size == max_size:
            break
        sets = next_candidates(np.delete(sets, found["set"], axis=0))
    return hits, tuple(tested)


def _is_known(sets: Sets, known: Collection[tuple[int, ...]]) -> np.ndarray:
    found = np.zeros(len(sets), dtype=bool)
    for each in known:
        found |= (sets == np.array(each)).all(axis=1)
    return found


_STRONG = ("set", "label", "strength", "p_value", "by_chance", "cells")


def _search_level(measure: Measure, sets: Sets, rule: SearchRule, progress: bool) -> pd.DataFrame:
    """Return the sets of one level that correlate (by number), each with the fields of `Hit` for its strongest λ."""
    _check_attainable(measure, rule, sets)
    title = f"testing {len(sets):,} set{'s' * (len(sets) > 1)} of {sets.shape[1]}"
    strong: list[tuple[np.ndarray, ...]] = []  # sets and λ that are strong enough, before a correction
    low: list[Floats] = []  # the p-values that a correction looks at
    done = tests = 0
    for part in measure.assess(sets, rule.threshold, title, progress):
        i, j = np.nonzero((part.strength >= rule.threshold - ROUNDING) & (part.p_value <= rule.p_value))
        if len(i):
            measured = part.strength[i, j], part.p_value[i, j], part.by_chance[i, j]
            strong.append((i + done, j, *measured, part.cells[i]))
        if rule.correction == "fdr":
            low.append(part.p_value[part.p_value <= rule.p_value])
        done, tests = done + len(part.strength), tests + part.p_value.size
    columns = [np.concatenate(each) for each in zip(*strong, strict=True)] or [np.zeros(0, dtype=np.int64)] * len(
        _STRONG
    )
    found = pd.DataFrame(dict(zip(_STRONG, columns, strict=True)))
    found = found[found["p_value"] <= _cutoff(rule, tests, low)]
    found = found.sort_values(["set", "strength", "label"], ascending=[True, False, True])
    return found.drop_duplicates("set")


def _check_attainable(measure: Measure, rule: SearchRule, sets: Sets) -> None:
    """Refuse a correction under which a single correlating set could never be found."""
    tests = len(sets) * measure.labels
    most = rule.p_value / tests
    if rule.correction is not None and measure.smallest_p > most:
        raise ParameterError(
            f"The correction {rule.correction!r} of {tests:,} tests needs p-values of {most:.2g} or less, but the "
            f"permutations of the measure {measure.name!r} give {measure.smallest_p:g} or more, so it would miss "
            "correlations. Use correction=None or another measure."
        )


def _cutoff(rule: SearchRule, tests: int, low: list[Floats]) -> float:
    """Return the p-value up to which tests of one level are significant."""
    if rule.correction == "bonferroni":
        return rule.p_value / tests
    if rule.correction is None:
        return rule.p_value
    ordered = np.sort(np.concatenate(low))  # Benjamini and Hochberg: the largest p_(k) with p_(k) ≤ k · p_value / tests
    good = np.flatnonzero(ordered <= np.arange(1, len(ordered) + 1) * rule.p_value / tests)
    return float(ordered[good[-1]]) if len(good) else -1.0
