"""Hilbert: order the records along a space-filling curve, then cut the line (Ghinita et al. 2007)."""

import numpy as np

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.grouping import for_kernel
from modicum.anonymizers.ranks import Ranked
from modicum.anonymizers.task import Task
from modicum.table.values import Codes

_BITS = 16  # of each coordinate, at most
_WORD = 60
_SHARES = np.array([0.5, 0.375, 0.625, 0.25, 0.75, 0.125, 0.875])  # where a run is cut, the first that may be


class Hilbert(Anonymizer):
    """k-anonymous records by cutting the Hilbert curve: the second of the three comparators of papers/2 §4.

    Records that are near to each other on the curve are alike in most attributes. For k alone the line is cut into runs
    with the least NCP there is, by dynamic programming in O(k · n). With ℓ, t or persons, for which no short proof of
    the best cut exists, runs are halved near their middle while both parts keep what is asked.

    Parameters
    ----------
    k : int
        The fewest records (persons, where the schema says whose a record is) that share their quasi-identifiers.
    quasi_identifiers : names
        By which people could be recognised; all attributes but the sensitive one by default.
    l, t, sensitive
        ℓ-diversity and t-closeness of one attribute in every group.
    diversity, c, distance, representatives, output, suppress, schema, random_state
        As in `modicum.anonymizers.base.Anonymizer`; `fit` leaves no record out, whatever `suppress` is.

    Attributes
    ----------
    release_ : Release
        The anonymous table and what was measured of it.

    Examples
    --------
    >>> import modicum as md
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> anonymizer = md.Hilbert(k=50, quasi_identifiers=["age", "sex", "race", "native-country"])
    >>> Z = anonymizer.fit_transform(X[:5_000])
    >>> len(Z), md.measures.k_anonymity(Z, anonymizer.quasi_identifiers) >= 50
    (5000, True)
    """

    def _groups(self, task: Task) -> Codes:
        from modicum.anonymizers.curve_kernel import cheapest_runs, halved_runs

        order, table = curve_order(task.ranked), for_kernel(task.ranked)
        if task.needs.is_plain:
            last = cheapest_runs(order, table, self.k)
        else:
            last = halved_runs(order, table, task.needs.for_kernel(), _SHARES)
        return _numbered(order, last)


def curve_order(ranked: Ranked) -> Codes:
    """The records in the order of the Hilbert curve through their ranks; those at one point by their row."""
    from modicum.anonymizers.curve_kernel import hilbert_words

    steps = np.maximum(ranked.codes.max(axis=0), 1).astype(np.int64)
    bits = int(min(_BITS, max(1, np.ceil(np.log2(steps.max() + 1)))))
    cells = (ranked.codes * ((2**bits - 1) / steps)).astype(np.int64)
    n, d = cells.shape
    words = np.zeros((n, -(-d * bits // _WORD)), dtype=np.int64)
    hilbert_words(cells, bits, words)
    return np.lexsort(words.T[::-1])


def _numbered(order: Codes, last: Codes) -> Codes:
    """Each record's run, from where the run that ends at each place begins."""
    ends = [len(order)]
    while ends[-1] > 0:
        ends.append(int(last[ends[-1]]))
    bounds = np.array(ends[::-1])
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return groups
