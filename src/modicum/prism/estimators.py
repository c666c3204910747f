"""PriSM's classifier [Barbato25 §4], its two baselines, its regressor, and attribute selection for other models.

The baselines are a parsimonious and a plain classifier [Barbato25 §5.2]. The paper names regression (§2) and other
families of classifiers (§7) as extensions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets

from modicum.errors import DataError, ParameterError
from modicum.prism.base import LinearModel, PreparedTask, PrismTask
from modicum.prism.discovery.correlation_result import Correlation, Correlations
from modicum.prism.solver.trainer import Trained
from modicum.table.plain_data import PlainResult
from modicum.table.targets import MAX_CLASSES, Labels
from modicum.typing import Floats

_NOTHING = 1e-6  # relative to the largest coefficient: smaller scores are rounding


class PrismClassifier(ClassifierMixin, LinearModel):
    """A support vector machine that needs neither a sensitive attribute nor any attributes that reveal it.

    First, it finds the sets of attributes that correlate with the sensitive one ([Barbato25 §3], see `correlations`).
    Then it trains on the best attributes that contain none of these sets completely [Barbato25 §4]: it minimizes
    ½‖w‖² + π Σ zᵢ over w, b and the attributes, with yᵢ(w·xᵢ − b) ≥ 1 − zᵢ and constraints (5) to (9) of
    [Barbato25 Figure 5]. With several classes, it minimizes the sum over one class against the rest, on one shared set
    of attributes. The result is proven optimal, up to `optimality_gap_`.

    No set of up to `max_size` predictors correlates with the sensitive attribute, by `threshold` and `p_value` and with
    numbers in bins. Larger sets are not searched; `association_` reports what all predictors together reveal.

    Parameters
    ----------
    sensitive : name, or list of names
        The attribute that must be neither used nor revealed; by default that of the schema. One-hot columns go
        together.
    critical_values : sequence, or mapping from names to sequences, optional
        The values that must not be guessed; by default all.
    max_predictors : int
        The most attributes a prediction may need.
    threshold : number from 0 to 1
        τ, the strength from which a set correlates.
    encoding : "both", "single", "multiple" or "whole"
        Whether critical values are taken together, one by one, or both: see `correlations`.
    measure : "cramers_v", "bias_corrected", "pearson", "classifier" or callable
        The measure of a correlation's strength: see `correlations`.
    p_value : number from 0 to 1
        A set correlates only if independent attributes reach its strength with at most this probability.
    max_size : int
        The largest sets that are searched.
    known : sets of names
        Sets that are known to reveal the sensitive attribute, whatever the data shows.
    correction : "bonferroni" or "fdr", optional
        Correct the p-values for the number of sets tested. It forbids fewer sets.
    groups : "attribute", "column" or mapping from names to columns
        Whether one-hot columns are one attribute, chosen together (the default), or each column is an attribute.
    bins : int
        The number of bins of equal frequency into which a number is cut to count correlations.
    C : number
        π, the cost of an error of 1, in the units of scaled columns: numbers have mean 0 and standard deviation 1,
        categories are columns of 0 and 1.
    class_weight : "balanced" or mapping from labels to numbers, optional
        How much more the errors of a class cost; "balanced" makes all classes count the same, however rare.
    box : number
        The largest coefficient of a scaled column.
    tol : number
        The largest relative gap between the objective and its proven lower bound.
    time_limit : seconds, optional
        When to stop training. The best model so far is kept, with its gap.
    schema : Schema, optional
        Kinds and roles of the columns.
    random_state : int
        Seed of measures that draw at random; training draws nothing.
    progress : bool
        Show a bar on a terminal.

    Attributes
    ----------
    predictors_ : the attributes that a prediction needs
    needed_columns_ : their columns in the data
    coef_ : coefficients in original units; one row (with several classes one per class), one column for each of
        `columns_`
    columns_ : what each coefficient multiplies: a number (0 if missing), or 1 for the named value
    intercept_ : added to the sum; a total above 0 predicts the second class, with several classes the largest total
        wins
    correlations_ : the minimal correlated sets
    max_feasible_predictors_ : how many attributes can be used without completing one of these sets
    association_ : strength, p-value and strength by chance of the predictors together
    objective_, bound_ : the objective reached, and its proven lower bound
    optimality_gap_ : (objective − bound) / objective
    sensitive_ : the sensitive attributes
    classes_ : the labels

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "hours-per-week", "relationship", "sex"]]
    >>> model = md.PrismClassifier("sex", threshold=0.4, max_size=2, max_predictors=2, class_weight="balanced")
    >>> model.fit(X[:2_000], y[:2_000]).correlations_.sets
    [('relationship',)]
    >>> model.predictors_, model.optimality_gap_ <= 1e-4
    (['age', 'education'], True)
    >>> model.predict(X[["age", "education"]][2_000:2_003]).tolist()
    ['<=50K', '<=50K', '>50K']
    """

    def decision_function(self, X: Any) -> Floats:
        """Return w·x − b: above 0 for the second class; with several classes one column each.

        Scores are rounded to a millionth of the largest coefficient, so that records on the line have exactly 0.
        """
        scores = self._rounded_scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Predict the label of each record. A frame needs only the predictors' columns; an array is as wide as at fit.

        A record on the line gets the label that was more frequent at fit; with several classes, the first with the
        largest score.
        """
        scores = self._rounded_scores(X)
        if len(self.classes_) > 2:
            return self.classes_[scores.argmax(axis=1)]
        return self.classes_[np.where(scores[:, 0] == 0, self._usual, scores[:, 0] > 0).astype(np.int64)]

    def _rounded_scores(self, X: Any) -> Floats:
        scores = self._scores(X)
        sizes = np.abs(self._coefficients).max(initial=0.0), np.abs(self._intercepts).max(initial=0.0)
        step = _NOTHING * (max(sizes) or 1.0)
        return np.round(scores / step) * step

    def _targets(self, task: PrismTask) -> Floats:
        """Return +1 and −1: one column for two classes, else one column per class."""
        self._refuse_numbers(task)
        labels = Labels.fit(task.values, name=task.label)
        self.classes_, codes = labels.classes, labels.encode(task.values)
        self._usual = int(np.bincount(codes, task.weights).argmax())
        wanted = [1] if len(labels) == 2 else range(len(labels))
        return np.column_stack([np.where(codes == each, 1.0, -1.0) for each in wanted])

    def _refuse_numbers(self, task: PrismTask) -> None:
        many = task.values.dtype.kind in "iuf" and len(np.unique(task.values)) > MAX_CLASSES
        try:
            check_classification_targets(task.values)
        except ValueError:
            many = True
        if many:
            raise DataError(f"Unknown label type: {task.label!r} is a number with many values; use PrismRegressor.")

    def _cost(self, task: PrismTask) -> Any:
        if self.class_weight is None:
            return 1.0
        labels = Labels(self.classes_).encode(task.values)
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            shares = np.bincount(labels, task.weights) / task.weights.sum()
            return 1 / (len(shares) * shares[labels])
        return self._parse_class_weight()[labels]

    def _parse_class_weight(self) -> Floats:
        given = self.class_weight
        fits = isinstance(given, Mapping) and set(given) <= set(self.classes_.tolist())
        if not fits or not all(isinstance(cost, Real) and 0 < float(cost) < np.inf for cost in given.values()):
            raise ParameterError(
                f"The 'class_weight' parameter of {type(self).__name__} must be 'balanced' or map labels to numbers "
                f"above 0. Got {given!r} instead."
            )
        return np.array([float(given.get(each, 1.0)) for each in self.classes_.tolist()])


class Parsimony(PrismClassifier):
    """The best support vector machine on few attributes: PriSM without constraint (8), as [Barbato25 §5.2] compares it.

    It leaves out the sensitive attribute and ignores what the others reveal. Parameters and attributes are those of
    `PrismClassifier`; `threshold`, `max_size`, `known` and `correction` do nothing here, and there are no
    `correlations_` and no `max_feasible_predictors_`.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "hours-per-week", "relationship", "sex"]]
    >>> model = md.prism.Parsimony(sensitive="sex", max_predictors=2).fit(X[:2_000], y[:2_000])
    >>> model.predictors_
    ['education', 'relationship']
    """

    def _forbidden(self, task: PrismTask) -> list[tuple[int, ...]]:
        return []


class LinearSVM(Parsimony):
    """The plain support vector machine on all attributes except the sensitive one, as [Barbato25 §5.2] compares it.

    It solves (1) to (5) and (7) of [Barbato25 Figure 5]. It asks for every attribute, even useless ones, and is the
    baseline of the other two. Parameters and attributes are those of `Parsimony`; `max_predictors`, `tol` and
    `time_limit` do nothing here either.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X = X[["age", "education", "hours-per-week", "relationship", "sex"]]
    >>> md.prism.LinearSVM("sex").fit(X[:2_000], y[:2_000]).predictors_
    ['age', 'education', 'hours-per-week', 'relationship']
    """

    def _train(self, prepared: PreparedTask) -> Trained:
        return prepared.trainer.on_support(range(len(prepared.task.design.attributes)))

    def _support_limit(self) -> int | None:
        return None


class PrismRegressor(RegressorMixin, LinearModel):
    """A linear regression that needs neither a sensitive attribute nor any attributes that reveal it.

    It minimizes ½‖w‖² + π Σ ½(w·xᵢ − b − tᵢ)² under the constraints of `PrismClassifier`, where tᵢ is the label scaled
    to mean 0 and standard deviation 1. It is proven optimal in the same way. Parameters and attributes are those of
    `PrismClassifier`, without `classes_` and `class_weight`; coefficients are in the original units of attributes and
    label.

    Examples
    --------
    >>> import modicum as md
    >>> X, _ = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "relationship", "sex"]], X["hours-per-week"]
    >>> model = md.prism.PrismRegressor("sex", threshold=0.4, max_predictors=2).fit(X[:2_000], y[:2_000])
    >>> model.predictors_
    ['age', 'education']
    >>> model.predict(X[:2]).round(1).tolist()
    [43.0, 43.4]
    """

    _loss = "squared"

    def predict(self, X: Any) -> Floats:
        """Predict a number for each record. A frame needs only the predictors' columns."""
        return self._scores(X)[:, 0] * self._deviation + self._mean

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.class_weight is not None:
            raise ParameterError("The 'class_weight' parameter belongs to a classifier; PrismRegressor has no classes.")

    def _targets(self, task: PrismTask) -> Floats:
        if task.values.dtype.kind not in "iufb":
            raise DataError(f"The label {task.label!r} is not a number. Use PrismClassifier to predict classes.")
        values = task.values.astype(np.float64)
        self._mean = float(np.average(values, weights=task.weights))
        self._deviation = float(np.sqrt(np.average((values - self._mean) ** 2, weights=task.weights)))
        if not np.ptp(values):
            raise DataError(f"The label {task.label!r} is constant: there is nothing to predict.")
        return ((values - self._mean) / self._deviation)[:, None]

    def _rescale_to_label(self) -> None:
        self.coef_ = self.coef_[0] * self._deviation
        self.intercept_ = self.intercept_[0] * self._deviation + self._mean


@dataclass(frozen=True)
class Selection(PlainResult):
    """The attributes to ask for.

    Attributes
    ----------
    attributes : the chosen attributes
    columns : their columns in the data: `X[selection.columns]` is what another model may see
    correlations : the minimal correlated sets, none of which is chosen completely
    association : strength, p-value and strength by chance of the chosen attributes together
    max_feasible : how many attributes can be used without completing one of these sets
    gap : the optimality gap, (objective − lower bound) / objective

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "relationship", "sex"]][:1_000], y[:1_000]
    >>> chosen = md.prism.select(X, y, "sex", threshold=0.4, max_predictors=2, class_weight="balanced")
    >>> chosen.attributes, chosen.correlations.sets
    (['education'], [('relationship',)])
    """

    attributes: list[str]
    columns: list[str]
    correlations: Correlations
    association: Correlation
    max_feasible: int
    gap: float


def select(X: Any, y: Any, sensitive: Any = None, *, task: str = "classification", **settings: Any) -> Selection:
    """Select the attributes that predict the label best without revealing the sensitive one, for use in any model.

    "Best" is judged by PriSM's linear model; a nonlinear model may find use in other attributes as well. No set of up
    to `max_size` of the selected attributes correlates with the sensitive one, whatever model uses them.

    Parameters
    ----------
    X, y : the records, including the sensitive attribute, and the label
    sensitive : name, or list of names
    task : "classification" or "regression"
    **settings : the other parameters of `PrismClassifier`

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> X, y = X[["age", "education", "hours-per-week", "relationship", "sex"]][:2_000], y[:2_000]
    >>> chosen = md.prism.select(X, y, "sex", threshold=0.4, max_predictors=2, class_weight="balanced")
    >>> chosen.columns
    ['age', 'education']
    >>> seen = X[chosen.columns]  # what any other classifier may be trained on
    """
    kinds: dict[str, type[PrismClassifier | PrismRegressor]] = {
        "classification": PrismClassifier,
        "regression": PrismRegressor,
    }
    if task not in kinds:
        raise ParameterError(f"The 'task' parameter must be 'classification' or 'regression'. Got {task!r} instead.")
    model = kinds[task](sensitive, **settings).fit(X, y)
    return Selection(
        attributes=model.predictors_,
        columns=model.needed_columns_,
        correlations=model.correlations_,
        association=model.association_,
        max_feasible=model.max_feasible_predictors_,
        gap=model.optimality_gap_,
    )
