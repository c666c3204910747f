"""From models to scores of records and options, and how far the scores are to be believed.

A model that takes dependent attributes for independent is too sure of itself: its order of matchings may be good and
its likelihoods bad all the same. So scores are multiplied by a factor before they count, the one that makes the values
of groups set aside likeliest. Two models can be taken together, each with its own factor.
"""

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from modicum.attacks.matching_groups import Groups
from modicum.attacks.matching_model import Coded, Model
from modicum.learners.inputs import chunks
from modicum.table.values import Codes, Floats

FACTORS = 2.0 ** (np.arange(-9, 5) / 2)  # from 1/23 to 4
_PARTS = (0.25, 0.5, 0.75, 1.0)  # of its factor that each of two models may keep


def chance_table(groups: Groups, chances: Floats) -> csr_array:
    """Records × values: how likely each record has each value."""
    places = np.concatenate([[0], np.cumsum(groups.widths)])
    return csr_array(
        (chances, groups.options[groups.pair_options], places), shape=(len(groups.order), len(groups.values))
    )


def truth_table(values: Codes, size: int) -> csr_array:
    """The same for records whose value is known."""
    return csr_array((np.ones(len(values)), values, np.arange(len(values) + 1)), shape=(len(values), size))


def pair_scores(model: Model, coded: Coded, groups: Groups) -> Floats:
    """For each record and option, log P(value | attributes) − log P(value).

    Who has which of a group's values does not depend on how frequent the values are, since all of them are had.
    """
    return _scored([model], np.zeros((0, 1)), coded, groups)[0][0]


def best_factor(model: Model, coded: Coded, groups: Groups) -> tuple[float, float]:
    """By how much to multiply a model's scores, and how likely that makes the values of these groups."""
    (factor,), fit = _best([model], FACTORS[:, None], coded, groups)
    return factor, fit


def best_factors(
    models: Sequence[Model], alone: Sequence[float], coded: Coded, groups: Groups
) -> tuple[list[float], float]:
    """The same for two models taken together, whose factors are part of those that each has alone."""
    weights = np.array([(one * alone[0], other * alone[1]) for one in _PARTS for other in _PARTS])
    return _best(models, weights, coded, groups)


def _best(models: Sequence[Model], weights: Floats, coded: Coded, groups: Groups) -> tuple[list[float], float]:
    """The weights of the models that make the groups' values likeliest, and the log of how likely, per record."""
    pairs, sums = _scored(models, weights, coded, groups)
    fits = [groups.chances(each @ pairs - own[groups.pair_records])[1] for each, own in zip(weights, sums, strict=True)]
    best = int(np.argmax(fits))
    return weights[best].tolist(), fits[best]


def _scored(models: Sequence[Model], weights: Floats, coded: Coded, groups: Groups) -> tuple[Floats, Floats]:
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
