"""What PriSM costs and what it protects, beside a plain and a parsimonious classifier (papers/3 §5.2, Figures 6, 7)."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.attacks import Estimate, SensitiveInference, SensitiveInferenceResult
from modicum.errors import ParameterError
from modicum.measures.intervals import Resampling, share_interval
from modicum.prism import Correlation, Correlations, LinearSVM, Parsimony, PrismClassifier
from modicum.progress import watched
from modicum.table.frames import as_frame
from modicum.table.labels import label_name, label_values
from modicum.table.splits import split_rows
from modicum.table.values import plain

SVM, PARSIMONY, PRISM = "SVM", "Parsimony", "PriSM"
_SHARE = 0.3  # of the records, to report on


@dataclass(frozen=True)
class ModelCost:
    """One classifier.

    Attributes
    ----------
    model : "SVM" (all attributes), "Parsimony" (few) or "PriSM" (few, and no correlated set)
    max_predictors : the most attributes it was allowed; None for all
    predictors : the attributes it needs
    accuracy : on records that did not train it, beside that of the most frequent label
    balanced_accuracy : the mean over the labels of the share that is predicted, beside what guessing blindly reaches
    association : of its predictors with the sensitive attribute, on the training records
    gap : of the proof that no other choice is better
    adversaries : for each sensitive attribute, what can be guessed of it from the predictors
    seconds : of training
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

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return dict(
            plain(
                {
                    "model": self.model,
                    "max_predictors": self.max_predictors,
                    "predictors": self.predictors,
                    "accuracy": vars(self.accuracy),
                    "balanced_accuracy": vars(self.balanced_accuracy),
                    "association": self.association.to_dict(),
                    "gap": self.gap,
                    "adversaries": {name: each.to_dict() for name, each in self.adversaries.items()},
                    "seconds": self.seconds,
                }
            )
        )


@dataclass(frozen=True)
class PrismCost:
    """All classifiers side by side.

    Attributes
    ----------
    models : the plain one, then for each number of predictors the parsimonious one and PriSM's
    correlations : the minimal correlated sets among the training records
    max_feasible : how many attributes can be used without one of them
    prism : PriSM's fitted classifier with the most predictors
    trained_on, tested_on : how many records
    """

    models: list[ModelCost]
    correlations: Correlations
    max_feasible: int
    prism: PrismClassifier
    trained_on: int
    tested_on: int

    def of(self, model: str, max_predictors: int | None = None) -> ModelCost:
        """One of the models."""
        for each in self.models:
            if each.model == model and max_predictors in (None, each.max_predictors):
                return each
        raise ParameterError(f"There is no {model!r} with max_predictors={max_predictors}.")

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, without any record."""
        return {
            "trained_on": self.trained_on,
            "tested_on": self.tested_on,
            "correlations": self.correlations.to_dict(),
            "max_feasible": self.max_feasible,
            "models": [each.to_dict() for each in self.models],
        }


def prism_cost(
    X: Any,
    y: Any,
    model: PrismClassifier,
    *,
    max_predictors: Iterable[int] | None = None,
    adversary: bool = True,
    persons: Any = None,
    random_state: int = 0,
    progress: bool = True,
) -> PrismCost:
    """Train PriSM and the two it is compared with on 70% of the records, and report on the others.

    The adversary of papers/3 §5.2 learns the sensitive attribute from the predictors of each, on the training records,
    by nested cross-validation (see `SensitiveInference`).

    Parameters
    ----------
    X, y : the records, with the sensitive attribute among their columns, and the label
    model : PrismClassifier
        Its parameters are those of all three; it is not fitted itself.
    max_predictors : numbers
        To compare; the model's own where none are given.
    adversary : bool
        Whether to attack; it takes longer than training.
    persons : array-like, optional
        Whose each record is; those of one person stay together.
    random_state : int
        Of the split and of the adversary.
    progress : bool
        Show a bar on a terminal.

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
    parts = split_rows(y, persons=persons, validation=0.0, test=_SHARE, random_state=random_state)
    values, frame = label_values(y, len(as_frame(X))), as_frame(X)
    train, test = frame[parts.train.tolist()].to_native(), frame[parts.test.tolist()].to_native()
    numbers = [model.max_predictors] if max_predictors is None else list(max_predictors)
    fitted = _fitted(model, train, pd.Series(values[parts.train], name=label_name(y)), numbers)
    attacks = _attacks(fitted, train, model, random_state, progress) if adversary else {}
    models = [
        ModelCost(
            model=name,
            max_predictors=most,
            predictors=each.predictors_,
            **_scores(each, test, values[parts.test], random_state),
            association=each.association_,
            gap=each.optimality_gap_,
            adversaries=attacks.get(tuple(each.predictors_), {}),
            seconds=seconds,
        )
        for name, most, each, seconds in fitted
    ]
    last = max((each for name, _, each, _ in fitted if name == PRISM), key=lambda each: each.max_predictors)
    return PrismCost(models, last.correlations_, last.max_feasible_predictors_, last, len(parts.train), len(parts.test))


Fitted = tuple[str, int | None, Any, float]  # the kind of model, its most predictors, the model, seconds


def _fitted(model: PrismClassifier, X: Any, y: Any, numbers: list[int]) -> list[Fitted]:
    """The plain classifier, and for each number of predictors the other two."""
    found = []
    for kind, name, asked in (
        (LinearSVM, SVM, numbers[:1]),
        (Parsimony, PARSIMONY, numbers),
        (PrismClassifier, PRISM, numbers),
    ):
        start = time.perf_counter()
        fitted = kind(**clone(model).get_params(deep=False)).fit_path(X, y, asked)
        each = (time.perf_counter() - start) / max(1, len(fitted))
        found += [(name, None if name == SVM else one.max_predictors, one, each) for one in fitted]
    return sorted(found, key=lambda one: (one[1] is not None, one[1] or 0))


def _attacks(
    fitted: list[Fitted], X: Any, model: PrismClassifier, random_state: int, progress: bool
) -> dict[tuple[str, ...], dict[str, SensitiveInferenceResult]]:
    """The adversary on each set of predictors, once."""
    by_choice = {tuple(each.predictors_): each for _, _, each, _ in fitted}
    found = {}
    for choice, each in watched(by_choice.items(), "attacking", total=len(by_choice), progress=progress):
        found[choice] = {
            name: SensitiveInference(
                name,
                critical_values=_critical(model.critical_values, name),
                schema=model.schema,
                random_state=random_state,
                progress=False,
            ).run(X, predictors=each.needed_columns_)
            for name in each.sensitive_
        }
    return found


def _critical(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, Mapping) else given


def _scores(model: Any, X: Any, truth: Any, random_state: int) -> dict[str, Estimate]:
    """How many records, and how many of each label, are predicted right."""
    right = (model.predict(X) == truth).astype(np.float64)
    codes = pd.factorize(truth)[0]
    counts = np.bincount(codes)

    def balanced(draws: Any) -> float:
        many = np.bincount(codes, draws)
        return float(np.mean((np.bincount(codes, right * draws) / np.maximum(many, 1))[many > 0]))

    ends = Resampling(len(right), random_state=random_state).interval(balanced)
    return {
        "accuracy": Estimate(float(right.mean()), share_interval(right.sum(), len(right)), counts.max() / len(right)),
        "balanced_accuracy": Estimate(balanced(np.ones(len(right))), ends, 1 / len(counts)),
    }
