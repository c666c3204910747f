"""How well scores tell two kinds of records apart: the area under the ROC curve, and its left end."""

from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, mean_interval, share_interval
from modicum.table.values import Codes, Floats, Mask


def auc(scores: npt.ArrayLike, positive: npt.ArrayLike) -> float:
    """The chance that a positive record scores above another one; ties count half.

    Examples
    --------
    >>> from modicum.measures.ranking import auc
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
    >>> from modicum.measures.ranking import auc_interval
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
    >>> from modicum.measures.ranking import rate_at
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
    >>> from modicum.measures.ranking import rate_interval
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
    >>> from modicum.measures.ranking import share_of
    >>> share, (low, high) = share_of(np.array([True, False, True]), np.array([True, True, False]))
    >>> share, round(low, 2), round(high, 2)
    (0.5, 0.09, 0.91)
    """
    if not chosen.any():
        return float("nan"), (0.0, 1.0)
    whose = None if units is None else np.unique(units[chosen], return_inverse=True)[1]
    return float(values[chosen].mean()), mean_interval(values[chosen], whose)


def _placements(scores: Floats, positive: Mask) -> tuple[Floats, Floats]:
    """For each positive record the share of others below it, for each other the share of positive ones above it."""
    ones, zeros = scores[positive], scores[~positive]
    return _share_below(ones, np.sort(zeros)), 1 - _share_below(zeros, np.sort(ones))


def _share_below(values: Floats, ranked: Floats) -> Floats:
    below, upto = (np.searchsorted(ranked, values, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2 * len(ranked)), dtype=np.float64)


def _units(chosen: Mask, units: Codes | None) -> int:
    return int(chosen.sum()) if units is None else len(np.unique(units[chosen]))
