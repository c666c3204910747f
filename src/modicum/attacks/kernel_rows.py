"""Records as points between which a kernel measures, all attributes alike in scale."""

import numpy as np

from modicum.learners.inputs import Inputs
from modicum.table.values import Codes, Floats

MOST_COLUMNS = 50  # of one category: its most frequent values; the rest share none
_ENOUGH = 50_000  # rows that tell the scale


class Points:
    """One-hot columns for categories; for numbers their rank among all records, standardized, and whether it is there.

    A missing number stands in the middle. Of a category the 50 most frequent values have a column. Only the predictors
    are looked at, never the sensitive attribute. The whole is scaled so that two records lie, squared, 2 apart on
    average.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._columns = [_frequent(codes, size) for codes, size in zip(inputs.codes.T, inputs.sizes, strict=True)]
        self._sorted = [np.sort(column[~np.isnan(column)]) for column in inputs.numbers.T]
        self._scale = 1.0
        raw = self.of(inputs[:: max(1, len(inputs) // _ENOUGH)])
        self._scale = 1 / np.sqrt(max(float(raw.var(axis=0).sum()), 1e-12))

    def of(self, inputs: Inputs) -> Floats:
        """The points of some rows."""
        parts = [place[codes] for place, codes in zip(self._columns, inputs.codes.T, strict=True)]
        parts += [_ranked(among, column) for among, column in zip(self._sorted, inputs.numbers.T, strict=True)]
        return np.hstack([np.zeros((len(inputs), 0)), *parts]) * self._scale


def kernel(first: Floats, second: Floats, gamma: float | None) -> Floats:
    """exp(−γ‖a − b‖²) for each pair, or the product a·b where there is no γ.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.kernel_rows import kernel
    >>> kernel(np.array([[0.0]]), np.array([[0.0], [2.0]]), 0.25).round(3).tolist()
    [[1.0, 0.368]]
    """
    product = first @ second.T
    if gamma is None:
        return np.asarray(product)
    apart = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * product
    return np.asarray(np.exp(-gamma * np.maximum(apart, 0)))


def _frequent(codes: Codes, size: int) -> Floats:
    """For each value its one-hot columns: none for those that are not among the most frequent."""
    counts = np.bincount(codes, minlength=size)
    shown = np.argsort(-counts, kind="stable")[:MOST_COLUMNS]
    shown = shown[counts[shown] > 0]
    places = np.zeros((size, len(shown)))
    places[shown, np.arange(len(shown))] = 1.0
    return places


def _ranked(among: Floats, column: Floats) -> Floats:
    """Two columns: the rank, with mean 0 and variance 1 over the numbers, and whether the number is missing."""
    ranks = np.searchsorted(among, column, "left") + np.searchsorted(among, column, "right")
    middle = len(among) + 0.0
    spread = np.sqrt(max(1e-12, float(np.mean((_own_ranks(among) - middle) ** 2)))) if len(among) else 1.0
    missing = np.isnan(column)
    return np.column_stack([np.where(missing, 0.0, (ranks - middle) / spread), missing])


def _own_ranks(among: Floats) -> Floats:
    return (np.searchsorted(among, among, "left") + np.searchsorted(among, among, "right")).astype(np.float64)
