"""What solving one choice of units tells of all the others: a lower bound that is linear in the choice.

c(p), the optimum on the support of p, is a convex function of p. Any multipliers α that are feasible for the dual give

    c(p) ≥ constant − Σ_a p_a · slope_a,    slope_a = Σ over the columns of a of h(s),  s = Σᵢ αᵢ xᵢ

with h(s) = max over |w| ≤ box of (ws − w²/2), and the optimal ones at p̂ make it tight there.
"""

from dataclasses import dataclass

import numpy as np

from modicum.typing import Floats

EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Cut:
    """c(p) ≥ constant − slopes·p for every choice p of units; slopes are never negative.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.cuts import Cut
    >>> Cut(5.0, np.array([1.0, 3.0])).at((1,))
    2.0
    """

    constant: float
    slopes: Floats

    def at(self, support: tuple[int, ...]) -> float:
        """The lower bound for this support."""
        return self.constant - float(self.slopes[list(support)].sum())

    def plus(self, other: "Cut") -> "Cut":
        """The lower bound for two tasks together."""
        return Cut(self.constant + other.constant, self.slopes + other.slopes)

    def loosen(self) -> "Cut":
        """The same, lower by more than what adding up the slopes can round."""
        rounding = 8 * len(self.slopes) * EPS * (abs(self.constant) + float(self.slopes.max(initial=0.0)))
        return Cut(self.constant - rounding, self.slopes)


@dataclass(frozen=True)
class Solved:
    """The rule on one support, its objective, and the cut that belongs to it."""

    support: tuple[int, ...]
    objective: float
    coefficients: Floats
    intercepts: Floats
    cut: Cut

    @property
    def bound(self) -> float:
        """What no rule on this support goes below."""
        return max(0.0, self.cut.at(self.support))


def conjugate(s: Floats, box: float) -> Floats:
    """h(s) = max over |w| ≤ box of (ws − w²/2): s²/2 until the box binds.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.cuts import conjugate
    >>> conjugate(np.array([1.0, 4.0]), box=2.0).tolist()
    [0.5, 6.0]
    """
    w = np.clip(s, -box, box)
    return w * s - 0.5 * w * w
