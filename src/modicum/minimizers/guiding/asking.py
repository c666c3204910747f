"""A model is asked: any estimator or function on frames, with what it may do wrong caught and said."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError, quoted

_AT_ONCE = 200_000  # records, so that a model's own arrays stay small

Predictions = npt.NDArray[Any]


class Model:
    """A fitted estimator with `predict`, or a function of a frame, as a function from a frame to one value per record.

    Scores of several classes (two dimensions) become the number of the highest.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.minimizers.guiding.asking import Model
    >>> Model(lambda X: X["age"] > 40)(pd.DataFrame({"age": [20, 60]})).tolist()
    [False, True]
    """

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "predict") and not callable(model):
            raise ParameterError(
                "The 'model' parameter of ModelGuided must be a fitted estimator or a function of a frame. "
                f"Got {type(model).__name__} instead."
            )
        if isinstance(model, type):
            raise ParameterError(f"The 'model' parameter is the class {model.__name__}; give a fitted model of it.")
        self._ask: Callable[[Any], Any] = model.predict if hasattr(model, "predict") else model

    def __call__(self, X: Any) -> Predictions:
        """The predictions for the records, whatever the model raises passed on as a `DataError`."""
        try:
            return self.asked(X)
        except DataError:
            raise
        except Exception as error:
            raise DataError(f"The model failed on the records as they are: {_message(error)}") from error

    def asked(self, X: Any) -> Predictions:
        """The predictions; what the model raises is raised."""
        n = len(X)
        if n <= _AT_ONCE:
            return self._part(X, n)
        starts = range(0, n, _AT_ONCE)
        return np.concatenate([self._part(X[s : s + _AT_ONCE], min(n, s + _AT_ONCE) - s) for s in starts])

    def _part(self, X: Any, n: int) -> Predictions:
        found = self._ask(X)
        found = found.detach().cpu() if hasattr(found, "detach") else found
        values = np.asarray(found)
        if values.ndim == 2:
            values = values[:, 0] if values.shape[1] == 1 else values.argmax(axis=1)
        if values.shape != (n,):
            many = "no list of predictions" if values.ndim != 1 else f"{len(values):,} predictions"
            raise DataError(f"The model gave {many} for {n:,} records; it must give one for each.")
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise DataError(f"The model predicts NaN for {int(np.isnan(values).sum()):,} of {n:,} records.")
        return values


def ask_in_stead(
    model: Model, X: Any, columns: Sequence[str], with_columns: Callable[[Sequence[str]], Any]
) -> Predictions:
    """Ask about records in which representatives stand for values; where the model fails, say of which columns.

    `with_columns(names)` gives the records with the representatives of these columns alone, the others as they are.
    """
    try:
        return model.asked(X)
    except DataError:
        raise
    except Exception as error:
        guilty = [name for name in columns if _fails(model, with_columns([name]))]
        raise DataError(
            f"The model failed on representative values of {quoted(guilty or columns)}: {_message(error)}"
        ) from error


def _fails(model: Model, X: Any) -> bool:
    try:
        model.asked(X)
    except Exception:
        return True
    return False


def _message(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__
