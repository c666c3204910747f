"""Confidence intervals: Wilson's for a share of independent records, resampling for everything else."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.table.splits import TEST, TRAIN

Interval = tuple[float, float]
LEVEL = 0.95
ENOUGH_UNITS = 100  # for the bootstrap


def share_interval(hits: float, n: float, level: float = LEVEL) -> Interval:
    """Wilson's interval for a share: where the true share lies, given `hits` of `n` records.

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
    # Rounding must not push the share itself out at 0 and 1.
    return min(max(0.0, centre - half), share), max(min(1.0, centre + half), share)


def _normal_quantile(p: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(p)


def _student_quantile(p: float, freedom: int) -> float:
    from scipy.stats import t  # deferred: it takes long to import

    return float(t.ppf(p, freedom))


def mean_interval(
    values: npt.NDArray[Any], units: npt.NDArray[np.int64] | None = None, level: float = LEVEL
) -> Interval:
    """An interval for the mean of values from 0 to 1; rows that share a unit (one person's) are not independent.

    Wilson's interval for the number of independent yes/no records whose share would vary as much as this mean:
    n' = p(1−p) / Var(mean), with Var(mean) = Σ_units (Σ_{i in unit} (x_i − p))² / n², but no more than there are rows;
    where the units do not differ, n' is their number. With few units Student's t takes the place of the normal
    distribution, and one unit alone says nothing. For yes/no values without units it is Wilson's interval itself.

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
    many = n if units is None else int(units.max()) + 1
    if units is not None and many < 2:
        return 0.0, 1.0
    off = values - p
    sums = off if units is None else np.bincount(units, weights=off)
    return _by_spread(n, p, float((sums**2).sum()), many, units is not None, level)


def counted_interval(
    totals: npt.NDArray[Any],
    often: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64] | None = None,
    level: float = LEVEL,
) -> Interval:
    """`mean_interval` of rows that are counted: how often each value occurs.

    With `sizes` of units whose rows are not independent: how many rows each has, what their values add up to, and how
    often there is such a unit.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import counted_interval, mean_interval
    >>> counted = counted_interval(np.array([0.0, 1.0]), np.array([70, 30]))
    >>> bool(np.allclose(counted, mean_interval(np.array([1] * 30 + [0] * 70))))
    True
    """
    many = int(often.sum())
    n = many if sizes is None else int((sizes * often).sum())
    p = float((totals * often).sum() / n)
    if sizes is not None and many < 2:
        return 0.0, 1.0
    off = totals - p * (1 if sizes is None else sizes)
    return _by_spread(n, p, float((off**2 * often).sum()), many, sizes is not None, level)


def _by_spread(n: int, p: float, squares: float, many: int, units: bool, level: float) -> Interval:
    """Wilson's for n' = p(1−p) / Var(mean), from the sum of squares of how far each unit is off."""
    variance = squares / n**2
    effective = min(n, p * (1 - p) / variance) if variance > 1e-12 else many
    z = _student_quantile((1 + level) / 2, many - 1) if units else _normal_quantile((1 + level) / 2)
    return _wilson(p, effective, z)


def resampled_interval(
    values: npt.NDArray[Any], units: npt.NDArray[np.int64] | None = None, random_state: int = 0
) -> Interval:
    """An interval for the mean of values from 0 to 1 by the bootstrap; `mean_interval` where that is no good.

    The bootstrap of a few units is too narrow, and where they all agree it has no width.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import resampled_interval
    >>> values = np.random.default_rng(0).uniform(size=1_000)
    >>> low, high = resampled_interval(values)
    >>> bool(low < values.mean() < high), round(high - low, 2)
    (True, 0.04)
    """
    if units is None:
        return redrawn_interval(*np.unique(values, return_counts=True), random_state)
    if int(units.max()) + 1 >= ENOUGH_UNITS:
        resampling = Resampling(len(values), units, random_state=random_state)
        low, high = resampling.interval(lambda draws: float(np.average(values, weights=draws)))
        if low < high:
            return low, high
    return mean_interval(values, units)


def redrawn_interval(values: npt.NDArray[Any], often: npt.NDArray[np.int64], random_state: int = 0) -> Interval:
    """`resampled_interval` of independent records that are counted: their different values, and how often each occurs.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.intervals import redrawn_interval, resampled_interval
    >>> redrawn_interval(np.array([0.0, 1.0]), np.array([700, 300])) == resampled_interval(
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
    return counted_interval(values, often)


def seeds_interval(values: Sequence[float]) -> Interval | None:
    """The 95% interval of a mean over splits of one table, by Student's t; None of one split alone.

    The splits share most of their records, so that they vary less than other tables would: the variance of the mean of
    k of them is taken as (1/k + n_test/n_train) times that of one (Nadeau and Bengio 2003), here 1/k + 30%/60%.

    Examples
    --------
    >>> from modicum.measures.intervals import seeds_interval
    >>> [round(end, 3) for end in seeds_interval([0.5, 0.52, 0.54])]
    [0.441, 0.599]
    """
    if len(values) < 2:
        return None
    from scipy.stats import t

    k = len(values)
    half = float(t.ppf(0.975, k - 1)) * float(np.std(values, ddof=1)) * np.sqrt(1 / k + TEST / TRAIN)
    return float(np.mean(values) - half), float(np.mean(values) + half)


@dataclass(frozen=True)
class Resampling:
    """The bootstrap: how often each record is drawn when as many are drawn again with replacement.

    Records that share a value of `units` (one person's rows) are drawn together, so that an interval does not count
    them as independent.

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
    units: npt.NDArray[np.int64] | None = None
    draws: int = 200
    random_state: int = 0

    def __iter__(self) -> Iterator[npt.NDArray[np.int64]]:
        random = np.random.default_rng(self.random_state)
        many = self.n if self.units is None else int(self.units.max()) + 1
        for _ in range(self.draws):
            drawn = np.bincount(random.integers(0, many, many), minlength=many)
            yield drawn if self.units is None else drawn[self.units]

    def interval(self, statistic: Callable[[npt.NDArray[np.int64]], float], level: float = LEVEL) -> Interval:
        """Where a statistic of the records lies; it is given how often each record counts."""
        return self.intervals(lambda draws: [statistic(draws)], level)[0]

    def intervals(self, statistics: Callable[[npt.NDArray[np.int64]], Any], level: float = LEVEL) -> list[Interval]:
        """The same for several statistics computed together; NaN where a statistic does not always exist."""
        found = np.array([statistics(draws) for draws in self], dtype=np.float64)
        ends = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)  # NaN where one draw has none
        return [(float(low), float(high)) for low, high in ends.T]
