"""The judges of a study's best candidates: boosted trees as classifier, the portfolio A1 as adversary.

They learn from the training part. Scores on the validation part choose, and scores on the test part are reported. The
certificate uses only the test part. The network's L2 is not tuned here, because that takes most of its time;
`md.evidence` and `md.attacks.suite` tune it for the chosen candidate.
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

# Judging by counts: quick enough for hundreds of candidates
#
# Records are reduced to distinct z with counts. A few boosted trees predict the label, and counts with back-off guess
# personal values. Both learn from the training part and are scored on the validation and the test part.

STEPS = 20  # number of boosted trees in the quick classifier


@dataclass(frozen=True)
class PartScores:
    """A candidate's scores on one part: the classifier's error and log-loss, the adversary's error per attribute."""

    error: float
    log_loss: float
    risk: dict[str, float]


@dataclass(frozen=True)
class Screened:
    """A candidate's scores by counts.

    Attributes
    ----------
    validation, test : scores on the two parts
    observed : attribute → U of the certificate on the validation part (`modicum.measures.certificate`)
    smallest_group : the fewest people of the test part with the same buckets
    groups : number of different combinations of buckets in the test part
    seconds : time for judging
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
    """Guess each record's values by counts; an attribute that its own bucket reveals needs no counting."""
    train = data.parts.train
    guesses = read_off(g, codes, data)
    hidden = [name for name in data.values if name not in guesses]
    tables = [
        count_table(cells[train], data.values[name][train], (len(inputs), data.targets[name].size)) for name in hidden
    ]
    if tables:
        likely = most_likely(inputs, tables)
        guesses |= {name: guess[cells] for name, guess in zip(hidden, likely, strict=True)}
    return {name: guesses[name] for name in data.values}


def read_off(g: Generalization, codes: Codes, data: SeedData) -> dict[str, Codes]:
    """Return each record's value of numbers in full detail and of attributes with only one value in every bucket.

    A value that is not in the training part becomes -2, which equals no value.
    """
    train, revealed = data.parts.train, {}
    for name, values in data.values.items():
        j = g.names.index(name)
        if isinstance(g.partitions[j], FullDetail):
            revealed[name] = np.where(values >= 0, values, -2)
            continue
        if g.sizes[j] == 1:
            continue
        own = group_rows(codes[:, j : j + 1])
        value = np.full(int(own.max()) + 1, -2, dtype=np.int64)
        value[own[train]] = values[train]
        if (value[own[train]] == values[train]).all():
            revealed[name] = value[own]
    return revealed


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
    """A candidate's scores by the judges.

    Attributes
    ----------
    validation, test : scores on the two parts
    error_interval, adversary_interval : 95% intervals of the test part's error and weighted mean adversary error
    risk_intervals : the same for each attribute's adversary error
    certificate : an upper bound for every adversary, from the test part, which is not used to choose
    seconds : time for judging
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
    """Find A1's wrong guesses about each attribute, in the validation part followed by the test part."""
    rows = np.concatenate([data.parts.validation, data.parts.test])
    whole = data.whole
    revealed = read_off(g, whole.columns.codes(g), data)
    wrong: dict[str, Mask] = {name: value[rows] != data.values[name][rows] for name, value in revealed.items()}
    hidden = [name for name in whole.attributes if name not in revealed]
    if hidden:
        breach = Breach(g, data.train, whole.frame[rows], hidden, BINS, MEMBERS, data.seed)
        (step,) = steps_of("nothing", g.names, hidden, 1, data.seed)
        guesses = breach.guess_values(step, breach.learn_portfolio(step, l2={NETWORK: L2}))
        wrong |= {name: guess.value != breach.values[name] for name, guess in guesses.items()}
    return {name: wrong[name].astype(np.float64) for name in whole.attributes}


def _means(wrong: dict[str, Floats], rows: slice) -> dict[str, float]:
    return {name: float(missed[rows].mean()) for name, missed in wrong.items()}
