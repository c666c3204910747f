"""PriSM's classifier (papers/3 §4), and the two it is compared with: parsimonious, and plain (papers/3 §5.2)."""

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from modicum.errors import DataError, ParameterError
from modicum.prism.base import LinearModel, PreparedTask, PrismTask
from modicum.prism.solver.trainer import Trained
from modicum.table.targets import MAX_CLASSES, Labels
from modicum.typing import Floats

_NOTHING = 1e-6  # of the largest coefficient: less is rounding


class PrismClassifier(ClassifierMixin, LinearModel):
    """A support vector machine that needs neither a sensitive attribute nor any attributes that reveal it.

    First the sets of attributes that correlate with the sensitive one are found (papers/3 §3, see `correlations`). Then
    the classifier is trained on the best attributes among those that hold none of these sets whole (papers/3 §4): it
    minimizes ½‖w‖² + π Σ zᵢ over w, b and the attributes, with yᵢ(w·xᵢ − b) ≥ 1 − zᵢ and constraints (5) to (9) of
    papers/3 Figure 5; with several classes, the sum of that over one class against the rest, on one shared set of
    attributes. The result is proven optimal, up to `optimality_gap_`.

    No set of up to `max_size` predictors correlates with the sensitive attribute, as `threshold` and `p_value` mean it
    and as far as bins of numbers tell. Larger sets are not searched; what all predictors tell together is in
    `association_`.

    Parameters
    ----------
    sensitive : name, or several
        The attribute that must not be used, nor be revealed; the schema's where none is named. One-hot columns go
        together.
    critical_values : sequence, or mapping from names to sequences, optional
        The values that must not be guessed; all where none is named.
    max_predictors : int
        The most attributes a prediction may need.
    threshold : number from 0 to 1
        τ, the strength from which a set correlates.
    encoding : "both", "single", "multiple" or "whole"
        Whether critical values are taken together, one by one, or both: see `correlations`.
    measure : "cramers_v", "bias_corrected", "pearson", "classifier" or callable
        Of the strength of a correlation: see `correlations`.
    p_value : number from 0 to 1
        A set correlates only where the chance of such a strength among independent attributes is at most this.
    max_size : int
        Of the sets that are searched.
    known : sets of names
        Sets that are known to reveal the sensitive attribute, whatever the data says.
    correction : "bonferroni" or "fdr", optional
        Of the p-values, for how many sets are tested. It forbids fewer sets.
    groups : "attribute", "column" or mapping from names to columns
        Whether one-hot columns are one attribute, chosen whole (by default), or each column stands for itself.
    bins : int
        Into how many groups of equal frequency a number is cut where correlations are counted.
    C : number
        π, what an error of 1 costs, in the units of scaled columns: numbers have mean 0 and standard deviation 1,
        categories are columns of 0 and 1.
    class_weight : "balanced" or mapping from labels to numbers, optional
        By how much more the errors of a class cost; "balanced" makes all classes count the same, however rare.
    box : number
        The largest coefficient of a scaled column.
    tol : number
        How far the objective may be above what no choice can fall below, relative to it.
    time_limit : seconds, optional
        When to stop training; the best found is kept, with its gap.
    schema : Schema, optional
        Kinds and roles of the columns.
    random_state : int
        Of measures that draw at random; training draws nothing.
    progress : bool
        Show a bar on a terminal.

    Attributes
    ----------
    predictors_ : the attributes that a prediction needs
    needed_columns_ : their columns in the data
    coef_ : coefficients in original units; one row, with several classes one a class, and one column each of `columns_`
    columns_ : what each coefficient multiplies: a number as it is (0 where it is missing), or 1 for the value it names
    intercept_ : what is added; above 0 the second class is predicted, with several classes the one with the largest sum
    correlations_ : the minimal correlated sets
    max_feasible_predictors_ : how many attributes can be used without one of these sets
    association_ : strength, p-value and strength by chance of the predictors together
    objective_, bound_ : what was reached, and what no choice can fall below
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
        """w·x − b: above 0 for the second class; with several classes one column each.

        Steps are a millionth of the largest coefficient, so that records on the line have 0, whatever the rounding.
        """
        scores = self._steps(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """The label of each record. A frame needs only the predictors' columns; an array is as wide as at fit.

        A record on the line gets the label that was more frequent at fit; with several classes the first of those with
        the largest sum.
        """
        scores = self._steps(X)
        if len(self.classes_) > 2:
            return self.classes_[scores.argmax(axis=1)]
        return self.classes_[np.where(scores[:, 0] == 0, self._usual, scores[:, 0] > 0).astype(np.int64)]

    def _steps(self, X: Any) -> Floats:
        scores = self._scores(X)
        sizes = np.abs(self._coefficients).max(initial=0.0), np.abs(self._intercepts).max(initial=0.0)
        step = _NOTHING * (max(sizes) or 1.0)
        return np.round(scores / step) * step

    def _targets(self, task: PrismTask) -> Floats:
        """One column of +1 and −1 for two classes, else one a class."""
        self._refuse_numbers(task)
        labels = Labels.fit(task.values, name=task.label)
        self.classes_ = labels.classes
        self._usual = int(np.bincount(labels.encode(task.values), task.weights).argmax())
        codes = labels.encode(task.values)
        wanted = [1] if len(labels) == 2 else range(len(labels))
        return np.column_stack([np.where(codes == each, 1.0, -1.0) for each in wanted])

    def _refuse_numbers(self, task: PrismTask) -> None:
        many = task.values.dtype.kind in "iuf" and len(np.unique(task.values)) > MAX_CLASSES
        try:
            check_classification_targets(task.values)
        except ValueError:
            many = True
        if many:
            raise DataError(
                f"Unknown label type: {task.label!r} is a number with many values; PrismRegressor predicts numbers."
            )

    def _cost(self, task: PrismTask) -> Any:
        if self.class_weight is None:
            return 1.0
        labels = pd.Index(self.classes_).get_indexer(pd.Index(task.values))
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
    """The best support vector machine on few attributes: PriSM without constraint (8), as papers/3 §5.2 compares it.

    It leaves out the sensitive attribute, and has no eye on what the others reveal. Parameters and attributes are those
    of `PrismClassifier`; `threshold`, `max_size`, `known` and `correction` do nothing here, and there are no
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
    """The plain support vector machine on all attributes but the sensitive one, as papers/3 §5.2 compares it.

    These are (1) to (5) and (7) of papers/3 Figure 5. It asks for every attribute, also those of no use, and is what
    the other two are compared with. Parameters and attributes are those of `Parsimony`; `max_predictors`, `tol` and
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

    def _most(self) -> int | None:
        return None
