"""The judges of a study's best candidates: boosted trees as classifier, the portfolio A1 as adversary.

They learn from the training part and are scored on the validation part, on which candidates are chosen, and on the test
part, on which the chosen one is reported. The certificate is that of the test part alone. The network's L2 is not tuned
here, which takes most of its time; `md.evidence` and `md.attacks.suite` tune it for the one that is chosen.
"""

import time
from dataclasses import dataclass

import numpy as np

from modicum.attacks.breach import Breach, steps_of
from modicum.evaluation._utility import model_on
from modicum.evaluation.study.study_data import SeedData
from modicum.generalization import Generalization
from modicum.generalization.bins import FullDetail
from modicum.generalization.description import persons_in
from modicum.learners.backoff import most_likely
from modicum.learners.boosting import BoostedTrees
from modicum.learners.inputs import Inputs, count_table
from modicum.learners.portfolio import MEMBERS, NETWORK, TREES
from modicum.measures.certificate import Certificate, best_in_hindsight, certify
from modicum.measures.intervals import Interval, mean_interval
from modicum.measures.scores import Predictions
from modicum.table.codes import group_rows
from modicum.table.plain_data import PlainResult
from modicum.table.targets import BINS
from modicum.typing import Codes, Floats, Mask

# A candidate judged by counts: quick enough for hundreds of them.
#
# Records are reduced to distinct z with counts. The label is predicted by a few boosted trees on them, personal values
# are guessed by counts with back-off; both learn from the training part and are scored on the validation and test part.

STEPS = 20  # boosted trees of the quick classifier


@dataclass(frozen=True)
class PartScores:
    """How a candidate does on one part: the classifier's error and log-loss, the adversary's error per attribute."""

    error: float
    log_loss: float
    risk: dict[str, float]


@dataclass(frozen=True)
class Screened:
    """What counts say of a candidate.

    Attributes
    ----------
    validation, test : scores on the two parts
    observed : attribute → U of the certificate on the validation part (`modicum.measures.certificate`)
    smallest_group : how few people of the test part share a combination of buckets
    groups : how many combinations the test part has
    seconds : what judging took
    """

    validation: PartScores
    test: PartScores
    observed: dict[str, float]
    smallest_group: int
    groups: int
    seconds: float


def screen_generalization(g: Generalization, data: SeedData) -> Screened:
    """Judge a generalization by counts."""
    start = time.perf_counter()
    codes = data.whole.columns.codes(g)
    inputs, cells = Inputs.of_codes(g, codes).distinct()
    chances = _label_chances(inputs, cells, data)
    guesses = _guesses(g, codes, inputs, cells, data)
    validation, test = data.parts.validation, data.parts.test
    sizes = persons_in(group_rows(cells[test, None]), data.persons_of(test))
    return Screened(
        validation=_scores(chances, guesses, cells, validation, data),
        test=_scores(chances, guesses, cells, test, data),
        observed={n: best_in_hindsight(cells[validation], data.values[n][validation] + 1) for n in data.targets},
        smallest_group=int(sizes.min()),
        groups=len(sizes),
        seconds=time.perf_counter() - start,
    )


def _label_chances(inputs: Inputs, cells: Codes, data: SeedData) -> Floats:
    train = data.parts.train
    table = count_table(cells[train], data.classes[train], (len(inputs), len(data.labels)))
    return BoostedTrees(steps=STEPS).fit(inputs, [table]).predict(inputs)[0].astype(np.float64)


def _guesses(g: Generalization, codes: Codes, inputs: Inputs, cells: Codes, data: SeedData) -> dict[str, Codes]:
    """What counts guess of each record; an attribute that its own bucket gives away needs no counting."""
    train = data.parts.train
    shown = read_off(g, codes, data)
    hidden = [name for name in data.values if name not in shown]
    tables = [
        count_table(cells[train], data.values[name][train], (len(inputs), data.targets[name].size)) for name in hidden
    ]
    if tables:
        found = most_likely(inputs, tables)
        shown |= {name: guess[cells] for name, guess in zip(hidden, found, strict=True)}
    return {name: shown[name] for name in data.values}


def read_off(g: Generalization, codes: Codes, data: SeedData) -> dict[str, Codes]:
    """Attribute → each record's value, for numbers in full detail and where every bucket holds one value only.

    A value that the training part does not have is read off as nothing (-2), which is no value.
    """
    train, found = data.parts.train, {}
    for name, values in data.values.items():
        j = g.names.index(name)
        if isinstance(g.partitions[j], FullDetail):
            found[name] = np.where(values >= 0, values, -2)  # the number itself is seen
            continue
        if g.sizes[j] == 1:
            continue
        own = group_rows(codes[:, j : j + 1])
        value = np.full(int(own.max()) + 1, -2, dtype=np.int64)
        value[own[train]] = values[train]
        if (value[own[train]] == values[train]).all():
            found[name] = value[own]
    return found


def _scores(chances: Floats, guesses: dict[str, Codes], cells: Codes, rows: Codes, data: SeedData) -> PartScores:
    predictions = Predictions(chances[cells[rows]], data.classes[rows])
    return PartScores(
        error=predictions.error(),
        log_loss=predictions.log_loss(),
        risk={name: float(np.mean(guess[rows] != data.values[name][rows])) for name, guess in guesses.items()},
    )


# The judges

L2 = 1e-4


@dataclass(frozen=True)
class Judged(PlainResult):
    """What the judges say of a candidate.

    Attributes
    ----------
    validation, test : scores on the two parts
    error_interval, adversary_interval : 95% intervals of the test part's error and weighted mean adversary error
    risk_intervals : the same for each attribute's adversary error
    certificate : what no adversary can exceed, from the test part, which chose nothing
    seconds : what judging took
    """

    validation: PartScores
    test: PartScores
    error_interval: Interval
    adversary_interval: Interval
    risk_intervals: dict[str, Interval]
    certificate: Certificate
    seconds: float


def judge_generalization(g: Generalization, data: SeedData, confidence: float) -> Judged:
    """Judge a generalization with boosted trees and the portfolio."""
    start = time.perf_counter()
    model = model_on(g, TREES, len(data.labels), data.seed).fit(data.train, data.classes[data.parts.train])
    validation, test = data.predictions(model)
    wrong = _wrong_guesses(g, data)
    split = len(data.parts.validation)
    of_test = {name: missed[split:] for name, missed in wrong.items()}
    whole, persons = data.whole, data.persons_of(data.parts.test)
    units = None if persons is None else np.unique(persons, return_inverse=True)[1]
    mean = sum(whole.weights[name] * missed for name, missed in of_test.items())
    certificate = certify(
        g, whole.frame[data.parts.test], whole.attributes, confidence, weights=whole.given_weights, known=data.train
    )
    return Judged(
        validation=PartScores(validation.error(), validation.log_loss(), _means(wrong, slice(None, split))),
        test=PartScores(test.error(), test.log_loss(), _means(wrong, slice(split, None))),
        error_interval=mean_interval(test.wrong, units),
        adversary_interval=mean_interval(np.asarray(mean), units),
        risk_intervals={name: mean_interval(missed, units) for name, missed in of_test.items()},
        certificate=certificate,
        seconds=time.perf_counter() - start,
    )


def _wrong_guesses(g: Generalization, data: SeedData) -> dict[str, Floats]:
    """Attribute → whether A1 is wrong about each record of the validation part, then of the test part."""
    rows = np.concatenate([data.parts.validation, data.parts.test])
    whole = data.whole
    told = read_off(g, whole.columns.codes(g), data)
    wrong: dict[str, Mask] = {name: value[rows] != data.values[name][rows] for name, value in told.items()}
    hidden = [name for name in whole.attributes if name not in told]
    if hidden:
        breach = Breach(g, data.train, whole.frame[rows], hidden, BINS, MEMBERS, data.seed)
        (step,) = steps_of("nothing", g.names, hidden, 1, data.seed)
        found = breach.guess_values(step, breach.learn_portfolio(step, l2={NETWORK: L2}))
        wrong |= {name: guess.value != breach.values[name] for name, guess in found.items()}
    return {name: wrong[name].astype(np.float64) for name in whole.attributes}


def _means(wrong: dict[str, Floats], rows: slice) -> dict[str, float]:
    return {name: float(missed[rows].mean()) for name, missed in wrong.items()}
