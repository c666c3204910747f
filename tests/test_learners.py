"""Models on cells with counts: fair samples of many cells, wide inputs, targets of many values, few persons."""

import numpy as np
import pandas as pd
import pytest

import modicum as md
from modicum.attacks import Reconstruction
from modicum.learners.backoff import Backoff
from modicum.learners.boosting import BoostedTrees
from modicum.learners.frequent import Frequent
from modicum.learners.inputs import Inputs, count_table
from modicum.learners.network import Network
from modicum.learners.portfolio import MEMBERS, NAIVE, Portfolio, Question


def inputs(codes: np.ndarray, sizes: tuple[int, ...], numbers: np.ndarray | None = None) -> Inputs:
    return Inputs(codes, sizes, np.zeros((len(codes), 0)) if numbers is None else numbers)


def test_of_many_cells_a_fair_part_is_learned():
    """40,000 cells of one record each, sorted by region: every region must be learned, not the first few."""
    random = np.random.default_rng(0)
    n = 40_000
    region = np.sort(random.integers(0, 8, n))
    rows = inputs(region[:, None], (8,), random.normal(size=(n, 1)))
    values = np.where(random.random(n) < 0.9, region, random.integers(0, 8, n))
    table = count_table(np.arange(n), values, (n, 8))
    guess = BoostedTrees().fit(rows, [table]).predict(rows)[0].argmax(axis=1)
    assert np.mean(guess == region) > 0.98


def test_heavy_cells_keep_their_weight():
    """One cell of 30,000 records among 30,000 single ones."""
    cells = np.concatenate([np.zeros(30_000, dtype=np.int64), np.arange(1, 30_001)])
    values = (cells > 0).astype(np.int64)
    rows = inputs(np.arange(30_001)[:, None], (30_001,))
    found = BoostedTrees().fit(rows, [count_table(cells, values, (30_001, 2))]).predict(rows)[0]
    assert found[0, 0] > 0.9
    assert found[20_000:, 1].min() > 0.9


def test_the_rare_values_of_a_target_share_a_place():
    table = count_table(np.zeros(100, dtype=np.int64), np.arange(100) % 10 % 7, (2, 7))
    frequent = Frequent(table, 3)
    assert frequent.values.tolist() == [0, 1, 2]
    assert frequent.pooled(table).toarray().sum() == 100
    assert frequent.places.sum() == pytest.approx(1)
    spread = frequent.spread(np.array([[0.1, 0.2, 0.3, 0.4]]))
    assert spread.sum() == pytest.approx(1)
    assert spread[0, 3:].sum() == pytest.approx(0.4)


@pytest.mark.parametrize("learner", [Network, Backoff, BoostedTrees])
def test_wide_inputs_and_targets_of_many_values(learner):
    random = np.random.default_rng(0)
    n = 4_000
    code = random.integers(0, 2_000, n)
    value = np.where(code % 2 == 0, 0, random.integers(0, 1_500, n))
    rows, cells = inputs(code[:, None], (2_000,)).distinct()
    found = learner().fit(rows, [count_table(cells, value, (len(rows), 1_500))]).predict(rows)[0]
    assert found.shape == (len(rows), 1_500)
    assert found.sum(axis=1) == pytest.approx(1, abs=1e-3)
    even = rows.codes[:, 0] % 2 == 0
    assert np.mean(found[even].argmax(axis=1) == 0) > 0.9


def test_a_wide_network_is_the_narrow_one():
    """Sparse rows and dense rows are the same features."""
    random = np.random.default_rng(0)
    codes = random.integers(0, 300, (500, 2))
    numbers = np.where(random.random((500, 1)) < 0.1, np.nan, random.normal(size=(500, 1)))
    wide = inputs(codes, (300, 300), numbers)
    network = Network()
    network._scale = (np.zeros(1), np.ones(1))
    sparse = network._features(wide)
    assert not isinstance(sparse, np.ndarray)
    dense = np.zeros((500, wide.width), dtype=np.float32)
    for i in range(500):
        dense[i, codes[i, 0]] = dense[i, 300 + codes[i, 1]] = 1
    dense[:, 600] = np.where(np.isnan(numbers[:, 0]), 0, np.clip(numbers[:, 0], -5, 5))
    dense[:, 601] = np.isnan(numbers[:, 0])
    assert np.allclose(sparse.toarray(), dense)


@pytest.mark.parametrize("persons", [1, 2, 3])
def test_few_persons_are_enough_to_learn_from(persons):
    random = np.random.default_rng(0)
    rows, cells = inputs(random.integers(0, 3, (60, 1)), (3,)).distinct()
    question = Question(random.integers(0, 2, 60), 2)
    portfolio = Portfolio(MEMBERS).fit(rows, cells, [question], np.arange(60) % persons)
    assert len(portfolio.guess(rows, [None])[0]) == len(rows)


def test_where_nothing_can_be_learned_the_naive_guess_is_not_beaten_downwards():
    random = np.random.default_rng(1)
    coin = random.choice(["h", "t"], 3_000, p=[0.7, 0.3])
    X = pd.DataFrame({"a": random.integers(0, 60, 3_000).astype(str), "coin": coin})
    schema = md.Schema.infer(X).replace("a", locked=True).replace("coin", forbidden=True)
    g = md.Uniform(schema=schema).fit(X).generalization_
    result = Reconstruction(personal=["coin"]).run(g, known=X[:300], breached=X[300:])
    assert result.error <= result.naive + 0.02
    assert result.by_attribute["coin"].method in {*MEMBERS, NAIVE, "all together"}
