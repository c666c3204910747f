"""Models on cells with counts: fair samples of many cells, wide inputs, targets of many values, few persons."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import modicum as md
from modicum.attacks import Reconstruction
from modicum.errors import DataError
from modicum.learners.asking import AskedModel
from modicum.learners.backoff import Backoff
from modicum.learners.boosting import BoostedTrees
from modicum.learners.inputs import Frequent, Inputs, count_table
from modicum.learners.network import Network, NetworkAnswers, Rows, Weights, gradients, hidden_layer
from modicum.learners.portfolio import MEMBERS, NAIVE, LearnerQuestion, Portfolio


def inputs(codes: np.ndarray, sizes: tuple[int, ...], numbers: np.ndarray | None = None) -> Inputs:
    return Inputs(codes, sizes, np.zeros((len(codes), 0)) if numbers is None else numbers)


def test_a_fair_sample_of_many_cells_is_learned():
    """40,000 cells with one record each, sorted by region: every region must be learned, not only the first few."""
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
    assert frequent.pool_counts(table).toarray().sum() == 100
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


def test_the_hidden_layer_equals_that_of_one_hot_rows():
    """Adding up the weights of the codes is multiplying by zeros and ones."""
    random = np.random.default_rng(0)
    codes = random.integers(0, 300, (500, 2))
    numbers = np.where(random.random((500, 1)) < 0.1, np.nan, random.normal(size=(500, 1)))
    one_hot = np.zeros((500, 602), dtype=np.float32)
    one_hot[np.arange(500)[:, None], codes + np.array([0, 300])] = 1
    one_hot[:, 600] = np.where(np.isnan(numbers[:, 0]), 0, np.clip(numbers[:, 0], -5, 5))
    one_hot[:, 601] = np.isnan(numbers[:, 0])
    network = Network()
    network._scale = (np.zeros(1), np.ones(1))
    first, shift = (random.normal(size=size).astype(np.float32) for size in ((602, 64), 64))
    weights = Weights(first, shift, np.zeros((64, 2), dtype=np.float32), np.zeros(2, dtype=np.float32))
    found = hidden_layer(network._rows(inputs(codes, (300, 300), numbers)), np.arange(500), weights)
    assert found == pytest.approx(np.maximum(one_hot @ first + shift, 0), abs=1e-4)


def test_the_gradients_agree_with_the_loss():
    """Compared with finite differences of the cross-entropy and of the squared weights."""
    random = np.random.default_rng(0)
    rows = Rows(np.array([[0, 3], [1, 4], [2, 3]], dtype=np.int32), random.normal(size=(3, 2)).astype(np.float32))
    table = np.array([[1, 0, 0.5, 0.5], [0.25, 0.75, 0, 1], [0, 1, 1, 0]], dtype=np.float32)
    sparse = csr_array(table)
    answers = NetworkAnswers(
        sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64), sparse.data, np.array([0, 2])
    )
    weights = Weights(*(random.normal(size=size).astype(np.float32) for size in ((7, 32), 32, (32, 4), 4)))
    portions, l2 = np.array([0.5, 0.3, 0.2], dtype=np.float32), 0.1

    def loss() -> float:
        one_hot = np.zeros((3, 7))
        one_hot[np.arange(3)[:, None], rows.places] = 1
        one_hot[:, 5:] = rows.numbers
        hidden = np.maximum(one_hot @ weights.first.astype(np.float64) + weights.shift, 0)
        scores = hidden @ weights.second + weights.base
        chances = [np.exp(part) / np.exp(part).sum(axis=1, keepdims=True) for part in np.split(scores, 2, axis=1)]
        squares = sum(float((w.astype(np.float64) ** 2).sum()) for w in (weights.first, weights.second))
        return float(-(portions[:, None] * table * np.log(np.hstack(chances))).sum() + l2 / 2 * squares)

    found = gradients(rows, answers, np.arange(3), portions, weights, l2)
    for weight, gradient in zip(weights, found, strict=True):
        for at in random.integers(0, weight.size, 10):
            value = weight.flat[at]
            ends = []
            for move in (1e-2, -1e-2):
                weight.flat[at] = value + move
                ends.append(loss())
            weight.flat[at] = value
            assert gradient.flat[at] == pytest.approx((ends[0] - ends[1]) / 2e-2, abs=5e-3)


@pytest.mark.parametrize("persons", [1, 2, 3])
def test_few_persons_are_enough_to_learn_from(persons):
    random = np.random.default_rng(0)
    rows, cells = inputs(random.integers(0, 3, (60, 1)), (3,)).distinct()
    question = LearnerQuestion(random.integers(0, 2, 60), 2)
    portfolio = Portfolio(MEMBERS).fit(rows, cells, [question], np.arange(60) % persons)
    assert len(portfolio.guess(rows, [None])[0].value) == len(rows)


def test_useless_data_is_hardly_worse_than_the_naive_guess():
    behind = []
    for seed in range(4):
        random = np.random.default_rng(seed)
        coin = random.choice(["h", "t"], 3_000, p=[0.7, 0.3])
        X = pd.DataFrame({"a": random.integers(0, 60, 3_000).astype(str), "coin": coin})
        schema = md.Schema.infer(X).replace("a", locked=True).replace("coin", forbidden=True)
        g = md.Uniform(schema=schema).fit(X).generalization_
        result = Reconstruction(personal=["coin"]).run(g, known=X[:1_500], breached=X[1_500:])
        behind.append(result.error - result.naive)
    assert np.mean(behind) <= 0.02
    assert result.by_attribute["coin"].method in {*MEMBERS, NAIVE, "all together"}


@pytest.mark.parametrize("kind", [list, pd.Series, lambda texts: pd.DataFrame({"note": texts})])
def test_a_models_error_never_shows_texts_of_the_records(kind):
    class Failing:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            raise ValueError("cannot read 'Ada Lovelace' of 'note'")

    with pytest.raises(DataError, match="The model failed on the records: ValueError: cannot read … of ") as caught:
        AskedModel(Failing()).chances(kind(["Ada Lovelace", "Alan Turing"]))
    assert "Ada" not in str(caught.value)
