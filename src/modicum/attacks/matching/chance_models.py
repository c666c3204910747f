"""How attributes go with a sensitive value, learned from chances as well as from truths.

Both models take a table of records × values: how likely each record has each value. They answer with log P(value |
attributes) of any records.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from modicum.attacks.matching.release_groups import ReleaseGroups
from modicum.learners.inputs import Inputs, chunks
from modicum.learners.network import Network
from modicum.table.frames import as_frame, column, missing_mask
from modicum.table.schema import Schema
from modicum.table.targets import Target
from modicum.typing import Codes, Floats

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
        there = [name for name in names if _has_values(frame, name)]
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


def _has_values(frame: Any, name: str) -> bool:
    series = column(frame, name)
    return bool((~np.asarray(_missing(series))).any())


def _missing(series: Any) -> Any:
    return missing_mask(series, series.dtype).to_numpy()


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
        rows, cells = _inputs(coded).distinct()
        merged = csr_array((np.ones(len(cells)), (cells, np.arange(len(cells)))), shape=(len(rows), len(cells))) @ table
        # Chances sum up to 1 but for rounding, and a record must not count as none.
        self._network = Network(L2, random_state=self.random_state).fit(rows, [merged * (1 + 1e-9)])
        return self

    def logs(self, coded: Coded) -> Floats:
        chances = np.asarray(self._network.predict(_inputs(coded))[0], dtype=np.float64)
        return np.log(np.maximum(chances, _LEAST))


def _inputs(coded: Coded) -> Inputs:
    return Inputs(coded.codes, coded.sizes, np.zeros((len(coded), 0)))


# From models to scores of records and options, and how far the scores are to be believed.
#
# A model that takes dependent attributes for independent is too sure of itself: its order of matchings may be good and
# its likelihoods bad all the same. So scores are multiplied by a factor before they count, the one that makes the
# values
# of groups set aside likeliest. Two models can be taken together, each with its own factor.

FACTORS = 2.0 ** (np.arange(-9, 5) / 2)  # from 1/23 to 4
_PARTS = (0.25, 0.5, 0.75, 1.0)  # of its factor that each of two models may keep


def chance_table(groups: ReleaseGroups, chances: Floats) -> csr_array:
    """Records × values: how likely each record has each value."""
    places = np.concatenate([[0], np.cumsum(groups.widths)])
    return csr_array(
        (chances, groups.options[groups.pair_options], places), shape=(len(groups.order), len(groups.values))
    )


def truth_table(values: Codes, size: int) -> csr_array:
    """The same for records whose value is known."""
    return csr_array((np.ones(len(values)), values, np.arange(len(values) + 1)), shape=(len(values), size))


def pair_scores(model: ChanceModel, coded: Coded, groups: ReleaseGroups) -> Floats:
    """For each record and option, log P(value | attributes) − log P(value).

    Who has which of a group's values does not depend on how frequent the values are, since all of them are had.
    """
    return _score_models([model], np.zeros((0, 1)), coded, groups)[0][0]


def best_factor(model: ChanceModel, coded: Coded, groups: ReleaseGroups) -> tuple[float, float]:
    """By how much to multiply a model's scores, and how likely that makes the values of these groups."""
    (factor,), fit = _best([model], FACTORS[:, None], coded, groups)
    return factor, fit


def best_factors(
    models: Sequence[ChanceModel], alone: Sequence[float], coded: Coded, groups: ReleaseGroups
) -> tuple[list[float], float]:
    """The same for two models taken together, whose factors are part of those that each has alone."""
    weights = np.array([(one * alone[0], other * alone[1]) for one in _PARTS for other in _PARTS])
    return _best(models, weights, coded, groups)


def _best(
    models: Sequence[ChanceModel], weights: Floats, coded: Coded, groups: ReleaseGroups
) -> tuple[list[float], float]:
    """The weights of the models that make the groups' values likeliest, and the log of how likely, per record."""
    pairs, sums = _score_models(models, weights, coded, groups)
    fits = [groups.chances(each @ pairs - own[groups.pair_records])[1] for each, own in zip(weights, sums, strict=True)]
    best = int(np.argmax(fits))
    return weights[best].tolist(), fits[best]


def _score_models(
    models: Sequence[ChanceModel], weights: Floats, coded: Coded, groups: ReleaseGroups
) -> tuple[Floats, Floats]:
    """Each model's scores, and for each way to weigh them what every record has to give for its chances to sum to 1."""
    frequent = np.log(groups.shares)
    ends = np.concatenate([[0], np.cumsum(groups.widths)])
    values = groups.options[groups.pair_options]
    pairs, sums = np.empty((len(models), int(ends[-1]))), np.empty((len(weights), len(coded)))
    for rows in chunks(len(coded), len(models) * len(frequent)):
        logs = np.stack([model.logs(coded[rows]) for model in models]) - frequent
        own = slice(int(ends[rows.start]), int(ends[rows.stop]))
        pairs[:, own] = logs[:, groups.pair_records[own] - rows.start, values[own]]
        for into, each in zip(sums, weights, strict=True):
            into[rows] = logsumexp(np.tensordot(each, logs, 1) + frequent, axis=1)
    return pairs, sums
