"""The linear support vector machine of merged rows, by augmented Lagrangians and Newton's method.

    minimize ½ Σ ridge w² + Σ cᵢ max(0, vᵢ)  over |w| ≤ bound and b,  with vᵢ = 1 − yᵢ (w·xᵢ − b)

which is (1)–(5) of papers/3 Figure 5 for chosen columns; row i has the cost cᵢ = π times the records it stands for.
With multipliers αᵢ = cᵢ aᵢ the kink of each row is replaced by a parabola of width δ where aᵢ puts it:

    minimize ½ Σ ridge w² + Σ cᵢ δ/2 (2 tᵢ uᵢ − tᵢ²),   uᵢ = aᵢ + vᵢ/δ,   tᵢ = uᵢ cut to [0, 1]

Newton's method solves that, with the rows of 0 < uᵢ < 1 alone in its matrix; then a = t, and δ is made smaller. At its
end w = Σ cᵢ tᵢ yᵢ xᵢ / ridge and Σ cᵢ tᵢ yᵢ = 0, so that the multipliers are feasible and bound the optimum from below.
The cost is linear in the rows, most of which leave the matrix early, and far outliers do no harm. Columns at their
bound have a multiplier of the same kind.
"""

import numba
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from modicum.table.values import Codes, Floats

_ROUNDS, _NEWTON, _HALVINGS = 40, 50, 30
_WIDE, _NARROWER, _NARROWEST = 4.0, 0.2, 1e-12
_CHUNK = 16_384  # rows that are multiplied by their weights at once


def solve(
    X: Floats, y: Floats, cost: Floats, bound: Floats, ridge: Floats, tolerance: float = 1e-9
) -> tuple[Floats, Floats]:
    """w, and one multiplier for each row.

    Both are nearly optimal: their values differ by about `tolerance`, relative to the objective. Nothing is claimed of
    them: `hinge` measures what they are worth.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.choosing.augmented_lagrangian import solve
    >>> X, y = np.array([[-2.0], [2.0]]), np.array([-1.0, 1.0])
    >>> w, alpha = solve(X, y, cost=np.ones(2), bound=np.full(1, 1000.0), ridge=np.ones(1))
    >>> w.round(6).tolist(), alpha.round(6).tolist()
    ([0.5], [0.125, 0.125])
    """
    scale = 2 * min(cost[y > 0].sum(), cost[y < 0].sum())  # the objective without any column
    search = _Search(_centred(X), y, cost / scale, bound, ridge / scale)
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


def _centred(X: Floats) -> Floats:
    """The columns around 0 where one lies far from it: that changes b alone, and w is told from b more easily."""
    lowest, highest = X.min(axis=0), X.max(axis=0)
    middle = (lowest + highest) / 2
    return X - middle if (np.abs(middle) > 10 * (highest - lowest)).any() else X


class _Search:
    """Where it stands: w and b with f = Xw, the rows' multipliers a (as shares of their cost) and the bounds' m."""

    def __init__(self, X: Floats, y: Floats, cost: Floats, bound: Floats, ridge: Floats) -> None:
        n, d = X.shape
        self.X, self.y, self.cost, self.bound, self.ridge = X, y, cost, bound, ridge
        self.w, self.b, self.f = np.zeros(d), 0.0, np.zeros(n)
        self.a, self.m = np.full(n, 0.5), np.zeros(d)
        self.delta = _WIDE
        self.largest = np.append(np.maximum(X.max(axis=0, initial=0.0), -X.min(axis=0, initial=0.0)), 1.0)
        self.pull = np.sqrt(cost.sum() * np.einsum("i,ij,ij->j", cost, X, X))  # no multiplier of a bound is larger

    def minimize(self, small: float) -> None:
        """Newton's method for this δ, until a step promises less than `small`; then the multipliers are the new t."""
        value, t, m = self._smoothed(self.f, self.b, self.w)
        for _ in range(_NEWTON):
            slope = np.append(self.ridge * self.w + m - self.X.T @ (self.y * self.cost * t), (self.y * self.cost) @ t)
            step = self._direction(slope, t, m)
            promised = -float(slope @ step)
            if not promised > small:
                break
            df, length = self.X @ step[:-1], 1.0
            for _ in range(_HALVINGS):
                at = (self.f + length * df, self.b + length * float(step[-1]), self.w + length * step[:-1])
                there, t_there, m_there = self._smoothed(*at)
                if there <= value - 1e-4 * length * promised:
                    break
                length /= 2
            else:
                break
            (self.f, self.b, self.w), value, t, m = at, there, t_there, m_there
        self.a, self.m = t, m

    def sharpen(self) -> bool:
        """A smaller δ, while there is one."""
        self.delta *= _NARROWER
        return self.delta > _NARROWEST

    def value(self) -> float:
        """The objective, with the best b for this w."""
        kinks = self.f - self.y
        order = np.argsort(kinks, kind="stable")
        slope = np.cumsum(self.cost[order]) - self.cost[self.y < 0].sum()
        b = kinks[order[min(int(np.searchsorted(slope, 0.0)), len(order) - 1)]]
        inside = np.clip(self.w, -self.bound, self.bound)
        f = self.f if np.array_equal(inside, self.w) else self.X @ inside
        return float(0.5 * self.ridge @ inside**2 + self.cost @ np.maximum(0.0, 1 - self.y * (f - b)))

    def bound_from_below(self) -> float:
        """Σα − Σ h(s), with the multipliers of the heavier class made smaller until both classes weigh the same."""
        alpha = self.cost * self.a
        plus, minus = float(alpha[self.y > 0].sum()), float(alpha[self.y < 0].sum())
        if min(plus, minus) <= 0:
            return 0.0
        alpha *= np.where((self.y > 0) == (plus > minus), min(plus, minus) / max(plus, minus), 1.0)
        s = self.X.T @ (alpha * self.y)
        w = np.clip(s / self.ridge, -self.bound, self.bound)
        return float(alpha.sum() - (w * s - 0.5 * self.ridge * w * w).sum())

    def _smoothed(self, f: Floats, b: float, w: Floats) -> tuple[float, Floats, Floats]:
        """The smoothed objective, each row's t and each column's multiplier of its bound."""
        t = np.empty(len(f))
        loss = smoothed_rows(self.y, f, b, self.cost, self.a, self.delta, t)
        firm = self._firmness()
        over = self.m + firm * w
        m = np.sign(over) * np.maximum(0.0, np.abs(over) - firm * self.bound)
        return 0.5 * float(self.ridge @ w**2) + loss + 0.5 * float((m * m / firm).sum()), t, m

    def _firmness(self) -> Floats:
        """How much the multiplier of a bound grows for each step beyond it."""
        return (10 * self.ridge + self.pull / self.bound) * (1 + _WIDE / self.delta)

    def _direction(self, slope: Floats, t: Floats, m: Floats) -> Floats:
        """Newton's step: ridge, bounds that are reached, and the rows in their parabolas make the matrix."""
        d = len(self.w)
        matrix = self._of_rows(np.flatnonzero((t > 0) & (t < 1)))
        matrix[np.arange(d), np.arange(d)] += self.ridge + self._firmness() * (m != 0)
        matrix[np.arange(d + 1), np.arange(d + 1)] += (
            0.01 * np.abs(slope) * self.largest + 1e-300
        )  # against steps too long
        diagonal = matrix.diagonal().copy()
        for firmer in (1e-15, 1e-12, 1e-9, 1e-6):
            matrix[np.arange(d + 1), np.arange(d + 1)] = diagonal * (1 + firmer)
            try:
                return -np.asarray(cho_solve(cho_factor(matrix), slope))
            except (LinAlgError, ValueError):
                continue
        return -slope / diagonal

    def _of_rows(self, rows: Codes) -> Floats:
        d = len(self.w)
        matrix = np.zeros((d + 1, d + 1))
        for start in range(0, len(rows), _CHUNK):
            part = rows[start : start + _CHUNK]
            root = np.sqrt(self.cost[part] / self.delta)[:, None]
            weighted = np.hstack([self.X[part] * root, -root])
            matrix += weighted.T @ weighted  # one triangle is computed: BLAS sees one array twice
        return matrix


@numba.njit(cache=True, nogil=True)
def smoothed_rows(y: Floats, f: Floats, b: float, cost: Floats, a: Floats, delta: float, t: Floats) -> float:
    """Sets each row's t, and gives the smoothed loss Σ c δ/2 (2tu − t² − a²)."""
    total = 0.0
    for i in range(len(y)):
        u = a[i] + (1.0 - y[i] * (f[i] - b)) / delta
        t[i] = min(1.0, max(0.0, u))
        total += cost[i] * (2.0 * t[i] * u - t[i] * t[i] - a[i] * a[i])
    return 0.5 * delta * total
