"""A fitted classifier as an adversary meets it: records in, chances out, with what may go wrong said in words."""

from typing import Any

import numpy as np
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.learners.asking import safe_message
from modicum.table.targets import label_values
from modicum.table.values import Codes, Floats

_AT_ONCE = 200_000  # records, so that a model's own arrays stay small


class AskedModel:
    """A fitted classifier with `predict_proba`, which is all that is asked of it.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends in one
    name : what it is called in messages

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from modicum.attacks.asked import AskedModel
    >>> asked = AskedModel(DummyClassifier().fit(np.zeros((4, 1)), ["no", "no", "no", "yes"]))
    >>> asked.chances(np.zeros((2, 1))).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    >>> asked.labels(["yes", "perhaps"]).tolist()
    [1, -1]
    """

    def __init__(self, model: Any, name: str = "The 'model' parameter") -> None:
        kind = model.__name__ if isinstance(model, type) else type(model).__name__
        if isinstance(model, type):
            raise ParameterError(f"{name} is the class {kind}; give a fitted model of it.")
        if not hasattr(model, "predict_proba"):
            raise ParameterError(
                f"{name} must be a fitted classifier with predict_proba, which the attack asks for chances. "
                f"Got {kind}, which has none."
            )
        classes = getattr(model, "classes_", None)
        if classes is None:
            raise ParameterError(f"{name} must be a fitted classifier; this {kind} has no classes, or is not fitted.")
        if isinstance(classes, list) and any(isinstance(each, np.ndarray) for each in classes):
            raise ParameterError(f"{name} predicts {len(classes)} labels at once; the attack takes one label.")
        self.model = model
        self.classes = np.asarray(classes)
        self._name = name

    def chances(self, X: Any) -> Floats:
        """The chance of each class, one row per record, in the order of `classes`."""
        n = len(X)
        if n <= _AT_ONCE:
            return self._part(X)
        return np.vstack([self._part(X[start : start + _AT_ONCE]) for start in range(0, n, _AT_ONCE)])

    def labels(self, y: Any) -> Codes:
        """Each record's class number; -1 for a class that the model has never seen."""
        return np.asarray(pd.Index(self.classes).get_indexer(pd.Index(label_values(y))), dtype=np.int64)

    def _part(self, X: Any) -> Floats:
        try:
            found = np.asarray(self.model.predict_proba(X), dtype=np.float64)
        except Exception as error:
            raise DataError(f"The model failed on the records: {safe_message(error, X)}") from error
        if found.shape != (len(X), len(self.classes)):
            raise DataError(
                f"The model gave chances of shape {found.shape} for {len(X):,} records and {len(self.classes)} classes."
            )
        if not np.isfinite(found).all() or (found < 0).any():
            raise DataError("The model gives chances that are negative, infinite or no numbers.")
        return found


def true_chance(chances: Floats, labels: Codes) -> Floats:
    """The chance given to each record's true class; 0 where the model does not know that class."""
    found = np.take_along_axis(chances, np.maximum(labels, 0)[:, None], axis=1)[:, 0]
    return np.where(labels < 0, 0.0, found)
