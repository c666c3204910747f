"""How often people are matched to their sensitive values, by each adversary."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from modicum.attacks.estimate import Estimate
from modicum.measures.intervals import Interval
from modicum.table.values import plain

RANDOM, NAIVE = "random worlds", "most frequent value"
DEFINETTI, INFORMED, WITHOUT = "deFinetti", "informed", "without the release"


@dataclass(frozen=True)
class MatchingResult:
    """How often an adversary who has a release gives a person the right sensitive value.

    Attributes
    ----------
    sensitive : the attribute
    by_adversary : each adversary's accuracy with its interval, the baseline (random worlds) beside it as `naive`
    learner : what the deFinetti adversary learned with, chosen by groups set aside, never by the truth; None
        where the release teaches nothing, so that it guesses at random
    fits : for each learner, how much likelier than at random it made the values of groups set aside (log per record)
    rounds_taken : for each learner, how often it learned anew
    alike : how many values are as many as some other in each group: the release alone does not tell which of them is
        whose, and a hint from elsewhere could (see "informed")
    l : the largest ℓ for which no value is more than 1/ℓ of any group, counted anew
    records, groups : how many were attacked
    group_sizes : size → how many groups have it
    known : how many complete records of others the informed adversary had
    random_state, seconds : the seed, and how long it took
    """

    sensitive: str
    by_adversary: Mapping[str, Estimate]
    learner: str | None
    fits: Mapping[str, float]
    rounds_taken: Mapping[str, int]
    alike: int
    l: int
    records: int
    groups: int
    group_sizes: Mapping[int, int]
    known: int
    random_state: int
    seconds: float

    @property
    def accuracy(self) -> float:
        """The share of people to whom the deFinetti adversary, who has the release only, gives the right value."""
        return _value(self.by_adversary[DEFINETTI])

    @property
    def interval(self) -> Interval:
        """Where that lies at 95%."""
        interval = self.by_adversary[DEFINETTI].interval
        assert interval is not None
        return interval

    @property
    def baseline(self) -> float:
        """What a matching drawn at random reaches on average; 1/ℓ where groups have ℓ different values."""
        return _value(self.by_adversary[RANDOM])

    @property
    def naive(self) -> float:
        """What always saying the most frequent value reaches."""
        return _value(self.by_adversary[NAIVE])

    @property
    def gain(self) -> float:
        """How many more people than at random, as a share of all."""
        return self.accuracy - self.baseline

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        sizes = {str(size): many for size, many in self.group_sizes.items()}
        told = {"accuracy": self.accuracy, "interval": self.interval, "baseline": self.baseline}
        told |= {"naive": self.naive, "gain": self.gain}
        return dict(plain(asdict(self) | {"group_sizes": sizes} | told))

    def __str__(self) -> str:
        lines = [f"{self.sensitive!r} of {self.records:,} people matched in {self.groups:,} groups, l = {self.l}"]
        width = max(map(len, self.by_adversary))
        for name, found in self.by_adversary.items():
            assert found.interval is not None
            ends = "exactly" if name == RANDOM else f"{found.interval[0]:.3f} to {found.interval[1]:.3f}"
            lines.append(f"  {name:<{width}}  {_value(found):.3f} ({ends})")
        return "\n".join(lines)


def _value(estimate: Estimate) -> float:
    assert estimate.value is not None
    return estimate.value
