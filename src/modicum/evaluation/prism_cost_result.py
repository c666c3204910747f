"""What PriSM costs: each classifier's figures, side by side."""

from dataclasses import dataclass
from typing import Any

from modicum.attacks import Estimate, SensitiveInferenceResult
from modicum.errors import ParameterError
from modicum.prism import Correlation, Correlations, PrismClassifier
from modicum.table.values import plain

SVM, PARSIMONY, PRISM = "SVM", "Parsimony", "PriSM"


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
    seconds : of fitting, reading the data and the search for correlations (PriSM only) included; these are done once
        for all numbers of predictors, and this is the mean over them

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
