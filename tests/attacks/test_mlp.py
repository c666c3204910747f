"""The larger networks of [Staab24 Appendix G]; skipped without PyTorch."""

import sys

import numpy as np
import pandas as pd
import pytest
from test_adversaries import KNOWN, OPTIONS, SITE
from test_attacks import BREACHED, showing
from test_attacks import KNOWN as WORLD

import modicum as md
from modicum.attacks import Reconstruction
from modicum.learners.inputs import Inputs, count_table
from modicum.learners.network import ARCHITECTURES, MLP, Network
from modicum.learners.portfolio import MEMBERS, NEURAL
from modicum.progress import run_all


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not there; it comes with the extra 'neural'")


@pytest.mark.slow
@pytest.mark.parametrize("member", NEURAL)
@pytest.mark.usefixtures("torch")
def test_every_network_comes_close_to_the_best_possible_adversary(member):
    attack = Reconstruction(personal=["secret", "coin", "age", "group"], members=(member,), **OPTIONS)
    result = attack.run(showing(["group", "site"], WORLD), known=WORLD, breached=BREACHED)
    best = {"secret": 0.3, "coin": 0.5, "age": 0.6, "group": 0.0}
    for name, error in best.items():
        assert result.by_attribute[name].error == pytest.approx(error, abs=0.02), name
        assert result.by_attribute[name].method in (member, "naive guess")


@pytest.mark.usefixtures("torch")
def test_the_papers_network_is_mlp_2():
    """Two implementations of one architecture on many cells give the same chances, except for the random start."""
    random = np.random.default_rng(0)
    codes = random.integers(0, 40, (20_000, 2))
    numbers = np.where(random.random((20_000, 1)) < 0.05, np.nan, random.normal(size=(20_000, 1)))
    values = (codes[:, 0] % 4 + (random.random(20_000) < 0.2)) % 4
    inputs, cells = Inputs(codes, (40, 40), numbers).distinct()
    table = count_table(cells, values, (len(inputs), 4))
    one = Network(l2=1e-3).fit(inputs, [table]).predict(inputs)[0]
    other = MLP("MLP-2", l2=1e-3, device="cpu").fit(inputs, [table]).predict(inputs)[0]
    assert np.mean(one.argmax(axis=1) == other.argmax(axis=1)) > 0.99
    assert np.abs(one - other).mean() < 0.03


@pytest.mark.usefixtures("torch")
def test_the_same_seed_gives_the_same_chances():
    random = np.random.default_rng(0)
    inputs, cells = Inputs(random.integers(0, 9, (3_000, 2)), (9, 9), np.zeros((3_000, 0))).distinct()
    tables = [count_table(cells, random.integers(0, k, 3_000), (len(inputs), k)) for k in (2, 5)]
    for architecture in ARCHITECTURES:
        first, second = (MLP(architecture, device="cpu").fit(inputs, tables).predict(inputs) for _ in range(2))
        for one, other in zip(first, second, strict=True):
            assert (one == other).all()
            assert one.sum(axis=1) == pytest.approx(1, abs=1e-4)


@pytest.mark.usefixtures("torch")
def test_threads_do_not_share_random_numbers():
    random = np.random.default_rng(0)
    inputs, cells = Inputs(random.integers(0, 9, (2_000, 2)), (9, 9), np.zeros((2_000, 0))).distinct()
    table = count_table(cells, random.integers(0, 3, 2_000), (len(inputs), 3))
    pieces = [
        lambda seed=seed: MLP("MLP-3", random_state=seed, device="cpu").fit(inputs, [table]).predict(inputs)[0]
        for seed in range(4)
    ]
    one, several = (run_all(pieces, "", n_jobs=n, progress=False) for n in (1, 4))
    for a, b in zip(one, several, strict=True):
        assert (a == b).all()


def test_a_gpu_learns_the_same(torch):
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    random = np.random.default_rng(0)
    codes = random.integers(0, 30, (8_000, 2))
    inputs, cells = Inputs(codes, (30, 30), random.normal(size=(8_000, 1))).distinct()
    table = count_table(cells, codes[:, 0] % 3, (len(inputs), 3))
    for architecture in ARCHITECTURES:
        learner = MLP(architecture).fit(inputs, [table])
        assert learner._device == "cuda"
        guess = learner.predict(inputs)[0].argmax(axis=1)
        assert np.mean(guess == inputs.codes[:, 0] % 3) > 0.99


@pytest.mark.usefixtures("torch")
def test_a_larger_network_may_predict_the_label_too():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.integers(0, 5, 2_000).astype(str), "b": random.normal(size=2_000)})
    y = pd.Series(np.where(random.random(2_000) < 0.9, X["a"].isin(["0", "1"]), X["b"] > 0), name="label")
    g = md.Uniform(buckets=5).fit(X).generalization_
    found = md.utility(g, X[:1_000], y[:1_000], X[1_000:], y[1_000:], estimator="MLP-3")
    assert found.error < 0.2


def test_without_pytorch_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(md.errors.MissingPackageError, match=r"pip install 'modicum\[neural\]'"):
        Reconstruction(members=(*MEMBERS, "MLP-3"), **OPTIONS).run(SITE, KNOWN[:900], KNOWN[900:])
