"""Learn from the release alone how attributes relate to its sensitive values (Kifer's deFinetti attack, SIGMOD 2009).

At first every matching of a group's records to its values is equally likely. A model learns from these chances; the
model makes some matchings likelier; it learns from the new chances, and so on. Naive Bayes comes first. The network
starts from its final chances, which saves rounds, and random weights do not decide which value is which. Held-out
groups choose the factor of a model's scores in each round, the number of rounds, and the model (or both together), by
how likely the model makes the values of a group given its records (the mean over all matchings). This needs no truth,
so anyone with the release can do it.

If values that occur equally often in each group changed places, the release would be equally likely. They are learned
as one, and guessed among at random. In all other cases the best model is used, however poorly it fits: guessing by a
poor model costs the adversary nothing, and it would be wrong to call people safe because the model is poor.

A model learns from a table of records × values with the chance of each value, or with the truth. It returns
log P(value | attributes) for any records.
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

# Records as codes, and two models that learn a sensitive value from them.

BINS = 20  # of a number
MOST_CODES = 1_000  # of a category; rarer values count as unknown
L2 = 1e-3  # of the network, the strongest that the portfolio tries, since only chances are known, not the truth
_LEAST = 1e-9  # the lowest chance of a value


@dataclass(frozen=True)
class Coded:
    """Records as codes, one column per attribute, 0 if unknown; `sizes` holds the number of codes per column."""

    codes: Codes
    sizes: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any) -> "Coded":
        return Coded(np.ascontiguousarray(self.codes[rows]), self.sizes)

    @property
    def offsets(self) -> Codes:
        """Where each attribute's codes begin if all are numbered consecutively."""
        return np.cumsum([0, *self.sizes])

    @property
    def inputs(self) -> Inputs:
        """The codes as inputs of a learner."""
        return Inputs(self.codes, self.sizes, np.zeros((len(self), 0)))

    def one_hot(self) -> csr_array:
        """Return the codes as columns of 0 and 1."""
        places = (self.codes + self.offsets[:-1]).ravel()
        rows = np.arange(len(self) + 1) * self.codes.shape[1]
        return csr_array((np.ones(len(places)), places, rows), shape=(len(self), int(self.offsets[-1])))


@dataclass(frozen=True)
class ChanceCoder:
    """Codes the columns of the identifying table: numbers in 20 bins of equal frequency, rare categories as unknown."""

    targets: tuple[Target, ...]
    places: tuple[Codes, ...]

    @classmethod
    def fit(cls, X: Any, names: Sequence[str], schema: Schema) -> "ChanceCoder":
        """Learn the codes of these columns; leave out columns without any value."""
        frame = as_frame(X)
        there = [name for name in names if missing_values(column(frame, name)) < len(frame)]
        targets = tuple(Target.fit(frame, schema[name], BINS) for name in there)
        return cls(targets, tuple(_places(target.counts) for target in targets))

    @property
    def names(self) -> list[str]:
        return [target.name for target in self.targets]

    def encode(self, X: Any) -> Coded:
        """Code records; a value that is not in the identifying table counts as unknown."""
        frame = as_frame(X)
        found = [places[target.encode(frame)] for target, places in zip(self.targets, self.places, strict=True)]
        codes = np.column_stack(found) if found else np.zeros((len(frame), 0), dtype=np.int64)
        return Coded(np.ascontiguousarray(codes), tuple(int(places.max()) + 1 for places in self.places))


def _places(counts: Any) -> Codes:
    """Return a code from 1 for each of the most frequent values, 0 for the others, and a last 0 for unknown values."""
    order = np.argsort(-np.asarray(counts), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    return np.append(np.where(rank <= MOST_CODES, rank, 0), 0)


class ChanceModel(Protocol):
    """A model of the adversary."""

    def fit(self, coded: Coded, table: csr_array) -> "ChanceModel": ...

    def logs(self, coded: Coded) -> Floats: ...


class NaiveBayes:
    """Naive Bayes: attributes are independent given the value, as in Kifer's attack (SIGMOD 2009).

    A code's share among the records of a value is smoothed towards its share among all, with as many pseudo-records as
    the column has codes: Laplace's rule, except that a value without known records is uninformative.
    """

    def fit(self, coded: Coded, table: csr_array) -> "NaiveBayes":
        counts = (coded.one_hot().T @ table).toarray()
        values = np.asarray(table.sum(axis=0), dtype=np.float64)
        pseudo = np.repeat(coded.sizes, coded.sizes)[:, None].astype(np.float64)
        share = (counts.sum(axis=1, keepdims=True) + 1) / (values.sum() + pseudo)
        self._logs = np.log((counts + pseudo * share) / (values + pseudo)) - np.log(share)
        self._prior = np.log((values + 1) / (values.sum() + len(values)))
        return self

    def logs(self, coded: Coded) -> Floats:
        found = coded.one_hot() @ self._logs + self._prior
        found -= found.max(axis=1, keepdims=True)
        return np.asarray(found - np.log(np.exp(found).sum(axis=1, keepdims=True)))


class SmallNetwork:
    """The portfolio's network with one hidden layer of 50: attributes may depend on each other."""

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, coded: Coded, table: csr_array) -> "SmallNetwork":
        rows, cells = coded.inputs.distinct()
        merged = csr_array((np.ones(len(cells)), (cells, np.arange(len(cells)))), shape=(len(rows), len(cells))) @ table
        # Chances sum to 1 up to rounding, and a record must not count as less than one.
        self._network = Network(L2, random_state=self.random_state).fit(rows, [merged * (1 + 1e-9)])
        return self

    def logs(self, coded: Coded) -> Floats:
        chances = np.asarray(self._network.predict(coded.inputs)[0], dtype=np.float64)
        return np.log(np.maximum(chances, _LEAST))


# Scores of records and options from models, and the factors that calibrate them.
#
# A model that treats dependent attributes as independent is overconfident: it may rank matchings well, but its
# likelihoods are poor. So scores are multiplied by the factor that makes the values of held-out groups likeliest. Two
# models can be combined, each with its own factor.

BAYES, NETWORK, BOTH = "naive Bayes", "network", "both"
FACTORS = 2.0 ** (np.arange(-9, 5) / 2)  # from 1/23 to 4
_SHARES = (0.25, 0.5, 0.75, 1.0)  # shares of their own factors that two combined models may have
_MANY = 500  # with more values a network would take too long to learn


def new_model(learner: str, random_state: int, number: int = 0) -> ChanceModel:
    """Create an untrained model; the seed of a network depends on the round."""
    return NaiveBayes() if learner == BAYES else SmallNetwork(random_state + number)


def learners_for(values: int) -> Sequence[str]:
    """Return the learners to try for this number of values."""
    return (BAYES, NETWORK) if values <= _MANY else (BAYES,)


@dataclass(frozen=True)
class GroupedRecords:
    """Groups with the codes of their records, in the order of the groups."""

    coded: Coded
    groups: ReleaseGroups

    def some(self, wanted: Mask) -> "GroupedRecords":
        """Return some of the groups."""
        part = self.groups.some(wanted)
        return GroupedRecords(self.coded[part.order], part)

    def train(self, learner: str, random_state: int, number: int, chances: Floats) -> ChanceModel:
        """Train a model on each record's chances of its options."""
        groups = self.groups
        entries = chances, groups.options[groups.pair_options], start_places(groups.widths)
        table = csr_array(entries, shape=(len(groups.order), len(groups.values)))
        return new_model(learner, random_state, number).fit(self.coded, table)

    def chances(self, model: ChanceModel, factor: float) -> Floats:
        """Return each record's chance of each option by a model's scores, multiplied by the factor."""
        return self.groups.chances(factor * self.scores(model))[0]

    def scores(self, model: ChanceModel) -> Floats:
        """Return log P(value | attributes) − log P(value) for each record and option.

        The frequencies of the values are irrelevant within a group, since all of its values occur.
        """
        return self._score_models([model], np.zeros((0, 1)))[0][0]

    def best_weights(self, models: Sequence[ChanceModel], weights: Floats) -> tuple[list[float], float]:
        """Return the weights of the models (a row) that make the groups' values likeliest, and the log likelihood."""
        pairs, sums = self._score_models(models, weights)
        own = self.groups.pair_records
        fits = [self.groups.chances(each @ pairs - rest[own])[1] for each, rest in zip(weights, sums, strict=True)]
        best = int(np.argmax(fits))
        return weights[best].tolist(), fits[best]

    def _score_models(self, models: Sequence[ChanceModel], weights: Floats) -> tuple[Floats, Floats]:
        """Return each model's scores, and for each row of weights the normalizing term of each record."""
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


# Learning from the release alone.

_ASIDE = 0.2  # share of the groups held out
_PATIENCE = 3  # rounds without a better fit after which a trial ends
_PLENTY = 100_000  # records beyond which more add nothing


@dataclass(frozen=True)
class LearnedChances:
    """What one learner learned from the release.

    Attributes
    ----------
    learner : its name
    rounds : the number of rounds with the best fit to held-out groups
    fit : the log of how much likelier than at random it makes their values, per record; below 0 if the model does not
        generalize to them, which in small releases may be chance
    scores : for each record and option of its group, the log of how much likelier the attributes make it
    """

    learner: str
    rounds: int
    fit: float
    scores: Floats


@dataclass(frozen=True)
class _Trial:
    """A learner's best round: its model and fit, the factors of all rounds up to it, and all its scores."""

    learner: str
    model: ChanceModel
    factors: tuple[float, ...]
    fit: float
    scores: Floats


def learn_all(
    coded: Coded, groups: ReleaseGroups, rounds: int, random_state: int, progress: bool
) -> list[LearnedChances]:
    """Run each learner on all groups (`coded` in their order); of a large release only a part is learned from.

    The result is empty if the records have no visible attribute, or if all values of each group are alike.
    """
    if not (max(coded.sizes, default=0) > 1 and groups.tellable):
        return []
    merged = groups.merge_alike()
    whole = GroupedRecords(coded, merged)
    enough, learn, aside = (whole.some(wanted) for wanted in _split_groups(merged, random_state))
    starts, trials = (learn.groups.uniform(), enough.groups.uniform()), []
    for name in learners_for(len(merged.values)):
        model, factors, fit = _run_rounds(name, learn, aside, starts[0], rounds, random_state, progress)
        final = _repeat_rounds(name, enough, starts[1], factors, random_state)
        trials.append(_Trial(name, model, factors, fit, whole.scores(final)))
        starts = learn.chances(model, factors[-1]), enough.chances(final, factors[-1])
    found = [LearnedChances(t.learner, len(t.factors), t.fit, t.factors[-1] * t.scores) for t in trials]
    found += _combine_trials(trials, aside)
    return [replace(each, scores=groups.spread(merged, each.scores)) for each in found]


def _split_groups(groups: ReleaseGroups, random_state: int) -> tuple[Mask, Mask, Mask]:
    """Choose groups with enough records in total, and split these into some to learn from and some to hold out."""
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
    """Learn, match, and learn from the matching while held-out groups fit better; return the best model, factors, fit.

    Chances use scores times the factor that suits held-out groups: otherwise an overconfident model would soon take its
    own chances as truth, and the rounds would confirm its first guesses.
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
    """Repeat the rounds with more groups."""
    for number in range(len(factors)):
        model = part.train(name, random_state, number, chances)
        if number + 1 < len(factors):
            chances = part.chances(model, factors[number])
    return model


def _combine_trials(trials: Sequence[_Trial], aside: GroupedRecords) -> list[LearnedChances]:
    """Combine two models, with shares of the factors that each has alone."""
    if len(trials) < 2:
        return []
    first, second = (trial.factors[-1] for trial in trials)
    weights = np.array([(one * first, other * second) for one in _SHARES for other in _SHARES])
    factors, fit = aside.best_weights([trial.model for trial in trials], weights)
    scores = sum(factor * trial.scores for factor, trial in zip(factors, trials, strict=True))
    return [LearnedChances(BOTH, sum(len(trial.factors) for trial in trials), fit, np.asarray(scores))]


# Learning from complete records of other people.

_FEWEST = 10


@dataclass(frozen=True)
class Informed:
    """Scores of each record and option, the values guessed from attributes alone, and the number of known records."""

    matched: Floats
    guess: Codes
    records: int


def learn_from_known(
    known: Any, sensitive: str, coder: ChanceCoder, coded: Coded, groups: ReleaseGroups, random_state: int
) -> Informed:
    """Learn from complete records of others whose value is in the release.

    The model is the one that makes the values of a held-out fifth of the known records likeliest.
    """
    frame = as_frame(known)
    absent = [name for name in coder.names if name not in frame.columns]
    if absent:
        raise DataError(f"The known records have no column {absent[0]!r}, but the identifying table has it.")
    values = groups.encode(column(frame, sensitive))
    there = np.flatnonzero(values >= 0)
    if len(there) < _FEWEST:
        raise DataError(f"Fewer than {_FEWEST} of the known records have a value of {sensitive!r} from the release.")
    model = _fit_best_model(coder.encode(frame)[there], values[there], len(groups.values), random_state)
    guess = [model.logs(coded[rows]).argmax(axis=1) for rows in chunks(len(coded), len(groups.values))]
    return Informed(GroupedRecords(coded, groups).scores(model), np.concatenate(guess).astype(np.int64), len(there))


def truth_table(values: Codes, size: int) -> csr_array:
    """Return the table of records × values for records with known values."""
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
