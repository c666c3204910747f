"""Right and wrong guesses in one table: Matthews' correlation, its interval, and the cut of a score that suits it."""

import numpy as np
import numpy.typing as npt

from modicum.measures.intervals import ENOUGH_UNITS, LEVEL, Interval, Resampling, mean_interval
from modicum.table.values import Codes, Floats


def confusion(truth: Codes, guess: Codes, size: int, weights: npt.ArrayLike | None = None) -> Floats:
    """How many records have each true value (row) and are guessed each value (column); `weights` counts them.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.confusion import confusion
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
    >>> from modicum.measures.confusion import matthews
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
    >>> from modicum.measures.confusion import matthews_interval
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


def best_cut(scores: Floats, positive: npt.NDArray[np.bool_], weights: Floats) -> tuple[float, float]:
    """The cut above which to say yes so that Matthews' correlation is highest, and that correlation.

    The cut lies midway between two neighbouring scores; where no cut is of any use it is infinite, at 0.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.confusion import best_cut
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
