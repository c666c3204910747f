"""ν-SVC on distinct rows with weights, for two values or many (papers/3 §5.2)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, product
from typing import Any

import numpy as np

from modicum.table.codes import first_rows, group_rows
from modicum.table.values import Codes, Floats

SHARES = (0.5, 0.65, 0.8, 0.95)  # of the largest ν that is feasible
GAMMAS = (0.15, 0.5, 2.0)  # records lie 2 apart on average (`Points`)
WEIGHTINGS = ("as they are", "balanced")
FEW = (None, 0.5), (0.5, 0.8)  # kernels and shares of ν for more than four values, of which every two are told apart
MOST_VALUES = 12  # the most frequent ones, each of which is told from each other one
_FEW_VALUES = 4
_NEARLY_EVEN = 0.8  # balancing values that are so close in number changes nothing
_TOLERANCE = 1e-3  # libsvm's own


@dataclass(frozen=True)
class Setting:
    """A kernel (the plain product without γ), ν as a share of the largest feasible one, and how values are weighted."""

    gamma: float | None
    nu_share: float
    weighting: str

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {"model": "nu-SVC", "kernel": "linear" if self.gamma is None else "rbf", **asdict(self)}


def settings(totals: Floats) -> list[Setting]:
    """What is tried, for values that are so frequent; kernel by kernel, and fewer where there are many values."""
    even = totals.min() >= _NEARLY_EVEN * totals.max()
    weightings = WEIGHTINGS[:1] if even else WEIGHTINGS
    kernels, shares = FEW if len(totals) > _FEW_VALUES else ((None, *GAMMAS), SHARES)
    return [Setting(*each) for each in product(kernels, shares, weightings)]


@dataclass(frozen=True)
class Merged:
    """Distinct rows, each with a value and the weight of its records."""

    cells: Codes
    values: Codes
    weights: Floats

    @classmethod
    def of(cls, cells: Codes, values: Codes, weights: Floats) -> "Merged":
        """Records of the same cell and value as one row.

        Examples
        --------
        >>> import numpy as np
        >>> from modicum.attacks.nu_svc import Merged
        >>> Merged.of(np.array([4, 4, 7]), np.array([1, 1, 0]), np.ones(3)).weights.tolist()
        [2.0, 1.0]
        """
        group = group_rows(np.column_stack([cells, values]))
        first = first_rows(group)
        return cls(cells[first], values[first], np.bincount(group, weights).astype(np.float64))

    def __len__(self) -> int:
        return len(self.cells)


class NuSvc:
    """Tells every two values apart by a ν-SVC, and takes the value that wins most often.

    ν is a share of the largest feasible one of the two values, 2·min(w₁, w₂)/(w₁ + w₂) for weights w₁ and w₂, so that a
    rare value does not rule out a ν that others need. Where ν is too small for how much the values mix, the ν-SVC has
    no margin and its hyperplane means nothing; the more frequent of the two then wins. `useful` says whether any two
    values could be told apart.
    """

    def __init__(self, setting: Setting, size: int) -> None:
        self.setting = setting
        self.size = size

    def fit(self, gram: Floats, values: Codes, weights: Floats) -> "NuSvc":
        """Learn from rows of which the kernel is known, each with a value and a weight."""
        totals = np.bincount(values, weights, self.size).astype(np.float64)
        if self.setting.weighting == WEIGHTINGS[1]:
            weights = weights / np.where(totals > 0, totals, 1)[values]
            totals = (totals > 0).astype(np.float64)
        self._pairs = [_Pair(self.setting, a, b, totals) for a, b in combinations(np.flatnonzero(totals).tolist(), 2)]
        for pair in self._pairs:
            pair.fit(gram, values, weights)
        self.useful = any(pair.margin for pair in self._pairs)
        return self

    @property
    def support(self) -> Codes:
        """The rows that the decision needs."""
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(pair.rows for pair in self._pairs)]))

    def scores(self, gram: Floats, places: Codes) -> Floats:
        """For each row and value how much speaks for it; `gram` has a column for each training row in `places`.

        For two values it is the decision itself and its opposite; for many the pairs won, ties by how clearly.
        """
        found = np.full((len(gram), self.size), -np.inf)
        for pair in self._pairs:
            decision = pair.decide(gram, places)
            for value, sign in ((pair.second, 1), (pair.first, -1)):
                found[:, value] = np.where(np.isneginf(found[:, value]), 0.0, found[:, value])
                found[:, value] += sign * decision if self.size == 2 else _won(sign * decision)
        return found


class _Pair:
    """The ν-SVC of two values: positive where the second is more likely."""

    def __init__(self, setting: Setting, first: int, second: int, totals: Floats) -> None:
        self.first, self.second = first, second
        both = totals[[first, second]]
        self.nu = setting.nu_share * 2 * float(both.min() / both.sum())
        self.usual = 1.0 if both[1] > both[0] else -1.0
        self.rows, self.coefficients, self.shift = np.zeros(0, dtype=np.int64), np.zeros(0), self.usual
        self.margin = False

    def fit(self, gram: Floats, values: Codes, weights: Floats) -> None:
        from sklearn.svm import NuSVC  # deferred: importing scikit-learn takes a second

        mine = np.flatnonzero((values == self.first) | (values == self.second))
        scaled = weights[mine] / weights[mine].mean()
        model = NuSVC(nu=self.nu, kernel="precomputed", tol=_TOLERANCE, cache_size=500)
        try:
            among = gram if len(mine) == len(values) else gram[np.ix_(mine, mine)]
            model.fit(among, values[mine] == self.second, sample_weight=scaled)
        except ValueError:  # no margin at all: the coefficients are not finite
            return
        coefficients = np.asarray(model.dual_coef_, dtype=np.float64)[0]
        # libsvm divides by the margin at the end: before, the coefficients' sizes sum to ν times the weights.
        self.margin = self.nu * len(mine) / np.abs(coefficients).sum() > _TOLERANCE
        if self.margin:
            self.rows, self.coefficients = mine[model.support_], coefficients
            self.shift = float(model.intercept_[0])

    def decide(self, gram: Floats, places: Codes) -> Floats:
        return gram[:, np.searchsorted(places, self.rows)] @ self.coefficients + self.shift


def _won(decision: Floats) -> Floats:
    """One for a pair won, and less than half of it more for a clear decision."""
    return (decision > 0) + decision / (3 * (np.abs(decision) + 1))


def fair_limits(counts: Sequence[int], most: int) -> list[int]:
    """How many rows of each value may be drawn, alike for all; what a rare value leaves goes to the others.

    Examples
    --------
    >>> from modicum.attacks.nu_svc import fair_limits
    >>> fair_limits([1000, 10, 400], 600)
    [295, 10, 295]
    """
    limits, left = [0] * len(counts), most
    for rank, value in enumerate(sorted(range(len(counts)), key=lambda v: counts[v])):
        limits[value] = min(counts[value], left // (len(counts) - rank))
        left -= limits[value]
    return limits
