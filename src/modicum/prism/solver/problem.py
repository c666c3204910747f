"""PriSM's training problem [Barbato25 §4], and the cuts by which one solution bounds all other choices of units.

A problem consists of arrays: scaled columns, targets, counts, selectable units.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.typing import Codes, Floats

LOSSES = ("hinge", "squared")
_ODD = 0x9E3779B97F4A7C15  # 2⁶⁴ divided by the golden ratio: spreads close keys over all 64 bits


@dataclass(frozen=True)
class Problem:
    """Choose units and fit a linear rule w·x − b on their columns, for one or several tasks on the same units.

    With the loss "hinge", every task adds

        ½‖w‖² + π Σ cᵢ max(0, 1 − tᵢ (w·xᵢ − b))

    which is the objective of [Barbato25 Figure 5] for cᵢ records with the values xᵢ and the label tᵢ; with "squared"

        ½‖w‖² + π Σ cᵢ ½ (w·xᵢ − b − tᵢ)²

    Every |w| stays within the box (constraint 5), and w is 0 outside the chosen units.

    Parameters
    ----------
    columns : array, rows × columns
        Scaled; the penalty and the box are in their units.
    targets : array, rows × tasks
        +1 and −1 for "hinge" (each of several tasks is one class against the rest), numbers for "squared".
    counts : array
        How many records each row represents; any positive weight.
    units : tuple of tuples of int
        The columns of each selectable unit; every column is in exactly one.
    penalty : float
        The paper's π, for one record.
    box : float
        The largest |w|, the same for all columns.
    loss : str
        "hinge" or "squared".

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.trainer import Problem
    >>> columns = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    >>> problem = Problem.of(columns, np.array([1.0, 1.0, -1.0]), None, ((0,), (1,)), 1.0, 1000.0, "hinge")
    >>> problem.counts.tolist()
    [2.0, 1.0]
    """

    columns: Floats
    targets: Floats
    counts: Floats
    units: tuple[tuple[int, ...], ...]
    penalty: float
    box: float
    loss: str = "hinge"

    @classmethod
    def of(
        cls,
        columns: npt.ArrayLike,
        targets: npt.ArrayLike,
        weights: npt.ArrayLike | None,
        units: Sequence[Sequence[int]],
        penalty: float,
        box: float,
        loss: str = "hinge",
    ) -> "Problem":
        """Merge equal rows (columns and targets) into counts, and drop rows of weight 0."""
        X = np.asarray(columns, dtype=np.float64)
        t = np.asarray(targets, dtype=np.float64).reshape(len(X), -1)
        counts = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
        _check(X, t, counts, units, penalty, box, loss)
        if not (counts > 0).all():
            X, t, counts = X[counts > 0], t[counts > 0], counts[counts > 0]
        first, group = distinct_rows(X, t)
        if len(first) < len(X):
            X, t, counts = X[first], t[first], sum_by_group(counts, group)
        return cls(np.ascontiguousarray(X), t, counts, tuple(tuple(u) for u in units), float(penalty), float(box), loss)

    def columns_of(self, support: Iterable[int]) -> Codes:
        """Return the columns of these units, in order."""
        return np.array(sorted(c for unit in support for c in self.units[unit]), dtype=np.int64)

    def by_unit(self, values: Floats) -> Floats:
        """Sum the columns' values for each unit."""
        return np.bincount(self._unit_of, values, len(self.units)).astype(np.float64)

    def by_column(self, values: Floats) -> Floats:
        """Return each column the value of its unit."""
        return values[self._unit_of]

    @cached_property
    def _unit_of(self) -> Codes:
        found = np.empty(self.columns.shape[1], dtype=np.int64)
        for i, unit in enumerate(self.units):
            found[list(unit)] = i
        return found


def _check(
    X: Floats, t: Floats, counts: Floats, units: Sequence[Sequence[int]], penalty: float, box: float, loss: str
) -> None:
    if loss not in LOSSES:
        raise ParameterError(f"The 'loss' parameter of Problem must be 'hinge' or 'squared'. Got {loss!r} instead.")
    for name, value in (("penalty", penalty), ("box", box)):
        if not (np.isfinite(value) and value > 0):
            raise ParameterError(f"The {name!r} parameter of Problem must be a number > 0. Got {value!r} instead.")
    if sorted(c for unit in units for c in unit) != list(range(X.shape[1])):
        raise ParameterError("The 'units' parameter of Problem must hold every column in exactly one unit.")
    if len(counts) != len(X) or not np.isfinite(counts).all() or counts.min(initial=0.0) < 0:
        raise ParameterError("The 'weights' parameter of Problem must hold one number ≥ 0 for each row.")
    if loss == "hinge" and not np.isin(t, (-1.0, 1.0)).all():
        raise ParameterError("The 'targets' parameter of Problem must hold +1 and -1 if the loss is 'hinge'.")
    if not (np.isfinite(X).all() and np.isfinite(t).all() and (counts > 0).any()):
        raise ParameterError("The 'columns' and 'targets' parameters of Problem must be finite, with a weight above 0.")


def distinct_rows(*tables: Floats) -> tuple[Codes, Codes]:
    """Return the first row of each group of equal rows, and the group of every row.

    Rows are grouped by a 64-bit hash and then compared: sorting whole rows takes far longer.
    """
    key = np.zeros(len(tables[0]), dtype=np.uint64)
    columns = [column for table in tables for column in table.T]
    for column in columns:
        bits = np.ascontiguousarray(column + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
        key = (key ^ bits) * np.uint64(_ODD)
        key ^= key >> np.uint64(29)
    first, group = group_keys(key)
    if len(first) < len(key) and not all((column == column[first][group]).all() for column in columns):
        whole = np.hstack(tables) + 0.0
        _, first, group = np.unique(whole, axis=0, return_index=True, return_inverse=True)
        return first, group.ravel()
    return first, group


def group_keys(key: npt.NDArray[Any]) -> tuple[Codes, Codes]:
    """Return one row for each key, and the number of every row's key."""
    if key.dtype == np.int64 and key.max(initial=0) < 4 * len(key):  # no need to sort
        there = np.bincount(key) > 0
        group = (np.cumsum(there) - 1)[key]
        first = np.empty(int(there.sum()), dtype=np.int64)
        first[group] = np.arange(len(key))
        return first, group
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    return first, group


def sum_by_group(values: Floats, group: Codes) -> Floats:
    """Sum the values of each group."""
    return np.bincount(group, values).astype(np.float64)


# Rows that are equal on the chosen units are merged into one.

_SAMPLE = 4_096
_LIMIT = 2**61


class Merging:
    """Code each unit once, on first use; never code a unit with nearly as many values as rows.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.problem import Merging
    >>> from modicum.prism.solver.problem import Problem
    >>> columns = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]])
    >>> problem = Problem.of(columns, np.array([1, 1, -1, -1]), None, ((0,), (1,)), 1.0, 1000.0)
    >>> keys = Merging(problem).keys((0,))
    >>> len(set(keys.tolist()))
    2
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._codes: dict[int, Codes | None] = {}

    def keys(self, support: tuple[int, ...]) -> Codes | None:
        """Number each row, with equal numbers for rows equal on these units; None if merging does not pay."""
        if len(support) == len(self.problem.units):
            return None
        key = np.zeros(len(self.problem.columns), dtype=np.int64)
        size = 1
        for unit in support:
            if unit not in self._codes:
                self._codes[unit] = self._code(unit)
            codes = self._codes[unit]
            if codes is None:
                return None
            many = int(codes.max()) + 1
            if size * many > _LIMIT:
                key = group_keys(key)[1]
                size = int(key.max()) + 1
            key, size = key * many + codes, size * many
        return key

    def _code(self, unit: int) -> Codes | None:
        columns, own = self.problem.columns, list(self.problem.units[unit])
        sample = columns[:: max(1, len(columns) // _SAMPLE)][:, own]
        if len(distinct_rows(sample)[0]) > len(sample) / 2 > 64:
            return None
        first, codes = distinct_rows(columns[:, own])
        return codes if len(first) <= max(64, len(columns) / 2) else None


# Solving one choice of units gives a lower bound for all others that is linear in the choice.
#
# c(p), the optimum on the support of p, is a convex function of p. Any dual feasible multipliers α give
#
#     c(p) ≥ constant − Σ_a p_a · slope_a,    slope_a = Σ over the columns of a of h(s),  s = Σᵢ αᵢ xᵢ
#
# with h(s) = max over |w| ≤ box of (ws − w²/2); the optimal multipliers at p̂ make the bound tight there.

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Cut:
    """c(p) ≥ constant − slopes·p for every choice p of units; slopes are never negative.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.problem import Cut
    >>> Cut(5.0, np.array([1.0, 3.0])).at((1,))
    2.0
    """

    constant: float
    slopes: Floats

    def at(self, support: tuple[int, ...]) -> float:
        """Return the lower bound for this support."""
        return self.constant - float(self.slopes[list(support)].sum())

    def plus(self, other: "Cut") -> "Cut":
        """Return the lower bound for two tasks together."""
        return Cut(self.constant + other.constant, self.slopes + other.slopes)

    def loosen(self) -> "Cut":
        """Lower the bound by more than the rounding of the sum of slopes."""
        rounding = 8 * len(self.slopes) * EPS * (abs(self.constant) + float(self.slopes.max(initial=0.0)))
        return Cut(self.constant - rounding, self.slopes)


@dataclass(frozen=True)
class Solved:
    """The rule on one support, its objective, and its cut."""

    support: tuple[int, ...]
    objective: float
    coefficients: Floats
    intercepts: Floats
    cut: Cut

    @property
    def bound(self) -> float:
        """A lower bound for all rules on this support."""
        return max(0.0, self.cut.at(self.support))


def conjugate(s: Floats, box: float) -> Floats:
    """Compute h(s) = max over |w| ≤ box of (ws − w²/2): s²/2 until the box binds.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.problem import conjugate
    >>> conjugate(np.array([1.0, 4.0]), box=2.0).tolist()
    [0.5, 6.0]
    """
    w = np.clip(s, -box, box)
    return w * s - 0.5 * w * w
