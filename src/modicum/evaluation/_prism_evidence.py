"""All that speaks for and against a PriSM classifier: why each attribute, what it costs, what can still be inferred."""

import warnings
from dataclasses import dataclass
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.errors import ModicumError, ParameterError, quoted
from modicum.evaluation.prism_comparison import Part, PrismCost, compared
from modicum.evaluation.prism_exposure import Exposure, exposure
from modicum.evaluation.prism_needs import PrismAlternatives
from modicum.evaluation.prism_reasons import AttributeReason, reasons
from modicum.evaluation.prism_sources import check_parts, check_same, part_of, provenance
from modicum.measures.certificate import check_confidence
from modicum.prism import PrismClassifier
from modicum.prism.base import Prepared, label_of
from modicum.prism.discovery.discovery import Discovery
from modicum.table.estimator_input import schema_of
from modicum.table.frames import column, texts
from modicum.table.values import Codes, plain

MOST_SUBSETS = 5_000  # of the predictors that are measured again
_PLAIN = ("label", "remeasured", "values", "unit", "people", "labels", "rarest", "confidence")
_QUICK = ("cramers_v", "bias_corrected", "pearson")


@dataclass(frozen=True)
class PrismEvidence:
    """What a report on a PriSM classifier is made of.

    Attributes
    ----------
    cost : PrismCost
        The classifier (`cost.prism`) beside a plain and a parsimonious one, and what adversaries guess from each.
    attributes : every attribute with its reason, in the data's order
    remeasured : how many sets of up to `max_size` predictors were measured once more, one by one, and found not to
        reveal; None where they are too many, or the measure is slow or corrected for the number of tests
    exposure : who is alone with the answers, who can be linked, and what is certified
    label : what is predicted
    values : sensitive attribute of one column → its values, and how many training records have each
    unit : "people", or "records" where one person has several
    people : how many "train" and "test" people there are
    labels, rarest : how many labels the test records have, and how many people have the rarest of them
    confidence : of the certificate
    provenance : "hashes", "versions" and "settings": what it was made of

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "hours-per-week", "sex"]]
    >>> model = md.PrismClassifier("sex", threshold=0.4, max_size=1, max_predictors=1, class_weight="balanced")
    >>> split = X[:600], y[:600], X[600:1_000], y[600:1_000]
    >>> found = md.evaluation.prism_evidence(model, *split, adversary=False, progress=False)
    >>> found.of("sex").status
    'sensitive'
    """

    cost: PrismCost
    attributes: tuple[AttributeReason, ...]
    remeasured: int | None
    exposure: Exposure
    label: str
    values: dict[str, dict[str, int]]
    unit: str
    people: dict[str, int]
    labels: int
    rarest: int
    confidence: float
    provenance: dict[str, Any]

    def of(self, name: str) -> AttributeReason:
        """One attribute with its reason."""
        for each in self.attributes:
            if each.name == name:
                return each
        raise ParameterError(f"There is no attribute {name!r} in the evidence.")

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, for the team: small counts are in it."""
        found = self.exposure
        return dict(
            plain(
                {
                    **{name: getattr(self, name) for name in _PLAIN},
                    "cost": self.cost.to_dict(),
                    "attributes": [each.to_dict() for each in self.attributes],
                    "singling_out": found.singling_out.to_dict(),
                    "linkability": None if found.linkability is None else found.linkability.to_dict(),
                    "certificate": None if found.certificate is None else found.certificate.to_dict(),
                    "provenance": self.provenance,
                }
            )
        )


def prism_evidence(
    model: PrismClassifier,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    adversary: bool = True,
    confidence: float = 0.99,
    random_state: int = 0,
    progress: bool = True,
) -> PrismEvidence:
    """Why a PriSM classifier asks for each attribute, what that costs, and what an adversary can still infer.

    The classifier is trained on the training records, beside a plain support vector machine on all attributes and a
    parsimonious one (see `prism_cost`). For every attribute the reason why it is asked for or left out is derived from
    the revealing sets and the proof, after a second look that no such set is asked for whole; and training again with
    it, without it or in place of another tells what that would change on the test records. Persons are those of the
    model's schema.

    Parameters
    ----------
    model : PrismClassifier
        Where it is fitted, it must have been on these training records.
    X_train, y_train : the records to learn from, with the sensitive attribute among their columns, and the label
    X_test, y_test : others, which trained nothing
    adversary : bool
        Whether adversaries guess the sensitive attribute; it takes longer than training.
    confidence : number between 0 and 1
        Of the certificate.
    random_state : int
        Of the adversaries and of resampling.
    progress : bool
        Show a bar on a terminal.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "hours-per-week", "relationship", "sex"]]
    >>> model = md.PrismClassifier("sex", threshold=0.4, max_size=2, max_predictors=2, class_weight="balanced")
    >>> split = X[:2_000], y[:2_000], X[2_000:3_000], y[2_000:3_000]
    >>> found = md.evaluation.prism_evidence(model, *split, adversary=False)
    >>> found.of("relationship").reason, found.of("education").status
    ('alone', 'asked')
    >>> print(found.of("sex").why)
    It is the sensitive attribute itself.
    """
    if not isinstance(model, PrismClassifier):
        raise ParameterError(f"The 'model' parameter must be a PrismClassifier. Got {type(model).__name__} instead.")
    check_confidence(confidence)
    train, test = part_of(model, X_train, y_train), part_of(model, X_test, y_test)
    check_parts(model, train, test)
    label, schema = label_of(y_train), schema_of(model, train.frame)
    cost = compared(model, train, test, label, [model.max_predictors], adversary, random_state, progress)
    check_same(model, cost.prism)
    prepared = _prepared(cost.prism, train, label)
    tried = PrismAlternatives(cost.prism, prepared, test.frame, test.values, test.units, random_state)
    labels = _label_people(test)
    settings = {"adversary": adversary, "confidence": confidence, "seed of the evidence": random_state}
    return PrismEvidence(
        cost=cost,
        attributes=tuple(reasons(cost.prism, prepared, schema, tried)),
        remeasured=_remeasured(cost.prism, prepared.task.discovery),
        exposure=exposure(cost.prism, schema, train.frame, test.frame, confidence, random_state),
        label=label or "y",
        values={name: _counted(train, name) for name in cost.prism.sensitive_ if name in train.frame.columns},
        unit=_unit(test),
        people={"train": _people(train), "test": _people(test)},
        labels=len(labels),
        rarest=int(labels.min()),
        confidence=confidence,
        provenance=provenance(model, cost.prism, train, test, schema, **settings),
    )


def _prepared(model: PrismClassifier, train: Part, label: str | None) -> Prepared:
    """What the classifier was trained from, to train others."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="At most")  # it was said when the classifier was trained
        return clone(model)._prepared(train.frame.to_native(), pd.Series(train.values, name=label), None)


def _remeasured(model: PrismClassifier, discovery: Discovery) -> int | None:
    """Measure every set of up to `max_size` predictors by itself: none may reveal."""
    names, found = model.predictors_, model.correlations_
    sizes = range(1, min(found.max_size, len(names)) + 1)
    many = sum(comb(len(names), size) for size in sizes)
    if found.measure not in _QUICK or found.correction is not None or many > MOST_SUBSETS:
        return None
    for each in chain.from_iterable(combinations(names, size) for size in sizes):
        told = discovery.assess(each)
        if told.strength >= found.threshold and (told.p_value or 0.0) <= found.p_value:
            raise ModicumError(f"The attributes asked for hold a set that reveals: {quoted(each)}.")
    return many


def _counted(train: Part, name: str) -> dict[str, int]:
    """How many records have each value of a column."""
    codes, words = texts(column(train.frame, name))
    many = np.bincount(codes + 1, minlength=len(words) + 1)
    return {str(word): int(n) for word, n in zip(("(missing)", *words), many, strict=True) if n}


def _unit(part: Part) -> str:
    several = part.units is not None and len(np.unique(part.units)) < len(part.units)
    return "records" if several else "people"


def _label_people(part: Part) -> Codes:
    """How many people have each label."""
    codes = np.unique(np.asarray(part.values), return_inverse=True)[1]
    units = np.arange(len(codes)) if part.units is None else part.units
    return np.bincount(np.unique(np.column_stack([codes, units]), axis=0)[:, 0])


def _people(part: Part) -> int:
    return len(part.values) if part.units is None else len(np.unique(part.units))
