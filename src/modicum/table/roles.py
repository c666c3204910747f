"""What is personal and whose a row is: the schema's word, or the caller's where given."""

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import ParameterError
from modicum.table.schema import Schema


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
    >>> from modicum.table.roles import attribute_weights
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
    >>> from modicum.table.roles import unit_codes
    >>> unit_codes(["ann", None, "bob", "ann", None]).tolist()
    [0, 1, 2, 0, 3]
    """
    codes, people = pd.factorize(np.asarray(values, dtype=object))
    nobody = codes < 0
    own = np.where(nobody, len(people) + np.cumsum(nobody) - 1, codes)
    return pd.factorize(own)[0].astype(np.int64)  # by first appearance, so that numbering once more changes nothing
