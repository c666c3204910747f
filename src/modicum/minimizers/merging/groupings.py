"""The best way to group one attribute's buckets while all others stay as they are: exact, by dynamic programming.

Cells that differ in this attribute only are a run. A group of buckets makes one cell of each run's cells inside it, so
that what a grouping costs is a sum over its groups. For buckets in a row (a number's, an ordered category's, a
category's by P(y)) the groups are intervals, for few buckets without order any sets.

What a cell costs has two parts. The adversary's is in `cells`; the label's, of n records with a teacher's sums S, is

    (1 − γ) (n − max_c S_c) + γ Σ_c S_c ln(n / S_c),

the error and the log-loss of someone who knows the cell only: the first is what people often ask for, but it has
plateaus.
"""

from typing import Any, NamedTuple

import numba
import numpy as np

from modicum.minimizers.merging.cells import TINY
from modicum.minimizers.merging.runs import Runs
from modicum.table.values import Codes, Floats

FEW = 6  # buckets without order up to which all sets are tried
FORBIDDEN = 1e3  # what each person in a group that is too small costs: more than anything it could bring


class Costs(NamedTuple):
    """What every possible group costs: the label's part and the adversary's, both as numbers of records."""

    lost: Floats
    right: Floats


def interval_costs(runs: Runs, mix: float, least: float = 0.0, penalty: float = 0.0) -> Costs:
    """What buckets i … j cost when they are one, as tables of first × last bucket.

    `mix` is γ. In a cell of under `least` people each of them costs the penalty on top.
    """
    tables: Any = _interval_costs
    lost, right, own = tables(*_kernel_input(runs), mix, least, penalty)
    return Costs(lost, right + own * _told_by_intervals(runs))


def set_costs(runs: Runs, mix: float, least: float = 0.0, penalty: float = 0.0) -> Costs:
    """The same for every set of buckets, numbered by its bits."""
    tables: Any = _set_costs
    lost, right, own = tables(*_kernel_input(runs), mix, least, penalty)
    return Costs(lost, right + own * _told_by_sets(runs))


def _kernel_input(runs: Runs) -> tuple[Any, ...]:
    c, g = runs.cells, runs.cells.guessing
    labels = np.column_stack([c.labels, c.people])  # people are one more sum
    return (
        runs.begins, runs.told, c.places[:, 0], c.sizes[0], labels, c.starts, c.values, c.counts,
        g.owner, g.share, g.strength,
    )  # fmt: skip


def _told_by_intervals(runs: Runs) -> Any:
    """w_p M_p of every interval of the attribute's buckets."""
    if runs.personal < 0:
        return 0.0
    share = runs.cells.guessing.share[runs.personal]
    size = len(runs.by_bucket)
    top = np.zeros((size, size))
    for i in range(size):
        inside = np.cumsum(runs.by_bucket[i:], axis=0)
        top[i, i:] = inside.max(axis=1) / np.maximum(inside.sum(axis=1), 1e-300)
    return share * top


def _told_by_sets(runs: Runs) -> Any:
    if runs.personal < 0:
        return 0.0
    share = runs.cells.guessing.share[runs.personal]
    size = len(runs.by_bucket)
    bits = np.arange(1 << size)[:, None] >> np.arange(size) & 1
    inside = bits @ runs.by_bucket
    return share * inside.max(axis=1) / np.maximum(inside.sum(axis=1), 1e-300)


@numba.njit(cache=True, nogil=True)
def _utility(sums: Floats, mix: float, least: float, penalty: float) -> float:  # pragma: no cover (compiled)
    n = top = entropy = 0.0
    for s in sums[:-1]:
        n += s
        top = max(top, s)
        if s > 0:
            entropy -= s * np.log(s)
    small = penalty * sums[-1] if sums[-1] < least - TINY else 0.0
    if n <= 0:
        return small
    return (1 - mix) * (n - top) + mix * (entropy + n * np.log(n)) + small


@numba.njit(cache=True, nogil=True)
def _add(
    x: int, labels: Any, starts: Any, values: Any, counts: Any, owner: Any, sums: Any, total: Any, top: Any
) -> None:  # pragma: no cover (compiled)
    """One more cell in the sum: its labels, its values, and each attribute's highest count."""
    for c in range(len(sums)):
        sums[c] += labels[x, c]
    for e in range(starts[x], starts[x + 1]):
        v = values[e]
        total[v] += counts[e]
        if total[v] > top[owner[v]]:
            top[owner[v]] = total[v]


@numba.njit(cache=True, nogil=True)
def _known(sums: Any, top: Any, share: Any, told: float, strength: float) -> Any:  # pragma: no cover (compiled)
    """What the adversary is right about without the attribute's own bucket, and what M_p of that counts."""
    n = 0.0
    for s in sums[:-1]:
        n += s
    if n <= 0:
        return 0.0, 0.0
    right = strength * told
    for p in range(len(share)):
        right += share[p] * top[p]
    return n / (n + strength) * right, n / (n + strength) * strength


@numba.njit(cache=True, nogil=True)
def _interval_costs(
    begins: Any, told: Any, place: Any, size: int, labels: Any, starts: Any, values: Any, counts: Any,
    owner: Any, share: Any, strength: float, mix: float, least: float, penalty: float,
) -> Any:  # pragma: no cover (compiled)  # fmt: skip
    # A run has cells at some buckets only: its cost is the same for all i up to its first cell inside, and all j from
    # its last one on. So each pair of its cells adds to a rectangle of the tables, by the four corners.
    tables = np.zeros((3, size + 1, size + 1))
    total, top, sums = np.zeros(len(owner)), np.zeros(len(share)), np.zeros(labels.shape[1])
    cost = np.zeros(3)
    for r in range(len(begins) - 1):
        cells = np.arange(begins[r], begins[r + 1])
        before = -1
        for a in range(len(cells)):
            sums[:] = 0
            top[:] = 0
            low = place[cells[a]]
            for b in range(a, len(cells)):
                _add(cells[b], labels, starts, values, counts, owner, sums, total, top)
                high = place[cells[b]]
                until = place[cells[b + 1]] if b + 1 < len(cells) else size
                cost[0] = _utility(sums, mix, least, penalty)
                cost[1], cost[2] = _known(sums, top, share, told[r], strength)
                for t in range(3):
                    tables[t, before + 1, high] += cost[t]
                    tables[t, low + 1, high] -= cost[t]
                    tables[t, before + 1, until] -= cost[t]
                    tables[t, low + 1, until] += cost[t]
            for x in cells[a:]:
                for e in range(starts[x], starts[x + 1]):
                    total[values[e]] = 0
            before = low
    for t in range(3):
        for i in range(1, size + 1):
            tables[t, i] += tables[t, i - 1]
        for i in range(size):
            for j in range(1, size + 1):
                tables[t, i, j] += tables[t, i, j - 1]
    return tables[0, :size, :size], tables[1, :size, :size], tables[2, :size, :size]


@numba.njit(cache=True, nogil=True)
def _set_costs(
    begins: Any, told: Any, place: Any, size: int, labels: Any, starts: Any, values: Any, counts: Any,
    owner: Any, share: Any, strength: float, mix: float, least: float, penalty: float,
) -> Any:  # pragma: no cover (compiled)  # fmt: skip
    found, of = np.zeros((3, 1 << size)), np.zeros((3, 1 << size))
    total, top, sums = np.zeros(len(owner)), np.zeros(len(share)), np.zeros(labels.shape[1])
    for r in range(len(begins) - 1):
        cells = np.arange(begins[r], begins[r + 1])
        there = 0
        for x in cells:
            there |= 1 << place[x]
        chosen = there
        while chosen:  # every set of the run's buckets
            sums[:] = 0
            top[:] = 0
            for x in cells:
                if chosen >> place[x] & 1:
                    _add(x, labels, starts, values, counts, owner, sums, total, top)
            of[0, chosen] = _utility(sums, mix, least, penalty)
            of[1, chosen], of[2, chosen] = _known(sums, top, share, told[r], strength)
            for x in cells:
                for e in range(starts[x], starts[x + 1]):
                    total[values[e]] = 0
            chosen = (chosen - 1) & there
        for wanted in range(1, 1 << size):
            if wanted & there:
                for t in range(3):
                    found[t, wanted] += of[t, wanted & there]
    return found[0], found[1], found[2]


@numba.njit(cache=True, nogil=True)
def best_intervals(cost: Floats, each: float) -> Codes:  # pragma: no cover (compiled)
    """The group of each bucket, named by its first, of the cheapest cut into intervals; cost[i, j] is that of i … j."""
    n = len(cost)
    least, begin = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    least[0] = 0
    for j in range(n):
        for i in range(j + 1):
            tried = least[i] + cost[i, j] + each
            if tried < least[j + 1]:
                least[j + 1], begin[j + 1] = tried, i
    group = np.zeros(n, np.int64)
    j = n
    while j > 0:
        group[begin[j] : j] = begin[j]
        j = begin[j]
    return group


@numba.njit(cache=True, nogil=True)
def best_sets(cost: Floats, each: float) -> Codes:  # pragma: no cover (compiled)
    """The same for sets: cost[bits] is that of one set; the cheapest way to part all buckets into sets."""
    whole = len(cost) - 1
    least, first = np.full(len(cost), np.inf), np.zeros(len(cost), np.int64)
    least[0] = 0
    for rest in range(1, len(cost)):
        low = rest & -rest  # the set that holds the lowest bucket left
        chosen = rest
        while chosen:
            if chosen & low:
                tried = least[rest ^ chosen] + cost[chosen] + each
                if tried < least[rest]:
                    least[rest], first[rest] = tried, chosen
            chosen = (chosen - 1) & rest
    size = 0
    while whole >> size:
        size += 1
    group = np.zeros(size, np.int64)
    rest = whole
    while rest:
        lowest = 0
        while not rest >> lowest & 1:
            lowest += 1
        for bucket in range(size):
            if first[rest] >> bucket & 1:
                group[bucket] = lowest
        rest ^= first[rest]
    return group
