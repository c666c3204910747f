"""The best rule on given units: its exact objective, and a cut that holds in floating point, for either loss."""

import numba
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular
from scipy.optimize import lsq_linear

from modicum.prism.solver.problem import EPS, Cut, Merging, Problem, Solved, conjugate, group_keys, sum_by_group
from modicum.typing import Codes, Floats

_CHUNK = 16_384  # rows processed at once

# The linear support vector machine of merged rows, by augmented Lagrangians and Newton's method.
#
#     minimize ½ Σ ridge w² + Σ cᵢ max(0, vᵢ)  over |w| ≤ bound and b,  with vᵢ = 1 − yᵢ (w·xᵢ − b)
#
# which is (1)–(5) of [Barbato25 Figure 5] for chosen columns; row i has the cost cᵢ = π times the records it
# represents. With multipliers αᵢ = cᵢ aᵢ the kink of each row is replaced by a parabola of width δ at the place that
# aᵢ sets:
#
#     minimize ½ Σ ridge w² + Σ cᵢ δ/2 (2 tᵢ uᵢ − tᵢ²),   uᵢ = aᵢ + vᵢ/δ,   tᵢ = uᵢ cut to [0, 1]
#
# Newton's method solves this, with only the rows of 0 < uᵢ < 1 in its matrix; then a = t, and δ shrinks. At the end
# w = Σ cᵢ tᵢ yᵢ xᵢ / ridge and Σ cᵢ tᵢ yᵢ = 0, so the multipliers are feasible and bound the optimum from below. The
# cost is linear in the rows, most of which leave the matrix early, and far outliers do no harm.
# Columns at their bound have a multiplier of the same kind.

_ROUNDS, _NEWTON, _HALVINGS = 40, 50, 30
_WIDE, _NARROWER, _NARROWEST = 4.0, 0.2, 1e-12


def solve(
    X: Floats, y: Floats, cost: Floats, bound: Floats, ridge: Floats, tolerance: float = 1e-9
) -> tuple[Floats, Floats]:
    """Return w, and one multiplier for each row.

    Both are nearly optimal: their objectives differ by about `tolerance`, relative to the objective. `Hinge` does not
    rely on this; it computes the objective and the bound itself.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.losses import solve
    >>> X, y = np.array([[-2.0], [2.0]]), np.array([-1.0, 1.0])
    >>> w, alpha = solve(X, y, cost=np.ones(2), bound=np.full(1, 1000.0), ridge=np.ones(1))
    >>> w.round(6).tolist(), alpha.round(6).tolist()
    ([0.5], [0.125, 0.125])
    """
    scale = 2 * min(cost[y > 0].sum(), cost[y < 0].sum())  # the objective without columns
    search = _StepSearch(_centre_columns(X), y, cost / scale, bound, ridge / scale)
    best_w, best_a, lowest, highest = search.w, search.a, np.inf, -np.inf
    for _ in range(_ROUNDS):
        search.minimize(1e-6 * tolerance)
        above, below = search.value(), search.bound_from_below()
        if above < lowest:
            best_w, lowest = search.w, above
        if below > highest:
            best_a, highest = search.a, below
        if lowest - highest <= tolerance * lowest or not search.sharpen():
            break
    return best_w, best_a * cost


def _centre_columns(X: Floats) -> Floats:
    """Centre the columns if one lies far from 0: this changes only b, and separates w from b numerically."""
    lowest, highest = X.min(axis=0), X.max(axis=0)
    middle = (lowest + highest) / 2
    return X - middle if (np.abs(middle) > 10 * (highest - lowest)).any() else X


class _StepSearch:
    """The current w and b with f = Xw, the rows' multipliers a (as shares of their cost) and the bounds' m."""

    def __init__(self, X: Floats, y: Floats, cost: Floats, bound: Floats, ridge: Floats) -> None:
        n, d = X.shape
        self.X, self.y, self.cost, self.bound, self.ridge = X, y, cost, bound, ridge
        self.w, self.b, self.f = np.zeros(d), 0.0, np.zeros(n)
        self.a, self.m = np.full(n, 0.5), np.zeros(d)
        self.delta = _WIDE
        self.largest = np.append(np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0)), 1.0)
        self.pull = np.sqrt(cost.sum() * np.einsum("i,ij,ij->j", cost, X, X))  # no multiplier of a bound is larger

    def minimize(self, small: float) -> None:
        """Run Newton's method for this δ until a step promises less than `small`; then set the multipliers to t."""
        value, t, m = self._smooth_objective(self.f, self.b, self.w)
        for _ in range(_NEWTON):
            slope = np.append(self.ridge * self.w + m - self.X.T @ (self.y * self.cost * t), (self.y * self.cost) @ t)
            step = self._direction(slope, t, m)
            promised = -float(slope @ step)
            if not promised > small:
                break
            df, length = self.X @ step[:-1], 1.0
            for _ in range(_HALVINGS):
                at = (self.f + length * df, self.b + length * float(step[-1]), self.w + length * step[:-1])
                there, t_there, m_there = self._smooth_objective(*at)
                if there <= value - 1e-4 * length * promised:
                    break
                length /= 2
            else:
                break
            (self.f, self.b, self.w), value, t, m = at, there, t_there, m_there
        self.a, self.m = t, m

    def sharpen(self) -> bool:
        """Make δ smaller; return False once it is too small."""
        self.delta *= _NARROWER
        return self.delta > _NARROWEST

    def value(self) -> float:
        """Return the objective, with the best b for this w."""
        b = _lowest_kink(self.f - self.y, self.y, self.cost, 0.0)
        inside = np.clip(self.w, -self.bound, self.bound)
        f = self.f if np.array_equal(inside, self.w) else self.X @ inside
        return float(0.5 * self.ridge @ inside**2 + self.cost @ np.maximum(0.0, 1 - self.y * (f - b)))

    def bound_from_below(self) -> float:
        """Return Σα − Σ h(s), with the heavier class's multipliers scaled down until both classes weigh the same."""
        alpha = repair_multipliers(self.cost * self.a, self.y, self.cost)
        s = self.X.T @ (alpha * self.y)
        w = np.clip(s / self.ridge, -self.bound, self.bound)
        return float(alpha.sum() - (w * s - 0.5 * self.ridge * w * w).sum())

    def _smooth_objective(self, f: Floats, b: float, w: Floats) -> tuple[float, Floats, Floats]:
        """Return the smoothed objective, each row's t and each column's multiplier of its bound."""
        t = np.empty(len(f))
        loss = smooth_rows(self.y, f, b, self.cost, self.a, self.delta, t)
        firm = self._firmness()
        over = self.m + firm * w
        m = np.sign(over) * np.maximum(0.0, np.abs(over) - firm * self.bound)
        return 0.5 * float(self.ridge @ w**2) + loss + 0.5 * float((m * m / firm).sum()), t, m

    def _firmness(self) -> Floats:
        """Return how much the multiplier of a bound grows per unit beyond it."""
        return (10 * self.ridge + self.pull / self.bound) * (1 + _WIDE / self.delta)

    def _direction(self, slope: Floats, t: Floats, m: Floats) -> Floats:
        """Return Newton's step. Its matrix has the ridge, the active bounds, and the rows within their parabolas."""
        d = len(self.w)
        matrix = self._curvature(np.flatnonzero((t > 0) & (t < 1)))
        matrix[np.arange(d), np.arange(d)] += self.ridge + self._firmness() * (m != 0)
        against_long_steps = 0.01 * np.abs(slope) * self.largest + 1e-300
        matrix[np.arange(d + 1), np.arange(d + 1)] += against_long_steps
        diagonal = matrix.diagonal().copy()
        for firmer in (1e-15, 1e-12, 1e-9, 1e-6):
            matrix[np.arange(d + 1), np.arange(d + 1)] = diagonal * (1 + firmer)
            try:
                return -np.asarray(cho_solve(cho_factor(matrix), slope))
            except (LinAlgError, ValueError):
                continue
        return -slope / diagonal

    def _curvature(self, rows: Codes) -> Floats:
        d = len(self.w)
        matrix = np.zeros((d + 1, d + 1))
        for start in range(0, len(rows), _CHUNK):
            part = rows[start : start + _CHUNK]
            root = np.sqrt(self.cost[part] / self.delta)[:, None]
            weighted = np.hstack([self.X[part] * root, -root])
            matrix += weighted.T @ weighted  # BLAS sees the same array twice and computes one triangle
        return matrix


@numba.njit(cache=True, nogil=True)
def smooth_rows(y: Floats, f: Floats, b: float, cost: Floats, a: Floats, delta: float, t: Floats) -> float:
    """Set each row's t, and return the smoothed loss Σ c δ/2 (2tu − t² − a²)."""
    total = 0.0
    for i in range(len(y)):
        u = a[i] + (1.0 - y[i] * (f[i] - b)) / delta
        t[i] = min(1.0, max(0.0, u))
        total += cost[i] * (2.0 * t[i] * u - t[i] * t[i] - a[i] * a[i])
    return 0.5 * delta * total


# The support vector machine

_ROUND = 64 * EPS  # relative error of a sum of up to 2⁴⁰ rows, at most: numpy adds in pairs


class Hinge:
    """Solve supports of a problem with the hinge loss.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.losses import Hinge
    >>> from modicum.prism.solver.problem import Problem
    >>> columns = np.array([[-2.0, 0.0], [2.0, 1.0]])
    >>> hinge = Hinge(Problem.of(columns, np.array([-1, 1]), None, ((0,), (1,)), 1.0, 1000.0))
    >>> on_both, on_first = hinge.solve_support((0, 1)), hinge.solve_support((0,))
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
        """Bound |b| of every optimum: b lies where a row's margin is 1, and ½‖w‖² is below c(∅)."""
        X, nothing = self.problem.columns, 2 * self.cost.sum()
        norms = np.sqrt(np.einsum("ij,ij->i", X, X)).max(initial=0.0)
        return 2.0 + float(min(np.sqrt(2 * nothing) * norms, self.problem.box * self.largest.sum()))

    def solve_support(self, support: tuple[int, ...]) -> Solved:
        """Return the best rule of every task on this support."""
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
        return Solved(support, objective, coefficients, intercepts, cut.loosen())

    def solve_relaxation(self, shares: Floats) -> Cut:
        """Return the cut that is tight where unit a has the share `shares[a]` > 0 (w²/2p is its perspective)."""
        problem = self.problem
        share = problem.by_column(shares)
        cut = Cut(0.0, np.zeros(len(problem.units)))
        for y in problem.targets.T:
            y = np.ascontiguousarray(y)
            if abs(y.sum()) < len(y):
                _, alpha = solve(problem.columns, y, self.cost, problem.box * share, 1 / share, tolerance=1e-6)
                cut = cut.plus(self.cut(alpha, y))
        return cut.loosen()

    def _task(self, columns: Codes, y: Floats, keys: Codes | None) -> tuple[Floats, float, float, Floats]:
        X, cost, group = self.problem.columns, self.cost, None
        if keys is not None:
            first, group = group_keys(2 * keys + (y > 0))
            X, y, cost = X[first], y[first], sum_by_group(cost, group)
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
        """Return a valid lower bound from any multipliers: make them feasible, and subtract the largest rounding."""
        alpha = repair_multipliers(alpha, y, self.cost)
        total = float(alpha.sum())
        unbalanced = abs(float(alpha[y > 0].sum() - alpha[y < 0].sum())) + _ROUND * total
        s = self.problem.columns.T @ (alpha * y)
        off = (len(y) + 8) * EPS * total * self.largest
        slopes = self.problem.by_unit(conjugate(np.abs(s) + off, self.problem.box)) * (1 + _ROUND)
        return Cut(total * (1 - _ROUND) - unbalanced * self.reach, slopes)


def repair_multipliers(alpha: Floats, y: Floats, cost: Floats) -> Floats:
    """Clip the multipliers to [0, cost] and scale the heavier class down until both classes have the same sum."""
    alpha = np.clip(alpha, 0.0, cost)
    plus, minus = float(alpha[y > 0].sum()), float(alpha[y < 0].sum())
    if plus == minus:
        return alpha
    lower = min(plus, minus) / max(plus, minus)
    return np.where((y > 0) == (plus > minus), alpha * lower, alpha)


def best_intercept(f: Floats, y: Floats, cost: Floats) -> tuple[float, float]:
    """Return the b that minimizes Σ cost·max(0, 1 − y (f − b)), a weighted quantile of f − y, and the minimum.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.losses import best_intercept
    >>> b, loss = best_intercept(np.array([0.0, 4.0]), np.array([-1.0, 1.0]), np.ones(2))
    >>> 1.0 <= b <= 3.0, loss
    (True, 0.0)
    """
    b = _lowest_kink(f - y, y, cost, _ROUND * cost.sum())
    return b, float(cost @ np.maximum(0.0, 1.0 - y * (f - b)))


def _lowest_kink(kinks: Floats, y: Floats, cost: Floats, rounding: float) -> float:
    """Return the kink from which the loss, as a function of b, no longer falls."""
    order = np.argsort(kinks, kind="stable")
    slope = np.cumsum(cost[order]) - cost[y < 0].sum()
    return float(kinks[order[min(int(np.searchsorted(slope, -rounding)), len(order) - 1)]])


# Least squares, from one matrix of all columns: the rows are read only once.


class Squared:
    """Solve supports of a problem with the squared loss.

    With columns and targets centred (as the best b does), G = Σ k x xᵀ, g = Σ k x t, T = Σ k t² and k = π
    times the count, the multipliers α = k (t − w·x) of any w give c(p) ≥ ½ (T − wᵀGw) − Σ_a p_a h(s_a), s = g − Gw.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.problem import Problem
    >>> from modicum.prism.solver.losses import Squared
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
        """Return the best rule of every task on this support."""
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
        """Return the cut that is tight where unit a has the share `shares[a]` > 0."""
        share = self.problem.by_column(shares)
        bound = self.problem.box * share
        return self._cut(np.array([_ridge(self.gram, pull, 1 / share, bound) for pull in self.pulls.T]))

    def _value(self, w: Floats, task: int) -> float:
        """Return ½‖w‖² + Σ ½ k r², computed from the rows themselves."""
        problem, total = self.problem, 0.5 * float(w @ w)
        b = float(w @ self.at - self.target_at[task])
        residual = problem.columns @ w - b - problem.targets[:, task]
        return total + 0.5 * float(self.k @ residual**2)

    def _cut(self, coefficients: Floats) -> Cut:
        cut = Cut(0.0, np.zeros(len(self.problem.units)))
        rounding = 4 * EPS * (np.sqrt(len(self.k)) + 64)  # of each entry of the matrix, relative to its diagonal
        sizes = np.sqrt(self.gram.diagonal())
        for w, pull, total in zip(coefficients, self.pulls.T, self.totals, strict=True):
            explained = self.gram @ w
            scale = np.sqrt(total) + float(sizes @ np.abs(w))
            off = rounding * sizes * scale
            slopes = self.problem.by_unit(conjugate(np.abs(pull - explained) + off, self.problem.box))
            cut = cut.plus(Cut(0.5 * float(total - w @ explained) - rounding * scale**2, slopes))
        return cut.loosen()


def _ridge(gram: Floats, pull: Floats, ridge: Floats, bound: Floats) -> Floats:
    """Return the w that minimizes ½ Σ ridge w² + ½ wᵀGw − g·w within its bounds."""
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
