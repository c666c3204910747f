"""The search behind `MergePath`: from many buckets to none, at falling prices of utility.

At a price λ the best generalization has the least

    J = adversary + λ · label + 2 (1 + λ) / n · buckets,

with both costs as shares of the n records; so a bucket must be worth two of them, more than chance often brings.
`descend` goes from attribute to attribute and gives each its best grouping while the others stay fixed, until none can
be improved. `path` lowers the price so that every solution is a coarsening of the one before; single merges lead from
one to the next.

Prices are multiples of the table's own rate: how much the adversary gains for what the label loses, between everything
and nothing collected. With both scaled to that, the least J at the price of 1 is the knee of the trade-off.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numba
import numpy as np

from modicum.minimizers.merge_path.record_cells import TINY, Cells, Grouped, Runs
from modicum.progress import Stop
from modicum.typing import Codes, Floats

# The exact best grouping of one attribute's buckets while all others stay fixed, by dynamic programming
#
# Cells that differ only in this attribute form a run. A group of buckets joins each run's cells inside it, so the cost
# of a grouping is a sum over its groups. For buckets in a row (of a number, an ordered category, or a category sorted
# by P(y)) the groups are intervals; for few buckets without order, any sets.
#
# The cost of a cell has two parts. `Cells` describes the adversary's; the label's, for n records with a teacher's sums
# S, is
#
#     (1 − γ) (n − max_c S_c) + γ Σ_c S_c ln(n / S_c),
#
# the error and the log-loss of a prediction from the cell alone: people often ask for the first, but it has plateaus.

FEW = 6  # buckets without order up to which all sets are tried
FORBIDDEN = 1e3  # cost of each person in a group that is too small: more than any gain


class Costs(NamedTuple):
    """The cost of every possible group: the label's part and the adversary's, both as numbers of records."""

    lost: Floats
    right: Floats


def interval_costs(runs: Runs, mix: float, least: float = 0.0, penalty: float = 0.0) -> Costs:
    """The cost of joining buckets i … j, as tables of first × last bucket.

    `mix` is γ. In a cell of fewer than `least` people, each of them adds the penalty.
    """
    return _group_costs(runs, _interval_costs, _compute_interval_tops, mix, least, penalty)


def set_costs(runs: Runs, mix: float, least: float = 0.0, penalty: float = 0.0) -> Costs:
    """The same for every set of buckets, numbered by its bits."""
    return _group_costs(runs, _set_costs, _compute_set_tops, mix, least, penalty)


def _group_costs(
    runs: Runs, kernel: Any, tops: Callable[[Floats, float], Floats], mix: float, least: float, penalty: float
) -> Costs:
    c, g = runs.cells, runs.cells.guessing
    labels = np.column_stack([c.labels, c.people])  # people are one more sum
    lost, right, own = kernel(
        runs.begins, runs.others, c.places[:, 0], c.sizes[0], labels, c.starts, c.values, c.counts,
        g.owner, g.share, g.strength, mix, least, penalty,
    )  # fmt: skip
    if runs.personal >= 0:
        right = right + own * tops(runs.by_bucket, g.share[runs.personal])
    return Costs(lost, right)


def _compute_interval_tops(by_bucket: Floats, share: float) -> Floats:
    """w_p M_p of every interval of the attribute's buckets."""
    size = len(by_bucket)
    top = np.zeros((size, size))
    for i in range(size):
        inside = np.cumsum(by_bucket[i:], axis=0)
        top[i, i:] = inside.max(axis=1) / np.maximum(inside.sum(axis=1), 1e-300)
    return share * top


def _compute_set_tops(by_bucket: Floats, share: float) -> Floats:
    size = len(by_bucket)
    bits = np.arange(1 << size)[:, None] >> np.arange(size) & 1
    inside = bits @ by_bucket
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
    """Add a cell to the sums: its labels, its values, and each attribute's highest count."""
    for c in range(len(sums)):
        sums[c] += labels[x, c]
    for e in range(starts[x], starts[x + 1]):
        v = values[e]
        total[v] += counts[e]
        if total[v] > top[owner[v]]:
            top[owner[v]] = total[v]


@numba.njit(cache=True, nogil=True)
def _count_right(sums: Any, top: Any, share: Any, others: float, strength: float) -> Any:  # pragma: no cover (compiled)
    """What the adversary gets right without the attribute's own bucket, and the weight of that bucket's M_p."""
    n = 0.0
    for s in sums[:-1]:
        n += s
    if n <= 0:
        return 0.0, 0.0
    right = strength * others
    for p in range(len(share)):
        right += share[p] * top[p]
    return n / (n + strength) * right, n / (n + strength) * strength


@numba.njit(cache=True, nogil=True)
def _interval_costs(
    begins: Any, others: Any, place: Any, size: int, labels: Any, starts: Any, values: Any, counts: Any,
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
                cost[1], cost[2] = _count_right(sums, top, share, others[r], strength)
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
    begins: Any, others: Any, place: Any, size: int, labels: Any, starts: Any, values: Any, counts: Any,
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
            of[1, chosen], of[2, chosen] = _count_right(sums, top, share, others[r], strength)
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
    """Find the cheapest cut into intervals i … j at cost[i, j]; return each bucket's group, named by its first."""
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
    """Do the same for sets: find the cheapest split of all buckets into sets at cost[bits] each."""
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


# The path

RISING = 4.0 ** np.arange(-1, 4)
_LAST = -18  # in quarters of a power of two: the last price of a path
STEPS = len(RISING) + 4 * int(np.log2(RISING[-1])) - _LAST + 3  # pieces of a path, at most
_WHOLE = 0.01  # share of the way from everything to nothing: a smaller loss of the label counts as none
_GAIN = 1e-7
_ENOUGH = 40_000  # cells from which boundaries are found
_RECORDS = 2.0  # that a bucket must be worth
_PENALTIES = (*0.01 * 2.0 ** np.arange(10), FORBIDDEN)  # for each person in a group that is too small


@dataclass(frozen=True)
class Rules:
    """The rules for merging.

    Attributes
    ----------
    movable : which attributes may be merged
    ordered : which have an order
    min_group : the fewest people of a group
    mix : share of log-loss in the label's cost; the rest is error
    """

    movable: tuple[bool, ...]
    ordered: tuple[bool, ...]
    min_group: float
    mix: float


def path(cells: Cells, rules: Rules, stop: Stop) -> Iterator[list[list[Codes]]]:
    """Nested groupings of the cells' buckets, from many to none, in pieces as they are found (the first are empty).

    First the best groupings are found for rising prices, each by itself, until hardly any utility is lost. The path
    starts with all buckets and joins pairs of neighbours until only the boundaries of these optima are left. From
    there, the grouping for the price of 1, the knee, is found first, then those for the middle prices above and below:
    the others restrict the first one least.
    """
    unit = _unit(cells, rules)
    if unit <= 0:  # nothing can be learned from the records
        yield [nothing(cells, rules)]
        return
    part = cells.sample(_ENOUGH)
    scaled = replace(rules, min_group=rules.min_group * len(part) / len(cells))
    optima, top = [nothing(cells, rules)], 1.0
    least, most = _loss(part, rules), _loss(part.join_buckets(_dense(optima[0])), rules)
    for price in RISING:
        optima.append(descend(part, optima[-1], price * unit, scaled, optima[0])[0])
        top = max(top, price)
        if stop.asked or _loss(part.join_buckets(_dense(optima[-1])), rules) - least < _WHOLE * (most - least):
            break
        yield []
    finest = [_number_rows(np.column_stack(parts)) for parts in zip(*optima, strict=True)]
    yield list(_halve_groups(cells, finest))
    prices = 2.0 ** (np.arange(4 * np.log2(top), _LAST - 1, -1) / 4)
    here = cells.join_buckets(finest)
    knee = int(np.argmin(np.abs(np.log(prices))))
    for groupings in _between(here, rules, nothing(here, rules), prices * unit, knee, stop):
        yield [_dense(_compose(groups, finest)) for groups in groupings]


def _halve_groups(cells: Cells, finest: Sequence[Codes]) -> Iterator[list[Codes]]:
    """From every bucket on its own to the finest groups, in steps that join neighbours inside each of them."""
    groups = everything(cells)
    while True:
        yield groups
        if all(len(np.unique(g)) == len(np.unique(f)) for g, f in zip(groups, finest, strict=True)):
            return
        groups = [_join_pairs(g, f) for g, f in zip(groups, finest, strict=True)]


def _join_pairs(groups: Codes, within: Codes) -> Codes:
    """Join every two neighbouring groups that lie within the same outer group."""
    outer = map_to_coarse(within, groups)
    order = np.argsort(outer, kind="stable")
    rank = np.empty(len(outer), dtype=np.int64)
    rank[order] = np.arange(len(outer)) - np.searchsorted(outer[order], outer[order])
    return _number_rows(np.column_stack([outer, rank // 2]))[groups]


def _unit(cells: Cells, rules: Rules) -> float:
    """The adversary's gain per loss of the label, between everything and nothing; 0 if the label loses nothing."""
    nought = cells.join_buckets(_dense(nothing(cells, rules)))
    known, lost = cells.measured.accuracy - nought.measured.accuracy, _loss(nought, rules) - _loss(cells, rules)
    return max(known, _GAIN) / lost if lost > _GAIN else 0.0


def _between(
    cells: Cells, rules: Rules, bottom: Sequence[Codes], prices: Floats, first: int, stop: Stop
) -> Iterator[list[list[Codes]]]:
    """Nested groupings from all of the cells' buckets (excluded) to those of the bottom."""
    if stop.asked:
        return
    if not len(prices):
        yield list(_merges(cells, bottom, rules.mix))
        return
    order = _in_order(cells, bottom, rules)
    here, end = cells.join_buckets(order), _dense([map_to_coarse(b, o) for b, o in zip(bottom, order, strict=True)])
    tried = (descend(here, begin, prices[first], rules, end) for begin in (everything(here), end))
    target = _compose(min(tried, key=lambda found: found[1])[0], order)
    yield from _between(cells, rules, target, prices[:first], first // 2, stop)
    dense = _dense(target)
    below = [map_to_coarse(b, t) for b, t in zip(bottom, dense, strict=True)]
    rest = prices[first + 1 :]
    for groupings in _between(cells.join_buckets(dense), rules, below, rest, len(rest) // 2, stop):
        yield [_compose(groups, dense) for groups in groupings]


def _compose(coarse: Sequence[Codes], fine: Sequence[Codes]) -> list[Codes]:
    """Compose two groupings: give each element of a fine group its coarse group."""
    return [outer[inner] for outer, inner in zip(coarse, fine, strict=True)]


def map_to_coarse(coarse: Codes, fine: Codes) -> Codes:
    """Return the coarse group of each fine one."""
    found = np.empty(int(fine.max()) + 1, dtype=np.int64)
    found[fine] = coarse
    return found


def _loss(cells: Cells, rules: Rules) -> float:
    return (1 - rules.mix) * cells.measured.error + rules.mix * cells.measured.log_loss


def nothing(cells: Cells, rules: Rules) -> list[Codes]:
    """One bucket for each attribute that may be merged, all buckets of the others."""
    pairs = zip(cells.sizes, rules.movable, strict=True)
    return [np.zeros(size, dtype=np.int64) if free else np.arange(size) for size, free in pairs]


def everything(cells: Cells) -> list[Codes]:
    """Every bucket on its own."""
    return [np.arange(size) for size in cells.sizes]


def descend(
    cells: Cells, groups: Sequence[Codes], price: float, rules: Rules, bottom: Sequence[Codes]
) -> tuple[list[Codes], float]:
    """Find groups, each inside one of the bottom's, that no regrouping of one attribute improves; and their cost.

    If there is a minimum group size, the penalty of small groups is also raised step by step: a search that forbids
    them from the start is soon stuck, since every attribute's first buckets keep the others from having any.
    """
    found = _settle_groups(cells, groups, price, rules, bottom, FORBIDDEN)
    if rules.min_group:
        eased = list(groups)
        for penalty in _PENALTIES:
            eased, cost = _settle_groups(cells, eased, price, rules, bottom, penalty)
        found = min(found, (eased, cost), key=lambda pair: pair[1])
    return found


def _settle_groups(
    cells: Cells, groups: Sequence[Codes], price: float, rules: Rules, bottom: Sequence[Codes], penalty: float
) -> tuple[list[Codes], float]:
    grouped = Grouped(cells, groups)
    free = [a for a in range(len(groups)) if len(np.unique(bottom[a])) < cells.sizes[a]]
    pending = set(free)
    cost = np.inf
    while pending:
        for a in [a for a in free if a in pending]:
            pending.discard(a)
            found, before, cost = _regroup_attribute(grouped, a, price, rules, bottom[a], penalty)
            if cost < before - _GAIN:
                grouped.regroup(a, found)
                pending.update(b for b in free if b != a)
            else:
                cost = before
    return grouped.groups, cost


def _regroup_attribute(
    grouped: Grouped, a: int, price: float, rules: Rules, walls: Codes, penalty: float
) -> tuple[Codes, float, float]:
    """The best groups of one attribute, none across a wall, and the total cost before and after."""
    cells, groups = grouped.cells, grouped.groups
    each = _RECORDS * (1 + price) / cells.records
    others = each * sum(len(np.unique(group)) for b, group in enumerate(groups) if b != a)
    as_sets = not rules.ordered[a] and cells.sizes[a] <= FEW
    costs = (set_costs if as_sets else interval_costs)(grouped.along(a), rules.mix, rules.min_group, penalty)
    cost = (costs.right + price * costs.lost) / cells.records
    cost[_across_sets(walls) if as_sets else walls[:, None] != walls] = np.inf
    found = (best_sets if as_sets else best_intervals)(cost, each)
    before, after = (_cost_of_groups(cost, group, each) + others for group in (groups[a], found))
    return found, before, after


def _across_sets(walls: Codes) -> Any:
    """Which sets of buckets, numbered by their bits, lie on both sides of a wall."""
    inside = np.arange(1 << len(walls))[:, None] >> np.arange(len(walls)) & 1 > 0
    low = np.where(inside, walls, walls.max()).min(axis=1)
    return inside.any(axis=1) & (low != np.where(inside, walls, 0).max(axis=1))


def _cost_of_groups(cost: Floats, group: Codes, each: float) -> float:
    """The cost of groups, from a table of intervals (first × last bucket) or of sets (by their bits)."""
    groups = [np.flatnonzero(group == name) for name in np.unique(group)]
    of_groups = [cost[at[0], at[-1]] if cost.ndim == 2 else cost[(1 << at).sum()] for at in groups]
    return float(sum(of_groups) + each * len(groups))


def _merges(cells: Cells, target: Sequence[Codes], mix: float) -> Iterator[list[Codes]]:
    """Single merges from the cells' buckets to the target's, those with the best exchange rate first.

    Rates change as buckets are merged; they are computed again after half of the merges that are left.
    """
    groups = everything(cells)
    while True:
        found = [pair for a in range(len(groups)) for pair in _rates(cells, groups, a, target[a], mix)]
        if not found:
            return
        found.sort(key=lambda pair: -pair[0])
        for _, a, left, right in found[: -(-len(found) // 2)]:
            group = groups[a].copy()
            group[group == group[right]] = group[left]
            groups[a] = group
            yield list(groups)


def _rates(
    cells: Cells, groups: Sequence[Codes], a: int, target: Codes, mix: float
) -> list[tuple[float, int, int, int]]:
    """For neighbours in one bucket of the target: gain of privacy per loss of utility, attribute, the two buckets."""
    first = np.unique(groups[a], return_index=True)[1]
    if len(first) == len(np.unique(target)):
        return []
    row = first[np.lexsort((first, target[first]))]  # one bucket of each group, those of a target group side by side
    place = np.empty(len(groups[a]), dtype=np.int64)
    place[groups[a][row]] = np.arange(len(row))
    dense = _dense(groups)
    joined = cells.join_buckets([*dense[:a], place[groups[a]], *dense[a + 1 :]])
    lost, right = interval_costs(Grouped(joined, everything(joined)).along(a), mix)
    i = np.arange(len(row) - 1)
    i = i[target[row[:-1]] == target[row[1:]]]
    n = cells.records
    gain = np.maximum(right[i, i] + right[i + 1, i + 1] - right[i, i + 1], 0) / n
    loss = np.maximum(lost[i, i + 1] - lost[i, i] - lost[i + 1, i + 1], 0) / n
    rate = (gain + 1e-7) / (loss + 2e-6)
    return [(float(r), a, int(row[k]), int(row[k + 1])) for r, k in zip(rate, i, strict=True)]


def _dense(groups: Sequence[Codes]) -> list[Codes]:
    return [np.unique(group, return_inverse=True)[1] for group in groups]


def _in_order(cells: Cells, bottom: Sequence[Codes], rules: Rules) -> list[Codes]:
    """Each bucket's place in a row: by its order, or if it has none by P(y) with each bottom group together."""
    found = []
    for a, (size, ordered) in enumerate(zip(cells.sizes, rules.ordered, strict=True)):
        if ordered:
            found.append(np.arange(size))
            continue
        wall = np.unique(bottom[a], return_inverse=True)[1]
        outer = label_places(wall[cells.places[:, a]], cells.labels)[wall]
        inner = label_places(cells.places[:, a], cells.labels)
        found.append(np.argsort(np.lexsort((inner, outer))))
    return found


def label_places(codes: Codes, labels: Floats) -> Codes:
    """Each code's place when codes are ordered by P(y | code), on its first principal axis."""
    size = int(codes.max()) + 1
    sums = np.stack([np.bincount(codes, weights=column, minlength=size) for column in labels.T], axis=1)
    total = np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
    share = sums / total
    centred = (share - sums.sum(axis=0) / sums.sum()) * np.sqrt(total)
    axis = np.linalg.svd(centred, full_matrices=False)[2][0]
    return np.argsort(np.argsort(share @ axis, kind="stable"))


def _number_rows(parts: Codes) -> Codes:
    return np.unique(parts, axis=0, return_inverse=True)[1].ravel()
