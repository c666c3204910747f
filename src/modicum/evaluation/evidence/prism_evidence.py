"""All that speaks for and against a PriSM classifier: why each attribute, what it costs, what can still be inferred."""

import warnings
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.attacks import Linkability, LinkResult, SinglingOut, SinglingOutResult
from modicum.errors import DataError, ModicumError, ParameterError, format_names
from modicum.evaluation._evidence import Depth
from modicum.evaluation.evidence.prism_cost import Part, PrismCost, compare_classifiers, frame_of, units_of
from modicum.evaluation.evidence.prism_reasons import AttributeReason, PrismAlternatives, reasons
from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.measures.certificate import Certificate, certify, check_confidence
from modicum.prism import PrismClassifier
from modicum.prism.base import PreparedTask, label_of
from modicum.prism.discovery.discovery import Discovery
from modicum.provenance import EvidenceSources, describe_settings, frame_hash, text_hash, versions
from modicum.table.codes import FEW
from modicum.table.estimator_input import schema_of
from modicum.table.frames import column, texts
from modicum.table.plain_data import LEFT_OUT, PlainResult
from modicum.table.schema import Schema
from modicum.table.targets import label_values
from modicum.table.values import plain
from modicum.typing import Codes

# What the answers that a PriSM classifier asks for leave at risk: who is alone, who can be linked, what is bounded.

LINKED = 200  # people whose halves are joined at once
_LEAST = FEW * FEW  # people from which shares are told


@dataclass(frozen=True)
class Exposure:
    """The risks of the answers themselves, on test records.

    Attributes
    ----------
    singling_out : who is alone with the answers, beside all attributes in full detail
    linkability : halves of the answers joined (A7); None where fewer than two columns are asked, or people are few
    certificate : what no adversary can exceed who sees the answers, for sensitive attributes that are one column; None
        where there is none
    """

    singling_out: SinglingOutResult
    linkability: LinkResult | None
    certificate: Certificate | None


def exposure(
    model: PrismClassifier, schema: Schema, train: Any, test: Any, confidence: float, random_state: int
) -> Exposure:
    """Attack the answers: the attributes that are asked in full detail, all others not collected.

    Parameters
    ----------
    model : fitted
    schema : kinds and roles of the columns
    train, test : full records; a sensitive number is cut into bins on the first, all else is counted on the others
    confidence : of the certificate
    """
    asked = build_asked_generalization(model, schema, test)
    alone = SinglingOut(random_state=random_state).run(asked, test)
    linked = _run_linkability(model, asked, test, alone.people, random_state)
    return Exposure(alone, linked, _certify_sensitive(model, asked, train, test, confidence))


def build_asked_generalization(model: PrismClassifier, schema: Schema, frame: Any) -> Generalization:
    """What is asked for as an artifact: predictors in full detail, nothing else."""
    raw = raw_generalization(frame, schema)
    return reduce(Generalization.drop, (name for name in raw.names if name not in model.needed_columns_), raw)


def _run_linkability(
    model: PrismClassifier, asked: Generalization, test: Any, people: int, random_state: int
) -> LinkResult | None:
    """Every other column in one half, the rest in the other."""
    columns = model.needed_columns_
    if len(columns) < 2 or people < _LEAST:
        return None
    k = min(LINKED, max(2, people // 10))
    return Linkability(columns[::2], columns[1::2], k, random_state=random_state).run(asked, test)


def _certify_sensitive(
    model: PrismClassifier, asked: Generalization, train: Any, test: Any, confidence: float
) -> Certificate | None:
    columns = [name for name in model.sensitive_ if name in asked.names]
    if len(columns) < len(model.sensitive_):
        return None
    return certify(asked, test, columns, confidence, known=train)


# The records and settings that evidence on a PriSM classifier was made of, and what they are known by.


def part_of(model: PrismClassifier, X: Any, y: Any) -> Part:
    """Records with their labels, and whose each is where the model's schema says so."""
    frame = frame_of(model, X)
    if not len(frame):
        raise DataError("There are no records to learn from or to report on.")
    return Part(frame, label_values(y, len(frame)), units_of(model, frame))


def check_parts(model: PrismClassifier, train: Part, test: Part) -> None:
    """Refuse test records that lack a column."""
    schema_of(model, train.frame)
    absent = [name for name in train.frame.columns if name not in test.frame.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} of the training records is not among the test records.")


def check_same(given: PrismClassifier, trained: PrismClassifier) -> None:
    """Refuse evidence on a fitted model from records that it was not trained on."""
    if not hasattr(given, "predictors_"):
        return
    same = given.predictors_ == trained.predictors_ and given.coef_.shape == trained.coef_.shape
    if not same or not np.allclose(given.coef_, trained.coef_, rtol=1e-4, atol=1e-6):
        raise DataError(
            "The model is fitted, but training on X_train and y_train gives another one: give the records that it was "
            "trained on, or a model that is not fitted."
        )


def prism_provenance(
    model: PrismClassifier, trained: PrismClassifier, train: Part, test: Part, schema: Schema, **settings: object
) -> EvidenceSources:
    """Hashes of what went in and of the classifier, versions, and the settings."""
    rule = [trained.predictors_, trained.columns_, trained.coef_.tolist(), trained.intercept_.tolist()]
    return {
        "hashes": {
            "training records": records_hash(train),
            "test records": records_hash(test),
            "schema": text_hash(schema.to_dict()),
            "classifier": text_hash(rule),
        },
        "versions": versions(),
        "settings": plain({**describe_settings(model), **settings}),
    }


def records_hash(part: Part) -> str:
    """The SHA-256 of records and of their labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.evaluation.evidence.prism_cost import Part
    >>> from modicum.evaluation.evidence.prism_evidence import records_hash
    >>> from modicum.table.frames import as_frame
    >>> one, other = (Part(as_frame(pd.DataFrame({"a": [1, b]})), [0, 1], None) for b in (2, 3))
    >>> len(records_hash(one)), records_hash(one) == records_hash(other)
    (64, False)
    """
    labels = pd.DataFrame({"label": pd.Series(np.asarray(part.values))})
    return text_hash([frame_hash(part.frame), frame_hash(labels)])


# The evidence

MOST_SUBSETS = 5_000  # of the predictors that are measured again
_QUICK = ("cramers_v", "bias_corrected", "pearson")


@dataclass(frozen=True)
class PrismEvidence(PlainResult):
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
    >>> found = md.evidence(model, *split, depth="quick", progress=False)
    >>> found.of("sex").status
    'sensitive'
    """

    cost: PrismCost
    attributes: tuple[AttributeReason, ...]
    remeasured: int | None
    exposure: Exposure = field(metadata=LEFT_OUT)  # its parts stand beside the other fields
    label: str
    values: dict[str, dict[str, int]]
    unit: str
    people: dict[str, int]
    labels: int
    rarest: int
    confidence: float
    provenance: EvidenceSources

    def of(self, name: str) -> AttributeReason:
        """One attribute with its reason."""
        for each in self.attributes:
            if each.name == name:
                return each
        raise ParameterError(f"There is no attribute {name!r} in the evidence.")

    def _parts(self) -> dict[str, object]:
        return super()._parts() | vars(self.exposure)


def prism_evidence(
    model: PrismClassifier,
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    depth: Depth = "full",
    confidence: float = 0.99,
    n_jobs: int | None = None,
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
    depth : "quick" or "full"
        With "full" adversaries guess the sensitive attribute, which takes longer than training.
    confidence : number between 0 and 1
        Of the certificate.
    n_jobs : int or None
        How many of the adversaries' folds are worked on at once: None for one, -1 for as many as there are cores.
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
    >>> found = md.evidence(model, *split, depth="quick")
    >>> found.of("relationship").reason, found.of("education").status
    ('alone', 'asked')
    >>> print(found.of("sex").why)
    It is the sensitive attribute itself.
    """
    if not isinstance(model, PrismClassifier):
        raise ParameterError(f"The 'model' parameter must be a PrismClassifier. Got {type(model).__name__} instead.")
    check_confidence(confidence)
    adversary = depth == "full"
    train, test = part_of(model, X_train, y_train), part_of(model, X_test, y_test)
    check_parts(model, train, test)
    label, schema = label_of(y_train), schema_of(model, train.frame)
    most = [model.max_predictors]
    cost = compare_classifiers(model, train, test, label, most, adversary, n_jobs, random_state, progress)
    check_same(model, cost.prism)
    prepared = _prepare_training(cost.prism, train, label)
    tried = PrismAlternatives(cost.prism, prepared, test, random_state)
    labels = _label_people(test)
    settings = {"adversary": adversary, "confidence": confidence, "seed of the evidence": random_state}
    return PrismEvidence(
        cost=cost,
        attributes=tuple(reasons(cost.prism, prepared, schema, tried)),
        remeasured=_remeasure_subsets(cost.prism, prepared.task.discovery),
        exposure=exposure(cost.prism, schema, train.frame, test.frame, confidence, random_state),
        label=label or "y",
        values={name: _count_values(train, name) for name in cost.prism.sensitive_ if name in train.frame.columns},
        unit=_unit(test),
        people={"train": _people(train), "test": _people(test)},
        labels=len(labels),
        rarest=int(labels.min()),
        confidence=confidence,
        provenance=prism_provenance(model, cost.prism, train, test, schema, **settings),
    )


def _prepare_training(model: PrismClassifier, train: Part, label: str | None) -> PreparedTask:
    """What the classifier was trained from, to train others."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="At most")  # it was said when the classifier was trained
        return clone(model)._prepare(train.frame.to_native(), pd.Series(train.values, name=label), None)


def _remeasure_subsets(model: PrismClassifier, discovery: Discovery) -> int | None:
    """Measure every set of up to `max_size` predictors by itself: none may reveal."""
    names, found = model.predictors_, model.correlations_
    sizes = range(1, min(found.max_size, len(names)) + 1)
    many = sum(comb(len(names), size) for size in sizes)
    if found.measure not in _QUICK or found.correction is not None or many > MOST_SUBSETS:
        return None
    for each in chain.from_iterable(combinations(names, size) for size in sizes):
        told = discovery.assess(each)
        if told.strength >= found.threshold and (told.p_value or 0.0) <= found.p_value:
            raise ModicumError(f"The attributes asked for hold a set that reveals: {format_names(each)}.")
    return many


def _count_values(train: Part, name: str) -> dict[str, int]:
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
