"""The estimate of `Backoff` for the very cells that it learned from, all at once: for screening many candidates.

The cells are sorted by their columns, those that tell most about the target first. Cells that agree in the first j
columns are then neighbours, so that all levels of the back-off are scans over one sorted table.
"""

from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from modicum.learners.backoff import LEVELS, Backoff
from modicum.learners.inputs import Codes, Counts, Inputs
from modicum.table.codes import group_rows

_DENSE = 64  # values of a target up to which a table of cells × values is quicker than a sparse one


def most_likely(inputs: Inputs, counts: Sequence[Counts], strength: float = 10.0) -> list[Codes]:
    """For each target the most likely value in every cell: what `Backoff` predicts for its own cells.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.learners.inputs import Inputs, count_table
    >>> from modicum.learners.prefixes import most_likely
    >>> inputs = Inputs(np.array([[0], [1]]), (2,), np.zeros((2, 0)))
    >>> counts = count_table(np.repeat([0, 1], 20), np.repeat([1, 0], 20), (2, 2))
    >>> most_likely(inputs, [counts])[0].tolist()
    [1, 0]
    """
    plain = [i for i, table in enumerate(counts) if table.shape[1] <= _DENSE and not inputs.numbers.shape[1]]
    found: dict[int, Codes] = {}
    if plain and len(inputs):
        told = _information(inputs, [counts[i] for i in plain])
        for i, of_columns in zip(plain, told, strict=True):
            order = np.argsort(-of_columns, kind="stable")
            found[i] = _one(inputs.codes[:, order], counts[i], strength)
    others = [i for i in range(len(counts)) if i not in found]
    if others:
        chances = Backoff(strength).fit(inputs, [counts[i] for i in others]).predict(inputs)
        found |= {i: scores.argmax(axis=1) for i, scores in zip(others, chances, strict=True)}
    return [found[i] for i in range(len(counts))]


def _one(codes: Codes, table: Counts, strength: float) -> Codes:
    if codes.shape[1] > LEVELS:  # the others are one step, together
        codes = np.column_stack([codes[:, :LEVELS], group_rows(codes[:, LEVELS:])])
    order = np.lexsort(codes.T[::-1]) if codes.shape[1] else np.arange(len(codes))
    ordered = codes[order]
    differs = np.ones((ordered.shape[1], len(order)), dtype=bool)
    differs[:, 1:] = (ordered[1:] != ordered[:-1]).T
    np.logical_or.accumulate(differs, axis=0, out=differs)
    guess = np.empty(len(order), dtype=np.int64)
    guess[order] = _smoothed(table.toarray()[order], differs, strength)
    return guess


@numba.njit(cache=True, nogil=True)
def _smoothed(
    counts: npt.NDArray[np.float64], starts: npt.NDArray[np.bool_], strength: float
) -> npt.NDArray[np.int64]:  # pragma: no cover
    """The most likely value of each row; `starts[j, i]` says whether row i begins a cell of the first columns."""
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
            whole = sums.sum() + strength
            if whole > strength:  # a cell never seen keeps what is known of the wider one
                for v in range(width):
                    sums[v] = (sums[v] + strength * chances[begin, v]) / whole
                for i in range(begin, end):
                    chances[i] = sums
            begin = end
    found = np.empty(n, dtype=np.int64)
    for i in range(n):
        found[i] = np.argmax(chances[i])
    return found


def _information(inputs: Inputs, tables: Sequence[Counts]) -> list[npt.NDArray[np.float64]]:
    """For each target how much each column tells about it, in nats times the number of records."""
    whole = csr_array(hstack(tables, format="csr"))
    ends = np.cumsum([0, *(table.shape[1] for table in tables)])
    told = np.zeros((len(tables), len(inputs.sizes)))
    for j, size in enumerate(inputs.sizes):
        cells = np.arange(len(inputs))
        member = csr_array((np.ones(len(cells)), (inputs.codes[:, j], cells)), shape=(size, len(cells)))
        joint = (member @ whole).toarray()
        for i in range(len(tables)):
            told[i, j] = _mutual(joint[:, ends[i] : ends[i + 1]])
    return list(told)


def _mutual(joint: npt.NDArray[np.float64]) -> float:
    expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True) / max(joint.sum(), 1e-300)
    filled = joint > 0
    return float((joint[filled] * np.log(joint[filled] / expected[filled])).sum())
