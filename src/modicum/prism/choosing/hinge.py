"""The support vector machine on given units: the rule, its exact objective, and a cut that holds in floating point."""

import numpy as np

from modicum.prism.choosing.augmented_lagrangian import solve
from modicum.prism.choosing.cuts import EPS, Cut, Solved, conjugate
from modicum.prism.choosing.merging import Merging
from modicum.prism.choosing.problem import Problem, added, grouped
from modicum.table.values import Codes, Floats

_ROUND = 64 * EPS  # numpy adds in pairs: the error of a sum stays below this share of it up to 2⁴⁰ rows


class Hinge:
    """Solves supports of a problem with the hinge loss.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.choosing.hinge import Hinge
    >>> from modicum.prism.choosing.problem import Problem
    >>> columns = np.array([[-2.0, 0.0], [2.0, 1.0]])
    >>> hinge = Hinge(Problem.of(columns, np.array([-1, 1]), None, ((0,), (1,)), 1.0, 1000.0))
    >>> on_both, on_first = hinge.solved((0, 1)), hinge.solved((0,))
    >>> round(on_first.objective, 6), round(on_first.cut.at((0,)), 6)
    (0.125, 0.125)
    >>> on_first.cut.at((0, 1)) <= on_both.objective
    True
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.cost = problem.penalty * problem.counts
        self.merging = Merging(problem)
        self.largest = np.abs(problem.columns).max(axis=0, initial=0.0)
        self.reach = self._reach()

    def _reach(self) -> float:
        """No optimal intercept is farther from 0: it lies where a row's margin is 1, and ½‖w‖² is below c(∅)."""
        X, nothing = self.problem.columns, 2 * self.cost.sum()
        norms = np.sqrt(np.einsum("ij,ij->i", X, X)).max(initial=0.0)
        return 2.0 + float(min(np.sqrt(2 * nothing) * norms, self.problem.box * self.largest.sum()))

    def solved(self, support: tuple[int, ...]) -> Solved:
        """The best rule of every task on this support."""
        problem = self.problem
        columns = problem.columns_of(support)
        coefficients = np.zeros((problem.targets.shape[1], problem.columns.shape[1]))
        intercepts = np.zeros(len(coefficients))
        objective, cut = 0.0, Cut(0.0, np.zeros(len(problem.units)))
        keys = self.merging.keys(support)
        for task, y in enumerate(problem.targets.T):
            w, b, value, alpha = self._task(columns, np.ascontiguousarray(y), keys)
            coefficients[task, columns], intercepts[task] = w, b
            objective, cut = objective + value, cut.plus(self.cut(alpha, y))
        return Solved(support, objective, coefficients, intercepts, cut.guarded())

    def relaxed(self, shares: Floats) -> Cut:
        """The cut that is tight where unit a is chosen to the share `shares[a]` > 0 (w²/2p is its perspective)."""
        problem = self.problem
        share = problem.by_column(shares)
        cut = Cut(0.0, np.zeros(len(problem.units)))
        for y in problem.targets.T:
            y = np.ascontiguousarray(y)
            if abs(y.sum()) < len(y):
                _, alpha = solve(problem.columns, y, self.cost, problem.box * share, 1 / share, tolerance=1e-6)
                cut = cut.plus(self.cut(alpha, y))
        return cut.guarded()

    def _task(self, columns: Codes, y: Floats, keys: Codes | None) -> tuple[Floats, float, float, Floats]:
        X, cost, group = self.problem.columns, self.cost, None
        if keys is not None:
            first, group = grouped(2 * keys + (y > 0))
            X, y, cost = X[first], y[first], added(cost, group)
        if len(columns) < X.shape[1]:
            X = X[:, columns]
        w, alpha = np.zeros(len(columns)), cost
        if len(columns) and abs(y.sum()) < len(y):
            w, alpha = solve(X, y, cost, np.full(len(columns), self.problem.box), np.ones(len(columns)))
            w = np.clip(w, -self.problem.box, self.problem.box)
        b, value = best_intercept(X @ w, y, cost)
        if group is not None:
            alpha = (alpha / cost)[group] * self.cost
        return w, b, 0.5 * float(w @ w) + value, alpha

    def cut(self, alpha: Floats, y: Floats) -> Cut:
        """A true lower bound from any multipliers: made feasible, and lower by all that rounding could add."""
        alpha = repaired(alpha, y, self.cost)
        total = float(alpha.sum())
        unbalanced = abs(float(alpha[y > 0].sum() - alpha[y < 0].sum())) + _ROUND * total
        s = self.problem.columns.T @ (alpha * y)
        off = (len(y) + 8) * EPS * total * self.largest
        slopes = self.problem.by_unit(conjugate(np.abs(s) + off, self.problem.box)) * (1 + _ROUND)
        return Cut(total * (1 - _ROUND) - unbalanced * self.reach, slopes)


def repaired(alpha: Floats, y: Floats, cost: Floats) -> Floats:
    """The multipliers within [0, cost] and with the same sum in both classes: the heavier class is scaled down."""
    alpha = np.clip(alpha, 0.0, cost)
    plus, minus = float(alpha[y > 0].sum()), float(alpha[y < 0].sum())
    if plus == minus:
        return alpha
    lower = min(plus, minus) / max(plus, minus)
    return np.where((y > 0) == (plus > minus), alpha * lower, alpha)


def best_intercept(f: Floats, y: Floats, cost: Floats) -> tuple[float, float]:
    """b that makes Σ cost·max(0, 1 − y (f − b)) smallest, a weighted quantile of f − y, and that sum.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.choosing.hinge import best_intercept
    >>> b, loss = best_intercept(np.array([0.0, 4.0]), np.array([-1.0, 1.0]), np.ones(2))
    >>> 1.0 <= b <= 3.0, loss
    (True, 0.0)
    """
    kinks = f - y
    order = np.argsort(kinks, kind="stable")
    slope = np.cumsum(cost[order]) - cost[y < 0].sum()
    at = min(int(np.searchsorted(slope, -_ROUND * cost.sum())), len(order) - 1)
    b = float(kinks[order[at]])
    return b, float(cost @ np.maximum(0.0, 1.0 - y * (f - b)))
