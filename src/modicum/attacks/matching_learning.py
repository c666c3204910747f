"""Learn from the release alone how attributes go with its sensitive values (Kifer's deFinetti attack, SIGMOD 2009).

At first every matching of a group's records to its values is as likely. A model learns from these chances; by the model
some matchings are likelier; it learns from the new chances, and so on. Which model, and after how many rounds, is
chosen by groups set aside: by how likely the model makes the values that a group has, given its records (the mean over
all matchings). That needs no truth, so that whoever has the release can do it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from modicum.attacks.matching_groups import Groups
from modicum.attacks.matching_model import Coded, Model, NaiveBayes, SmallNetwork
from modicum.learners.inputs import chunks
from modicum.progress import watched
from modicum.table.values import Codes, Floats, Mask

NETWORK, BAYES = LEARNERS = ("network", "naive Bayes")
_ASIDE = 0.2  # of the groups
_PATIENCE = 3  # rounds without a better fit after which a trial ends
NOTHING = 1e-4  # a fit below which nothing was learned
_PLENTY = 100_000  # records from which more would teach nothing new


@dataclass(frozen=True)
class Learned:
    """What one learner made of the release.

    Attributes
    ----------
    learner : its name
    rounds : after how many rounds it fits groups set aside best
    fit : the log of how much likelier than at random it makes their values, per record; 0 is nothing learned
    scores : for each record and option of its group, how much likelier the attributes make it (a logarithm); 0 where
        nothing was learned, so that the matching is a random one
    """

    learner: str
    rounds: int
    fit: float
    scores: Floats


def new_model(learner: str, random_state: int, number: int = 0) -> Model:
    """A model that has not learned yet; the seed of a network depends on the round."""
    return NaiveBayes() if learner == BAYES else SmallNetwork(random_state + number)


def learn_all(coded: Coded, groups: Groups, rounds: int, random_state: int, progress: bool) -> list[Learned]:
    """What each learner makes of all groups (of records in their order); large releases are learned from in part."""
    random = np.random.default_rng([random_state, 1])
    drawn = random.permutation(len(groups.sizes))
    rank = np.empty(len(drawn), dtype=np.int64)
    rank[drawn] = np.arange(len(drawn))
    enough = np.zeros(len(drawn), dtype=bool)
    enough[drawn[np.cumsum(groups.sizes[drawn]) <= max(_PLENTY, int(groups.sizes[drawn[0]]))]] = True
    aside = rank < max(1, round(_ASIDE * int(enough.sum())))
    learn = enough & ~aside if (enough & ~aside).any() else enough
    return [_learned(each, coded, groups, (enough, learn, aside), rounds, random_state, progress) for each in LEARNERS]


def _learned(
    name: str,
    coded: Coded,
    groups: Groups,
    parts: tuple[Mask, Mask, Mask],
    rounds: int,
    random_state: int,
    progress: bool,
) -> Learned:
    enough, learn, aside = (_part(coded, groups, wanted) for wanted in parts)
    fits: list[float] = []

    def worse(model: Model) -> bool:
        fits.append(aside[1].chances(pair_scores(model, *aside))[1])
        return len(fits) - int(np.argmax(fits)) > _PATIENCE

    _rounds(name, *learn, rounds, random_state, progress, worse)
    best = int(np.argmax(fits)) + 1
    if fits[best - 1] < NOTHING:
        return Learned(name, best, fits[best - 1], np.zeros(int(groups.blocks[-1])))
    model = _rounds(name, *enough, best, random_state, progress, lambda model: False)
    return Learned(name, best, fits[best - 1], pair_scores(model, coded, groups))


def _part(coded: Coded, groups: Groups, wanted: Mask) -> tuple[Coded, Groups]:
    part = groups.some(wanted)
    return coded[part.order], part


def _rounds(
    name: str,
    coded: Coded,
    groups: Groups,
    rounds: int,
    random_state: int,
    progress: bool,
    stop: Callable[[Model], bool],
) -> Model:
    """Learn, match, learn from the matching, so many times or until told to stop."""
    chances = groups.uniform()
    for number in watched(range(rounds), f"Learning the correlation ({name})", total=rounds, progress=progress):
        model = new_model(name, random_state, number).fit(coded, chance_table(groups, chances))
        if stop(model):
            break
        if number + 1 < rounds:
            chances, _ = groups.chances(pair_scores(model, coded, groups))
    return model


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
    frequent = np.log(groups.shares)
    ends = np.concatenate([[0], np.cumsum(groups.widths)])
    values, found = groups.options[groups.pair_options], np.empty(int(ends[-1]))
    for rows in chunks(len(coded), len(groups.values)):
        logs = model.logs(coded[rows])
        own = slice(int(ends[rows.start]), int(ends[rows.stop]))
        found[own] = logs[groups.pair_records[own] - rows.start, values[own]] - frequent[values[own]]
    return found
