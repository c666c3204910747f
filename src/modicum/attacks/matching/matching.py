"""Match people to the sensitive values of their group: what two tables tied by groups still give away (papers/4)."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from modicum.attacks.matching.matching_result import DEFINETTI, INFORMED, NAIVE, RANDOM, WITHOUT, MatchingResult
from modicum.attacks.matching.release_groups import ReleaseGroups
from modicum.attacks.result import Estimate
from modicum.errors import ParameterError, check_number, format_names
from modicum.measures.diversity import l_diversity
from modicum.measures.intervals import mean_interval
from modicum.releases.anatomy_release import AnatomyRelease
from modicum.typing import Codes

if TYPE_CHECKING:
    from modicum.attacks.matching.learning import LearnedChances


class Matching:
    """How often does someone who has an anatomized release give people their right sensitive value?

    A release with ℓ different values in each group leaves a chance of 1/ℓ, as long as every matching of people to
    values is as likely. It is not: the release as a whole shows how attributes go with values (Kifer, "Attacks on
    privacy and deFinetti's theorem", SIGMOD 2009, which papers/4 cites as [18]). The adversaries:

    - "random worlds": every matching as likely, so it says each group's most frequent value; never right for more than
      1/ℓ, computed, not simulated, and the baseline of all others;
    - "most frequent value": says that of the whole release, of everybody;
    - "deFinetti": learns the correlation from the release alone, class included, in rounds: chances of matchings, a
      model that learns from them, better chances. Two models try, Kifer's naive Bayes and a small network that goes on
      from there, and both together, each believed as far as groups set aside allow; the one that makes their values
      likeliest is taken, which needs no truth. On small releases that need not be the one with the most people right;
      each is also in the result under its own name. Values of which every group has equally many, as with ℓ = 2 of
      two, could all swap: the release shows who is alike, but not which value they have. Between these it guesses at
      random, `alike` counts them and `note` says it: whoever knows a few people has more than this adversary;
    - "informed", with `known`: the models learn from complete records of other people instead;
    - "without the release", with `known`: the same model's guess from the attributes alone.

    Each says of a person the value with the highest chance over all matchings of the group. That gets the most people
    right on average; the single most likely matching, which uses every value as often as it occurs, gets fewer.

    Chances are exact in groups of up to eight records, approximate in larger ones (see
    `modicum.attacks.matching.kernel`). Intervals take groups, not records, for independent, and hold for the same
    guesses; values that mostly come in the same groups may be mixed up in all of them at once, which no interval shows.
    Numbers are seen in 20 bins; of more than 100,000 records the models learn from groups with so many. Of more than
    500 values only naive Bayes tries. The first run on a machine compiles for some seconds.

    Parameters
    ----------
    known : frame, optional
        Complete records of other people, with the sensitive column and some of the identifying ones.
    rounds : int
        How often the adversary learns anew at most.
    random_state : int
    progress : bool
        Whether long work shows a bar on a terminal.

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
            The true sensitive value of each row of `release.identifying`, in its order. It only judges; no adversary
            sees it.
        sensitive : str, optional
            Which of the sensitive attributes; needed where there are several.
        """
        start = time.perf_counter()
        name = self._check(release, sensitive)
        groups = ReleaseGroups.of(release, name)
        truths = groups.truths(truth, name)
        scores, learned, known = self._scores(release, name, groups)
        found = self._judge_scores(groups, truths, scores)
        table = release.sensitive_tables[name]
        sizes, many = np.unique(groups.sizes, return_counts=True)
        return MatchingResult(
            sensitive=name,
            by_adversary=found,
            learner=_best(learned),
            fits={each.learner: each.fit for each in learned},
            rounds_taken={each.learner: each.rounds for each in learned},
            values=len(groups.values),
            alike=int((np.bincount(groups.alike)[groups.alike] > 1).sum()),
            l=int(l_diversity(table, [release.group_column(name)], name, kind="frequency")),
            records=len(truths),
            groups=len(groups.sizes),
            group_sizes=dict(zip(sizes.tolist(), many.tolist(), strict=True)),
            known=known,
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
            raise ParameterError(f"The release has several sensitive attributes; say which: {format_names(names)}.")
        return names[0] if sensitive is None else sensitive

    def _scores(
        self, release: AnatomyRelease, name: str, groups: ReleaseGroups
    ) -> "tuple[dict[str, Any], list[LearnedChances], int]":
        """What each adversary goes by, what was learned from the release, and how many others are known."""
        from modicum.attacks.matching.chance_models import ChanceCoder
        from modicum.attacks.matching.learning import learn_all, learn_from_known

        coder = ChanceCoder.fit(release.identifying, _list_visible_columns(release), release.schema)
        coded = coder.encode(release.identifying)[groups.order]
        learned = learn_all(coded, groups, self.rounds, self.random_state, self.progress)
        nothing = np.zeros(int(groups.blocks[-1]))
        best = max(learned, key=lambda each: each.fit).scores if learned else nothing
        scores: dict[str, Any] = {DEFINETTI: best, **{f"{DEFINETTI}, {each.learner}": each.scores for each in learned}}
        if self.known is None:
            return scores, learned, 0
        informed = learn_from_known(self.known, name, coder, coded, groups, self.random_state)
        return scores | {INFORMED: informed.matched, WITHOUT: informed.guess}, learned, informed.records

    def _judge_scores(self, groups: ReleaseGroups, truths: Codes, scores: Mapping[str, Any]) -> dict[str, Estimate]:
        """Each adversary's accuracy; scores of pairs are matched first, values stay as they are."""
        chance = groups.random_worlds
        found = {RANDOM: Estimate(chance, (chance, chance), chance)}
        guesses: dict[str, Any] = {NAIVE: np.full(len(truths), int(groups.shares.argmax()))}
        for key, each in scores.items():
            random = np.random.default_rng([self.random_state, 2])
            guesses[key] = groups.likeliest(each, random) if key != WITHOUT else each
        for key, guess in guesses.items():
            right = (guess == truths).astype(np.float64)
            found[key] = Estimate(float(right.mean()), mean_interval(right, groups.groups), chance)
        return found


def _best(learned: "Sequence[LearnedChances]") -> str | None:
    return max(learned, key=lambda each: each.fit).learner if learned else None


def _list_visible_columns(release: AnatomyRelease) -> list[str]:
    """What everybody sees of a person: the identifying attributes and the class."""
    return [*release.identifying_names, *([] if release.label is None else [release.label])]
