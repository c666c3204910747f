"""Match people to the sensitive values of their group: what an anatomized release still reveals [Mancuhan16]."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.attacks.matching.release_groups import ReleaseGroups
from modicum.attacks.result import Estimate
from modicum.errors import ParameterError, check_number, format_names
from modicum.measures.diversity import l_diversity
from modicum.measures.intervals import Interval, mean_interval
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.table.plain_data import PlainResult
from modicum.typing import Codes, Floats

if TYPE_CHECKING:
    from modicum.attacks.matching.learning import Informed, LearnedChances


# The share of people that each adversary matches to their sensitive values.

RANDOM, NAIVE = "random worlds", "most frequent value"
DEFINETTI, INFORMED, WITHOUT = "deFinetti", "informed", "without the release"
_WITH = {"both": "naive Bayes and a network together", "network": "a network"}


@dataclass(frozen=True)
class MatchingResult(PlainResult):
    """How often an adversary with a release guesses a person's sensitive value right.

    Attributes
    ----------
    sensitive : the attribute
    by_adversary : each adversary's accuracy with its interval; the baseline is random worlds, `naive` of the estimate
        and "baseline" in `to_dict`
    learner : the model of the deFinetti adversary, chosen by held-out groups, never by the truth; None if nobody can
        learn from the release alone, because all values of each group are alike or nothing else is visible
    fits : for each learner, how much likelier than at random it made the values of held-out groups (log per record)
    rounds_taken : for each learner, its number of rounds
    values : the number of distinct values
    alike : how many values occur in every group equally often as some other value: the release alone does not show who
        has which of them, but knowledge from elsewhere could (see "informed")
    l : the largest ℓ for which no value is more than 1/ℓ of any group, recounted
    records, groups : how many were attacked
    group_sizes : size → number of groups
    known : how many complete records of others the informed adversary had
    random_state, seconds : the seed and the time

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

    _properties = ("accuracy", "interval", "baseline", "naive", "gain", "identifiable", "note")

    @property
    def accuracy(self) -> float:
        """The share of people whose value the deFinetti adversary guesses right from the release alone."""
        return _value(self.by_adversary[DEFINETTI])

    @property
    def interval(self) -> Interval:
        """Its 95% interval, for independent groups; it ignores that values may be swapped in all groups at once."""
        interval = self.by_adversary[DEFINETTI].interval
        assert interval is not None
        return interval

    @property
    def baseline(self) -> float:
        """The accuracy of each group's most frequent value; 1/ℓ if each group has ℓ values once."""
        return _value(self.by_adversary[RANDOM])

    @property
    def naive(self) -> float:
        """The accuracy of always guessing the most frequent value of all."""
        return _value(self.by_adversary[NAIVE])

    @property
    def gain(self) -> float:
        """The share of people guessed right beyond the baseline."""
        return self.accuracy - self.baseline

    @property
    def identifiable(self) -> bool:
        """Whether the release alone can show who has which value, at least for some people."""
        return self.learner is not None

    @property
    def note(self) -> str | None:
        """Limits of the accuracy in words, or None."""
        return " ".join(_notes(self)) or None

    def _parts(self) -> dict[str, object]:
        found = {
            name: {
                "value": each.value,
                "interval": each.interval,
                "baseline": each.naive,
                "means": describe_adversary(self, name),
            }
            for name, each in self.by_adversary.items()
        }
        return super()._parts() | {"by_adversary": found}

    def __str__(self) -> str:
        lines = [f"{self.sensitive!r} of {self.records:,} people, {self.groups:,} groups, l = {self.l}; right is:"]
        for name, found in self.by_adversary.items():
            assert found.interval is not None
            ends = "exactly" if name == RANDOM else f"{found.interval[0]:.3f} to {found.interval[1]:.3f}"
            lines.append(f"  {_value(found):.3f} ({ends + ')':<15} {name}: {describe_adversary(self, name)}")
        return "\n".join(lines + ([] if self.note is None else [f"Note: {self.note}"]))


def describe_adversary(result: MatchingResult, name: str) -> str:
    """Describe an adversary in words."""
    chosen = "nothing to learn from, guesses at random"
    if result.learner is not None:
        chosen = f"here by {_WITH.get(result.learner, result.learner)}, which fitted held-out groups best"
    by = name.removeprefix(f"{DEFINETTI}, ")
    return {
        RANDOM: "learns nothing and guesses the most frequent value of the person's group",
        NAIVE: "guesses the most frequent value of all for everyone",
        DEFINETTI: f"learns from the release alone how attributes relate to values ({chosen})",
        INFORMED: f"has the release and learned from {result.known:,} complete records of other people",
        WITHOUT: f"learned from the same {result.known:,} records and sees only the attributes",
    }.get(name, f"the same by {_WITH.get(by, by)}")


def _notes(result: MatchingResult) -> Iterator[str]:
    if result.alike:
        which = "All" if result.alike == result.values else f"{result.alike:,} of the {result.values:,}"
        hint = (
            'see "informed"'
            if INFORMED in result.by_adversary
            else "the accuracy of the adversary with the release alone does not measure this"
        )
        yield (
            f"{which} values of {result.sensitive!r} come together, equally often in every group with them: the "
            "release shows which people share a value, but not which value. Someone who knows a few of these people "
            f"can infer the values of the others; {hint}."
        )
    if result.interval[1] < result.baseline:
        yield (
            "The adversary is right less often than without learning, but this is no protection: it confuses values "
            "that mostly occur in the same groups, and someone who swaps them is right where it is wrong."
        )


def _value(estimate: Estimate) -> float:
    assert estimate.value is not None
    return estimate.value


class Matching:
    """How often can someone with an anatomized release guess people's sensitive values?

    A release with ℓ different values in each group leaves a chance of 1/ℓ if every matching of people to values is
    equally likely. This is not so: the whole release shows how attributes relate to values (Kifer, "Attacks on privacy
    and deFinetti's theorem", SIGMOD 2009, which [Mancuhan16] cites as [18]). The adversaries:

    - "random worlds": every matching is equally likely, so it guesses each group's most frequent value. It is right for
      at most 1/ℓ, computed exactly, and is the baseline of all others;
    - "most frequent value": guesses that of the whole release for everyone;
    - "deFinetti": learns the correlation from the release alone, including the class, in rounds: chances of matchings,
      a model that learns from them, better chances. There are two models, Kifer's naive Bayes and a small network that
      continues from its chances, and a combination of both, each weighted by held-out groups. The one that makes the
      values of these groups likeliest is chosen, which needs no truth. On small releases it may not be the most
      accurate; each is also in the result under its own name. If every group has equally many of some values, as with
      ℓ = 2 of two, these could all swap: the release shows which people share a value, but not which value. Among these
      the adversary guesses at random; `alike` counts them and `note` explains it. Someone who knows a few people
      learns more;
    - "informed", with `known`: the models learn from complete records of other people instead;
    - "without the release", with `known`: the same model's guess from the attributes alone.

    Each guesses the value with the highest chance over all matchings of the group. On average this is right for the
    most people; the single most likely matching, which uses every value as often as it occurs, is right for fewer.

    Chances are exact in groups of up to eight records, approximate in larger ones (see
    `modicum.attacks.matching.kernel`). Intervals treat groups, not records, as independent, and hold for the same
    guesses; no interval shows that values which mostly occur in the same groups may be swapped in all of them. Numbers
    are in 20 bins. With more than 100,000 records the models learn from groups with this many; with more than 500
    values only naive Bayes is used. The first run on a machine compiles for some seconds.

    Parameters
    ----------
    known : frame, optional
        Complete records of other people, with the sensitive column and some of the identifying ones.
    rounds : int
        The most rounds of learning.
    random_state : int
    progress : bool
        Show a bar on a terminal.

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> random = np.random.default_rng(0)
    >>> ill = random.choice(["flu", "cold", "gout", "measles"], 600)
    >>> age = pd.Series(ill).map({"flu": 30, "cold": 40, "gout": 60, "measles": 15}) + random.integers(-9, 10, 600)
    >>> X = pd.DataFrame({"age": age, "town": random.integers(0, 5, 600), "ill": ill})
    >>> anatomy = md.Anatomy(l=2, sensitive="ill", random_state=0).fit(X)
    >>> result = md.attacks.Matching().run(anatomy.release_, truth=X["ill"].iloc[anatomy.rows_])
    >>> result.baseline, result.interval[0] > 0.7
    (0.5, True)
    """

    def __init__(self, known: Any = None, rounds: int = 12, random_state: int = 0, *, progress: bool = True) -> None:
        self.known = known
        self.rounds = rounds
        self.random_state = random_state
        self.progress = progress

    def run(self, release: AnatomyRelease, truth: Any, sensitive: str | None = None) -> MatchingResult:
        """Match the people of a release.

        Parameters
        ----------
        release : AnatomyRelease
        truth : array-like
            The true sensitive value of each row of `release.identifying`, in its order. It only scores the guesses; no
            adversary sees it.
        sensitive : str, optional
            The sensitive attribute; required if there are several.
        """
        start = time.perf_counter()
        name = self._check(release, sensitive)
        groups = ReleaseGroups.of(release, name)
        truths = groups.truths(truth, name)
        scores, learned, informed = self._scores(release, name, groups)
        found = self._judge_scores(groups, truths, scores, None if informed is None else informed.guess)
        table = release.sensitive_tables[name]
        sizes, many = np.unique(groups.sizes, return_counts=True)
        return MatchingResult(
            sensitive=name,
            by_adversary=found,
            learner=max(learned, key=lambda each: each.fit).learner if learned else None,
            fits={each.learner: each.fit for each in learned},
            rounds_taken={each.learner: each.rounds for each in learned},
            values=len(groups.values),
            alike=int((np.bincount(groups.alike)[groups.alike] > 1).sum()),
            l=int(l_diversity(table, [release.group_column(name)], name, kind="frequency")),
            records=len(truths),
            groups=len(groups.sizes),
            group_sizes=dict(zip(sizes.tolist(), many.tolist(), strict=True)),
            known=0 if informed is None else informed.records,
            random_state=self.random_state,
            seconds=time.perf_counter() - start,
        )

    def _check(self, release: Any, sensitive: str | None) -> str:
        check_number(self, "rounds", 1)
        check_number(self, "random_state", 0)
        if not isinstance(release, AnatomyRelease):
            raise ParameterError(f"Matching attacks an AnatomyRelease. Got a {type(release).__name__} instead.")
        names = release.sensitive_names
        if sensitive is None and len(names) > 1:
            raise ParameterError(
                f"The release has several sensitive attributes. Choose one with 'sensitive': {format_names(names)}."
            )
        return names[0] if sensitive is None else sensitive

    def _scores(
        self, release: AnatomyRelease, name: str, groups: ReleaseGroups
    ) -> "tuple[dict[str, Floats], list[LearnedChances], Informed | None]":
        """Return the scores of each adversary, what was learned from the release, and from known people."""
        from modicum.attacks.matching.learning import ChanceCoder, learn_all, learn_from_known

        visible = [*release.identifying_names, *([] if release.label is None else [release.label])]
        coder = ChanceCoder.fit(release.identifying, visible, release.schema)
        coded = coder.encode(release.identifying)[groups.order]
        learned = learn_all(coded, groups, self.rounds, self.random_state, self.progress)
        nothing = np.zeros(int(groups.blocks[-1]))
        best = max(learned, key=lambda each: each.fit).scores if learned else nothing
        scores = {DEFINETTI: best, **{f"{DEFINETTI}, {each.learner}": each.scores for each in learned}}
        if self.known is None:
            return scores, learned, None
        informed = learn_from_known(self.known, name, coder, coded, groups, self.random_state)
        return scores | {INFORMED: informed.matched}, learned, informed

    def _judge_scores(
        self, groups: ReleaseGroups, truths: Codes, scores: Mapping[str, Floats], without: Codes | None
    ) -> dict[str, Estimate]:
        """Return the accuracy of each adversary; `without` are guesses made without the release, not matched."""
        chance = groups.random_worlds
        found = {RANDOM: Estimate(chance, (chance, chance), chance)}
        guesses = {NAIVE: np.full(len(truths), int(groups.shares.argmax()))}
        for key, each in scores.items():
            random = np.random.default_rng([self.random_state, 2])
            guesses[key] = groups.likeliest(each, random)
        guesses |= {} if without is None else {WITHOUT: without}
        for key, guess in guesses.items():
            right = (guess == truths).astype(np.float64)
            found[key] = Estimate(float(right.mean()), mean_interval(right, groups.groups), chance)
        return found
