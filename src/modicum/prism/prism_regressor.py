"""PriSM for a number: the squared error in place of the hinge loss (papers/3 §2 names regression as an extension)."""

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from modicum.errors import DataError, ParameterError
from modicum.prism.base import LinearModel, PrismTask
from modicum.typing import Floats


class PrismRegressor(RegressorMixin, LinearModel):
    """A linear regression that needs neither a sensitive attribute nor any attributes that reveal it.

    It minimizes ½‖w‖² + π Σ ½(w·xᵢ − b − tᵢ)² under the constraints of `PrismClassifier`, with tᵢ the label with mean 0
    and standard deviation 1, and is proven optimal in the same way. Parameters and attributes are those of
    `PrismClassifier`, without `classes_` and `class_weight`; coefficients are in original units of both.

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
        """The number predicted for each record. A frame needs only the predictors' columns."""
        return self._scores(X)[:, 0] * self._deviation + self._mean

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.class_weight is not None:
            raise ParameterError("The 'class_weight' parameter belongs to a classifier; PrismRegressor has no classes.")

    def _targets(self, task: PrismTask) -> Floats:
        if task.values.dtype.kind not in "iufb":
            raise DataError(f"The label {task.label!r} is no number; PrismClassifier predicts classes.")
        values = task.values.astype(np.float64)
        self._mean = float(np.average(values, weights=task.weights))
        self._deviation = float(np.sqrt(np.average((values - self._mean) ** 2, weights=task.weights)))
        if not np.ptp(values):
            raise DataError(f"The label {task.label!r} is constant: there is nothing to predict.")
        return ((values - self._mean) / self._deviation)[:, None]

    def _in_units_of_the_label(self) -> None:
        self.coef_ = self.coef_[0] * self._deviation
        self.intercept_ = self.intercept_[0] * self._deviation + self._mean
