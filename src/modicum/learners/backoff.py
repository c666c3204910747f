"""Estimates from counts per cell, with back-off to coarser cells for rare cells."""

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from modicum.learners.inputs import Counts, Inputs, Scores
from modicum.table.codes import group_rows
from modicum.typing import Codes

LEVELS = 12  # columns added one by one, before the whole cell
_NUMBER_BINS = 16
_STRENGTH = 10.0  # records that the estimate of the wider cell counts as
_MOST_EXACT = 1000  # different values up to which a number is also used exactly


class Backoff:
    """The share of each value in a cell, smoothed by the estimates of wider cells.

    For every target the columns are ordered by their mutual information with it. The estimate for the cell of the first
    j columns treats that of the first j-1 as s = 10 more records:

        P_j(v | z_1..z_j) = (count(z_1..z_j, v) + s · P_{j-1}(v)) / (count(z_1..z_j) + s),

    and the last step takes the whole cell. A number is cut into 16 bins of equal frequency; the last step also uses its
    exact value, unless it has more than a thousand. An unseen cell keeps the estimate of the narrowest cell seen.
    """

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "Backoff":
        self._edges = [_edges(column) for column in inputs.numbers.T]
        self._exact = [_distinct(column) for column in inputs.numbers.T]
        codes, sizes = self._columns(inputs)
        last = range(len(inputs.sizes) + len(self._edges), len(sizes))
        self._targets = [_Ladder(codes, sizes, list(last), table) for table in counts]
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """Return the chance of each value, one table per target."""
        codes, _ = self._columns(inputs)
        return [ladder.predict(codes) for ladder in self._targets]

    def _columns(self, inputs: Inputs) -> tuple[Codes, list[int]]:
        binned = [
            np.where(np.isnan(column), len(edges) + 1, np.searchsorted(edges, column))
            for edges, column in zip(self._edges, inputs.numbers.T, strict=True)
        ]
        exact = [
            _position(values, column)
            for values, column in zip(self._exact, inputs.numbers.T, strict=True)
            if values is not None
        ]
        codes = np.column_stack([inputs.codes, *binned, *exact]).astype(np.int64)
        known = [len(values) + 2 for values in self._exact if values is not None]
        return codes, [*inputs.sizes, *(len(edges) + 2 for edges in self._edges), *known]


def _distinct(column: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return a number's different values, or None if there are too many or no more than bins."""
    values = np.unique(column[~np.isnan(column)])
    return values if _NUMBER_BINS < len(values) <= _MOST_EXACT else None


def _position(values: npt.NDArray[np.float64], column: npt.NDArray[np.float64]) -> Codes:
    """Return each number's index among the values; n for an unknown number, n + 1 for missing."""
    places = np.minimum(np.searchsorted(values, column), len(values) - 1)
    codes = np.where(values[places] == column, places, len(values))
    return np.where(np.isnan(column), len(values) + 1, codes)


def _edges(column: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    present = column[~np.isnan(column)]
    if not len(present):
        return np.zeros(0)
    return np.unique(np.quantile(present, np.arange(1, _NUMBER_BINS) / _NUMBER_BINS, method="lower"))


class _Ladder:
    """The nested cells of one target and their counts."""

    def __init__(self, codes: Codes, sizes: list[int], last: list[int], table: Counts) -> None:
        total = np.asarray(table.sum(axis=0), dtype=np.float64)
        self.base = (total + 1e-9) / (total + 1e-9).sum()
        order = _by_information(codes, sizes[: len(sizes) - len(last)], table)
        self.steps = [[j] for j in order[:LEVELS]] + [step for step in (order[LEVELS:], last) if step]
        self.sizes = sizes
        self.keys: list[list[Codes]] = []
        self.tables: list[csr_array] = []
        cell = np.zeros(len(codes), dtype=np.int64)
        for step in self.steps:
            known = []
            for j in step:
                keys, cell = np.unique(cell * sizes[j] + codes[:, j], return_inverse=True)
                known.append(keys)
            self.keys.append(known)
            self.tables.append(_sum_cells(table, cell, len(known[-1])))

    def predict(self, codes: Codes) -> Scores:
        chances = np.tile(self.base, (len(codes), 1))
        rows, cell = np.arange(len(codes)), np.zeros(len(codes), dtype=np.int64)
        for step, keys, table in zip(self.steps, self.keys, self.tables, strict=True):
            for j, known in zip(step, keys, strict=True):
                wanted = cell * self.sizes[j] + codes[rows, j]
                at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
                seen = known[at] == wanted
                rows, cell = rows[seen], at[seen]
            found = table[cell].toarray()
            n = found.sum(axis=1, keepdims=True)
            chances[rows] = (found + _STRENGTH * chances[rows]) / (n + _STRENGTH)
        return chances.astype(np.float32)


def _sum_cells(table: Counts, cell: Codes, n: int) -> csr_array:
    member = csr_array((np.ones(len(cell)), (cell, np.arange(len(cell)))), shape=(n, len(cell)))
    return csr_array(member @ table)


def _by_information(codes: Codes, sizes: list[int], table: Counts) -> list[int]:
    """Return the columns in descending order of their mutual information with the target."""
    information = [_information(_sum_cells(table, codes[:, j], sizes[j])) for j in range(len(sizes))]
    return [int(j) for j in np.argsort(-np.array(information), kind="stable")]


def _information(joint: csr_array) -> float:
    """Return the mutual information of row and column, in nats times the number of records."""
    rows: Any = np.asarray(joint.sum(axis=1))
    columns: Any = np.asarray(joint.sum(axis=0))
    cells = joint.tocoo()
    filled = cells.data > 0
    n, r, c = cells.data[filled], rows[cells.row[filled]], columns[cells.col[filled]]
    return float((n * np.log(n * rows.sum() / (r * c))).sum())


# The estimate of `Backoff` for its own training cells, all at once: fast enough to compare many candidates.
#
# The cells are sorted by their columns, the most informative first. Cells that agree in the first j columns are then
# neighbours, so all levels of the back-off are scans over one sorted table.

_DENSE = 64  # values of a target up to which a dense table is faster than a sparse one


def most_likely(inputs: Inputs, counts: Sequence[Counts]) -> list[Codes]:
    """Return for each target the most likely value in every cell, as `Backoff` predicts it for its training cells.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.learners.inputs import Inputs, count_table
    >>> from modicum.learners.backoff import most_likely
    >>> inputs = Inputs(np.array([[0], [1]]), (2,), np.zeros((2, 0)))
    >>> counts = count_table(np.repeat([0, 1], 20), np.repeat([1, 0], 20), (2, 2))
    >>> most_likely(inputs, [counts])[0].tolist()
    [1, 0]
    """
    plain = [i for i, table in enumerate(counts) if table.shape[1] <= _DENSE and not inputs.numbers.shape[1]]
    guesses: dict[int, Codes] = {}
    if plain and len(inputs):
        information = _column_information(inputs, [counts[i] for i in plain])
        for i, of_columns in zip(plain, information, strict=True):
            order = np.argsort(-of_columns, kind="stable")
            guesses[i] = _guess_cells(inputs.codes[:, order], counts[i])
    others = [i for i in range(len(counts)) if i not in guesses]
    if others:
        chances = Backoff().fit(inputs, [counts[i] for i in others]).predict(inputs)
        guesses |= {i: scores.argmax(axis=1) for i, scores in zip(others, chances, strict=True)}
    return [guesses[i] for i in range(len(counts))]


def _guess_cells(codes: Codes, table: Counts) -> Codes:
    if codes.shape[1] > LEVELS:  # the other columns form one step
        codes = np.column_stack([codes[:, :LEVELS], group_rows(codes[:, LEVELS:])])
    order = np.lexsort(codes.T[::-1]) if codes.shape[1] else np.arange(len(codes))
    ordered = codes[order]
    differs = np.ones((ordered.shape[1], len(order)), dtype=bool)
    differs[:, 1:] = (ordered[1:] != ordered[:-1]).T
    np.logical_or.accumulate(differs, axis=0, out=differs)
    guess = np.empty(len(order), dtype=np.int64)
    guess[order] = _guess_values(table.toarray()[order], differs)
    return guess


@numba.njit(cache=True, nogil=True)
def _guess_values(
    counts: npt.NDArray[np.float64], starts: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:  # pragma: no cover
    """Return the most likely value of each row; `starts[j, i]` is whether row i begins a cell of the first columns."""
    n, width = counts.shape
    base = np.full(width, 1e-9)
    for i in range(n):
        for v in range(width):
            base[v] += counts[i, v]
    base /= base.sum()
    chances = np.empty((n, width))
    for i in range(n):
        chances[i] = base
    sums = np.empty(width)
    for j in range(len(starts)):
        begin = 0
        while begin < n:
            end = begin + 1
            sums[:] = counts[begin]
            while end < n and not starts[j, end]:
                for v in range(width):
                    sums[v] += counts[end, v]
                end += 1
            whole = sums.sum() + _STRENGTH
            if whole > _STRENGTH:  # a cell without records keeps the estimate of the wider one
                for v in range(width):
                    sums[v] = (sums[v] + _STRENGTH * chances[begin, v]) / whole
                for i in range(begin, end):
                    chances[i] = sums
            begin = end
    found = np.empty(n, dtype=np.int64)
    for i in range(n):
        found[i] = np.argmax(chances[i])
    return found


def _column_information(inputs: Inputs, tables: Sequence[Counts]) -> list[npt.NDArray[np.float64]]:
    """Return each column's mutual information with each target, in nats times the number of records."""
    whole = csr_array(hstack(tables, format="csr"))
    ends = np.cumsum([0, *(table.shape[1] for table in tables)])
    information = np.zeros((len(tables), len(inputs.sizes)))
    for j, size in enumerate(inputs.sizes):
        joint = _sum_cells(whole, inputs.codes[:, j], size).toarray()
        for i in range(len(tables)):
            information[i, j] = _mutual(joint[:, ends[i] : ends[i + 1]])
    return list(information)


def _mutual(joint: npt.NDArray[np.float64]) -> float:
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True) / max(joint.sum(), 1e-300)
    filled = joint > 0
    return float((joint[filled] * np.log(joint[filled] / expected[filled])).sum())
