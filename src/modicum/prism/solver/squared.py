"""Least squares on given units, from one matrix of all columns: rows are read once, whatever is solved after."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import lsq_linear

from modicum.prism.solver.cuts import EPS, Cut, Solved, conjugate
from modicum.prism.solver.problem import Problem
from modicum.typing import Floats

_CHUNK = 16_384


class Squared:
    """Solves supports of a problem with the squared loss.

    With columns and targets centred (which is what the best b does), G = Σ k x xᵀ, g = Σ k x t, T = Σ k t² and k = π
    times the count, the multipliers α = k (t − w·x) of any w give c(p) ≥ ½ (T − wᵀGw) − Σ_a p_a h(s_a), s = g − Gw.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.problem import Problem
    >>> from modicum.prism.solver.squared import Squared
    >>> columns, targets = np.array([[-1.0], [1.0]]), np.array([1.0, 5.0])
    >>> found = Squared(Problem.of(columns, targets, None, ((0,),), 1.0, 1000.0, "squared")).solve_support((0,))
    >>> found.coefficients.round(6).tolist(), found.intercepts.round(6).tolist()
    ([[1.333333]], [-3.0])
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.k = problem.penalty * problem.counts
        self.at = np.average(problem.columns, axis=0, weights=self.k)
        self.target_at = np.average(problem.targets, axis=0, weights=self.k)
        d, tasks = problem.columns.shape[1], problem.targets.shape[1]
        whole = np.zeros((d + tasks, d + tasks))
        for start in range(0, len(self.k), _CHUNK):
            rows = slice(start, start + _CHUNK)
            centred = np.hstack([problem.columns[rows] - self.at, problem.targets[rows] - self.target_at])
            centred *= np.sqrt(self.k[rows, None])
            whole += centred.T @ centred
        self.gram, self.pulls, self.totals = whole[:d, :d], whole[:d, d:], whole[d:, d:].diagonal()

    def solve_support(self, support: tuple[int, ...]) -> Solved:
        """The best rule of every task on this support."""
        problem = self.problem
        coefficients = np.zeros((problem.targets.shape[1], problem.columns.shape[1]))
        columns = problem.columns_of(support)
        box = np.full(len(columns), problem.box)
        for w, pull in zip(coefficients, self.pulls.T, strict=True):
            w[columns] = _ridge(self.gram[np.ix_(columns, columns)], pull[columns], np.ones(len(columns)), box)
        return Solved(
            support,
            sum(self._value(w, task) for task, w in enumerate(coefficients)),
            coefficients,
            coefficients @ self.at - self.target_at,
            self._cut(coefficients),
        )

    def solve_relaxation(self, shares: Floats) -> Cut:
        """The cut that is tight where unit a is chosen to the share `shares[a]` > 0."""
        share = self.problem.by_column(shares)
        bound = self.problem.box * share
        return self._cut(np.array([_ridge(self.gram, pull, 1 / share, bound) for pull in self.pulls.T]))

    def _value(self, w: Floats, task: int) -> float:
        """½‖w‖² + Σ ½ k r², from the rows themselves."""
        problem, total = self.problem, 0.5 * float(w @ w)
        b = float(w @ self.at - self.target_at[task])
        residual = problem.columns @ w - b - problem.targets[:, task]
        return total + 0.5 * float(self.k @ residual**2)

    def _cut(self, coefficients: Floats) -> Cut:
        cut = Cut(0.0, np.zeros(len(self.problem.units)))
        rounding = 4 * EPS * (np.sqrt(len(self.k)) + 64)  # of each number in the matrix, relative to its diagonal
        sizes = np.sqrt(self.gram.diagonal())
        for w, pull, total in zip(coefficients, self.pulls.T, self.totals, strict=True):
            explained = self.gram @ w
            scale = np.sqrt(total) + float(sizes @ np.abs(w))
            off = rounding * sizes * scale
            slopes = self.problem.by_unit(conjugate(np.abs(pull - explained) + off, self.problem.box))
            cut = cut.plus(Cut(0.5 * float(total - w @ explained) - rounding * scale**2, slopes))
        return cut.loosen()


def _ridge(gram: Floats, pull: Floats, ridge: Floats, bound: Floats) -> Floats:
    """w that makes ½ Σ ridge w² + ½ wᵀGw − g·w smallest within its bounds."""
    if not len(pull):
        return np.zeros(0)
    matrix = gram + np.diag(ridge)
    w: Floats = cho_solve(cho_factor(matrix), pull)
    if (np.abs(w) <= bound).all():
        return w
    upper = cholesky(matrix)
    right = solve_triangular(upper, pull, trans="T")
    found: Floats = lsq_linear(upper, right, bounds=(-bound, bound), method="bvls", tol=1e-14).x
    return np.clip(found, -bound, bound)
