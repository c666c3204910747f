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

A model takes a table of records × values, how likely each record has each value, so that it learns from chances as well
as from truths. It answers with log P(value | attributes) of any records.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from modicum.attacks.matching.release_groups import ReleaseGroups, start_places
from modicum.errors import DataError
from modicum.learners.inputs import Inputs, chunks
from modicum.learners.network import Network
from modicum.progress import track_progress
from modicum.table.frames import as_frame, column, missing_values
from modicum.table.schema import Schema
from modicum.table.targets import Target
from modicum.typing import Codes, Floats, Mask

# How attributes go with a sensitive value: records as codes, and two models that learn from them.

BINS = 20  # of a number
MOST_CODES = 1_000  # of a category; rarer ones count as unknown
L2 = 1e-3  # of the network, the strongest of those that the portfolio tries: the truths are not known, only chances
_LEAST = 1e-9  # the chance that an impossible value is taken to have


@dataclass(frozen=True)
class Coded:
    """Records as codes, one column per attribute, 0 where nothing is known; `sizes` says how many codes each has."""

    codes: Codes
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "Coded":
        return Coded(np.ascontiguousarray(self.codes[rows]), self.sizes)

    @property
    def offsets(self) -> Codes:
        """Where each attribute's codes begin when all stand one after another."""
        return np.cumsum([0, *self.sizes])

    @property
    def inputs(self) -> Inputs:
        """The same for a learner."""
        return Inputs(self.codes, self.sizes, np.zeros((len(self), 0)))

    def one_hot(self) -> csr_array:
        """The codes as columns of 0 and 1."""
        places = (self.codes + self.offsets[:-1]).ravel()
        rows = np.arange(len(self) + 1) * self.codes.shape[1]
        return csr_array((np.ones(len(places)), places, rows), shape=(len(self), int(self.offsets[-1])))


@dataclass(frozen=True)
class ChanceCoder:
    """The columns of the identifying table as few codes each: numbers in 20 bins of equal frequency."""

    targets: tuple[Target, ...]
    places: tuple[Codes, ...]

    @classmethod
    def fit(cls, X: Any, names: Sequence[str], schema: Schema) -> "ChanceCoder":
        """The codes of these columns; one without any value tells nothing and is left out."""
        frame = as_frame(X)
        there = [name for name in names if missing_values(column(frame, name)) < len(frame)]
        targets = tuple(Target.fit(frame, schema[name], BINS) for name in there)
        return cls(targets, tuple(_places(target.counts) for target in targets))

    @property
    def names(self) -> list[str]:
        return [target.name for target in self.targets]

    def encode(self, X: Any) -> Coded:
        """The codes of records; a value that the identifying table does not have is not known."""
        frame = as_frame(X)
        found = [places[target.encode(frame)] for target, places in zip(self.targets, self.places, strict=True)]
        codes = np.column_stack(found) if found else np.zeros((len(frame), 0), dtype=np.int64)
        return Coded(np.ascontiguousarray(codes), tuple(int(places.max()) + 1 for places in self.places))


def _places(counts: Any) -> Codes:
    """A code from 1 for each of the most frequent values; 0 for the others, and (last) for what is not known."""
    order = np.argsort(-np.asarray(counts), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    return np.append(np.where(rank <= MOST_CODES, rank, 0), 0)


class ChanceModel(Protocol):
    """What the adversary learns with."""

    def fit(self, coded: Coded, table: csr_array) -> "ChanceModel": ...

    def logs(self, coded: Coded) -> Floats: ...


class NaiveBayes:
    """Attributes taken to be independent given the value, as in Kifer's attack (SIGMOD 2009).

    A code's share among the records of a value is drawn towards its share among all, by as many records as the column
    has codes: Laplace's rule, but such that a value that nobody is known to have tells nothing.
    """

    def fit(self, coded: Coded, table: csr_array) -> "NaiveBayes":
        counts = (coded.one_hot().T @ table).toarray()
        values = np.asarray(table.sum(axis=0), dtype=np.float64)
        drawn = np.repeat(coded.sizes, coded.sizes)[:, None].astype(np.float64)
        share = (counts.sum(axis=1, keepdims=True) + 1) / (values.sum() + drawn)
        self._logs = np.log((counts + drawn * share) / (values + drawn)) - np.log(share)
        self._prior = np.log((values + 1) / (values.sum() + len(values)))
        return self

    def logs(self, coded: Coded) -> Floats:
        found = coded.one_hot() @ self._logs + self._prior
        found -= found.max(axis=1, keepdims=True)
        return np.asarray(found - np.log(np.exp(found).sum(axis=1, keepdims=True)))


class SmallNetwork:
    """The portfolio's network, one hidden layer of 50: attributes may depend on each other."""

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, coded: Coded, table: csr_array) -> "SmallNetwork":
        rows, cells = coded.inputs.distinct()
        merged = csr_array((np.ones(len(cells)), (cells, np.arange(len(cells)))), shape=(len(rows), len(cells))) @ table
        # Chances sum up to 1 but for rounding, and a record must not count as none.
        self._network = Network(L2, random_state=self.random_state).fit(rows, [merged * (1 + 1e-9)])
        return self

    def logs(self, coded: Coded) -> Floats:
        chances = np.asarray(self._network.predict(coded.inputs)[0], dtype=np.float64)
        return np.log(np.maximum(chances, _LEAST))


# From models to scores of records and options, and how far the scores are to be believed.
#
# A model that takes dependent attributes for independent is too sure of itself: its order of matchings may be good and
# its likelihoods bad all the same. So scores are multiplied by a factor before they count, the one that makes the
# values of groups set aside likeliest. Two models can be taken together, each with its own factor.

BAYES, NETWORK, BOTH = "naive Bayes", "network", "both"
FACTORS = 2.0 ** (np.arange(-9, 5) / 2)  # from 1/23 to 4
_SHARES = (0.25, 0.5, 0.75, 1.0)  # of its factor that each of two models may keep
_MANY = 500  # values of which a network would take too long to learn


def new_model(learner: str, random_state: int, number: int = 0) -> ChanceModel:
    """A model that has not learned yet; the seed of a network depends on the round."""
    return NaiveBayes() if learner == BAYES else SmallNetwork(random_state + number)


def learners_for(values: int) -> Sequence[str]:
    """Which learners try, by how many values there are."""
    return (BAYES, NETWORK) if values <= _MANY else (BAYES,)


@dataclass(frozen=True)
class GroupedRecords:
    """Groups with their records' codes, in the order of the groups."""

    coded: Coded
    groups: ReleaseGroups

    def some(self, wanted: Mask) -> "GroupedRecords":
        """Some of the groups."""
        part = self.groups.some(wanted)
        return GroupedRecords(self.coded[part.order], part)

    def train(self, learner: str, random_state: int, number: int, chances: Floats) -> ChanceModel:
        """A model that has learned from each record's chances of its options."""
        groups = self.groups
        entries = chances, groups.options[groups.pair_options], start_places(groups.widths)
        table = csr_array(entries, shape=(len(groups.order), len(groups.values)))
        return new_model(learner, random_state, number).fit(self.coded, table)

    def chances(self, model: ChanceModel, factor: float) -> Floats:
        """Each record's chance of each option by a model that is believed so far."""
        return self.groups.chances(factor * self.scores(model))[0]

    def scores(self, model: ChanceModel) -> Floats:
        """For each record and option, log P(value | attributes) − log P(value).

        Who has which of a group's values does not depend on how frequent the values are, since all of them are had.
        """
        return self._score_models([model], np.zeros((0, 1)))[0][0]

    def best_weights(self, models: Sequence[ChanceModel], weights: Floats) -> tuple[list[float], float]:
        """The weights of the models (a row) that make the groups' values likeliest, and the log of how likely."""
        pairs, sums = self._score_models(models, weights)
        own = self.groups.pair_records
        fits = [self.groups.chances(each @ pairs - rest[own])[1] for each, rest in zip(weights, sums, strict=True)]
        best = int(np.argmax(fits))
        return weights[best].tolist(), fits[best]

    def _score_models(self, models: Sequence[ChanceModel], weights: Floats) -> tuple[Floats, Floats]:
        """Each model's scores, and for each way to weigh them what a record has to give for its chances to sum to 1."""
        groups, n = self.groups, len(self.coded)
        frequent = np.log(groups.shares)
        ends = start_places(groups.widths)
        values = groups.options[groups.pair_options]
        pairs, sums = np.empty((len(models), int(ends[-1]))), np.empty((len(weights), n))
        for rows in chunks(n, len(models) * len(frequent)):
            logs = np.stack([model.logs(self.coded[rows]) for model in models]) - frequent
            own = slice(int(ends[rows.start]), int(ends[rows.stop]))
            pairs[:, own] = logs[:, groups.pair_records[own] - rows.start, values[own]]
            for into, each in zip(sums, weights, strict=True):
                into[rows] = logsumexp(np.tensordot(each, logs, 1) + frequent, axis=1)
        return pairs, sums


# What is learned from the release alone.

_ASIDE = 0.2  # of the groups
_PATIENCE = 3  # rounds without a better fit after which a trial ends
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
class _Trial:
    """A learner's best round: its model and fit, how far to believe it in each round up to then, all its scores."""

    learner: str
    model: ChanceModel
    factors: tuple[float, ...]
    fit: float
    scores: Floats


def learn_all(
    coded: Coded, groups: ReleaseGroups, rounds: int, random_state: int, progress: bool
) -> list[LearnedChances]:
    """What each learner makes of all groups (of records in their order); large releases are learned from in part.

    Nobody learns where there is nothing to see of the records, or where all values of each group are alike.
    """
    if not (max(coded.sizes, default=0) > 1 and groups.tellable):
        return []
    merged = groups.merge_alike()
    whole = GroupedRecords(coded, merged)
    enough, learn, aside = (whole.some(wanted) for wanted in _parts(merged, random_state))
    starts, trials = (learn.groups.uniform(), enough.groups.uniform()), []
    for name in learners_for(len(merged.values)):
        model, factors, fit = _run_rounds(name, learn, aside, starts[0], rounds, random_state, progress)
        final = _repeat_rounds(name, enough, starts[1], factors, random_state)
        trials.append(_Trial(name, model, factors, fit, whole.scores(final)))
        starts = learn.chances(model, factors[-1]), enough.chances(final, factors[-1])
    found = [LearnedChances(t.learner, len(t.factors), t.fit, t.factors[-1] * t.scores) for t in trials]
    found += _combine_trials(trials, aside)
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
    learn: GroupedRecords,
    aside: GroupedRecords,
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
        model = learn.train(name, random_state, number, chances)
        (factor,), fit = aside.best_weights([model], FACTORS[:, None])
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
    name: str, part: GroupedRecords, chances: Floats, factors: Sequence[float], random_state: int
) -> ChanceModel:
    """The same rounds with more groups."""
    for number in range(len(factors)):
        model = part.train(name, random_state, number, chances)
        if number + 1 < len(factors):
            chances = part.chances(model, factors[number])
    return model


def _combine_trials(trials: Sequence[_Trial], aside: GroupedRecords) -> list[LearnedChances]:
    """Two models as one, whose factors are part of those that each has alone."""
    if len(trials) < 2:
        return []
    first, second = (trial.factors[-1] for trial in trials)
    weights = np.array([(one * first, other * second) for one in _SHARES for other in _SHARES])
    factors, fit = aside.best_weights([trial.model for trial in trials], weights)
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
    values = groups.encode(column(frame, sensitive))
    there = np.flatnonzero(values >= 0)
    if len(there) < _FEWEST:
        raise DataError(f"Fewer than {_FEWEST} of the known records have a value of {sensitive!r} that was released.")
    model = _fit_best_model(coder.encode(frame)[there], values[there], len(groups.values), random_state)
    guess = [model.logs(coded[rows]).argmax(axis=1) for rows in chunks(len(coded), len(groups.values))]
    return Informed(GroupedRecords(coded, groups).scores(model), np.concatenate(guess).astype(np.int64), len(there))


def truth_table(values: Codes, size: int) -> csr_array:
    """Records × values, for records whose value is known."""
    return csr_array((np.ones(len(values)), values, np.arange(len(values) + 1)), shape=(len(values), size))


def _fit_best_model(coded: Coded, values: Codes, size: int, random_state: int) -> ChanceModel:
    aside = np.zeros(len(values), dtype=bool)
    order = np.random.default_rng([random_state, 3]).permutation(len(values))
    aside[order[: max(1, round(_ASIDE * len(values)))]] = True

    def fit(name: str) -> float:
        model = new_model(name, random_state).fit(coded[~aside], truth_table(values[~aside], size))
        return float(model.logs(coded[aside])[np.arange(int(aside.sum())), values[aside]].mean())

    best = max(learners_for(size), key=fit) if coded.sizes else BAYES
    return new_model(best, random_state).fit(coded, truth_table(values, size))
