"""What changed from one sample to another: a difference of means with its interval, and Holm's correction for many."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.measures.intervals import LEVEL, Interval
from modicum.table.values import Codes, Floats


@dataclass(frozen=True)
class Change:
    """A mean then and now; more is worse.

    Attributes
    ----------
    then, now, difference : the two means, and now − then
    interval : of the difference, at the level asked for, for this change alone
    p_value : of the difference, were there no change at all (two-sided, for this change alone)
    standard_error, freedom : of the difference; Student's degrees of freedom
    adjusted : Holm's p-value of a growth beyond the tolerance (one-sided, among all that are tested); None where it is
        not tested
    is_worse : whether it grew by more than the tolerance beyond chance
    """

    then: float
    now: float
    difference: float
    interval: Interval
    p_value: float
    standard_error: float
    freedom: int
    adjusted: float | None = None
    is_worse: bool = False


def change(
    then: npt.NDArray[Any],
    now: npt.NDArray[Any],
    units: tuple[Codes, Codes] | None = None,
    level: float = LEVEL,
) -> Change:
    """Compare the means of two samples of values from −1 to 1; rows that share a unit (one person's) belong together.

    The variance is that of `mean_interval`, Σ_u d_u², where d_u is what unit u adds to the difference:
    Σ_{i in u, now} (x_i − mean_now) / n_now − Σ_{i in u, then} (x_i − mean_then) / n_then. A person who is in both
    samples counts once. To each sample one unit that is off by 1 is added, since records that all agree are no proof
    that the next one will. Student's t has one degree of freedom less than the smaller sample has units.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.changes import change
    >>> found = change(np.array([1] * 30 + [0] * 70), np.array([1] * 60 + [0] * 40))
    >>> round(found.difference, 2), [round(end, 2) for end in found.interval], found.p_value < 0.001
    (0.3, [0.16, 0.44], True)
    """
    from scipy.stats import t  # deferred: it takes long to import

    codes = (np.arange(len(then)), len(then) + np.arange(len(now))) if units is None else units
    many = [len(np.unique(each)) for each in codes]
    if min(many) < 2:
        raise ParameterError("A change needs at least two people in each sample.")
    means = float(np.mean(then)), float(np.mean(now))
    off: Floats = np.concatenate([(means[0] - then) / len(then), (now - means[1]) / len(now)])
    sums = np.bincount(np.unique(np.concatenate(codes), return_inverse=True)[1], weights=off)
    error = float(np.sqrt((sums**2).sum() + sum(1 / m**2 for m in many)))
    difference, freedom = means[1] - means[0], min(many) - 1
    half = error * float(t.ppf((1 + level) / 2, freedom))
    return Change(
        then=means[0],
        now=means[1],
        difference=difference,
        interval=(difference - half, difference + half),
        p_value=float(2 * t.sf(abs(difference) / error, freedom)),
        standard_error=error,
        freedom=freedom,
    )


def grown(changes: Sequence[Change], tolerance: float = 0.0, level: float = LEVEL) -> list[Change]:
    """The changes with `adjusted` and `is_worse`: which of them grew by more than the tolerance beyond chance.

    The chance that any is called worse that is not is at most 1 − level, over all of them together.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.changes import change, grown
    >>> few, many = np.array([1] * 300 + [0] * 700), np.array([1] * 360 + [0] * 640)
    >>> [found.is_worse for found in grown([change(few, many), change(few, few)])]
    [True, False]
    >>> [found.is_worse for found in grown([change(few, many), change(few, few)], tolerance=0.05)]
    [False, False]
    """
    from scipy.stats import t

    p_values = [float(t.sf((c.difference - tolerance) / c.standard_error, c.freedom)) for c in changes]
    return [replace(c, adjusted=p, is_worse=p <= 1 - level) for c, p in zip(changes, holm(p_values), strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: the smallest counts m times, the next m − 1 times and so on, none below one before it.

    Examples
    --------
    >>> from modicum.measures.changes import holm
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    scaled = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(scaled, 1.0)
    return [float(p) for p in adjusted]
