"""A second look at what was chosen, by code that did not choose it: constraints (5) to (8) of papers/3 Figure 5."""

from typing import Any

import numpy as np

from modicum.errors import ModicumError
from modicum.prism.columns import Design
from modicum.prism.discovery import Discovery
from modicum.prism.training import Trained

_ROUNDING = 1e-6


def check_choice_of(model: Any, discovery: Discovery, found: Trained, design: Design) -> None:
    """Refuse a model that breaks what it promises: more predictors than allowed, or a set that correlates."""
    chosen = set(model.predictors_)
    columns = {part.attribute.name for name in chosen for part in design.attributes[name]}
    most = getattr(model, "max_predictors", None)
    broken = None
    if chosen & set(model.sensitive_) or columns & {each for columns in discovery.sensitive.values() for each in columns}:
        broken = "a sensitive attribute was chosen"
    elif most is not None and len(chosen) > most:
        broken = f"{len(chosen)} attributes were chosen, more than {most}"
    elif any(set(each) <= chosen for each in getattr(model, "correlations_", ()) and model.correlations_.sets):
        broken = "all attributes of a correlated set were chosen"
    elif np.abs(found.coefficients).max(initial=0.0) > model.box * (1 + _ROUNDING):
        broken = "a coefficient lies outside the box"
    elif _outside(found, design):
        broken = "an attribute that was not chosen has a coefficient"
    if broken is not None:
        raise ModicumError(
            f"The model breaks what it promises: {broken}. This is an error of modicum; please report it."
        )


def _outside(found: Trained, design: Design) -> bool:
    """Whether a column of no chosen attribute has a coefficient."""
    inside = np.zeros(len(design.names), dtype=bool)
    for unit in found.support:
        inside[list(design.units[unit])] = True
    return bool(np.any(found.coefficients[:, ~inside] != 0))
