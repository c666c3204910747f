"""The search behind MergePath: what cells cost, the best grouping of one attribute, nested paths."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modicum.minimizers.merge_path.path import (
    _RECORDS,
    Rules,
    best_intervals,
    best_sets,
    descend,
    everything,
    interval_costs,
    nothing,
    path,
    set_costs,
)
from modicum.minimizers.merge_path.record_cells import Cells, Grouped, Guessing
from modicum.progress import Stop

SIZES = (5, 4, 2)
MIX = 0.3


def records(seed: int, n: int = 60, sizes=SIZES):
    """Random records: places, chances of three classes, and the guessed values of two attributes."""
    random = np.random.default_rng(seed)
    places = np.column_stack([random.integers(0, size, n) for size in sizes])
    chances = random.dirichlet([0.5, 0.5, 0.5], n)
    other = random.integers(0, 3, n)  # a personal attribute that is never collected
    return places, chances, np.column_stack([places[:, 0] // 2, 3 + other])


def cells_of(seed: int, strength: float = 1.0, n: int = 60, sizes=SIZES) -> Cells:
    places, chances, values = records(seed, n, sizes)
    owner = np.array([0, 0, 0, 1, 1, 1])
    guessing = Guessing(owner, np.array([0.7, 0.3]), np.array([0, -1]), strength)
    return Cells.of(places, sizes, chances, values, np.ones(n), np.ones(n), guessing)


def plain_measures(seed: int, strength: float, groups, n: int = 60):
    """The formulas of `cells` and `groupings`, record by record."""
    places, chances, values = records(seed, n)
    z = [tuple(group[p] for group, p in zip(groups, row, strict=True)) for row in places]
    error = loss = right = 0.0
    for cell in set(z):
        rows = [i for i in range(n) if z[i] == cell]
        s = chances[rows].sum(axis=0)
        error += len(rows) - s.max()
        loss += float((s[s > 0] * np.log(len(rows) / s[s > 0])).sum())
        own = [i for i in range(n) if groups[0][places[i, 0]] == cell[0]]
        for share, column, bucket in ((0.7, 0, own), (0.3, 1, range(n))):
            most = np.bincount(values[rows, column]).max()
            in_bucket = np.bincount(values[list(bucket), column]).max() / len(bucket)
            right += share * len(rows) / (len(rows) + strength) * (most + strength * in_bucket)
    return error / n, loss / n, right / n


@pytest.mark.parametrize("strength", [0.0, 1.0])
@given(
    seed=st.integers(0, 1000), cut=st.tuples(*(st.lists(st.booleans(), min_size=s - 1, max_size=s - 1) for s in SIZES))
)
@settings(max_examples=25, deadline=None)
def test_cells_measure_what_the_formulas_say(strength, seed, cut):
    groups = [np.append(0, np.cumsum(c)).astype(int) for c in cut]
    measured = cells_of(seed, strength).join_buckets(groups).measured
    assert (measured.error, measured.log_loss, measured.accuracy) == pytest.approx(
        plain_measures(seed, strength, groups)
    )


def cost(cells: Cells, groups, price: float) -> float:
    """J of `path`, from the measures of the joined cells."""
    dense = [np.unique(group, return_inverse=True)[1] for group in groups]
    m = cells.join_buckets(dense).measured
    buckets = sum(int(group.max()) + 1 for group in dense)
    lost = (1 - MIX) * m.error + MIX * m.log_loss
    return m.accuracy + price * lost + _RECORDS * (1 + price) / cells.records * buckets


@given(st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_every_interval_and_set_costs_what_its_cells_cost(seed):
    cells = cells_of(seed)
    groups = [np.zeros(5, int), np.array([0, 0, 2, 2]), np.array([0, 1])]
    runs = Grouped(cells, groups).along(0)
    lost, right = interval_costs(runs, MIX)
    by_sets = set_costs(runs, MIX)
    for i in range(5):
        for j in range(i, 5):
            bits = sum(1 << k for k in range(i, j + 1))
            assert (lost[i, j], right[i, j]) == pytest.approx((by_sets.lost[bits], by_sets.right[bits]))
    cut = [np.array([0, 0, 1, 1, 1]), groups[1] // 2, groups[2]]
    m = cells.join_buckets(cut).measured
    assert m.accuracy * 60 == pytest.approx(right[0, 1] + right[2, 4])
    assert ((1 - MIX) * m.error + MIX * m.log_loss) * 60 == pytest.approx(lost[0, 1] + lost[2, 4])


def all_cuts(n: int):
    for cut in product([0, 1], repeat=n - 1):
        yield np.append(0, np.cumsum(cut)).astype(int)


def all_sets(n: int):
    """All ways to split n buckets into sets, numbered in order of appearance."""
    for names in product(range(n), repeat=n):
        if all(name <= max(names[:i], default=-1) + 1 for i, name in enumerate(names)):
            yield np.array(names)


@given(st.integers(0, 2**32 - 1), st.floats(0, 2))
@settings(max_examples=40, deadline=None)
def test_no_cut_and_no_sets_are_cheaper_than_the_best(seed, each):
    random = np.random.default_rng(seed)
    table = random.random((5, 5)) * 3
    price = {tuple(c): sum(table[np.flatnonzero(c == k)[[0, -1]][0], np.flatnonzero(c == k)[-1]] + each for k in set(c))
             for c in all_cuts(5)}  # fmt: skip
    found = np.unique(best_intervals(table, each), return_inverse=True)[1]
    assert price[tuple(found)] == pytest.approx(min(price.values()))
    of_sets = random.random(1 << 4) * 3
    prices = {tuple(c): sum(of_sets[(1 << np.flatnonzero(c == k)).sum()] + each for k in set(c)) for c in all_sets(4)}
    _, named = np.unique(best_sets(of_sets, each), return_inverse=True)
    order = list(dict.fromkeys(named.tolist()))
    assert prices[tuple(order.index(k) for k in named)] == pytest.approx(min(prices.values()))


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("price", [0.1, 1.0, 5.0])
def test_no_regrouping_of_one_attribute_improves_the_result(ordered, price):
    rules = Rules((True,) * 3, (ordered,) * 3, 0, MIX)
    for seed in range(6):
        cells = cells_of(seed)
        groups, reported = descend(cells, everything(cells), price, rules, nothing(cells, rules))
        best = cost(cells, groups, price)
        assert reported == pytest.approx(best)
        for a, size in enumerate(SIZES):
            for other in all_cuts(size) if ordered else all_sets(size):
                tried = [other if b == a else group for b, group in enumerate(groups)]
                assert cost(cells, tried, price) >= best - 1e-6


def is_finer(fine, coarse) -> bool:
    return all(
        len(np.unique(np.column_stack([f, c]), axis=0)) == len(np.unique(f)) for f, c in zip(fine, coarse, strict=True)
    )


@pytest.mark.parametrize("ordered", [True, False])
def test_a_path_is_nested_from_every_bucket_to_none(ordered):
    rules = Rules((True,) * 3, (ordered,) * 3, 0, MIX)
    for seed in range(5):
        cells = cells_of(seed, n=400)
        points = [groups for piece in path(cells, rules, Stop()) for groups in piece]
        assert [len(np.unique(g)) for g in points[0]] == list(SIZES)
        assert [len(np.unique(g)) for g in points[-1]] == [1, 1, 1]
        for fine, coarse in pairwise(points):
            assert is_finer(fine, coarse)
            assert not is_finer(coarse, fine)
        if ordered:
            assert all((np.diff(g) >= 0).all() for groups in points for g in groups)


def test_groups_that_are_too_small_are_never_found():
    for seed in range(5):
        cells = cells_of(seed, n=200)
        rules = Rules((True,) * 3, (False,) * 3, 25, MIX)
        points = [g for piece in path(cells, rules, Stop()) for g in piece]
        found = [cells.join_buckets(groups).measured for groups in points]
        enough = [m for m in found if m.fewest >= 25]
        assert max(m.cells for m in enough) > 1
        groups, _ = descend(cells, everything(cells), 5.0, rules, nothing(cells, rules))
        assert cells.join_buckets([np.unique(g, return_inverse=True)[1] for g in groups]).measured.fewest >= 25


def test_an_attribute_that_may_not_be_merged_keeps_its_buckets():
    cells = cells_of(0, n=300)
    rules = Rules((True, False, True), (True,) * 3, 0, MIX)
    for piece in path(cells, rules, Stop()):
        assert all(len(np.unique(groups[1])) == SIZES[1] for groups in piece)


def test_a_label_that_nothing_predicts_leaves_nothing_to_collect():
    cells = cells_of(0)
    same = replace(cells, labels=np.tile(cells.labels.sum(axis=1, keepdims=True) / 3, 3))
    rules = Rules((True,) * 3, (True,) * 3, 0, MIX)
    (only,) = path(same, rules, Stop())
    assert [group.tolist() for groups in only for group in groups] == [[0] * size for size in SIZES]


def test_a_sample_of_cells_holds_fewer_records():
    cells = cells_of(0, n=500)
    some = cells.sample(20)
    assert len(some) == 20
    assert cells.sample(10_000) is cells
    assert some.records < cells.records
    assert some.measured.cells == 20
