"""DP-SGD through Opacus; skipped without it."""

import sys

import numpy as np
import pytest
from sklearn.base import clone

from modicum.errors import DataError, MissingPackageError, ParameterError
from modicum.learners import PrivateNetwork

pytestmark = pytest.mark.slow  # they train many models


@pytest.fixture
def opacus():
    return pytest.importorskip("opacus", reason="Opacus is not there; it comes with the extra 'dp'")


def easy(n: int = 2_000) -> tuple[np.ndarray, np.ndarray]:
    """Three classes that a few lines separate."""
    X = np.random.default_rng(0).uniform(-1, 1, (n, 2))
    return X, np.select([X[:, 0] > 0.3, X[:, 1] > 0], ["right", "up"], "down")


@pytest.mark.parametrize("epsilon", [0.3, 8.0])
def test_it_spends_nearly_all_of_its_budget_and_no_more(opacus, epsilon):
    network = PrivateNetwork(epsilon=epsilon, epochs=2).fit(*easy())
    assert 0.98 * epsilon < network.epsilon_ <= epsilon
    assert network.delta_ == 1 / 20_000
    again = opacus.accountants.RDPAccountant()
    for _ in range(8):  # two epochs of 2,000 records, 512 a step
        again.step(noise_multiplier=network.noise_multiplier_, sample_rate=512 / 2_000)
    assert again.get_epsilon(1 / 20_000) == pytest.approx(network.epsilon_, rel=0.01)  # the best of other orders


@pytest.mark.usefixtures("opacus")
def test_it_learns_an_easy_task_but_less_with_a_small_budget():
    X, y = easy(4_000)
    large, small = (
        PrivateNetwork(epsilon, delta, learning_rate=0.03).fit(X[:3_000], y[:3_000]).score(X[3_000:], y[3_000:])
        for epsilon, delta in ((8.0, None), (0.01, 1e-6))
    )
    assert large > 0.9
    assert small < large - 0.1


@pytest.mark.usefixtures("opacus")
def test_chances_add_up_and_belong_to_the_classes():
    X, y = easy(1_000)
    network = PrivateNetwork(epsilon=20.0, batch=128).fit(X, y)
    chances = network.predict_proba(X)
    assert list(network.classes_) == ["down", "right", "up"]
    assert chances.shape == (1_000, 3)
    assert chances.sum(axis=1) == pytest.approx(1)
    assert (network.predict(X) == network.classes_[chances.argmax(axis=1)]).all()
    assert np.mean(network.predict(X) == y) > 0.8


@pytest.mark.usefixtures("opacus")
def test_the_same_seed_gives_the_same_chances_and_another_does_not():
    X, y = easy(500)
    one = PrivateNetwork(epochs=2, batch=100).fit(X, y)
    other = PrivateNetwork(epochs=2, batch=100, random_state=1).fit(X, y)
    assert (one.predict_proba(X) == clone(one).fit(X, y).predict_proba(X)).all()
    assert (one.predict_proba(X) != other.predict_proba(X)).any()


def test_empty_batches_are_steps_of_pure_noise(opacus):
    X, y = easy(60)
    network = PrivateNetwork(epsilon=5.0, delta=1e-3, epochs=1, batch=1, hidden=()).fit(X, y)  # a share e⁻¹ is empty
    assert np.isfinite(network.predict_proba(X)).all()
    assert network.epsilon_ <= 5.0


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, r"The 'epsilon' parameter of PrivateNetwork must be a number > 0. Got 0 instead\."),
        ({"epsilon": float("nan")}, "'epsilon' .* must be a number > 0"),
        ({"epsilon": float("inf")}, "'epsilon' .* must be a number > 0"),
        ({"epsilon": "1"}, "'epsilon' .* must be a number > 0"),
        (
            {"delta": 0.0},
            r"The 'delta' parameter of PrivateNetwork must be a number between 0 and 1. Got 0.0 instead\.",
        ),
        ({"hidden": 5}, "'hidden' .* must be a sequence of ints ≥ 1. Got 5 instead"),
        ({"random_state": -1}, "'random_state' .* must be an int ≥ 0"),
        ({"delta": 1.0}, "'delta' .* must be a number between 0 and 1"),
        ({"epsilon": 1e-6, "delta": 1e-12}, "'epsilon' .* is too small for 4 steps"),
        ({"epochs": 0}, "'epochs' .* must be an int ≥ 1"),
        ({"batch": 2.5}, "'batch' .* must be an int ≥ 1"),
        ({"clip": -1.0}, "'clip' .* must be a number > 0"),
        ({"hidden": (10, 0)}, r"'hidden' .* must be a sequence of ints ≥ 1. Got \(10, 0\)"),
    ],
)
@pytest.mark.usefixtures("opacus")
def test_bad_budgets_and_settings_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        PrivateNetwork(**{"epochs": 1, **parameters}).fit(*easy())


@pytest.mark.usefixtures("opacus")
def test_data_that_are_not_numbers_are_refused():
    X, y = easy(50)
    with pytest.raises(DataError, match="encode categories first"):
        PrivateNetwork().fit([["a", "b"]] * 50, y)
    with pytest.raises(DataError, match="missing or infinite values"):
        PrivateNetwork().fit(np.where(X > 0.9, np.nan, X), y)
    with pytest.raises(DataError, match="one label for each row"):
        PrivateNetwork().fit(X, y[:-1])
    with pytest.raises(DataError, match="at least two classes"):
        PrivateNetwork().fit(X, ["same"] * 50)
    fitted = PrivateNetwork(epochs=1).fit(X, y)
    with pytest.raises(DataError, match="X has 1 columns; PrivateNetwork learned from 2"):
        fitted.predict(X[:, :1])


def test_without_opacus_the_extra_is_named(monkeypatch):
    pytest.importorskip("torch", reason="PyTorch is not there; it comes with the extra 'dp'")
    monkeypatch.setitem(sys.modules, "opacus", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'modicum\[dp\]'"):
        PrivateNetwork().fit(*easy(20))
