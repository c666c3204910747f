"""What every estimator does first: X as a frame with names, the schema it goes by, and what a row counts."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError
from modicum.table.codes import Weights
from modicum.table.frames import as_frame, column, is_array
from modicum.table.inference import infer_attribute
from modicum.table.schema import Schema


def frame_of(estimator: Any, X: Any) -> nw.DataFrame[Any]:
    """X as a frame, an array under the names of the estimator's schema; scikit-learn's own checks are made."""
    from sklearn.utils.validation import validate_data  # deferred: it takes long to import

    if not is_array(X):
        frame = as_frame(X)
        validate_data(estimator, X, skip_check_array=True)
        return frame
    _check_table(X)
    X = validate_data(estimator, X, dtype=None, ensure_all_finite=False)
    named = getattr(estimator.schema, "features", None)
    return as_frame(X, named if named is not None and len(named) == X.shape[1] else None)


def new_records(estimator: Any, X: Any, columns: Sequence[str], needed: Sequence[str]) -> nw.DataFrame[Any]:
    """Records to predict for as a frame: an array is as wide as at fit, a frame has at least the columns needed."""
    from sklearn.utils.validation import validate_data  # deferred: it takes long to import

    if is_array(X):
        _check_table(X)
        X = validate_data(estimator, X, dtype=None, ensure_all_finite=False, reset=False)
        return as_frame(X, columns)
    frame = as_frame(X)
    for name in needed:
        column(frame, name)
    return frame


def _check_table(X: Any) -> None:
    """Refuse what has no rows and columns: scikit-learn's own messages show the values."""
    try:
        dimensions = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
    except ValueError:
        raise DataError("The rows of X are not all of the same length.") from None
    if dimensions != 2:
        raise DataError("X must be a table (2D), not one record, one column or the labels. Reshape your data.")


def schema_of(estimator: Any, frame: nw.DataFrame[Any]) -> Schema:
    """The estimator's schema, or what the data looks like, without the suggestions that `Schema.infer` makes."""
    schema = estimator.schema
    if schema is None:
        if not frame.columns:
            raise DataError("The data has no columns.")
        return Schema(attributes=tuple(infer_attribute(frame[name]) for name in frame.columns))
    if not isinstance(schema, Schema):
        raise ParameterError(f"The 'schema' parameter must be a Schema. Got {type(schema).__name__} instead.")
    return schema


def record_counts(sample_weight: Any, n: int) -> Weights | None:
    """How many records each of n rows stands for, or None for one each.

    Examples
    --------
    >>> from modicum.table.estimator_input import record_counts
    >>> record_counts([1.0, 3.0], 2).tolist()
    [1, 3]
    """
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight)
    if weights.shape != (n,):
        raise DataError(f"sample_weight.shape == {weights.shape}, expected ({n},)!")
    is_number = weights.dtype.kind in "iufb"
    if not is_number or not np.isfinite(weights).all() or np.any(weights != np.floor(weights)) or np.any(weights < 0):
        raise DataError("sample_weight must hold whole numbers: how many records each row stands for.")
    if not weights.any():
        raise DataError("Every sample_weight is zero, so that no record counts.")
    return weights.astype(np.int64)
