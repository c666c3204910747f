"""A second look at what was chosen, by code that did not choose it: constraints (5) to (8) of papers/3 Figure 5."""

from collections.abc import Sequence

import numpy as np

from modicum.errors import ModicumError
from modicum.learners.columns import Design
from modicum.prism.training import Trained

_ROUNDING = 1e-6


def check_chosen(
    design: Design,
    found: Trained,
    *,
    sensitive: Sequence[str],
    correlated: Sequence[Sequence[str]],
    most: int | None,
    box: float,
) -> None:
    """Refuse a model that breaks what it promises.

    Parameters
    ----------
    design, found : the attributes there were, and the model that was trained
    sensitive : columns that may not be used
    correlated : sets of attributes of which none may be used whole
    most : how many attributes may be used
    box : the largest coefficient
    """
    names = list(design.attributes)
    used = np.flatnonzero(np.any(found.coefficients != 0, axis=0))
    chosen = {names[unit] for unit, places in enumerate(design.units) if set(places) & set(used.tolist())}
    columns = {part.attribute.name for name in chosen for part in design.attributes[name]}
    broken = None
    if columns & set(sensitive):
        broken = "a sensitive attribute is used"
    elif not chosen <= {names[unit] for unit in found.support}:
        broken = "an attribute that was not chosen is used"
    elif most is not None and len(found.support) > most:
        broken = f"{len(found.support)} attributes are used, more than {most}"
    elif any(set(each) <= {names[unit] for unit in found.support} for each in correlated):
        broken = "all attributes of a correlated set are used"
    elif np.abs(found.coefficients).max(initial=0.0) > box * (1 + _ROUNDING):
        broken = "a coefficient lies outside the box"
    if broken is not None:
        raise ModicumError(f"The model breaks what it promises: {broken}. This is an error in modicum; please tell us.")
