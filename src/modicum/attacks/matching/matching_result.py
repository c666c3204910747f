"""How often people are matched to their sensitive values, by each adversary."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from modicum.attacks.result import Estimate
from modicum.measures.intervals import Interval
from modicum.table.values import plain

RANDOM, NAIVE = "random worlds", "most frequent value"
DEFINETTI, INFORMED, WITHOUT = "deFinetti", "informed", "without the release"
_WITH = {"both": "naive Bayes and a network together", "network": "a network"}


@dataclass(frozen=True)
class MatchingResult:
    """How often an adversary who has a release gives a person the right sensitive value.

    Attributes
    ----------
    sensitive : the attribute
    by_adversary : each adversary's accuracy with its interval, and beside it random worlds: `naive` of the estimate,
        "baseline" in `to_dict`
    learner : what the deFinetti adversary learned with, chosen by groups set aside, never by the truth; None only
        where nobody could learn from the release alone: all values of each group are alike, or nothing else is seen
    fits : for each learner, how much likelier than at random it made the values of groups set aside (log per record)
    rounds_taken : for each learner, how often it learned anew
    values : how many different values there are
    alike : of how many of them each group has as many as of some other one: the release alone does not tell which of
        these is whose, and a hint from elsewhere could (see "informed")
    l : the largest ℓ for which no value is more than 1/ℓ of any group, counted anew
    records, groups : how many were attacked
    group_sizes : size → how many groups have it
    known : how many complete records of others the informed adversary had
    random_state, seconds : the seed, and how long it took

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> random = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": random.integers(20, 60, 200), "ill": random.choice(["flu", "cold", "gout"], 200)})
    >>> anatomy = md.Anatomy(l=2, sensitive="ill", random_state=0).fit(X)
    >>> found = md.attacks.Matching().run(anatomy.release_, truth=X["ill"].iloc[anatomy.rows_])
    >>> found.sensitive, found.l, found.values, found.baseline
    ('ill', 2, 3, 0.5)
    """

    sensitive: str
    by_adversary: Mapping[str, Estimate]
    learner: str | None
    fits: Mapping[str, float]
    rounds_taken: Mapping[str, int]
    values: int
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
        """Where that lies at 95%, if groups are independent; values that always come together are mixed up together."""
        interval = self.by_adversary[DEFINETTI].interval
        assert interval is not None
        return interval

    @property
    def baseline(self) -> float:
        """What is right without learning, by each group's most frequent value; 1/ℓ where groups have ℓ values once."""
        return _value(self.by_adversary[RANDOM])

    @property
    def naive(self) -> float:
        """What always saying the most frequent value of all reaches."""
        return _value(self.by_adversary[NAIVE])

    @property
    def gain(self) -> float:
        """How many more people than at random, as a share of all."""
        return self.accuracy - self.baseline

    @property
    def identifiable(self) -> bool:
        """Whether the release alone can show who has which value, at least for some of them."""
        return self.learner is not None

    @property
    def note(self) -> str | None:
        """What the accuracy does not say, in words; None where there is nothing to add."""
        return " ".join(_notes(self)) or None

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        sizes = {str(size): many for size, many in self.group_sizes.items()}
        told = {"accuracy": self.accuracy, "interval": self.interval, "baseline": self.baseline}
        told |= {"naive": self.naive, "gain": self.gain, "identifiable": self.identifiable, "note": self.note}
        found = {
            name: {"value": each.value, "interval": each.interval, "baseline": each.naive, "means": self._means(name)}
            for name, each in self.by_adversary.items()
        }
        return dict(plain(asdict(self) | {"group_sizes": sizes, "by_adversary": found} | told))

    def __str__(self) -> str:
        lines = [f"{self.sensitive!r} of {self.records:,} people, {self.groups:,} groups, l = {self.l}; right is:"]
        for name, found in self.by_adversary.items():
            assert found.interval is not None
            ends = "exactly" if name == RANDOM else f"{found.interval[0]:.3f} to {found.interval[1]:.3f}"
            lines.append(f"  {_value(found):.3f} ({ends + ')':<15} {name}: {self._means(name)}")
        return "\n".join(lines + ([] if self.note is None else [f"Note: {self.note}"]))

    def _means(self, name: str) -> str:
        """An adversary in words."""
        chosen = "nothing to learn from, guesses at random"
        if self.learner is not None:
            chosen = f"here by {_WITH.get(self.learner, self.learner)}, which fitted groups set aside best"
        by = name.removeprefix(f"{DEFINETTI}, ")
        return {
            RANDOM: "who learns nothing and says the most frequent value of the person's group",
            NAIVE: "who says the most frequent value of all, of everybody",
            DEFINETTI: f"who learns from the release alone how attributes go with values ({chosen})",
            INFORMED: f"who has the release and learned from {self.known:,} complete records of other people",
            WITHOUT: f"who learned from the same {self.known:,} records and sees the attributes only",
        }.get(name, f"the same by {_WITH.get(by, by)}")


def _notes(result: MatchingResult) -> Iterator[str]:
    if result.alike:
        which = "All" if result.alike == result.values else f"{result.alike:,} of the {result.values:,}"
        hint = (
            'see "informed"'
            if INFORMED in result.by_adversary
            else "the figure of the adversary who has the release alone does not measure that"
        )
        yield (
            f"{which} values of {result.sensitive!r} come together, equally often in every group with them: the "
            "release shows who is alike but not which value is whose. Whoever knows a few people can name the rest; "
            f"{hint}."
        )
    if result.interval[1] < result.baseline:
        yield (
            "That fewer people are right than without learning is no protection: values that mostly come in the same "
            "groups are mixed up together, and whoever swaps them is right where this adversary is wrong."
        )


def _value(estimate: Estimate) -> float:
    assert estimate.value is not None
    return estimate.value
