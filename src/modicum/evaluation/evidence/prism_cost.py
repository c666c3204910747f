"""What PriSM costs and protects, compared with a plain and a parsimonious classifier [Barbato25 §5.2, Figures 6, 7]."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.attacks import Estimate, SensitiveInference, SensitiveInferenceResult
from modicum.errors import DataError, ParameterError
from modicum.evaluation._utility import count_people
from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, mean_interval
from modicum.prism import Correlation, Correlations, LinearSVM, Parsimony, PrismClassifier
from modicum.prism.base import label_of, sensitive_names
from modicum.prism.discovery.discovery import Discovery
from modicum.progress import track_progress
from modicum.table.estimator_input import as_names, person_codes, schema_of, unit_codes
from modicum.table.frames import as_frame, is_array
from modicum.table.plain_data import LEFT_OUT, PlainResult
from modicum.table.schema import Schema
from modicum.table.splits import TEST, Split, split_rows
from modicum.table.targets import MAX_CLASSES, label_values

# The scores of each classifier

SVM: Final = "SVM"
PARSIMONY: Final = "Parsimony"
PRISM: Final = "PriSM"


@dataclass(frozen=True)
class ModelCost(PlainResult):
    """The scores of one classifier.

    Attributes
    ----------
    model : "SVM" (all attributes), "Parsimony" (few) or "PriSM" (few, and no correlated set)
    max_predictors : the most attributes it may use; None for all
    predictors : the attributes it needs
    accuracy : on test records, with the accuracy of the most frequent label
    balanced_accuracy : the mean over the labels of the share predicted correctly, with the value of blind guessing
    association : association of its predictors with the sensitive attribute, on the training records
    gap : optimality gap of the proof that no other choice is better
    adversaries : sensitive attribute → how well it is guessed from the predictors
    seconds : fitting time, including reading the data and, for PriSM, searching for correlations; this work is done
        once for all numbers of predictors, and the value is the mean over them

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "relationship", "sex"]][:1_000], y[:1_000]
    >>> model = md.PrismClassifier("sex", threshold=0.4, max_predictors=2, class_weight="balanced")
    >>> found = md.evaluation.prism_cost(X, y, model, adversary=False)
    >>> prism = found.of("PriSM")
    >>> prism.predictors, prism.accuracy.interval[0] < prism.accuracy.value
    (['education'], True)
    """

    model: str
    max_predictors: int | None
    predictors: list[str]
    accuracy: Estimate
    balanced_accuracy: Estimate
    association: Correlation
    gap: float
    adversaries: dict[str, SensitiveInferenceResult]
    seconds: float


@dataclass(frozen=True)
class PrismCost(PlainResult):
    """The scores of all classifiers.

    Attributes
    ----------
    models : the plain classifier, then the parsimonious one and PriSM for each number of predictors
    correlations : the minimal correlated sets in the training records
    max_feasible : the most attributes that can be used without a correlated set
    prism : PriSM's fitted classifier with the most predictors
    trained_on, tested_on : number of records

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "relationship", "sex"]][:1_000], y[:1_000]
    >>> model = md.PrismClassifier("sex", threshold=0.4, max_predictors=2, class_weight="balanced")
    >>> found = md.evaluation.prism_cost(X, y, model, adversary=False)
    >>> [cost.model for cost in found.models], found.correlations.sets
    (['SVM', 'Parsimony', 'PriSM'], [('relationship',)])
    """

    models: list[ModelCost]
    correlations: Correlations
    max_feasible: int
    prism: PrismClassifier = field(metadata=LEFT_OUT)
    trained_on: int
    tested_on: int

    def of(self, model: str, max_predictors: int | None = None) -> ModelCost:
        """Return one of the models."""
        for each in self.models:
            if each.model == model and max_predictors in (None, each.max_predictors):
                return each
        raise ParameterError(f"There is no {model!r} with max_predictors={max_predictors}.")


# Accuracy over all records and over each label, with intervals that count persons


def scores(right: Any, truth: Any, units: Any, random_state: int) -> dict[str, Estimate]:
    """Compute the accuracy and the balanced accuracy."""
    right, labels = right.astype(np.float64), pd.factorize(truth)[0]
    shares = np.bincount(labels) / len(labels)
    return {
        "accuracy": Estimate(float(right.mean()), mean_interval(right, units), float(shares.max())),
        "balanced_accuracy": Estimate(
            compute_balanced_mean(labels, right),
            compute_balanced_interval(labels, right, units, random_state),
            1 / len(shares),
        ),
    }


def compute_balanced_mean(labels: Any, values: Any, draws: Any = None) -> float:
    """Average the values, such as the share of correct predictions, within each label, then over the labels."""
    counts = np.bincount(labels, draws)
    sums = np.bincount(labels, values if draws is None else values * draws)
    return float(np.mean(sums[counts > 0] / counts[counts > 0]))


def compute_balanced_interval(
    labels: Any, values: Any, units: Any, random_state: int, of_label: Callable[..., Interval] = mean_interval
) -> Interval:
    """Resample persons; if a label has too few persons or nothing varies, average the labels' own intervals."""
    people = np.arange(len(labels)) if units is None else units
    each_label = [labels == label for label in range(int(labels.max()) + 1)]
    if min(len(np.unique(people[each])) for each in each_label) >= ENOUGH_UNITS:
        drawn = Resampling(len(values), units, random_state=random_state)
        low, high = drawn.interval(lambda draws: compute_balanced_mean(labels, values, draws))
        if low < high:
            return low, high
    ends = [of_label(values[each], None if units is None else unit_codes(units[each])) for each in each_label]
    return float(np.mean([low for low, _ in ends])), float(np.mean([high for _, high in ends]))


# The comparison


def prism_cost(
    X: Any,
    y: Any,
    model: PrismClassifier,
    *,
    max_predictors: Iterable[int] | None = None,
    adversary: bool = True,
    persons: Any = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: bool = True,
) -> PrismCost:
    """Train PriSM, a plain and a parsimonious classifier on 70% of the records, and test them on the others.

    The adversary of [Barbato25 §5.2] learns the sensitive attribute from each classifier's predictors, on the training
    records, by nested cross-validation (see `SensitiveInference`). It guesses the values that the search for
    correlations uses: one-hot columns as one attribute, a number of many values in the model's bins, each critical
    value and all of them.

    Parameters
    ----------
    X, y : the records, including the sensitive attribute, and the label
    model : PrismClassifier
        Its parameters apply to all three classifiers; it is not fitted itself.
    max_predictors : numbers of predictors to compare; by default the model's own
    adversary : bool
        Whether to attack; it takes longer than training.
    persons : array-like, optional
        Each record's person, if the model's schema has no person column. A person's records stay together in the split
        and in the adversary's folds, and intervals count persons.
    n_jobs : int or None
        How many of the adversary's folds to run at once: None for one, -1 for the number of cores.
    random_state : int
        Seed of the split and of the adversary.
    progress : bool
        Show a progress bar on a terminal.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "relationship", "sex"]][:2_000], y[:2_000]
    >>> model = md.PrismClassifier("sex", threshold=0.4, max_predictors=2, class_weight="balanced")
    >>> found = md.evaluation.prism_cost(X, y, model, adversary=False)
    >>> [(each.model, each.predictors) for each in found.models[1:]]
    [('Parsimony', ['education', 'relationship']), ('PriSM', ['education'])]
    """
    if not isinstance(model, PrismClassifier):
        raise ParameterError(f"The 'model' parameter must be a PrismClassifier. Got {type(model).__name__} instead.")
    numbers, frame = _numbers(model, max_predictors), frame_of(model, X)
    parts, units, values = split_of(model, frame, y, persons, random_state)
    train, test = (
        Part(frame[rows.tolist()], values[rows], None if units is None else unit_codes(units[rows]))
        for rows in (parts.train, parts.test)
    )
    return compare_classifiers(model, train, test, label_of(y), numbers, adversary, n_jobs, random_state, progress)


@dataclass(frozen=True)
class Part:
    """Training or test records: a frame, the labels, and the persons if known."""

    frame: Any
    values: Any
    units: Any

    @property
    def people(self) -> int:
        """The number of people; without persons each record counts as one."""
        return count_people(len(self.values), self.units)


def split_of(
    model: PrismClassifier, frame: Any, y: Any, persons: Any = None, random_state: int = 0
) -> tuple[Split, Any, Any]:
    """Split the records into training and test records; return the split, the persons and the labels."""
    values, units = label_values(y, len(frame)), units_of(model, frame, persons)
    parts = split_rows(values, persons=units, validation=0.0, test=TEST, random_state=random_state)
    _check_parts(label_of(y) or "y", values, parts)
    return parts, units, values


def compare_classifiers(
    model: PrismClassifier,
    train: Part,
    test: Part,
    label: str | None,
    numbers: list[int],
    adversary: bool,
    n_jobs: int | None,
    random_state: int,
    progress: bool,
) -> PrismCost:
    """Train the classifiers and test them on other records."""
    fitted = _fit_classifiers(model, train.frame.to_native(), pd.Series(train.values, name=label), numbers)
    attacks = _attacks(fitted, train.frame, train.units, model, n_jobs, random_state, progress) if adversary else {}
    seen, truth = test.frame.to_native(), test.values
    models = [
        ModelCost(
            model=name,
            max_predictors=most,
            predictors=each.predictors_,
            **scores(each.predict(seen) == truth, truth, test.units, random_state),
            association=each.association_,
            gap=each.optimality_gap_,
            adversaries=attacks.get(tuple(each.predictors_), {}),
            seconds=seconds,
        )
        for name, most, each, seconds in fitted
    ]
    last = max((each for name, _, each, _ in fitted if name == PRISM), key=lambda each: each.max_predictors)
    found = last.correlations_, last.max_feasible_predictors_, last
    return PrismCost(models, *found, len(train.values), len(truth))


def _numbers(model: PrismClassifier, given: Any) -> list[Any]:
    """Check and return the numbers of predictors to compare."""
    asked = [model.max_predictors] if given is None else as_names(given)
    if not isinstance(asked, list) or not asked:
        raise ParameterError(f"The 'max_predictors' parameter must be a list of ints ≥ 1. Got {given!r} instead.")
    return list(dict.fromkeys(asked))


def frame_of(model: PrismClassifier, X: Any) -> Any:
    """Return X as a frame; an array gets the names of the model's schema, if they fit."""
    names = getattr(model.schema, "features", None)
    fits = names is not None and np.shape(X)[1:] == (len(names),) if is_array(X) else False
    return as_frame(X, names if fits else None)


def units_of(model: PrismClassifier, frame: Any, persons: Any = None) -> Any:
    """Number the persons, as given or from the model's schema; None if unknown."""
    if persons is not None:
        return unit_codes(persons)
    return person_codes(model.schema, frame) if isinstance(model.schema, Schema) else None


def _check_parts(label: str, values: Any, parts: Split) -> None:
    if not len(parts.test):
        raise DataError("No record is left for testing: one person has too many of them, or there are too few.")
    classes = len(pd.unique(values))
    # With more classes, the classifier raises its own error.
    if classes <= MAX_CLASSES and len(pd.unique(values[parts.train])) < classes:
        raise DataError(
            f"A value of the label {label!r} has so few records that none is left to train on; remove these records, "
            "or choose another random_state."
        )


Fitted = tuple[str, int | None, Any, float]  # kind of model, max_predictors, model, seconds


def _fit_classifiers(model: PrismClassifier, X: Any, y: Any, numbers: list[int]) -> list[Fitted]:
    """Fit the plain classifier, and the other two for each number of predictors."""
    found = []
    for kind, name, counts in (
        (LinearSVM, SVM, numbers[:1]),
        (Parsimony, PARSIMONY, numbers),
        (PrismClassifier, PRISM, numbers),
    ):
        start = time.perf_counter()
        fitted = kind(**clone(model).get_params(deep=False)).fit_path(X, y, counts)
        each = (time.perf_counter() - start) / max(1, len(fitted))
        found += [(name, None if name == SVM else one.max_predictors, one, each) for one in fitted]
    return sorted(found, key=lambda one: (one[1] is not None, one[1] or 0))


def _attacks(
    fitted: list[Fitted],
    frame: Any,
    persons: Any,
    model: PrismClassifier,
    n_jobs: int | None,
    random_state: int,
    progress: bool,
) -> dict[tuple[str, ...], dict[str, SensitiveInferenceResult]]:
    """Run the adversary once on each set of predictors."""
    by_choice = {tuple(each.predictors_): each for _, _, each, _ in fitted}
    sensitive = _sensitive(model, frame)
    found = {}
    for choice, each in track_progress(by_choice.items(), "attacking", total=len(by_choice), progress=progress):
        found[choice] = {
            name: SensitiveInference(
                name,
                critical_values=critical,
                schema=model.schema,
                n_jobs=n_jobs,
                random_state=random_state,
                progress=False,
            ).run(frame, predictors=each.needed_columns_, values=values, persons=persons)
            for name, (values, critical) in sensitive.items()
        }
    return found


def _sensitive(model: PrismClassifier, frame: Any) -> dict[str, tuple[Any, tuple[str, ...] | None]]:
    """Return each sensitive attribute's values, as the search for correlations codes them, and critical values."""
    schema = schema_of(model, frame)
    discovery = Discovery(
        frame,
        schema,
        sensitive_names(model.sensitive, schema),
        critical_values=model.critical_values,
        encoding=model.encoding,
        groups=model.groups,
        bins=model.bins,
    )
    sensitive, critical = {}, discovery.critical
    for name, codes in discovery.sensitive_codes().items():
        labels = [*(critical[name] or ()), *(f"({i})" for i in range(int(codes.max()) + 1))]
        sensitive[name] = np.array(labels, dtype=object)[codes], critical[name]
    return sensitive
