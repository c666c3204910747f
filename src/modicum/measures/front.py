"""The trade-off between a low error of the classifier and a high error of the adversary [Staab24 §8.1]."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.errors import ParameterError
from modicum.typing import Floats, Mask

Points = Floats  # one row per candidate: classifier error, adversary error


@dataclass(frozen=True)
class ErrorLimits:
    """The errors at the two limits of generalization [Staab24 §8.1]: raw data, and nothing collected.

    On raw data the adversary reads every value: its error is 0.
    """

    raw_error: float
    majority_error: float
    naive_adversary: float


def on_front(points: Any) -> Mask:
    """Return which candidates no other one beats in both errors; of equal candidates only the first.

    Examples
    --------
    >>> from modicum.measures.front import on_front
    >>> on_front([[0.2, 0.1], [0.3, 0.4], [0.3, 0.3], [0.2, 0.1]]).tolist()
    [True, True, False, False]
    """
    candidates = _points(points)
    chosen = np.zeros(len(candidates), dtype=bool)
    best = -np.inf
    for i in np.lexsort((-candidates[:, 1], candidates[:, 0])):  # by classifier error, then the most private first
        if candidates[i, 1] > best and candidates[i, 0] == candidates[i, 0]:  # NaN is on no front
            chosen[i], best = True, candidates[i, 1]
    return chosen


def hypervolume(points: Any, limits: ErrorLimits) -> float:
    """Return the share of the box between the two limits that the candidates cover.

    The box spans classifier errors from raw data's to the majority guess's, and adversary errors from 0 to the naive
    guess's. A candidate covers every point that is no better than itself in either error. Collecting nothing covers 0;
    a candidate as accurate as raw data that leaks nothing would cover 1.

    Examples
    --------
    >>> from modicum.measures.front import ErrorLimits, hypervolume
    >>> hypervolume([[0.3, 0.2], [0.4, 0.4]], ErrorLimits(raw_error=0.2, majority_error=0.5, naive_adversary=0.4))
    0.5
    """
    width, height = limits.majority_error - limits.raw_error, limits.naive_adversary
    if width <= 0 or height <= 0:
        return float("nan")
    candidates = _points(points)
    x, y = np.clip(_scale_points(candidates, limits), 0, 1).T
    order = np.argsort(x, kind="stable")
    reached = np.maximum.accumulate(y[order])
    return float(np.round((np.diff(np.append(x[order], 1.0)) * reached).sum(), 12)) if len(candidates) else 0.0


def best_within(points: Any, error: float) -> float | None:
    """Return the highest adversary error among candidates with at most this classifier error, or None without any.

    Examples
    --------
    >>> from modicum.measures.front import best_within
    >>> best_within([[0.20, 0.1], [0.21, 0.3]], 0.205), best_within([[0.20, 0.1]], 0.1)
    (0.1, None)
    """
    candidates = _points(points)
    inside = candidates[candidates[:, 0] <= error, 1]
    return float(inside.max()) if len(inside) else None


def knee(points: Any, limits: ErrorLimits) -> int:
    """Return the inflection point of a front, where more utility begins to cost much privacy [Staab24 §8.1].

    Both errors are scaled to [0, 1] between the two limits. The knee is the candidate furthest above the line from raw
    data to nothing collected; of several, the most private.

    Examples
    --------
    >>> from modicum.measures.front import ErrorLimits, knee
    >>> limits = ErrorLimits(raw_error=0.2, majority_error=0.5, naive_adversary=0.4)
    >>> knee([[0.20, 0.1], [0.22, 0.35], [0.45, 0.40]], limits)
    1
    """
    candidates = _points(points)
    front = np.flatnonzero(on_front(candidates))
    if not len(front):
        raise ParameterError("A knee needs at least one candidate.")
    height = above(candidates[front], limits)
    tied = front[height >= height.max() - 1e-12]
    return int(tied[np.argmax(candidates[tied, 1])])


def above(points: Any, limits: ErrorLimits) -> Points:
    """Return each candidate's height above the line from raw data to nothing collected, both errors scaled to [0, 1].

    Examples
    --------
    >>> from modicum.measures.front import ErrorLimits, above
    >>> above([[0.25, 0.75]], ErrorLimits(raw_error=0.0, majority_error=0.5, naive_adversary=1.0)).tolist()
    [0.25]
    """
    x, y = _scale_points(_points(points), limits).T
    return np.asarray(y - x)


def _scale_points(points: Points, limits: ErrorLimits) -> Points:
    """Scale both errors to 0 for raw data and 1 for nothing collected; 0 if the limits are equal."""
    low = np.array([limits.raw_error, 0.0])
    span = np.array([limits.majority_error, limits.naive_adversary]) - low
    return np.asarray(np.where(span > 0, (points - low) / np.where(span > 0, span, 1.0), 0.0))


def check_target(keep: float | None, max_error: float | None, knee: bool) -> None:
    """Refuse more or less than one target, and numbers outside 0 to 1."""
    if (keep is not None) + (max_error is not None) + bool(knee) != 1:
        raise ParameterError("Say one of: how much skill to keep (keep), the highest error (max_error), or the knee.")
    for name, value in (("keep", keep), ("max_error", max_error)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1):
            raise ParameterError(f"The {name!r} parameter must be a number from 0 to 1. Got {value!r} instead.")


def _points(points: Sequence[Any] | Points) -> Points:
    return np.asarray(points, dtype=np.float64).reshape(-1, 2)
