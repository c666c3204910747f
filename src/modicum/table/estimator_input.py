"""What every estimator does first: X as a frame, its schema, what is personal, whose a row is and what it counts."""

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
    return require_schema(schema)


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


# What is personal and whose a row is: the schema's word, or the caller's where given.


def as_names(given: Any) -> Any:
    """A list of names from any iterable, which may be read but once; what is none stays as it is, to be refused."""
    return list(given) if isinstance(given, Iterable) and not isinstance(given, str) else given


def personal_attributes(schema: Schema, personal: Iterable[str] | None) -> list[str]:
    """The attributes to judge: the named ones, or the schema's; a name that is not there is refused."""
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
    """Each attribute's share in a mean; one that is not named counts 1.

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
    found = {name: 0.0 if bad else float(given.get(name, 1.0)) for name in attributes}
    total = sum(found.values())
    if not total:
        raise ParameterError("The 'weights' parameter must hold numbers ≥ 0, at least one of them above 0.")
    return {name: weight / total for name, weight in found.items()}


def person_codes(schema: Schema, frame: Any) -> npt.NDArray[np.int64] | None:
    """Which rows belong to one person, where the schema says so and the data has the column."""
    if schema.person is None or schema.person not in frame.columns:
        return None
    return unit_codes(frame[schema.person].to_numpy())


def unit_codes(values: Any) -> npt.NDArray[np.int64]:
    """A number per person from 0; a row that does not say whose it is stands for itself.

    Examples
    --------
    >>> from modicum.table.estimator_input import unit_codes
    >>> unit_codes(["ann", None, "bob", "ann", None]).tolist()
    [0, 1, 2, 0, 3]
    """
    codes, people = pd.factorize(np.asarray(values, dtype=object))
    nobody = codes < 0
    own = np.where(nobody, len(people) + np.cumsum(nobody) - 1, codes)
    return pd.factorize(own)[0].astype(np.int64)  # by first appearance, so that numbering once more changes nothing
