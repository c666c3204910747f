"""Learn from the release alone how attributes go with its sensitive values (Kifer's deFinetti attack, SIGMOD 2009).

At first every matching of a group's records to its values is as likely. A model learns from these chances; by the model
some matchings are likelier; it learns from the new chances, and so on. Naive Bayes goes first; the network starts from
the chances that it ends with, which spares rounds, and random weights then do not decide which value is which. How far
a model is to be believed in each round, how many rounds there are, and which model is taken (or both together) is
chosen by groups set aside: by how likely the model makes the values that a group has, given its records (the mean over
all matchings). That needs no truth, so that whoever has the release can do it.

Values that occur equally often in each group could change places and all of the release would be as likely. They are
learned as one; who of its records has which of them is left to chance. Everywhere else the best model is used, however
little it fits: to guess by a poor model costs the adversary nothing, and to call people safe because of one would be
wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from modicum.attacks.matching.chance_models import (
    ChanceCoder,
    ChanceModel,
    Coded,
    NaiveBayes,
    SmallNetwork,
    best_factor,
    best_factors,
    chance_table,
    pair_scores,
    truth_table,
)
from modicum.attacks.matching.release_groups import ReleaseGroups
from modicum.errors import DataError
from modicum.learners.inputs import chunks
from modicum.progress import track_progress
from modicum.table.frames import as_frame, column, texts
from modicum.typing import Codes, Floats, Mask

BAYES, NETWORK, BOTH = "naive Bayes", "network", "both"
_ASIDE = 0.2  # of the groups
_PATIENCE = 3  # rounds without a better fit after which a trial ends
_MANY = 500  # values of which a network would take too long to learn
_PLENTY = 100_000  # records from which more would teach nothing new


@dataclass(frozen=True)
class LearnedChances:
    """What one learner made of the release.

    Attributes
    ----------
    learner : its name
    rounds : after how many rounds it fits groups set aside best
    fit : the log of how much likelier than at random it makes their values, per record; below 0 where what was
        learned does not carry over to them, which in small releases may be chance
    scores : for each record and option of its group, how much likelier the attributes make it (a logarithm)
    """

    learner: str
    rounds: int
    fit: float
    scores: Floats


@dataclass(frozen=True)
class _LearningPart:
    """Some groups with their records' codes."""

    coded: Coded
    groups: ReleaseGroups

    @classmethod
    def of(cls, coded: Coded, groups: ReleaseGroups, wanted: Mask) -> "_LearningPart":
        part = groups.some(wanted)
        return cls(coded[part.order], part)

    def chances(self, model: ChanceModel, factor: float) -> Floats:
        return self.groups.chances(factor * pair_scores(model, self.coded, self.groups))[0]


@dataclass(frozen=True)
class _Trial:
    """A learner's best round: its model and fit, how far to believe it in each round up to then, all its scores."""

    learner: str
    model: ChanceModel
    factors: tuple[float, ...]
    fit: float
    scores: Floats

    def make_learned(self) -> LearnedChances:
        return LearnedChances(self.learner, len(self.factors), self.fit, self.factors[-1] * self.scores)


def new_model(learner: str, random_state: int, number: int = 0) -> ChanceModel:
    """A model that has not learned yet; the seed of a network depends on the round."""
    return NaiveBayes() if learner == BAYES else SmallNetwork(random_state + number)


def learners_for(values: int) -> Sequence[str]:
    """Which learners try, by how many values there are."""
    return (BAYES, NETWORK) if values <= _MANY else (BAYES,)


def learn_all(
    coded: Coded, groups: ReleaseGroups, rounds: int, random_state: int, progress: bool
) -> list[LearnedChances]:
    """What each learner makes of all groups (of records in their order); large releases are learned from in part.

    Nobody learns where there is nothing to see of the records, or where all values of each group are alike.
    """
    if not (max(coded.sizes, default=0) > 1 and groups.tellable):
        return []
    merged = groups.merge_alike()
    enough, learn, aside = (_LearningPart.of(coded, merged, wanted) for wanted in _parts(merged, random_state))
    starts, trials = (learn.groups.uniform(), enough.groups.uniform()), []
    for name in learners_for(len(merged.values)):
        model, factors, fit = _run_rounds(name, learn, aside, starts[0], rounds, random_state, progress)
        final = _repeat_rounds(name, enough, starts[1], factors, random_state)
        trials.append(_Trial(name, model, factors, fit, pair_scores(final, coded, merged)))
        starts = learn.chances(model, factors[-1]), enough.chances(final, factors[-1])
    found = [trial.make_learned() for trial in trials] + _combine_trials(trials, aside)
    return [replace(each, scores=groups.spread(merged, each.scores)) for each in found]


def _parts(groups: ReleaseGroups, random_state: int) -> tuple[Mask, Mask, Mask]:
    """Groups with enough records, and of these some to try with and some to set aside."""
    random = np.random.default_rng([random_state, 1])
    drawn = random.permutation(len(groups.sizes))
    rank = np.empty(len(drawn), dtype=np.int64)
    rank[drawn] = np.arange(len(drawn))
    enough = np.zeros(len(drawn), dtype=bool)
    enough[drawn[np.cumsum(groups.sizes[drawn]) <= max(_PLENTY, int(groups.sizes[drawn[0]]))]] = True
    aside = rank < max(1, round(_ASIDE * int(enough.sum())))
    return enough, enough & ~aside if (enough & ~aside).any() else enough, aside


def _run_rounds(
    name: str,
    learn: _LearningPart,
    aside: _LearningPart,
    chances: Floats,
    rounds: int,
    random_state: int,
    progress: bool,
) -> tuple[ChanceModel, tuple[float, ...], float]:
    """Learn, match, learn from the matching, while groups set aside fit better: the best model, its factors, its fit.

    Chances are of scores times the factor that groups set aside ask for: those of a model too sure of itself would soon
    be taken for truths, and the rounds end with what it happened to say first.
    """
    found: list[tuple[float, float, ChanceModel]] = []
    for number in track_progress(range(rounds), f"Learning the correlation ({name})", total=rounds, progress=progress):
        model = new_model(name, random_state, number).fit(learn.coded, chance_table(learn.groups, chances))
        factor, fit = best_factor(model, aside.coded, aside.groups)
        found.append((fit, factor, model))
        if len(found) - _first_best(found) > _PATIENCE:
            break
        if number + 1 < rounds:
            chances = learn.chances(model, factor)
    best = _first_best(found)
    return found[best][2], tuple(factor for _, factor, _ in found[: best + 1]), found[best][0]


def _first_best(found: Sequence[tuple[float, float, ChanceModel]]) -> int:
    return int(np.argmax([fit for fit, _, _ in found]))


def _repeat_rounds(
    name: str, part: _LearningPart, chances: Floats, factors: Sequence[float], random_state: int
) -> ChanceModel:
    """The same rounds with more groups."""
    for number in range(len(factors)):
        model = new_model(name, random_state, number).fit(part.coded, chance_table(part.groups, chances))
        if number + 1 < len(factors):
            chances = part.chances(model, factors[number])
    return model


def _combine_trials(trials: Sequence[_Trial], aside: _LearningPart) -> list[LearnedChances]:
    """Two models as one."""
    if len(trials) < 2:
        return []
    alone = [trial.factors[-1] for trial in trials]
    factors, fit = best_factors([trial.model for trial in trials], alone, aside.coded, aside.groups)
    scores = sum(factor * trial.scores for factor, trial in zip(factors, trials, strict=True))
    return [LearnedChances(BOTH, sum(len(trial.factors) for trial in trials), fit, np.asarray(scores))]


# What someone with complete records of other people makes of a release, and of its identifying table alone.

_FEWEST = 10


@dataclass(frozen=True)
class Informed:
    """Scores of each record and option, the value guessed from attributes alone, and how many others are known."""

    matched: Floats
    guess: Codes
    records: int


def learn_from_known(
    known: Any, sensitive: str, coder: ChanceCoder, coded: Coded, groups: ReleaseGroups, random_state: int
) -> Informed:
    """Learn from complete records of others; a value that the release does not have is left out, as are missing ones.

    The model is the one that finds the values of a fifth of the known records likelier after learning from the others.
    """
    frame = as_frame(known)
    absent = [name for name in coder.names if name not in frame.columns]
    if absent:
        raise DataError(f"The known records have no column {absent[0]!r}, which the identifying table has.")
    codes, words = texts(column(frame, sensitive))
    place = {value: i for i, value in enumerate(groups.values)}
    values = np.array([place.get(word, -1) for word in words] + [-1], dtype=np.int64)[codes]
    there = np.flatnonzero(values >= 0)
    if len(there) < _FEWEST:
        raise DataError(f"Fewer than {_FEWEST} of the known records have a value of {sensitive!r} that was released.")
    model = _fit_best_model(coder.encode(frame)[there], values[there], len(groups.values), random_state)
    return Informed(pair_scores(model, coded, groups), _most_likely(model, coded, len(groups.values)), len(there))


def _fit_best_model(coded: Coded, values: Codes, size: int, random_state: int) -> ChanceModel:
    aside = np.zeros(len(values), dtype=bool)
    order = np.random.default_rng([random_state, 3]).permutation(len(values))
    aside[order[: max(1, round(_ASIDE * len(values)))]] = True

    def fit(name: str) -> float:
        model = new_model(name, random_state).fit(coded[~aside], truth_table(values[~aside], size))
        return float(model.logs(coded[aside])[np.arange(int(aside.sum())), values[aside]].mean())

    best = max(learners_for(size), key=fit) if coded.sizes else BAYES
    return new_model(best, random_state).fit(coded, truth_table(values, size))


def _most_likely(model: ChanceModel, coded: Coded, size: int) -> Codes:
    parts = [model.logs(coded[rows]).argmax(axis=1) for rows in chunks(len(coded), size)]
    return np.concatenate(parts).astype(np.int64)
