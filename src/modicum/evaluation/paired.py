"""Intervals of differences between two models on the same records."""

from collections.abc import Sequence

import numpy as np

from modicum.measures.intervals import ENOUGH_UNITS, LEVEL, Interval, Resampling
from modicum.table.values import Codes, Floats

DRAWS = 500


def difference_interval(differences: Floats, units: Codes | None = None, level: float = LEVEL) -> Interval:
    """An interval for the mean of paired differences from −1 to 1; rows that share a unit are not independent.

    With n_u records of unit u (one, or all of a person's), s_u the sum of their differences, n records of m units, and
    two more units of average size a = n/m that differ by ±a/√2:

        c ± t · sqrt( Σ (s_u − c·n_u)² + a²·(1 + 2c²) ) / (n + 2a)    with    c = Σ s_u / (n + 2a)

    The two keep the interval from having no width where the records at hand do not differ at all; for yes/no values
    of one record each this is the interval of Agresti and Min (2005). t is Student's quantile for m − 1 degrees of
    freedom. One unit says nothing. `mean_interval` does not serve here: it takes no mean to vary less than that of as
    many yes/no records, which differences do where two models mostly agree.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.evaluation.paired import difference_interval
    >>> low, high = difference_interval(np.array([1.0] * 30 + [-1.0] * 10 + [0.0] * 960))
    >>> round(low, 3), round(high, 3)
    (0.007, 0.032)
    """
    from scipy.stats import t  # deferred: it takes long to import

    sums = differences if units is None else np.bincount(units, weights=differences)
    sizes = 1 if units is None else np.bincount(units)
    n, many = len(differences), len(sums)
    if many < 2:
        return -1.0, 1.0
    size = n / many
    centre = float(sums.sum()) / (n + 2 * size)
    spread = float(np.sqrt(((sums - centre * sizes) ** 2).sum() + size**2 * (1 + 2 * centre**2)))
    half = float(t.ppf((1 + level) / 2, many - 1)) * spread / (n + 2 * size)
    return float(max(-1.0, centre - half)), float(min(1.0, centre + half))


def skill_intervals(
    losses: Sequence[Floats], base: Floats, raw: Floats, majority: Floats, units: Codes | None, random_state: int
) -> list[Interval]:
    """Where the change of skill lies for each of several models, by resampling the same records for all of them.

    The change is Σ (base − loss) / Σ (majority − raw): of the share kept of the raw model's log-loss gain. Resampling
    fewer than a hundred units (records, or persons) would give too narrow an interval: it is NaN there.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.evaluation.paired import skill_intervals
    >>> raw, majority = np.full(200, 0.3), np.full(200, 0.7)
    >>> worse = np.where(np.arange(200) < 100, 0.5, 0.3)
    >>> ((low, high),) = skill_intervals([worse], raw, raw, majority, None, 0)
    >>> bool(low < -0.25 < high < 0)
    True
    """
    many = len(base) if units is None else int(units.max()) + 1
    if many < ENOUGH_UNITS:
        return [(float("nan"), float("nan"))] * len(losses)
    gains = np.stack([*(base - loss for loss in losses), majority - raw])

    def changes(draws: Codes) -> Floats:
        sums = gains @ draws.astype(np.float64)
        return sums[:-1] / sums[-1] if sums[-1] > 0 else np.full(len(losses), np.nan)

    if not losses:
        return []
    return Resampling(len(base), units, DRAWS, random_state).intervals(changes)
