"""Quality of predictions: error, log-loss, AUC and Matthews' correlation, with intervals."""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.measures.intervals import ENOUGH_UNITS, LEVEL, Interval, Resampling, mean_interval, share_interval
from modicum.typing import Codes, Floats, Mask

_FLOOR = 1e-6  # a chance of 0 counts as this, so that the loss stays finite


class Predictions:
    """One model's chances on the test records, prepared for fast scores of many resamples."""

    def __init__(self, chances: Floats, y: Codes) -> None:
        rows = np.arange(len(y))
        known = y >= 0
        own = np.where(known, chances[rows, np.maximum(y, 0)], 0.0)
        self.wrong = (chances.argmax(axis=1) != y).astype(np.float64)
        self.loss = -np.log(np.clip(own, _FLOOR, 1))
        self._chances, self._y = chances, y

    @cached_property
    def _ranks(self) -> list["_Ranking"]:
        """A ranking for each class that some but not all records have; of two classes only the second."""
        n_classes = self._chances.shape[1]
        classes = [1] if n_classes == 2 else range(n_classes)
        shared = [c for c in classes if 0 < np.count_nonzero(self._y == c) < len(self._y)]
        return [_Ranking(self._chances[:, c], self._y == c) for c in shared]

    def error(self, draws: Any = None) -> float:
        """Return the share of records whose most likely class is wrong."""
        return float(np.average(self.wrong, weights=draws))

    def log_loss(self, draws: Any = None) -> float:
        """Return the mean of -ln(chance of the true class); chances count as at least one in a million."""
        return float(np.average(self.loss, weights=draws))

    def auc(self, draws: Any = None) -> float:
        """Return the area under the ROC curve; for several classes the mean over each class against the rest."""
        areas = [ranking.auc(draws) for ranking in self._ranks]
        return float(np.mean(areas)) if areas else float("nan")


def compute_skill_kept(minimized: float, raw: float, majority: float) -> float:
    """Return the skill kept: (L_majority − L_minimized) / (L_majority − L_raw)."""
    return (majority - minimized) / (majority - raw) if majority > raw else float("nan")


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


# The confusion table: Matthews' correlation, its interval, and the score cut that maximizes it.


def confusion(truth: Codes, guess: Codes, size: int, weights: npt.ArrayLike | None = None) -> Floats:
    """Count the records by true value (row) and guessed value (column); `weights` are the records' counts.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import confusion
    >>> confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    """
    counts = None if weights is None else np.asarray(weights, dtype=np.float64)
    return np.bincount(truth * size + guess, counts, size * size).astype(np.float64).reshape(size, size)


def matthews(table: Floats) -> float:
    """Return Matthews' correlation of truth and guess (Gorodkin 2004 for many values); 0 if either is constant.

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
    """Return the 95% interval of Matthews' correlation, by resampling records or whole units (one person's records).

    A constant guess has correlation 0 and an interval without width. With fewer than 100 units it is Fisher's interval
    for as many pairs, since resampling would make it too narrow. If every guess is right, the low end follows from that
    of the accuracy: 1 − (1 − accuracy) / (1 − frequency).

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
    n_units = len(truth) if units is None else int(units.max()) + 1
    if n_units < ENOUGH_UNITS:
        return _fisher(value, n_units)
    drawn = Resampling(len(truth), units, random_state=random_state)
    return drawn.interval(lambda draws: matthews(confusion(truth, guess, size, draws)))


def _fisher(value: float, n: int) -> Interval:
    """Return Fisher's interval for the correlation of n pairs."""
    from statistics import NormalDist

    if n < 5 or abs(value) >= 1:
        return -1.0, 1.0
    half = NormalDist().inv_cdf((1 + LEVEL) / 2) / np.sqrt(n - 3)
    return float(np.tanh(np.arctanh(value) - half)), float(np.tanh(np.arctanh(value) + half))


def best_cut(scores: Floats, positive: Mask, weights: Floats) -> tuple[float, float]:
    """Return the score cut with the highest Matthews' correlation for guessing yes above it, and that correlation.

    The cut lies midway between two neighbouring scores. Without a useful cut the result is infinity and 0.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import best_cut
    >>> best_cut(np.array([0.1, 0.2, 0.4, 0.9]), np.array([False, False, True, True]), np.ones(4))
    (0.30000000000000004, 1.0)
    """
    order = np.argsort(-scores, kind="stable")
    ranked, counts = scores[order], weights[order]
    last = np.flatnonzero(ranked[:-1] > ranked[1:])  # a cut never separates equal scores
    guessed, right = np.cumsum(counts)[last], np.cumsum(counts * positive[order])[last]
    n, true = float(counts.sum()), float(counts[positive[order]].sum())
    spread = guessed * (n - guessed) * true * (n - true)
    correlations = np.divide(
        right * n - guessed * true, np.sqrt(np.maximum(spread, 0)), out=np.zeros(len(last)), where=spread > 0
    )
    if not len(correlations) or correlations.max() <= 0:
        return float("inf"), 0.0
    at = int(correlations.argmax())
    return float((ranked[last[at]] + ranked[last[at] + 1]) / 2), float(correlations[at])


# How well scores distinguish two kinds of records: the area under the ROC curve, and its left end.


def auc(scores: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """Return the chance that a positive record scores above a negative one; ties count half.

    Examples
    --------
    >>> from modicum.measures.scores import auc
    >>> auc([0.9, 0.4, 0.4, 0.1], [True, True, False, False])
    0.875
    """
    above, _ = _placements(np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool))
    return float(above.mean())


def auc_interval(scores: npt.ArrayLike, positive: npt.ArrayLike, units: Codes | None = None) -> Interval:
    """Return the 95% interval of the AUC from DeLong's variance (1988); rows of one unit are not independent.

    It is Wilson's interval for the number of yes/no records whose share would vary as much as the AUC. So it stays
    within 0 and 1, and has a width even if all pairs are in order.

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
    n_units = len(by_unit)
    if variance <= 1e-12:
        n_units = min(_units(positive, units), _units(~positive, units))
        return share_interval(area * n_units, n_units)
    effective = min(len(scores), area * (1 - area) / variance)
    return share_interval(area * effective, effective)


def rate_at(scores: npt.ArrayLike, positive: npt.ArrayLike, false_rate: float, draws: Any = None) -> float:
    """Return the share of positive records above the score that `false_rate` of the negative records reach.

    The threshold is the score of the last of these negative records, not of the next one, which fresh records would
    often exceed. Of tied records a random part counts, as many as the rate allows: a straight line between two points
    of the ROC curve. `draws` is how often each record counts, for resampling.

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
    reached = int(np.searchsorted(wrong, false_rate - 1e-12, side="left"))  # the first point with this rate
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
    """Return the 95% interval of `rate_at` by resampling, since the threshold varies too; at least as wide as Wilson's.

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
    """Return the share of true values among the chosen records, with its interval; NaN and 0 to 1 if none is chosen.

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
    """Renumber the units of some rows from 0 without gaps, as intervals need them; None without units.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.scores import renumber_units
    >>> renumber_units(np.array([0, 1, 2, 2]), np.array([0, 2, 3])).tolist()
    [0, 1, 1]
    """
    return None if units is None else np.unique(units[rows], return_inverse=True)[1]


def _placements(scores: Floats, positive: Mask) -> tuple[Floats, Floats]:
    """Return the share of negatives below each positive record, and the share of positives above each negative one."""
    ones, zeros = scores[positive], scores[~positive]
    return _share_below(ones, np.sort(zeros)), 1 - _share_below(zeros, np.sort(ones))


def _share_below(values: Floats, ranked: Floats) -> Floats:
    below, upto = (np.searchsorted(ranked, values, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2 * len(ranked)), dtype=np.float64)


def _units(chosen: Mask, units: Codes | None) -> int:
    return int(chosen.sum()) if units is None else len(np.unique(units[chosen]))
