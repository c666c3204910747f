"""Split rows into disjoint parts: to learn, to choose and to report ([Staab24 Appendix F]: 60%, 10%, 30%)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError, ParameterError
from modicum.table.estimator_input import unit_codes
from modicum.table.frames import as_frame, is_array
from modicum.typing import Codes

Rows = npt.NDArray[np.int64]
MOST_CLASSES = 256
TRAIN, VALIDATION, TEST = 0.6, 0.1, 0.3  # shares of the rows


@dataclass(frozen=True)
class Split:
    """Row numbers of the three parts; no row and no person is in two of them."""

    train: Rows
    validation: Rows
    test: Rows


def split_rows(
    y: Any,
    *,
    persons: Any | None = None,
    validation: float = VALIDATION,
    test: float = TEST,
    random_state: int | np.random.RandomState | None = 0,
) -> Split:
    """Split rows into train, validation and test.

    The test part is drawn first and purely at random, so it is an honest sample. Of the other rows, one record of every
    class goes to train ([Staab24 Appendix F]: the tree needs each class at least once); the rest is drawn at random.
    Rows that share a value of `persons` stay together.

    Examples
    --------
    >>> from modicum.table.splits import split_rows
    >>> parts = split_rows(["no"] * 90 + ["yes"] * 10)
    >>> len(parts.train), len(parts.validation), len(parts.test)
    (60, 10, 30)
    """
    from sklearn.utils import check_random_state  # deferred: a slow import

    labels = np.asarray(pd.factorize(np.asarray(y))[0])
    n = len(labels)
    if not (0 <= validation < 1 and 0 <= test < 1 and validation + test < 1):
        raise ParameterError(f"The parts must leave rows to learn from. Got validation={validation}, test={test}.")
    if n < 3:
        raise DataError(f"The data has {n} rows; splitting needs at least 3.")
    units = np.arange(n) if persons is None else _units(persons, n)
    try:
        random = check_random_state(random_state)
    except ValueError:
        raise ParameterError(f"The seed must be a whole number from 0 to 2**32 - 1. Got {random_state!r}.") from None
    order = random.permutation(int(units.max()) + 1)
    sizes = np.bincount(units)[order]
    drawn = np.cumsum(sizes)
    n_test = int(np.searchsorted(drawn, round(test * n), side="right"))
    rest = order[n_test:]
    is_class = labels.max() < MOST_CLASSES  # a number with more values is predicted by ranges, each with many rows
    first = _one_per_class(units, labels, rest) if is_class else np.zeros(len(rest), dtype=bool)
    rest = np.concatenate([rest[first], rest[~first]])
    drawn = np.cumsum(np.bincount(units)[rest])
    n_train = int(np.searchsorted(drawn, round((1 - test - validation) * n), side="right"))
    n_train = max(n_train, int(first.sum()), 1)
    part = np.zeros(len(order), dtype=np.int8)
    part[rest[:n_train]], part[rest[n_train:]], part[order[:n_test]] = 0, 1, 2
    of_row = part[units]
    return Split(*(np.flatnonzero(of_row == k) for k in range(3)))


def check_split(split: Any, n: int, persons: Any | None = None) -> None:
    """Raise a `ParameterError` if parts are empty, share a row or a person, or hold rows that are not among the n.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.splits import Split, check_split
    >>> check_split(Split(train=np.array([0, 1]), validation=np.array([2]), test=np.array([3])), 4)
    """
    if not isinstance(split, Split):
        raise ParameterError(
            f"The 'split' parameter must be a modicum.table.splits.Split. Got {type(split).__name__} instead."
        )
    parts = {name: np.asarray(getattr(split, name)) for name in ("train", "validation", "test")}
    units = np.arange(n) if persons is None else _units(persons, n)
    checked: dict[str, Rows] = {}
    for name, rows in parts.items():
        if rows.ndim != 1 or (len(rows) and (rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= n)):
            raise ParameterError(f"The split's part {name!r} must hold row numbers from 0 to {n - 1:,}.")
        if not len(rows) and name != "validation":
            raise ParameterError(f"The split's part {name!r} is empty.")
        members = np.unique(units[rows.astype(np.int64)])
        if persons is None and len(members) < len(rows):
            raise ParameterError(f"The split's part {name!r} holds a row twice.")
        for other, others in checked.items():
            if len(np.intersect1d(members, others, assume_unique=True)):
                shared = "a row" if persons is None else "a person"
                raise ParameterError(f"The split's parts {other!r} and {name!r} share {shared}.")
        checked[name] = members


def _units(persons: Any, n: int) -> Rows:
    codes = unit_codes(persons)
    if len(codes) != n:
        raise DataError(f"There are {len(codes)} persons for {n} rows; give one per row.")
    return codes


def _one_per_class(units: Rows, labels: Rows, rest: Rows) -> npt.NDArray[np.bool_]:
    """Mark, among the units in `rest`, the first that holds each class."""
    rank = np.full(int(units.max()) + 1, len(rest), dtype=np.int64)
    rank[rest] = np.arange(len(rest))
    best = np.full(int(labels.max()) + 1, len(rest), dtype=np.int64)
    np.minimum.at(best, labels, rank[units])
    chosen = np.zeros(len(rest), dtype=bool)
    chosen[best[best < len(rest)]] = True
    return chosen


def take_rows(X: Any, rows: Rows) -> Any:
    """Take these rows of a frame, a series or an array, and keep its type.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from modicum.table.splits import take_rows
    >>> take_rows(pd.Series([5, 6, 7]), np.array([2, 0])).tolist()
    [7, 5]
    """
    if isinstance(X, pd.DataFrame | pd.Series):
        return X.iloc[rows]
    if is_array(X):
        return X[rows] if hasattr(X, "dtype") else np.asarray(X)[rows]
    return as_frame(X)[rows.tolist()].to_native()


def draw_rows(n: int, units: Codes | None, most: int, random_state: int) -> list[int] | None:
    """Draw about `most` of n rows, in order, as whole persons (`units`, numbered without gaps); None for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.splits import draw_rows
    >>> draw_rows(3, None, 5, random_state=0) is None
    True
    >>> len(draw_rows(6, np.array([0, 0, 1, 1, 2, 2]), 4, random_state=0))
    4
    """
    if n <= most:
        return None
    owners = np.arange(n) if units is None else units
    order = np.random.default_rng(random_state).permutation(int(owners.max()) + 1)
    records = np.cumsum(np.bincount(owners)[order])
    taken = order[: max(1, int(np.searchsorted(records, most, side="right")))]
    return [int(row) for row in np.flatnonzero(np.isin(owners, taken))]
