"""NCP of groups that are published as ranges: how much of each attribute's domain a record may still be.

The same penalty as `ncp` (papers/1 §2.2), for groups of records instead of buckets: a number counts
(max − min) / (width of its domain) over the group, a category (number of its values in the group) / (number of all),
and 0 where there is one alone. A number that may also be missing could be anything, which counts 1.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from modicum.measures.information_loss import InformationLoss
from modicum.table.values import Codes, Floats


def number_widths(values: Floats, groups: Codes, domain: tuple[float, float]) -> Floats:
    """NCP of a number in each group; NaN is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.group_loss import number_widths
    >>> number_widths(np.array([20.0, 40, 50, np.nan]), np.array([0, 0, 1, 1]), (0, 100)).tolist()
    [0.2, 1.0]
    """
    many = int(groups.max()) + 1
    gone = np.isnan(values)
    low, high = np.full(many, np.inf), np.full(many, -np.inf)
    np.minimum.at(low, groups[~gone], values[~gone])
    np.maximum.at(high, groups[~gone], values[~gone])
    has_missing = np.bincount(groups, weights=gone, minlength=many) > 0
    empty = np.isinf(low)
    whole = domain[1] - domain[0]
    width = np.zeros(many)
    if whole > 0:
        width[~empty] = (high[~empty] - low[~empty]) / whole
    return np.where(empty, 0.0, np.where(has_missing, 1.0, width))


def category_widths(codes: npt.NDArray[np.integer], groups: Codes, possible: int | None = None) -> Floats:
    """NCP of a category in each group; missing is a value like any other.

    `possible` is how many values there can be; as many as occur by default.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.group_loss import category_widths
    >>> category_widths(np.array([0, 1, 2, 2]), np.array([0, 0, 1, 1])).round(2).tolist()
    [0.67, 0.0]
    """
    values, numbers = np.unique(codes, return_inverse=True)
    pairs = np.unique(groups * len(values) + numbers)
    many = np.bincount(pairs // len(values), minlength=int(groups.max()) + 1)
    return np.where(many > 1, many / (possible or len(values)), 0.0)


def group_ncp(names: Sequence[str], widths: Sequence[Floats], groups: Codes) -> InformationLoss:
    """NCP of each attribute, mean over the records, and the mean of these."""
    sizes = np.bincount(groups)
    found = {name: float(np.average(width, weights=sizes)) for name, width in zip(names, widths, strict=True)}
    return InformationLoss(float(np.mean(list(found.values()))), found)
