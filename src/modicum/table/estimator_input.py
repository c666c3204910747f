"""The input of estimators: X as a frame, its schema, personal attributes, persons and weights."""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.table.codes import Weights
from modicum.table.frames import as_frame, column, is_array
from modicum.table.inference import infer_attribute
from modicum.table.schema import Schema, require_schema


def frame_of(estimator: Any, X: Any) -> nw.DataFrame[Any]:
    """Convert X to a frame and run scikit-learn's checks; an array gets the names in the estimator's schema."""
    from sklearn.utils.validation import validate_data  # deferred: a slow import

    if not is_array(X):
        frame = as_frame(X)
        validate_data(estimator, X, skip_check_array=True)
        return frame
    _check_table(X)
    X = validate_data(estimator, X, dtype=None, ensure_all_finite=False)
    named = getattr(estimator.schema, "features", None)
    return as_frame(X, named if named is not None and len(named) == X.shape[1] else None)


def new_records(estimator: Any, X: Any, columns: Sequence[str], needed: Sequence[str]) -> nw.DataFrame[Any]:
    """Convert records to predict to a frame; an array must be as wide as at fit, a frame needs the `needed` columns."""
    from sklearn.utils.validation import validate_data  # deferred: a slow import

    if is_array(X):
        _check_table(X)
        X = validate_data(estimator, X, dtype=None, ensure_all_finite=False, reset=False)
        return as_frame(X, columns)
    frame = as_frame(X)
    for name in needed:
        column(frame, name)
    return frame


def _check_table(X: Any) -> None:
    """Raise a `DataError` unless X is 2D; scikit-learn's own messages would show values."""
    try:
        dimensions = X.ndim if hasattr(X, "ndim") else np.asarray(X).ndim
    except ValueError:
        raise DataError("The rows of X must all have the same length.") from None
    if dimensions != 2:
        raise DataError("X must be a table (2D), not one record, one column or the labels. Reshape your data.")


def schema_of(estimator: Any, frame: nw.DataFrame[Any]) -> Schema:
    """Return the estimator's schema, or infer one without suggestions."""
    schema = estimator.schema
    if schema is None:
        if not frame.columns:
            raise DataError("The data has no columns.")
        return Schema(attributes=tuple(infer_attribute(frame[name]) for name in frame.columns))
    return require_schema(schema)


def record_counts(sample_weight: Any, n: int) -> Weights | None:
    """Check sample weights: the number of records that each of n rows represents, or None for one each.

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
        raise DataError("sample_weight must hold whole numbers ≥ 0: how many records each row represents.")
    if not weights.any():
        raise DataError("Every sample_weight is zero, so no record counts; give at least one a positive weight.")
    return weights.astype(np.int64)


# Personal attributes and persons


def as_names(given: Any) -> Any:
    """Convert an iterable to a list; leave other types for the caller to reject."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else given


def personal_attributes(schema: Schema, personal: Iterable[str] | None) -> list[str]:
    """Return the named attributes, or the schema's personal ones; raise a `ParameterError` for unknown names."""
    if isinstance(personal, str) or (personal is not None and not isinstance(personal, Iterable)):
        raise ParameterError(f"The 'personal' parameter must be a list of names. Got {personal!r} instead.")
    named = schema.personal if personal is None else list(dict.fromkeys(map(str, personal)))
    unknown = [name for name in named if name not in schema.features]
    if unknown:
        raise ParameterError(f"The 'personal' parameter names {unknown[0]!r}, which the generalization does not have.")
    if not named:
        raise ParameterError("No attribute is personal, so there is nothing to guess.")
    return named


def attribute_weights(attributes: Sequence[str], weights: Mapping[str, float] | None) -> dict[str, float]:
    """Return each attribute's share in a mean; the default weight is 1.

    Examples
    --------
    >>> from modicum.table.estimator_input import attribute_weights
    >>> attribute_weights(["age", "sex"], {"age": 3})
    {'age': 0.75, 'sex': 0.25}
    """
    if weights is not None and not isinstance(weights, Mapping):
        raise ParameterError(f"The 'weights' parameter must map names to numbers. Got {weights!r} instead.")
    given = dict(weights or {})
    unknown = [name for name in given if name not in attributes]
    if unknown:
        raise ParameterError(f"The 'weights' parameter names {unknown[0]!r}, which is not a personal attribute.")
    bad = [w for w in given.values() if isinstance(w, bool) or not isinstance(w, Real) or not 0 <= w < math.inf]
    all_weights = {name: 0.0 if bad else float(given.get(name, 1.0)) for name in attributes}
    total = sum(all_weights.values())
    if not total:
        raise ParameterError("The 'weights' parameter must hold numbers ≥ 0, at least one of them above 0.")
    return {name: weight / total for name, weight in all_weights.items()}


def person_codes(schema: Schema, frame: Any) -> npt.NDArray[np.int64] | None:
    """Number the persons of the rows; None if the schema names no person column or the data lacks it."""
    if schema.person is None or schema.person not in frame.columns:
        return None
    return unit_codes(frame[schema.person].to_numpy())


def unit_codes(values: Any) -> npt.NDArray[np.int64]:
    """Number the persons from 0; a row without an ID counts as one person.

    Examples
    --------
    >>> from modicum.table.estimator_input import unit_codes
    >>> unit_codes(["ann", None, "bob", "ann", None]).tolist()
    [0, 1, 2, 0, 3]
    """
    codes, people = pd.factorize(np.asarray(values, dtype=object))
    no_id = codes < 0
    units = np.where(no_id, len(people) + np.cumsum(no_id) - 1, codes)
    return pd.factorize(units)[0].astype(np.int64)  # by first appearance, so numbering again changes nothing
