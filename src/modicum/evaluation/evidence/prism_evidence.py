"""Evidence about a PriSM classifier: why it asks for each attribute, the cost, and what can still be inferred."""

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

# Risks of the answers that a PriSM classifier asks for: who is alone, who can be linked, what is certified

LINKED = 200  # people whose halves are joined at once
_LEAST = FEW * FEW  # people needed to report percentages


@dataclass(frozen=True)
class Exposure:
    """The risks of the answers, on test records.

    Attributes
    ----------
    singling_out : who is alone with the answers, compared with all attributes in full detail
    linkability : linking the two halves of the answers (A7); None for fewer than two columns or too few people
    certificate : an upper bound for every adversary that sees the answers; None unless each sensitive attribute is a
        single column
    """

    singling_out: SinglingOutResult
    linkability: LinkResult | None
    certificate: Certificate | None


def exposure(
    model: PrismClassifier, schema: Schema, train: Any, test: Any, confidence: float, random_state: int
) -> Exposure:
    """Attack the answers: attributes that are asked in full detail, without all others.

    Parameters
    ----------
    model : fitted
    schema : kinds and roles of the columns
    train, test : full records; `train` sets the bins of sensitive numbers, everything is counted on `test`
    confidence : of the certificate
    """
    asked = build_asked_generalization(model, schema, test)
    alone = SinglingOut(random_state=random_state).run(asked, test)
    linked = _run_linkability(model, asked, test, alone.people, random_state)
    return Exposure(alone, linked, _certify_sensitive(model, asked, train, test, confidence))


def build_asked_generalization(model: PrismClassifier, schema: Schema, frame: Any) -> Generalization:
    """Build the generalization that the model asks for: predictors in full detail, nothing else."""
    raw = raw_generalization(frame, schema)
    return reduce(Generalization.drop, (name for name in raw.names if name not in model.needed_columns_), raw)


def _run_linkability(
    model: PrismClassifier, asked: Generalization, test: Any, people: int, random_state: int
) -> LinkResult | None:
    """Link records with every other column in one half and the remaining columns in the other."""
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


# The records and settings behind the evidence, and their hashes


def part_of(model: PrismClassifier, X: Any, y: Any) -> Part:
    """Read records, their labels, and their persons if the model's schema has a person column."""
    frame = frame_of(model, X)
    if not len(frame):
        raise DataError("There are no records to learn from or to test on.")
    return Part(frame, label_values(y, len(frame)), units_of(model, frame))


def check_parts(model: PrismClassifier, train: Part, test: Part) -> None:
    """Fail if the test records lack a column."""
    schema_of(model, train.frame)
    absent = [name for name in train.frame.columns if name not in test.frame.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} of the training records is not in the test records.")


def check_same(given: PrismClassifier, trained: PrismClassifier) -> None:
    """Fail if a fitted model was not trained on the given training records."""
    if not hasattr(given, "predictors_"):
        return
    same = given.predictors_ == trained.predictors_ and given.coef_.shape == trained.coef_.shape
    if not same or not np.allclose(given.coef_, trained.coef_, rtol=1e-4, atol=1e-6):
        raise DataError(
            "The model is fitted, but training on X_train and y_train gives a different model. Give the records that "
            "trained it, or a model that is not fitted."
        )


def prism_provenance(
    model: PrismClassifier, trained: PrismClassifier, train: Part, test: Part, schema: Schema, **settings: object
) -> EvidenceSources:
    """Collect hashes of the inputs and the classifier, versions, and settings."""
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
    """Return the SHA-256 of records and their labels.

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

MOST_SUBSETS = 5_000  # most sets of predictors to measure again
_QUICK = ("cramers_v", "bias_corrected", "pearson")


@dataclass(frozen=True)
class PrismEvidence(PlainResult):
    """The contents of a report on a PriSM classifier.

    Attributes
    ----------
    cost : PrismCost
        The classifier (`cost.prism`), a plain and a parsimonious one, and what adversaries guess from each.
    attributes : every attribute with its reason, in the data's order
    remeasured : number of sets of up to `max_size` predictors that were measured again and do not reveal; None if there
        are too many sets, or if the measure is slow or corrected for the number of tests
    exposure : who is alone with the answers, who can be linked, and what is certified
    label : what is predicted
    values : single-column sensitive attribute → value → number of training records
    unit : "people", or "records" if one person has several
    people : number of people in "train" and "test"
    labels, rarest : number of labels in the test records, and of people with the rarest label
    confidence : of the certificate
    provenance : "hashes", "versions" and "settings" of the inputs

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
    exposure: Exposure = field(metadata=LEFT_OUT)  # its parts appear next to the other fields
    label: str
    values: dict[str, dict[str, int]]
    unit: str
    people: dict[str, int]
    labels: int
    rarest: int
    confidence: float
    provenance: EvidenceSources

    def of(self, name: str) -> AttributeReason:
        """Return one attribute with its reason."""
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
    """Measure why a PriSM classifier asks for each attribute, the cost, and what an adversary can still infer.

    The classifier is trained on the training records, together with a plain support vector machine on all attributes
    and a parsimonious one (see `prism_cost`). The reason why an attribute is asked for or left out follows from the
    revealing sets and the proof, after a second check that no complete revealing set is asked for. Training again with
    the attribute, without it or with it in place of another measures the effect on the test records. Persons are those
    of the model's schema.

    Parameters
    ----------
    model : PrismClassifier
        A fitted model must have been fitted on these training records.
    X_train, y_train : the records to learn from, including the sensitive attribute, and the label
    X_test, y_test : other records, for testing only
    depth : "quick" or "full"
        With "full" adversaries guess the sensitive attribute, which takes longer than training.
    confidence : number between 0 and 1
        Confidence of the certificate.
    n_jobs : int or None
        How many of the adversaries' folds to run at once: None for one, -1 for the number of cores.
    random_state : int
        Seed of the adversaries and of resampling.
    progress : bool
        Show a progress bar on a terminal.

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
        attributes=tuple(reasons(schema, tried)),
        remeasured=_remeasure_subsets(cost.prism, prepared.task.discovery),
        exposure=exposure(cost.prism, schema, train.frame, test.frame, confidence, random_state),
        label=label or "y",
        values={name: _count_values(train, name) for name in cost.prism.sensitive_ if name in train.frame.columns},
        unit="records" if test.people < len(test.values) else "people",
        people={"train": train.people, "test": test.people},
        labels=len(labels),
        rarest=int(labels.min()),
        confidence=confidence,
        provenance=prism_provenance(model, cost.prism, train, test, schema, **settings),
    )


def _prepare_training(model: PrismClassifier, train: Part, label: str | None) -> PreparedTask:
    """Prepare the classifier's training data again, to train other choices."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="At most")  # training has warned already
        return clone(model)._prepare(train.frame.to_native(), pd.Series(train.values, name=label), None)


def _remeasure_subsets(model: PrismClassifier, discovery: Discovery) -> int | None:
    """Measure every set of up to `max_size` predictors again, and fail if one reveals; return how many there are."""
    names, correlations = model.predictors_, model.correlations_
    sizes = range(1, min(correlations.max_size, len(names)) + 1)
    count = sum(comb(len(names), size) for size in sizes)
    if correlations.measure not in _QUICK or correlations.correction is not None or count > MOST_SUBSETS:
        return None
    for subset in chain.from_iterable(combinations(names, size) for size in sizes):
        measured = discovery.assess(subset)
        if measured.strength >= correlations.threshold and (measured.p_value or 0.0) <= correlations.p_value:
            raise ModicumError(f"The attributes asked for include a revealing set: {format_names(subset)}.")
    return count


def _count_values(train: Part, name: str) -> dict[str, int]:
    """Count the records with each value of a column."""
    codes, words = texts(column(train.frame, name))
    counts = np.bincount(codes + 1, minlength=len(words) + 1)
    return {str(word): int(n) for word, n in zip(("(missing)", *words), counts, strict=True) if n}


def _label_people(part: Part) -> Codes:
    """Count the people with each label."""
    codes = np.unique(np.asarray(part.values), return_inverse=True)[1]
    units = np.arange(len(codes)) if part.units is None else part.units
    return np.bincount(np.unique(np.column_stack([codes, units]), axis=0)[:, 0])
