"""A measured number with its interval and what it is compared to."""

from dataclasses import dataclass

from modicum.measures.intervals import Interval


@dataclass(frozen=True)
class Estimate:
    """What was found, between which ends it lies at 95%, and what an adversary without any attack would reach.

    Attributes
    ----------
    value : None where the data is too small to tell, or where there is nothing to divide by
    interval : None where there is no value
    naive : the baseline; None where it has none
    reason : why there is no value

    Examples
    --------
    >>> from modicum.attacks import Estimate
    >>> print(Estimate(0.61, (0.58, 0.64), naive=0.5))
    0.610 (0.580 to 0.640; naive 0.500)
    >>> print(Estimate(None, None, reason="too few records"))
    unknown: too few records
    """

    value: float | None
    interval: Interval | None
    naive: float | None = None
    reason: str | None = None

    def __str__(self) -> str:
        if self.value is None or self.interval is None:
            return f"unknown: {self.reason}"
        beside = "" if self.naive is None else f"; naive {self.naive:.3f}"
        return f"{self.value:.3f} ({self.interval[0]:.3f} to {self.interval[1]:.3f}{beside})"
