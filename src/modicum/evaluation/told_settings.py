"""The settings behind evidence as it prints them: plain data, without schemas, models and values of records."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from modicum.table.values import plain

_ELSEWHERE = ("schema", "progress")  # a schema is hashed; a bar changes nothing


def told_settings(owner: Any) -> dict[str, Any]:
    """An estimator's parameters as plain data; what is none is named.

    Examples
    --------
    >>> import modicum as md
    >>> from modicum.evaluation.told_settings import told_settings
    >>> told_settings(md.Mondrian(k=7, quasi_identifiers=["age"]))["quasi_identifiers"]
    ['age']
    """
    return told({name: value for name, value in owner.get_params(deep=False).items() if name not in _ELSEWHERE})


def told(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as plain data; a function or an estimator by its name.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from modicum.evaluation.told_settings import told
    >>> told({"k": np.int64(5), "names": pd.Index(["age", "sex"]), "measure": max})
    {'k': 5, 'names': ['age', 'sex'], 'measure': 'max'}
    """
    return {name: _told(value) for name, value in parameters.items()}


def told_by(by: Any, columns: Collection[str]) -> Any:
    """By what groups were shown, as a setting; never the values of records.

    Examples
    --------
    >>> from modicum.evaluation.told_settings import told_by
    >>> told_by("sex", ["sex"]), told_by(["sex", "race"], ["age", "race", "sex"]), told_by(["a", "b"], ["sex"])
    ('sex', ['sex', 'race'], 'one value per test record')
    """
    if by is None or isinstance(by, str):
        return by
    return list(by) if all(isinstance(each, str) and each in columns for each in by) else "one value per test record"


def _told(value: Any) -> Any:
    value = sorted(value, key=str) if isinstance(value, set | frozenset) else value
    value = plain(value.tolist() if hasattr(value, "tolist") else value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return str(getattr(value, "__name__", type(value).__name__))
    return value
