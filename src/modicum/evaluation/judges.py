"""The judges of a study's best candidates: boosted trees as classifier, the portfolio A1 as adversary.

They learn from the training part and are scored on the validation part, on which candidates are chosen, and on the test
part, on which the chosen one is reported. The certificate is that of the test part alone. The network's L2 is not tuned
here, which takes most of its time; `md.judge` and `md.attacks.suite` tune it for the one that is chosen.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.attacks.breach import Breach, steps_of
from modicum.evaluation.models import model_on
from modicum.evaluation.screening import PartScores, read_off
from modicum.evaluation.study_data import SeedData
from modicum.generalization import Generalization
from modicum.learners.portfolio import MEMBERS, NETWORK, TREES
from modicum.measures.certificate import certify
from modicum.measures.intervals import Interval, mean_interval
from modicum.table.targets import BINS
from modicum.table.values import Codes

L2 = 1e-4


@dataclass(frozen=True)
class Judged:
    """What the judges say of a candidate.

    Attributes
    ----------
    validation, test : scores on the two parts
    error_interval, adversary_interval : 95% intervals of the test part's error and weighted mean adversary error
    risk_intervals : the same for each attribute's adversary error
    certificate : what no adversary can exceed, from the test part, which chose nothing (`Certificate.to_dict`)
    seconds : what judging took
    """

    validation: PartScores
    test: PartScores
    error_interval: Interval
    adversary_interval: Interval
    risk_intervals: dict[str, Interval]
    certificate: dict[str, Any]
    seconds: float


def judged(g: Generalization, data: SeedData, confidence: float) -> Judged:
    """Judge a generalization with boosted trees and the portfolio."""
    start = time.perf_counter()
    model = model_on(g, TREES, len(data.labels), data.seed).fit(data.train, data.classes[data.parts.train])
    validation, test = data.predictions(model)
    wrong = _wrong_guesses(g, data)
    split = len(data.parts.validation)
    of_test = {name: missed[split:] for name, missed in wrong.items()}
    persons = _persons(data, data.parts.test)
    mean = sum(data.whole.weights[name] * missed for name, missed in of_test.items())
    whole = data.whole
    certificate = certify(
        g, whole.frame[data.parts.test], whole.attributes, confidence, weights=whole.given_weights, known=data.train
    )
    return Judged(
        validation=PartScores(validation.error(), validation.log_loss(), _means(wrong, slice(None, split))),
        test=PartScores(test.error(), test.log_loss(), _means(wrong, slice(split, None))),
        error_interval=mean_interval(test.wrong, persons),
        adversary_interval=mean_interval(np.asarray(mean), persons),
        risk_intervals={name: mean_interval(missed, persons) for name, missed in of_test.items()},
        certificate=certificate.to_dict(),
        seconds=time.perf_counter() - start,
    )


def _wrong_guesses(g: Generalization, data: SeedData) -> dict[str, Any]:
    """Attribute → whether A1 is wrong about each record of the validation part, then of the test part."""
    rows = np.concatenate([data.parts.validation, data.parts.test])
    whole = data.whole
    told = read_off(g, whole.columns.codes(g), data)
    wrong: dict[str, Any] = {name: value[rows] != data.values[name][rows] for name, value in told.items()}
    hidden = [name for name in whole.attributes if name not in told]
    if hidden:
        breach = Breach(g, data.train, whole.frame[rows], hidden, BINS, MEMBERS, data.seed)
        (step,) = steps_of("nothing", g.names, hidden, 1, data.seed)
        found = breach.guessed(step, breach.learned(step, l2={NETWORK: L2}))
        wrong |= {name: guess.value != breach.values[name] for name, guess in found.items()}
    return {name: wrong[name].astype(np.float64) for name in whole.attributes}


def _means(wrong: dict[str, Any], rows: slice) -> dict[str, float]:
    return {name: float(missed[rows].mean()) for name, missed in wrong.items()}


def _persons(data: SeedData, rows: Codes) -> Codes | None:
    persons = data.whole.persons
    return None if persons is None else np.unique(persons[rows], return_inverse=True)[1]
