"""Get predictions from any estimator or function of a frame, with clear messages for its errors."""

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError, ParameterError, format_names
from modicum.table.targets import label_values
from modicum.typing import Codes, Floats

_SHOWN = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d.,]*")
_AT_ONCE = 200_000  # records per call, so that a model's own arrays stay small

Predictions = npt.NDArray[Any]


class Model:
    """A fitted estimator or a function of a frame, as a function from a frame to one value per record.

    Scores of several classes (two dimensions) become the index of the highest.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.learners.asking import Model
    >>> Model(lambda X: X["age"] > 40)(pd.DataFrame({"age": [20, 60]})).tolist()
    [False, True]
    """

    def __init__(self, model: Any) -> None:
        if not any(hasattr(model, name) for name in ("predict", "predict_proba")) and not callable(model):
            raise ParameterError(
                "The 'model' parameter must be a fitted estimator or a function of a frame. "
                f"Got {type(model).__name__} instead."
            )
        if isinstance(model, type):
            raise ParameterError(f"The 'model' parameter is the class {model.__name__}; give a fitted model of it.")
        self._ask: Callable[[Any], Any] = _predicting(model)

    def __call__(self, X: Any) -> Predictions:
        """Return the predictions for the records; errors of the model become a `DataError`."""
        try:
            return self.ask(X)
        except DataError:
            raise
        except Exception as error:
            raise DataError(f"The model failed on the unchanged records: {safe_message(error, X)}") from error

    def ask(self, X: Any) -> Predictions:
        """Return the predictions; errors of the model pass through."""
        return _ask_in_parts(self._part, X)

    def _part(self, X: Any) -> Predictions:
        n, answer = len(X), self._ask(X)
        values = np.asarray(answer.detach().cpu() if hasattr(answer, "detach") else answer)
        if values.ndim == 2:
            values = values[:, 0] if values.shape[1] == 1 else values.argmax(axis=1)
        if values.shape != (n,):
            many = "no list of predictions" if values.ndim != 1 else f"{len(values):,} predictions"
            raise DataError(f"The model gave {many} for {n:,} records; it must give one prediction per record.")
        missing = int(np.asarray(pd.isna(values)).sum())
        missing += int(np.isinf(values).sum()) if values.dtype.kind == "f" else 0
        if missing:
            raise DataError(f"The model predicts NaN, infinity or None for {missing:,} of {n:,} records.")
        return _of_one_type(values) if values.dtype == object else values


def _ask_in_parts(ask: Callable[[Any], Predictions], X: Any) -> Predictions:
    """Get the answers for all records, in parts."""
    if len(X) <= _AT_ONCE:
        return ask(X)
    return np.concatenate([ask(X[start : start + _AT_ONCE]) for start in range(0, len(X), _AT_ONCE)])


def _predicting(model: Any) -> Callable[[Any], Any]:
    if hasattr(model, "predict"):
        found: Callable[[Any], Any] = model.predict
        return found
    if hasattr(model, "predict_proba"):
        return lambda X: np.asarray(model.predict_proba(X))
    return cast(Callable[[Any], Any], model)


def _of_one_type(values: Predictions) -> Predictions:
    """Convert Python objects to a sortable array: booleans and numbers unchanged, anything else as text."""
    found = np.array(values.tolist())
    return found if found.ndim == 1 and found.dtype.kind in "biufU" else values.astype(str)


def ask_representatives(
    model: Model, X: Any, columns: Sequence[str], with_columns: Callable[[Sequence[str]], Any]
) -> Predictions:
    """Get predictions for records with representative values; if the model fails, report the columns that cause it.

    `with_columns(names)` returns the records with representative values in these columns only.
    """
    try:
        return model.ask(X)
    except DataError:
        raise
    except Exception as error:
        causes = [name for name in columns if _fails(model, with_columns([name]))]
        raise DataError(
            f"The model failed on representative values of {format_names(causes or columns)}: "
            f"{safe_message(error, names=columns)}"
        ) from error


def _fails(model: Model, X: Any) -> bool:
    try:
        model.ask(X)
    except Exception:
        return True
    return False


def safe_message(error: Exception, X: Any = None, *, names: Sequence[str] | None = None) -> str:
    """Return a model's error without quoted texts and numbers, which may be personal data.

    Column names stay: those of the frame X, or `names`.
    """
    public = {str(name) for name in (getattr(X, "columns", ()) if names is None else names)}
    text = _SHOWN.sub(lambda match: match[0] if match[0].strip("'\"") in public else "…", " ".join(str(error).split()))
    return f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__


# A fitted classifier as an adversary uses it: records in, probabilities out.


class AskedModel:
    """A fitted classifier, used only through `predict_proba`.

    Parameters
    ----------
    model : fitted classifier, or a pipeline that ends in one
    name : its name in messages

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from modicum.learners.asking import AskedModel
    >>> asked = AskedModel(DummyClassifier().fit(np.zeros((4, 1)), ["no", "no", "no", "yes"]))
    >>> asked.chances(np.zeros((2, 1))).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    >>> asked.labels(["yes", "perhaps"]).tolist()
    [1, -1]
    """

    def __init__(self, model: Any, name: str = "The 'model' parameter") -> None:
        if isinstance(model, type):
            raise ParameterError(f"{name} is the class {model.__name__}; give a fitted model of it.")
        kind = type(model).__name__
        if not hasattr(model, "predict_proba"):
            raise ParameterError(
                f"{name} must be a fitted classifier with predict_proba, which the attack needs. "
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
        """Return the probability of each class, one row per record, in the order of `classes`."""
        return _ask_in_parts(self._part, X)

    def labels(self, y: Any) -> Codes:
        """Return each record's class number; -1 for a class that the model does not know."""
        return np.asarray(pd.Index(self.classes).get_indexer(pd.Index(label_values(y))), dtype=np.int64)

    def _part(self, X: Any) -> Floats:
        try:
            chances = np.asarray(self.model.predict_proba(X), dtype=np.float64)
        except Exception as error:
            raise DataError(f"The model failed on the records: {safe_message(error, X)}") from error
        if chances.shape != (len(X), len(self.classes)):
            raise DataError(
                f"The model gave chances of shape {chances.shape} for {len(X):,} records and "
                f"{len(self.classes)} classes."
            )
        if not np.isfinite(chances).all() or (chances < 0).any():
            raise DataError("The model gives chances that are negative, infinite or NaN.")
        return chances


def true_chance(chances: Floats, labels: Codes) -> Floats:
    """Return the chance of each record's true class; 0 if the model does not know that class."""
    own = np.take_along_axis(chances, np.maximum(labels, 0)[:, None], axis=1)[:, 0]
    return np.where(labels < 0, 0.0, own)
