"""Confidence intervals: Wilson's for shares and means, resampling for other statistics."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.table.splits import TEST, TRAIN
from modicum.typing import Codes, Floats, Ints

Interval = tuple[float, float]
LEVEL = 0.95
ENOUGH_UNITS = 100  # for the bootstrap


def share_interval(hits: float, n: float, level: float = LEVEL) -> Interval:
    """Return Wilson's interval for the share of `hits` among `n` records.

    Examples
    --------
    >>> from modicum.measures import share_interval
    >>> low, high = share_interval(30, 100)
    >>> round(low, 3), round(high, 3)
    (0.219, 0.396)
    """
    if n <= 0:
        raise ParameterError("An interval needs at least one record.")
    return _wilson(hits / n, n, _normal_quantile((1 + level) / 2))


def _wilson(share: float, n: float, z: float) -> Interval:
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    # With a share of 0 or 1, rounding must not exclude the share itself.
    return min(max(0.0, centre - half), share), max(min(1.0, centre + half), share)


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def _student_quantile(p: float, freedom: int) -> float:
    from scipy.stats import t  # deferred: it takes long to import

    return float(t.ppf(p, freedom))


def mean_interval(values: npt.NDArray[Any], units: Ints | None = None, level: float = LEVEL) -> Interval:
    """Return an interval for the mean of values from 0 to 1; rows of one unit (a person) are not independent.

    It is Wilson's interval for n' independent yes/no records, where n' is the number whose share would vary as much as
    this mean: n' = p(1−p) / Var(mean), with Var(mean) = Σ_units (Σ_{i in unit} (x_i − p))² / n², at most the number of
    rows. If the units do not differ, n' is their number. With units, Student's t replaces the normal distribution; for
    a single unit the interval is 0 to 1. For yes/no values without units it is Wilson's interval itself.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import mean_interval, share_interval
    >>> wrong = np.array([1] * 30 + [0] * 70)
    >>> bool(np.allclose(mean_interval(wrong), share_interval(30, 100)))
    True
    >>> five_rows_each = mean_interval(np.repeat(wrong, 5), units=np.repeat(np.arange(100), 5))
    >>> bool(np.allclose(five_rows_each, share_interval(30, 100), atol=0.002))
    True
    """
    n = len(values)
    p = float(np.mean(values))
    n_units = n if units is None else int(units.max()) + 1
    if units is not None and n_units < 2:
        return 0.0, 1.0
    deviations = values - p
    sums = deviations if units is None else np.bincount(units, weights=deviations)
    return _by_spread(n, p, float((sums**2).sum()), n_units, units is not None, level)


def compute_interval_from_counts(totals: npt.NDArray[Any], often: Ints, sizes: Ints | None = None) -> Interval:
    """Compute `mean_interval` from counts: the different values, and how often each occurs.

    With `sizes`, from counts of units whose rows are not independent: the sum of a unit's values, how often such a unit
    occurs, and its number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import compute_interval_from_counts, mean_interval
    >>> counted = compute_interval_from_counts(np.array([0.0, 1.0]), np.array([70, 30]))
    >>> bool(np.allclose(counted, mean_interval(np.array([1] * 30 + [0] * 70))))
    True
    """
    n_units = int(often.sum())
    n = n_units if sizes is None else int((sizes * often).sum())
    p = float((totals * often).sum() / n)
    if sizes is not None and n_units < 2:
        return 0.0, 1.0
    deviations = totals - p * (1 if sizes is None else sizes)
    return _by_spread(n, p, float((deviations**2 * often).sum()), n_units, sizes is not None, LEVEL)


def _by_spread(n: int, p: float, squares: float, n_units: int, units: bool, level: float) -> Interval:
    """Return Wilson's interval for n' = p(1−p) / Var(mean), from the sum of the units' squared deviations."""
    variance = squares / n**2
    effective = min(n, p * (1 - p) / variance) if variance > 1e-12 else n_units
    z = _student_quantile((1 + level) / 2, n_units - 1) if units else _normal_quantile((1 + level) / 2)
    return _wilson(p, effective, z)


def bootstrap_interval(values: npt.NDArray[Any], units: Ints | None = None, random_state: int = 0) -> Interval:
    """Return an interval for the mean of values from 0 to 1 by the bootstrap, or `mean_interval` if that fails.

    The bootstrap fails with few units, where it is too narrow, and with equal values, where it has no width.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import bootstrap_interval
    >>> values = np.random.default_rng(0).uniform(size=1_000)
    >>> low, high = bootstrap_interval(values)
    >>> bool(low < values.mean() < high), round(high - low, 2)
    (True, 0.04)
    """
    if units is None:
        return bootstrap_from_counts(*np.unique(values, return_counts=True), random_state)
    if int(units.max()) + 1 >= ENOUGH_UNITS:
        resampling = Resampling(len(values), units, random_state=random_state)
        low, high = resampling.interval(lambda draws: float(np.average(values, weights=draws)))
        if low < high:
            return low, high
    return mean_interval(values, units)


def bootstrap_from_counts(values: npt.NDArray[Any], often: Ints, random_state: int = 0) -> Interval:
    """Compute `bootstrap_interval` from counts of independent records: the different values, and how often each occurs.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import bootstrap_from_counts, bootstrap_interval
    >>> bootstrap_from_counts(np.array([0.0, 1.0]), np.array([700, 300])) == bootstrap_interval(
    ...     np.array([1.0] * 300 + [0.0] * 700)
    ... )
    True
    """
    n = int(often.sum())
    if n >= ENOUGH_UNITS:
        drawn = np.random.default_rng(random_state).multinomial(n, often / n, size=Resampling.draws)
        low, high = np.quantile(drawn @ values / n, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        if low < high:
            return float(low), float(high)
    return compute_interval_from_counts(values, often)


def seeds_interval(values: Sequence[float]) -> Interval | None:
    """Return the 95% interval of a mean over splits of one table, by Student's t; None for a single split.

    The splits share most of their records, so they vary less than other tables would. The variance of the mean of k
    splits is therefore taken as (1/k + n_test/n_train) times that of one (Nadeau and Bengio 2003), here 1/k + 30%/60%.

    Examples
    --------
    >>> from modicum.measures.intervals import seeds_interval
    >>> [round(end, 3) for end in seeds_interval([0.5, 0.52, 0.54])]
    [0.441, 0.599]
    """
    if len(values) < 2:
        return None
    k = len(values)
    half = _student_quantile(0.975, k - 1) * float(np.std(values, ddof=1)) * np.sqrt(1 / k + TEST / TRAIN)
    return float(np.mean(values) - half), float(np.mean(values) + half)


@dataclass(frozen=True)
class Resampling:
    """The bootstrap: how often each of n records occurs in samples of n drawn with replacement.

    Records that share a value of `units` (one person's rows) are drawn together, since they are not independent.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures import Resampling
    >>> values = np.arange(100.0)
    >>> low, high = Resampling(100).interval(lambda draws: float(np.average(values, weights=draws)))
    >>> bool(low < values.mean() < high)
    True
    """

    n: int
    units: Ints | None = None
    draws: int = 200
    random_state: int = 0

    def __iter__(self) -> Iterator[Ints]:
        random = np.random.default_rng(self.random_state)
        n_units = self.n if self.units is None else int(self.units.max()) + 1
        for _ in range(self.draws):
            drawn = np.bincount(random.integers(0, n_units, n_units), minlength=n_units)
            yield drawn if self.units is None else drawn[self.units]

    def interval(self, statistic: Callable[[Ints], float], level: float = LEVEL) -> Interval:
        """Return the interval of a statistic, which takes how often each record counts."""
        return self.intervals(lambda draws: [statistic(draws)], level)[0]

    def intervals(self, statistics: Callable[[Ints], Any], level: float = LEVEL) -> list[Interval]:
        """Return the intervals of several statistics computed together; NaN for one that some draws do not have."""
        found = np.array([statistics(draws) for draws in self], dtype=np.float64)
        ends = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)  # NaN if one draw has NaN
        return [(float(low), float(high)) for low, high in ends.T]


# Changes from one sample to another: a difference of means with its interval, and Holm's correction for several.


@dataclass(frozen=True)
class MeanChange:
    """A mean then and now; higher is worse.

    Attributes
    ----------
    then, now, difference : the two means, and now − then
    interval : of the difference, at the given level, for this change alone
    p_value : of the difference, against no change (two-sided, for this change alone)
    standard_error, freedom : of the difference; Student's degrees of freedom
    adjusted : Holm's p-value of an increase beyond the tolerance (one-sided, among all tested changes); None if not
        tested
    is_worse : whether it increased by significantly more than the tolerance
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
) -> MeanChange:
    """Compare the means of two samples of values from −1 to 1; rows of one unit (a person) are not independent.

    The variance is Σ_u d_u², where d_u is the contribution of unit u to the difference:
    Σ_{i in u, now} (x_i − mean_now) / n_now − Σ_{i in u, then} (x_i − mean_then) / n_then. A person in both samples
    counts once. Each sample gets one more unit with a deviation of 1, since records that all agree do not prove that
    the next one will. Student's t has one degree of freedom less than the smaller sample has units.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import change
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
    half = error * _student_quantile((1 + level) / 2, freedom)
    return MeanChange(
        then=means[0],
        now=means[1],
        difference=difference,
        interval=(difference - half, difference + half),
        p_value=float(2 * t.sf(abs(difference) / error, freedom)),
        standard_error=error,
        freedom=freedom,
    )


def mark_increases(changes: Sequence[MeanChange], tolerance: float = 0.0, level: float = LEVEL) -> list[MeanChange]:
    """Return the changes with `adjusted` and `is_worse`: which of them increased significantly beyond the tolerance.

    The chance that any of them is wrongly called worse is at most 1 − level.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import change, mark_increases
    >>> few, many = np.array([1] * 300 + [0] * 700), np.array([1] * 360 + [0] * 640)
    >>> [found.is_worse for found in mark_increases([change(few, many), change(few, few)])]
    [True, False]
    >>> [found.is_worse for found in mark_increases([change(few, many), change(few, few)], tolerance=0.05)]
    [False, False]
    """
    from scipy.stats import t

    p_values = [float(t.sf((c.difference - tolerance) / c.standard_error, c.freedom)) for c in changes]
    return [replace(c, adjusted=p, is_worse=p <= 1 - level) for c, p in zip(changes, holm(p_values), strict=True)]


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values: the smallest times m, the next times m − 1 and so on, never decreasing.

    Examples
    --------
    >>> from modicum.measures.intervals import holm
    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    scaled = np.maximum.accumulate(values[order] * np.arange(len(values), 0, -1))
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(scaled, 1.0)
    return [float(p) for p in adjusted]


# Intervals of differences between two models on the same records.

DRAWS = 500


def difference_interval(differences: Floats, units: Codes | None = None) -> Interval:
    """Return an interval for the mean of paired differences from −1 to 1; rows of one unit are not independent.

    With n_u records of unit u (one, or all of a person's), s_u the sum of their differences, n records of m units, and
    two more units of average size a = n/m that differ by ±a/√2:

        c ± t · sqrt( Σ (s_u − c·n_u)² + a²·(1 + 2c²) ) / (n + 2a)    with    c = Σ s_u / (n + 2a)

    The two units give the interval a width even if all differences are 0; for yes/no values of one record each this is
    the interval of Agresti and Min (2005). t is Student's quantile for m − 1 degrees of freedom. For a single unit the
    interval is −1 to 1. `mean_interval` would be too wide: it assumes at least the variance of yes/no records, but
    differences of similar models vary less.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import difference_interval
    >>> low, high = difference_interval(np.array([1.0] * 30 + [-1.0] * 10 + [0.0] * 960))
    >>> round(low, 3), round(high, 3)
    (0.007, 0.032)
    """
    sums = differences if units is None else np.bincount(units, weights=differences)
    sizes = 1 if units is None else np.bincount(units)
    n, n_units = len(differences), len(sums)
    if n_units < 2:
        return -1.0, 1.0
    size = n / n_units
    centre = float(sums.sum()) / (n + 2 * size)
    spread = float(np.sqrt(((sums - centre * sizes) ** 2).sum() + size**2 * (1 + 2 * centre**2)))
    half = _student_quantile((1 + LEVEL) / 2, n_units - 1) * spread / (n + 2 * size)
    return float(max(-1.0, centre - half)), float(min(1.0, centre + half))


def skill_intervals(
    losses: Sequence[Floats], base: Floats, raw: Floats, majority: Floats, units: Codes | None, random_state: int
) -> list[Interval]:
    """Return the interval of each model's change of skill, by resampling the same records for all models.

    The change is Σ (base − loss) / Σ (majority − raw), in units of the raw model's log-loss gain. With fewer than a
    hundred units (records or persons) the interval is NaN, since resampling would make it too narrow.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import skill_intervals
    >>> raw, majority = np.full(200, 0.3), np.full(200, 0.7)
    >>> worse = np.where(np.arange(200) < 100, 0.5, 0.3)
    >>> ((low, high),) = skill_intervals([worse], raw, raw, majority, None, 0)
    >>> bool(low < -0.25 < high < 0)
    True
    """
    n_units = len(base) if units is None else int(units.max()) + 1
    if n_units < ENOUGH_UNITS:
        return [(float("nan"), float("nan"))] * len(losses)
    gains = np.stack([*(base - loss for loss in losses), majority - raw])

    def changes(draws: Codes) -> Floats:
        sums = gains @ draws.astype(np.float64)
        return sums[:-1] / sums[-1] if sums[-1] > 0 else np.full(len(losses), np.nan)

    if not losses:
        return []
    return Resampling(len(base), units, DRAWS, random_state).intervals(changes)
