"""Rows that are equal: the one place where records are grouped by their codes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

_FEW_CODES = 4096
_MOST_PLACES = 4  # for each row, of a table of all combinations


def group_rows(codes: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """A number per row such that two rows share it exactly when all their codes are equal.

    The numbers run from 0 without gaps, in the order of the codes.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.groups import group_rows
    >>> group_rows(np.array([[1, 0], [0, 5], [1, 0]])).tolist()
    [1, 0, 1]
    """
    key, size = _keys(codes)
    if size > _MOST_PLACES * len(key):
        return np.unique(key, return_inverse=True)[1]
    there = np.zeros(size, dtype=bool)  # a table of all combinations takes no sorting
    there[key] = True
    return (np.cumsum(there) - 1)[key]


def _keys(codes: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], int]:
    """A number per row, ordered as the codes are and equal where they are, and a limit that all lie below."""
    n, d = codes.shape
    key = np.zeros(n, dtype=np.int64)
    size = 1
    for j in range(d if n else 0):
        column, width = _narrow(codes[:, j])
        if size * width >= 2**62:
            _, key = np.unique(key, return_inverse=True)
            size = int(key.max()) + 1
        key = key * width + column
        size *= width
    return key, size


def first_rows(groups: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The first row of each group, for groups as `group_rows` numbers them.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.groups import first_rows
    >>> first_rows(np.array([1, 0, 1])).tolist()
    [1, 0]
    """
    first = np.zeros(int(groups.max()) + 1 if len(groups) else 0, dtype=np.int64)
    first[groups[::-1]] = np.arange(len(groups) - 1, -1, -1)  # the last assignment, the first row, stays
    return first


def _narrow(column: npt.NDArray[Any]) -> tuple[npt.NDArray[np.int64], int]:
    """Numbers from 0 in the order of the codes, and how many there may be; sorted only where the codes spread wide."""
    low, high = int(column.min()), int(column.max())
    if high - low < _FEW_CODES:
        return np.asarray(column, dtype=np.int64) - low, high - low + 1
    values, numbers = np.unique(column, return_inverse=True)
    return numbers, len(values)


def sizes_of(columns: Sequence[npt.NDArray[Any]]) -> npt.NDArray[np.int64]:
    """How many records each group of equal rows holds, for codes that come column by column.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.groups import sizes_of
    >>> sizes_of([np.array([1, 0, 1]), np.array([0, 5, 0])]).tolist()
    [1, 2]
    """
    key, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for codes in columns:
        column, width = _narrow(codes)
        if size * width >= 2**62:  # the order of groups does not matter here, and hashing takes less than sorting
            key = np.asarray(pd.factorize(key)[0], dtype=np.int64)
            size = int(key.max()) + 1
        key, size = key * width + column, size * width
    if size > _MOST_PLACES * len(key):
        return np.unique(key, return_counts=True)[1]
    found = np.bincount(key)
    return found[found > 0]
