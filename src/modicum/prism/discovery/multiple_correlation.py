"""Pearson's correlation of λ with an attribute, and the multiple correlation R with several.

R is the correlation of λ with its least-squares prediction from the attributes: numbers as numbers, everything else by
a column of 0 and 1 for each value. All sets share one matrix of correlations between such columns, so a set costs a
small eigenvalue problem and no pass over the data.
"""

from collections.abc import Iterator

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.errors import DataError
from modicum.prism.discovery.attribute_codes import CodedAttributes
from modicum.prism.discovery.measure import Assessed, CountedSets, Sets, in_pieces
from modicum.table.frames import column, numbers
from modicum.table.schema import Schema
from modicum.typing import Floats, Ints

MOST_COLUMNS = 3000
_ROWS = 4096  # at a time
_PIECE = 500  # sets in a piece of work
_RANK = 1e-9  # an eigenvalue below this share of the largest is none


class MultipleCorrelation:
    """Multiple R with an F-test; under independence E[R²] = q/(n − 1) for q independent columns."""

    name = "pearson"
    smallest_p = 0.0

    def __init__(
        self, counted: CountedSets, frame: nw.DataFrame, schema: Schema, attributes: dict[str, tuple[str, ...]]
    ):
        self._n, self.labels = counted.records, len(counted.labels)
        given = [_values(frame, schema, columns) for columns in attributes.values()]
        widths = [_width(values, size) for values, size in zip(given, counted.attributes.sizes, strict=True)]
        if sum(widths) > MOST_COLUMNS:
            raise DataError(
                f"The measure 'pearson' would take {sum(widths):,} columns of numbers and values, more than "
                f"{MOST_COLUMNS:,}; group the values of attributes that have many, or use 'cramers_v'."
            )
        self._starts = np.cumsum([0, *widths])
        signs = np.column_stack([counted.signs(label) for label in counted.labels]).astype(np.float64)
        self._between, self._with_labels = _correlations(counted, given, signs, self._starts)

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        return in_pieces(self._assess_piece, sets, _PIECE, title, progress)

    def _assess_piece(self, sets: Sets) -> Assessed:
        from scipy.special import betainc  # deferred: it takes long to import

        explained, ranks = (np.array(part) for part in zip(*map(self._compute_r2, sets), strict=True))
        left = np.maximum(self._n - 1 - ranks, 0)[:, None]
        # The F-test of R² with q and n − 1 − q degrees of freedom, by the distribution of R² itself.
        tail = betainc(np.maximum(left, 1) / 2, np.maximum(ranks, 1)[:, None] / 2, 1 - explained)
        p_value = np.where((left > 0) & (ranks[:, None] > 0), tail, 1.0)
        chance = np.sqrt(np.minimum(ranks / max(self._n - 1, 1), 1))[:, None]
        cells = np.full(len(sets), -1, dtype=np.int64)
        return Assessed(np.sqrt(explained), p_value, np.broadcast_to(chance, explained.shape), cells)

    def _compute_r2(self, columns: Ints) -> tuple[Floats, int]:
        """R² with every λ, and how many columns are independent."""
        used = np.concatenate([np.arange(self._starts[a], self._starts[a + 1]) for a in columns])
        values, vectors = np.linalg.eigh(self._between[np.ix_(used, used)])
        kept = values > _RANK * max(values[-1], 1.0)
        parts = vectors[:, kept].T @ self._with_labels[used]
        explained = (parts**2 / values[kept][:, None]).sum(axis=0)
        return np.clip(explained, 0, 1), int(kept.sum())


def _values(frame: nw.DataFrame, schema: Schema, columns: tuple[str, ...]) -> Floats | None:
    """The numbers of a number or date; None for what is taken by its values."""
    if len(columns) > 1 or schema[columns[0]].is_category:
        return None
    return numbers(column(frame, columns[0]), schema[columns[0]])


def _width(values: Floats | None, size: int) -> int:
    return int(size) if values is None else 1 + bool(np.isnan(values).any())


def _correlations(
    counted: CountedSets, given: list[Floats | None], signs: Floats, starts: npt.NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """Correlations between the columns, and of the columns with each λ; weighted, a constant column has none."""
    d, n = int(starts[-1]), counted.records
    scaled = [_standardize(values, counted.weights) for values in given]
    total, products = np.zeros(d + signs.shape[1]), np.zeros((d + signs.shape[1],) * 2)
    for first in range(0, len(counted.weights), _ROWS):
        rows = slice(first, first + _ROWS)
        block = np.column_stack([_block(counted.attributes, scaled, starts, rows), signs[rows]])
        weighted = block * counted.weights[rows, None]
        total += weighted.sum(axis=0)
        products += block.T @ weighted
    covariance = products / n - np.outer(total, total) / n**2
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-9)
    matrix = covariance * np.outer(inverse, inverse)
    return matrix[:d, :d], matrix[:d, d:]


def _standardize(values: Floats | None, weights: Ints) -> Floats | None:
    """Numbers with mean 0 and spread 1, so that sums of products are exact enough; missing stays."""
    if values is None or np.isnan(values).all():
        return values
    present = ~np.isnan(values)
    middle = np.average(values[present], weights=weights[present])
    spread = np.sqrt(np.average((values[present] - middle) ** 2, weights=weights[present]))
    return (values - middle) / (spread if spread > 0 else 1.0)


def _block(
    attributes: CodedAttributes, scaled: list[Floats | None], starts: npt.NDArray[np.int64], rows: slice
) -> Floats:
    """The columns of some rows: a missing number is the mean, beside a column that says so."""
    codes = attributes.codes[rows]
    block = np.zeros((len(codes), int(starts[-1])))
    for j, values in enumerate(scaled):
        if values is None:
            block[np.arange(len(codes)), starts[j] + codes[:, j].astype(np.int64)] = 1
            continue
        missing = np.isnan(values[rows])
        block[:, starts[j]] = np.where(missing, 0, values[rows])
        if starts[j + 1] - starts[j] == 2:
            block[:, starts[j] + 1] = missing
    return block
