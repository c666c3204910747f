"""The linear support vector machine of merged rows, by an interior point method.

    minimize ½ Σ ridge w² + Σ cᵢ zᵢ  over |w| ≤ bound and b,  with yᵢ (w·xᵢ − b) ≥ 1 − zᵢ and zᵢ ≥ 0

which is (1)–(5) of papers/3 Figure 5 for chosen columns; row i has the cost cᵢ = π times the records it stands for.
Mehrotra's predictor and corrector; every step makes one matrix of (columns + 1)² in one pass over the rows, so that
the cost is linear in the rows, and ten to forty steps do. Nothing is claimed of the result: `hinge` measures it.
"""

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from modicum.prism.choosing.interior_point_rows import ahead, directed, empty_rows, measured, moved, pulled
from modicum.table.values import Floats

_STEPS = 100
_CHUNK = 16_384  # rows that are multiplied by their weights at once
_STUCK = 1e-7  # a step this short leads nowhere


def solve(
    X: Floats, y: Floats, cost: Floats, bound: Floats, ridge: Floats, tolerance: float = 1e-9
) -> tuple[Floats, Floats]:
    """w, and one multiplier for each row.

    Both are nearly optimal: their values differ by about `tolerance`, relative to the objective.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.choosing.interior_point import solve
    >>> X, y = np.array([[-2.0], [2.0]]), np.array([-1.0, 1.0])
    >>> w, alpha = solve(X, y, cost=np.ones(2), bound=np.full(1, 1000.0), ridge=np.ones(1))
    >>> w.round(6).tolist(), alpha.round(6).tolist()
    ([0.5], [0.125, 0.125])
    """
    scale = 2 * min(cost[y > 0].sum(), cost[y < 0].sum())  # the objective without any column
    search = _Search(X, y, cost / scale, bound, ridge / scale)
    for _ in range(_STEPS):
        if search.done(tolerance) or search.step() < _STUCK:
            break
    return search.w, search.alpha * scale


class _Search:
    """The iterate: w and b, slacks of the margin `s` and errors `z`, and the multiplier that belongs to each."""

    def __init__(self, X: Floats, y: Floats, cost: Floats, bound: Floats, ridge: Floats) -> None:
        n, d = X.shape
        self.X, self.y, self.cost, self.bound, self.ridge = X, y, cost, bound, ridge
        self.w, self.b = np.zeros(d), 0.0
        self.low, self.high = np.full(d, cost.mean()), np.full(d, cost.mean())
        self.s, self.z = np.ones(n), np.ones(n)
        self.alpha, self.beta = cost / 2, cost / 2
        self.weight, self.off, self.signed, self.rest, self.pull = empty_rows(n, 5)
        self.ds, self.dz, self.dalpha = empty_rows(n, 3)
        self._measure()

    def done(self, tolerance: float) -> bool:
        value = 0.5 * self.ridge @ self.w**2 + self.loss
        near = tolerance * value
        off = float(np.abs(self.off_w) @ (np.abs(self.w) + 1e-3)) + abs(self.balance) * (1 + abs(self.b))
        return bool(self.products < near and off < near)

    def step(self) -> float:
        """Predicts, corrects and moves; gives the length of the step, 0 where there is none."""
        if not self._factorize():
            return 0.0
        for direction in (self.ds, self.dz, self.dalpha):
            direction[:] = 0.0
        zero = np.zeros(len(self.w))
        self._direct(0.0, zero, zero, zero)
        room = self.room
        mean = self.products / (2 * len(self.y) + 2 * len(self.w))
        centred = mean * min(1.0, max(0.0, self._products_after(room) / self.products)) ** 3
        self._direct(centred, self.dw, self.dlow, self.dhigh)
        length = min(1.0, 0.9995 * self.room)
        self._move(length)
        return length

    def _measure(self) -> None:
        self.f = self.X @ self.w
        self.below, self.above = self.bound + self.w, self.bound - self.w
        of_rows, self.loss, self.balance = measured(
            self.y, self.f, self.b, self.cost, self.s, self.z, self.alpha, self.beta, self.weight, self.off, self.signed
        )
        self.products = of_rows + float(self.low @ self.below + self.high @ self.above)
        self.off_w = self.ridge * self.w - self.X.T @ self.signed - self.low + self.high

    def _factorize(self) -> bool:
        d = len(self.w)
        matrix = np.zeros((d + 1, d + 1))
        root = np.sqrt(self.weight)
        for start in range(0, len(self.y), _CHUNK):
            part = root[start : start + _CHUNK, None]
            weighted = np.hstack([self.X[start : start + _CHUNK] * part, -part])
            matrix += weighted.T @ weighted  # one triangle is computed: BLAS sees one array twice
        matrix[np.arange(d), np.arange(d)] += self.ridge + self.low / self.below + self.high / self.above
        diagonal = matrix.diagonal().copy()
        for firmer in (1e-15, 1e-12, 1e-9, 1e-6):
            matrix[np.arange(d + 1), np.arange(d + 1)] = diagonal * (1 + firmer)
            try:
                self.factor = cho_factor(matrix)
            except (LinAlgError, ValueError):
                continue
            return True
        return False

    def _direct(self, target: float, dw: Floats, dlow: Floats, dhigh: Floats) -> None:
        """The direction towards products of `target`, with the second order terms of the given one."""
        rows = (self.s, self.z, self.alpha, self.beta, target, self.ds, self.dz, self.dalpha)
        total = pulled(self.y, self.weight, self.off, *rows, self.rest, self.pull)
        of_low = (target - dlow * dw) / self.below - self.low
        of_high = (target + dhigh * dw) / self.above - self.high
        right = np.append(self.X.T @ self.pull - self.off_w + of_low - of_high, -(total + self.balance))
        found = cho_solve(self.factor, right)
        self.dw, self.db = found[:-1], float(found[-1])
        room = directed(self.y, self.weight, self.rest, self.X @ self.dw, self.db, *rows)
        self.dlow = of_low - self.low / self.below * self.dw
        self.dhigh = of_high + self.high / self.above * self.dw
        pairs = ((self.low, self.dlow), (self.high, self.dhigh), (self.below, self.dw), (self.above, -self.dw))
        self.room = min(room, *(_room(value, change) for value, change in pairs))

    def _products_after(self, step: float) -> float:
        of_rows = ahead(self.s, self.z, self.alpha, self.beta, self.ds, self.dz, self.dalpha, step)
        of_low = (self.low + step * self.dlow) @ (self.below + step * self.dw)
        of_high = (self.high + step * self.dhigh) @ (self.above - step * self.dw)
        return of_rows + float(of_low + of_high)

    def _move(self, step: float) -> None:
        moved(self.s, self.z, self.alpha, self.beta, self.ds, self.dz, self.dalpha, step)
        self.w, self.b = self.w + step * self.dw, self.b + step * self.db
        self.low, self.high = self.low + step * self.dlow, self.high + step * self.dhigh
        self._measure()


def _room(value: Floats, change: Floats) -> float:
    falling = change < 0
    return min(1.0, float((-value[falling] / change[falling]).min(initial=1.0)))
