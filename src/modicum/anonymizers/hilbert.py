"""Hilbert: sort the records along a space-filling curve, then cut it (Ghinita et al. 2007)."""

import numba
import numpy as np

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.kernel import may_be_group, working_space
from modicum.anonymizers.ranks import Ranked
from modicum.anonymizers.task import Task
from modicum.typing import Codes

_BITS = 16  # maximum per coordinate
_WORD = 60  # bits per word
_SHARES = np.array([0.5, 0.375, 0.625, 0.25, 0.75, 0.125, 0.875])  # where to try to cut a run, in this order


class Hilbert(Anonymizer):
    """k-anonymous records by cutting the Hilbert curve, the second of three comparators in [Goldsteen21 §4].

    Records close to each other on the curve are similar in most attributes. With k alone, dynamic programming cuts the
    curve into runs with the smallest possible NCP in O(k · n). With ℓ, t or persons this does not find the best cut, so
    runs are halved near their middle while both parts meet the requirements.

    Parameters
    ----------
    k : int
        The minimum number of records (persons, if the schema has a person column) with equal quasi-identifiers.
    quasi_identifiers : names
        The attributes that could identify people; by default all except the sensitive one.
    l, t, sensitive
        ℓ-diversity and t-closeness of one attribute in every group.
    diversity, c, distance, representatives, output, max_suppressed, schema, random_state
        As in `modicum.anonymizers.base.Anonymizer`; `fit` ignores `max_suppressed` and leaves no record out.

    Attributes
    ----------
    release_ : Release
        The anonymous table and its measured privacy and loss.

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
        order, table = curve_order(task.ranked), task.ranked.for_kernel()
        if task.needs.is_plain:
            last = cheapest_runs(order, table, self.k)
        else:
            last = halve_runs(order, table, task.needs.for_kernel())
        return _number_runs(order, last)


def curve_order(ranked: Ranked) -> Codes:
    """Sort the records along the Hilbert curve through their ranks; records at one point by row."""
    steps = np.maximum(ranked.codes.max(axis=0), 1).astype(np.int64)
    bits = int(min(_BITS, max(1, np.ceil(np.log2(steps.max() + 1)))))
    cells = (ranked.codes * ((2**bits - 1) / steps)).astype(np.int64)
    n, d = cells.shape
    words = np.zeros((n, -(-d * bits // _WORD)), dtype=np.int64)
    hilbert_words(cells, bits, words)
    return np.lexsort(words.T[::-1])


def _number_runs(order: Codes, last: Codes) -> Codes:
    """Number each record's run; `last[end]` is the start of the run that ends at `end`."""
    ends = [len(order)]
    while ends[-1] > 0:
        ends.append(int(last[ends[-1]]))
    bounds = np.array(ends[::-1])
    groups = np.empty(len(order), dtype=np.int64)
    groups[order] = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return groups


# The Hilbert curve, and groups of neighbours along it.


@numba.njit(cache=True, nogil=True)
def hilbert_words(cells, bits, words):  # type: ignore[no-untyped-def]
    """Compute each point's place on the Hilbert curve as words of 60 bits, first word first (Skilling 2004).

    `cells` are the coordinates, integers of `bits` bits; they are overwritten.
    """
    n, d = cells.shape
    top = np.int64(1) << (bits - 1)
    for r in range(n):
        x = cells[r]
        q = top
        while q > 1:
            p = q - 1
            for a in range(d):
                if x[a] & q:
                    x[0] ^= p
                else:
                    t = (x[0] ^ x[a]) & p
                    x[0] ^= t
                    x[a] ^= t
            q >>= 1
        for a in range(1, d):
            x[a] ^= x[a - 1]
        t = np.int64(0)
        q = top
        while q > 1:
            if x[d - 1] & q:
                t ^= q - 1
            q >>= 1
        for a in range(d):
            x[a] ^= t
        place = 0
        for b in range(bits - 1, -1, -1):
            for a in range(d):
                word = place // _WORD
                words[r, word] = (words[r, word] << 1) | ((x[a] >> b) & 1)
                place += 1


@numba.njit(cache=True, nogil=True)
def cheapest_runs(order, table, k):  # type: ignore[no-untyped-def]
    """Cut a sequence of records into runs of at least k with the smallest loss (NCP), by dynamic programming.

    An optimal cut exists without runs of 2k or more records, because cutting such a run does not increase the loss.
    """
    codes, starts, sizes, positions, is_category, present = table
    n, d = codes.shape
    least, last = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    least[0] = 0.0
    marks = np.full(sizes.sum(), -1, np.int64)
    lowest, highest, widths = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d)
    values, missing = np.empty(d, np.int64), np.empty(d, np.bool_)
    for end in range(k, n + 1):
        total = 0.0
        for a in range(d):
            lowest[a], highest[a], values[a], missing[a], widths[a] = sizes[a], -1, 0, False, 0.0
        for start in range(end - 1, max(-1, end - 2 * k), -1):
            r = order[start]
            for a in range(d):
                code = codes[r, a]
                width = widths[a]
                if is_category[a]:
                    if marks[starts[a] + code] == end:
                        continue
                    marks[starts[a] + code] = end
                    values[a] += 1
                    width = values[a] / present[a] if values[a] > 1 else 0.0
                else:
                    if code == sizes[a] - 1:
                        missing[a] = True
                    else:
                        lowest[a], highest[a] = min(lowest[a], code), max(highest[a], code)
                    if highest[a] >= 0:
                        width = positions[starts[a] + highest[a]] - positions[starts[a] + lowest[a]]
                        if missing[a]:
                            width = 1.0
                total += width - widths[a]
                widths[a] = width
            if end - start >= k and least[start] + (end - start) * total < least[end]:
                least[end], last[end] = least[start] + (end - start) * total, start
    return last


@numba.njit(cache=True, nogil=True)
def halve_runs(order, table, needs):  # type: ignore[no-untyped-def]
    """Halve a sequence of records near its middle while both parts may be groups; return where each run starts."""
    n = len(order)
    room = working_space(table, needs)
    last = np.zeros(n + 1, np.int64)
    open_ = [(0, n)]
    while len(open_):
        low, high = open_.pop()
        middle = -1
        for share in _SHARES:
            place = low + int((high - low) * share)
            if may_be_group(order, low, place, needs, room) and may_be_group(order, place, high, needs, room):
                middle = place
                break
        if middle < 0:
            last[high] = low
            continue
        open_.append((middle, high))
        open_.append((low, middle))
    return last
