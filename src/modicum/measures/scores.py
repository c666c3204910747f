"""How good predictions are: error, log-loss, AUC, Matthews' correlation; records may count several times."""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.measures.intervals import ENOUGH_UNITS, LEVEL, Interval, Resampling, mean_interval, share_interval
from modicum.typing import Codes, Floats, Mask

_FLOOR = 1e-6  # a class given no chance at all costs this much, not infinity


class Predictions:
    """One model's chances on the test records, prepared so that scores of a resample are quick."""

    def __init__(self, chances: Floats, y: Codes) -> None:
        rows = np.arange(len(y))
        known = y >= 0
        own = np.where(known, chances[rows, np.maximum(y, 0)], 0.0)
        self.wrong = (chances.argmax(axis=1) != y).astype(np.float64)
        self.loss = -np.log(np.clip(own, _FLOOR, 1))
        self._chances, self._y = chances, y

    @cached_property
    def _ranks(self) -> list["_Ranking"]:
        return [_Ranking(self._chances[:, c], self._y == c) for c in _find_rankable_classes(self._chances, self._y)]

    def error(self, draws: Any = None) -> float:
        """Share of records whose most likely class is not theirs."""
        return float(np.average(self.wrong, weights=draws))

    def log_loss(self, draws: Any = None) -> float:
        """Mean of -ln(chance given to the true class); chances count as at least one in a million."""
        return float(np.average(self.loss, weights=draws))

    def auc(self, draws: Any = None) -> float:
        """Area under the ROC curve; with several classes the mean over one class against the rest."""
        found = [ranking.auc(draws) for ranking in self._ranks]
        return float(np.mean(found)) if found else float("nan")


def compute_skill_kept(minimized: float, raw: float, majority: float) -> float:
    """Skill kept: (L_majority − L_minimized) / (L_majority − L_raw)."""
    return (majority - minimized) / (majority - raw) if majority > raw else float("nan")


def _find_rankable_classes(chances: Floats, y: Codes) -> list[int]:
    """The classes with both members and others among the records; for two classes the second alone."""
    classes = [1] if chances.shape[1] == 2 else list(range(chances.shape[1]))
    return [c for c in classes if 0 < np.count_nonzero(y == c) < len(y)]


class _Ranking:
    """Records in groups of equal score."""

    def __init__(self, score: Floats, positive: Mask) -> None:
        _, self.group = np.unique(score, return_inverse=True)
        self.positive = positive.astype(np.float64)

    def auc(self, draws: Any = None) -> float:
        weight = np.ones(len(self.group)) if draws is None else draws
        up = np.bincount(self.group, weights=weight * self.positive)
        down = np.bincount(self.group, weights=weight * (1 - self.positive))
        if not up.sum() or not down.sum():
            return float("nan")
        below = np.cumsum(down) - down
        return float((up * (below + down / 2)).sum() / (up.sum() * down.sum()))


# Right and wrong guesses in one table: Matthews' correlation, its interval, and the cut of a score that suits it.


def confusion(truth: Codes, guess: Codes, size: int, weights: npt.ArrayLike | None = None) -> Floats:
    """How many records have each true value (row) and are guessed each value (column); `weights` counts them.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import confusion
    >>> confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    counted = None if weights is None else np.asarray(weights, dtype=np.float64)
    return np.bincount(truth * size + guess, counted, size * size).astype(np.float64).reshape(size, size)


def matthews(table: Floats) -> float:
    """Matthews' correlation of truth and guess (Gorodkin 2004 for many values); 0 where either is constant.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import matthews
    >>> matthews(np.array([[40.0, 10.0], [10.0, 40.0]]))
    0.6
    """
    true, guessed, n = table.sum(axis=1), table.sum(axis=0), table.sum()
    spread = (n**2 - (true**2).sum()) * (n**2 - (guessed**2).sum())
    return float((n * np.trace(table) - true @ guessed) / np.sqrt(spread)) if spread > 0 else 0.0


def matthews_interval(
    truth: Codes, guess: Codes, size: int, units: Codes | None = None, random_state: int = 0
) -> Interval:
    """The 95% interval of Matthews' correlation by resampling records, or whole units (one person's records).

    It has no width for a constant guess, which has a correlation of 0 with anything. Of fewer than 100 units it is
    Fisher's for a correlation of as many pairs, since resampling a few gives too narrow an interval; and where every
    guess is right, its low end is the one at which the accuracy has its own: 1 − (1 − accuracy) / (1 − frequency).

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import matthews_interval
    >>> truth = np.tile([0, 1], 200)
    >>> low, high = matthews_interval(truth, np.where(np.arange(400) < 40, 1 - truth, truth), 2)
    >>> bool(low < 0.8 < high)
    True
    """
    value = matthews(confusion(truth, guess, size))
    if len(np.unique(guess)) < 2:
        return 0.0, 0.0
    if (guess == truth).all():
        rest = 1 - np.bincount(truth).max() / len(truth)
        return max(-1.0, 1 - (1 - mean_interval(np.ones(len(truth)), units)[0]) / rest), 1.0
    many = len(truth) if units is None else int(units.max()) + 1
    if many < ENOUGH_UNITS:
        return _fisher(value, many)
    drawn = Resampling(len(truth), units, random_state=random_state)
    return drawn.interval(lambda draws: matthews(confusion(truth, guess, size, draws)))


def _fisher(value: float, n: int) -> Interval:
    """Fisher's interval for the correlation of n pairs."""
    from statistics import NormalDist

    if n < 5 or abs(value) >= 1:
        return -1.0, 1.0
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) / np.sqrt(n - 3)
    return float(np.tanh(np.arctanh(value) - half)), float(np.tanh(np.arctanh(value) + half))


def best_cut(scores: Floats, positive: Mask, weights: Floats) -> tuple[float, float]:
    """The cut above which to say yes so that Matthews' correlation is highest, and that correlation.

    The cut lies midway between two neighbouring scores; where no cut is of any use it is infinite, at 0.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import best_cut
    >>> best_cut(np.array([0.1, 0.2, 0.4, 0.9]), np.array([False, False, True, True]), np.ones(4))
    (0.30000000000000004, 1.0)
    """
    order = np.argsort(-scores, kind="stable")
    ranked, told = scores[order], weights[order]
    last = np.flatnonzero(ranked[:-1] > ranked[1:])  # a cut never parts equal scores
    said, right = np.cumsum(told)[last], np.cumsum(told * positive[order])[last]
    n, true = float(told.sum()), float(told[positive[order]].sum())
    spread = said * (n - said) * true * (n - true)
    found = np.divide(
        right * n - said * true, np.sqrt(np.maximum(spread, 0)), out=np.zeros(len(last)), where=spread > 0
    )
    if not len(found) or found.max() <= 0:
        return float("inf"), 0.0
    at = int(found.argmax())
    return float((ranked[last[at]] + ranked[last[at] + 1]) / 2), float(found[at])


# How well scores tell two kinds of records apart: the area under the ROC curve, and its left end.


def auc(scores: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """The chance that a positive record scores above another one; ties count half.

    Examples
    --------
    >>> from modicum.measures.scores import auc
    >>> auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875
    """
    above, _ = _placements(np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool))
    return float(above.mean())


def auc_interval(scores: npt.ArrayLike, positive: npt.ArrayLike, units: Codes | None = None) -> Interval:
    """The 95% interval of the AUC from DeLong's variance (1988); rows that share a unit are not independent.

    It is Wilson's interval for the number of yes/no records whose share would vary as much as the AUC does, so that it
    stays within 0 and 1 and keeps a width where no pair is out of order.

    Examples
    --------
    >>> from modicum.measures.scores import auc_interval
    >>> low, high = auc_interval([0.9, 0.8, 0.2, 0.1] * 50, [True, True, False, False] * 50)
    >>> round(low, 2), high
    (0.96, 1.0)
    """
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    above, below = _placements(scores, positive)
    area = float(above.mean())
    pulls = np.empty(len(scores))
    pulls[positive] = (above - area) / len(above)
    pulls[~positive] = (below - area) / len(below)
    by_unit = pulls if units is None else np.bincount(units, weights=pulls)
    variance = float((by_unit**2).sum())
    many = len(by_unit)
    if variance <= 1e-12:
        many = min(_units(positive, units), _units(~positive, units))
        return share_interval(area * many, many)
    effective = min(len(scores), area * (1 - area) / variance)
    return share_interval(area * effective, effective)


def rate_at(scores: npt.ArrayLike, positive: npt.ArrayLike, false_rate: float, draws: Any = None) -> float:
    """The share of positive records that are found when `false_rate` of the others are taken for positive.

    Positive records count down to the last of these others, not down to the next one, which fresh records would often
    exceed. Of records that tie there as many are taken, at random, as the rate allows: a straight line between two
    points of the ROC curve. `draws` says how often each record counts, for resampling.

    Examples
    --------
    >>> from modicum.measures.scores import rate_at
    >>> rate_at([4, 3, 2, 1], [True, False, True, False], false_rate=0.5)
    0.5
    >>> rate_at([7, 7, 7, 7], [True, False, True, False], false_rate=0.5)
    0.5
    """
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    counted = np.ones(len(scores)) if draws is None else np.asarray(draws, dtype=np.float64)
    _, place = np.unique(-scores, return_inverse=True)
    found = np.append(0.0, np.cumsum(np.bincount(place, weights=counted * positive)))
    wrong = np.append(0.0, np.cumsum(np.bincount(place, weights=counted * ~positive)))
    wrong, found = wrong / max(wrong[-1], 1), found / max(found[-1], 1)
    reached = int(np.searchsorted(wrong, false_rate - 1e-12, side="left"))  # the first point that has the rate
    if reached == 0:
        return float(found[0])
    part = (false_rate - wrong[reached - 1]) / (wrong[reached] - wrong[reached - 1])
    return float(found[reached - 1] + min(1.0, part) * (found[reached] - found[reached - 1]))


def rate_interval(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    false_rate: float,
    units: Codes | None = None,
    random_state: int = 0,
) -> Interval:
    """The 95% interval of `rate_at`: by resampling, as the threshold is in doubt, too; no narrower than Wilson's.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import rate_interval
    >>> positive = np.arange(2_000) < 1_000
    >>> low, high = rate_interval(np.random.default_rng(0).normal(size=2_000), positive, 0.01)
    >>> low < 0.01 < high
    True
    """
    scores, positive = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    rate = rate_at(scores, positive, false_rate)
    low, high = share_interval(rate * _units(positive, units), _units(positive, units))
    if len(scores) < ENOUGH_UNITS:
        return low, high
    drawn = Resampling(len(scores), units, random_state=random_state)
    ends = drawn.interval(lambda draws: rate_at(scores, positive, false_rate, draws))
    return min(low, ends[0]), max(high, ends[1])


def share_of(values: Mask, chosen: Mask, units: Codes | None = None) -> tuple[float, Interval]:
    """The share of the chosen records that are so, with its interval; NaN, from 0 to 1, where none is chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import share_of
    >>> share, (low, high) = share_of(np.array([True, False, True]), np.array([True, True, False]))
    >>> share, round(low, 2), round(high, 2)
    (0.5, 0.09, 0.91)
    """
    if not chosen.any():
        return float("nan"), (0.0, 1.0)
    return float(values[chosen].mean()), mean_interval(values[chosen], renumber_units(units, chosen))


def renumber_units(units: Codes | None, rows: Codes | Mask) -> Codes | None:
    """The units of some rows, numbered from 0 without gaps as intervals want them; None where there are none.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import renumber_units
    >>> renumber_units(np.array([0, 1, 2, 2]), np.array([0, 2, 3])).tolist()
    [0, 1, 1]
    """
    return None if units is None else np.unique(units[rows], return_inverse=True)[1]


def _placements(scores: Floats, positive: Mask) -> tuple[Floats, Floats]:
    """For each positive record the share of others below it, for each other the share of positive ones above it."""
    ones, zeros = scores[positive], scores[~positive]
    return _share_below(ones, np.sort(zeros)), 1 - _share_below(zeros, np.sort(ones))


def _share_below(values: Floats, ranked: Floats) -> Floats:
    below, upto = (np.searchsorted(ranked, values, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2 * len(ranked)), dtype=np.float64)


def _units(chosen: Mask, units: Codes | None) -> int:
    return int(chosen.sum()) if units is None else len(np.unique(units[chosen]))
