"""AdvTrain and MutualInf [Staab24 §6, Appendix C]; skipped without PyTorch, except the last test."""

import sys

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import modicum as md
from modicum.errors import DataError, ParameterError
from modicum.minimizers.neural import base as neural
from modicum.minimizers.neural.base import Perceptron, Training
from modicum.minimizers.neural.soft_buckets import SoftBuckets, middle_ranks
from modicum.table.codes import Coder

METHODS = [md.AdversarialTraining, md.MutualInformation]
both = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not there; it comes with the extra 'neural'")


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    """Shorten the epochs; these tests need no long ones."""
    monkeypatch.setattr(neural, "_STEPS", (10, 10))


def quick(method, **options):
    return method(**{"epochs": 2, "device": "cpu", "progress": False, **options})


def table(n: int = 400, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """`job` or `age` may decide the label; everything is independent of everything else."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 90, n),
            "job": random.choice(["nurse", "clerk", "smith", "cook"], n),
            "wage": np.where(random.random(n) < 0.1, np.nan, random.lognormal(10, 1, n).round()),
            "level": pd.Categorical(random.choice(["low", "mid", "top"], n), ["low", "mid", "top"], ordered=True),
        }
    )
    return X, (X["age"] > 50).to_numpy().astype(int)


def training_of(torch, method, privacy, X=None, y=None, weights=None) -> Training:
    X, y = table() if X is None else (X, y)
    data = method._encode_data(X, y, weights)
    return Training(data, method, privacy, torch, "cpu")


def soft_buckets(torch, X: pd.DataFrame, schema=None, k: int = 5, runs: int = 1, seed: int = 0) -> SoftBuckets:
    codings = Coder.fit(X, schema or md.Schema.infer(X)).codings
    return SoftBuckets(codings, k, runs, np.random.default_rng(seed), torch, "cpu")


def randomize(torch, soft: SoftBuckets, random: np.random.Generator, scale: float) -> None:
    for parameter in [*soft.graded_parameters, *soft.free_parameters]:
        values = random.standard_normal(tuple(parameter.shape)).astype(np.float32) * scale
        parameter.data = torch.from_numpy(values)


# Soft buckets


@given(st.integers(0, 10_000), st.sampled_from([0.01, 0.3, 1.0, 5.0, 30.0]), st.integers(1, 7))
def test_numbers_and_ordered_categories_keep_their_order_for_all_parameters(torch, seed, scale, k):
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"tied": np.append(np.zeros(60), np.arange(40)), "level": random.choice(["a", "b", "c"], 100)})
    X.loc[random.random(100) < 0.1, "tied"] = np.nan
    schema = md.Schema.infer(X).replace("level", kind="ordered", domain=("c", "a", "none", "b"))
    soft = soft_buckets(torch, X, schema, k=k)
    randomize(torch, soft, random, scale)
    m = soft._map_graded_codes()[:, 0].detach().numpy()
    values = soft.sizes[0] - 1
    assert (np.diff(m[:values]) >= -1e-4).all()
    assert (np.diff(m[values:]) >= -1e-4).all()
    assert ((m >= 0) & (m <= 1)).all()
    tied, level = soft.hard(0)
    assert (np.diff(tied[:values]) >= 0).all()
    assert (np.diff(level) >= 0).all()
    for temperature in (2.0, 0.5):
        chances = soft.probabilities(temperature).detach().numpy()
        assert chances.shape == (sum(soft.sizes), 1, k)
        assert chances.sum(axis=2) == pytest.approx(1, abs=1e-5)


def test_rounding_does_not_break_the_order(torch):
    """If a network is flat at the border of two buckets, only rounding is left, in either direction."""
    soft = soft_buckets(torch, pd.DataFrame({"a": np.arange(41.0)}), k=2)
    random = np.random.default_rng(0)
    for _ in range(200):
        randomize(torch, soft, random, 1.0)
        soft._scale.data *= 0
        soft._centre.data *= 0
        assert (np.diff(soft.hard(0)[0]) >= 0).all()


def test_a_numbers_bucket_has_the_nearest_centre(torch):
    soft = soft_buckets(torch, pd.DataFrame({"a": np.arange(200) % 50}), k=4)
    randomize(torch, soft, np.random.default_rng(3), 0.8)
    m = soft._map_graded_codes()[:, 0].detach().numpy()
    centres = (2 * np.arange(1, 5) - 1) / 8
    assert np.array_equal(soft.hard(0)[0], np.abs(m[:, None] - centres).argmin(axis=1))
    score = -16 * (m[:, None] - centres) ** 2 / 0.7
    expected = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    assert soft.probabilities(0.7)[:, 0].detach().numpy() == pytest.approx(expected, abs=1e-4)


def test_a_category_starts_as_if_it_were_not_collected(torch):
    X, _ = table()
    assert (soft_buckets(torch, X).hard(0)[1] == 0).all()


def test_every_run_starts_alike_for_any_number_of_runs(torch):
    X, _ = table()
    one, three = soft_buckets(torch, X), soft_buckets(torch, X, runs=3)
    alone = one.probabilities(1.0).detach().numpy()
    together = three.probabilities(1.0).detach().numpy()
    for run in range(3):
        assert together[:, run] == pytest.approx(alone[:, 0], abs=1e-6)


def test_middle_ranks_are_shares_of_the_records_below(torch):
    values = np.array([1, 1, 1, 2, 5, 5, 9, 9, 9, 9])
    X = pd.DataFrame({"a": values})
    found = middle_ranks(Coder.fit(X, md.Schema.infer(X)).codings[0])
    assert found.tolist() == [np.mean(values < v) + np.mean(values == v) / 2 for v in (1, 2, 5, 9)]


# Losses


def test_the_loss_of_each_target_is_the_cross_entropy(torch):
    method = quick(md.AdversarialTraining)
    training = training_of(torch, method, [0.1, 0.9])
    sizes = [4, 1, 2, 9]
    network = Perceptron(training, sizes)
    random = np.random.default_rng(0)
    for parameter in network.parameters:
        parameter.data = torch.from_numpy(random.normal(size=tuple(parameter.shape)).astype(np.float32))
    seen = torch.from_numpy(random.random((2, 30, training.width)).astype(np.float32))
    truth = np.stack([random.integers(0, size, 30) for size in sizes], axis=1)
    found = network.losses(seen, torch.from_numpy(truth)).detach().numpy()
    first, last, bias, end = network.parameters
    scores = torch.relu(seen @ first + bias) @ last + end
    for run in range(2):
        for t, (low, size) in enumerate(zip(np.cumsum([0, *sizes]), sizes, strict=False)):
            one = torch.nn.functional.cross_entropy(scores[run, :, low : low + size], torch.from_numpy(truth[:, t]))
            assert found[run, t] == pytest.approx(float(one.detach()), abs=1e-4)


def information(p: np.ndarray, shares: np.ndarray) -> tuple[float, float]:
    """The bound of the docstring, and I(z; x) itself, of one attribute (values × buckets)."""
    q = shares @ p
    unsure = float((shares[:, None] * p * np.log(p)).sum())
    bound = unsure - float((q * (shares @ np.log(p))).sum())
    return bound, unsure - float((q * np.log(q)).sum())


@pytest.mark.parametrize("weights", [None, {"age": 3.0}])
def test_the_penalty_of_mutual_information_is_its_formula_and_a_bound(torch, weights):
    X, y = table()
    records = np.random.default_rng(0).integers(1, 4, len(X))
    method = quick(md.MutualInformation, personal=["age", "job"], weights=weights)
    training = training_of(torch, method, [0.1, 0.5], X, y, records)
    randomize(torch, training.soft, np.random.default_rng(1), 0.5)
    probabilities = training.soft.probabilities(1.3)
    found = training.aim.penalty(probabilities, None, None, 0.01).detach().numpy()
    importance = {"age": 1.0, "job": 1.0} if weights is None else {"age": 1.5, "job": 0.5}
    for run in range(2):
        bounds, exact = [], []
        for i, name in enumerate(X.columns):
            p = probabilities[training.soft.offsets[i] : training.soft.offsets[i + 1], run].detach().numpy()
            codes = training.data.codes[:, i]
            shares = np.bincount(codes, records, minlength=len(p)) / records.sum()
            bound, truth = information(p.astype(np.float64), shares)
            assert bound >= truth - 1e-6
            bounds.append(importance.get(name, 1.0) * bound)
            exact.append(importance.get(name, 1.0) * truth)
        assert found[run] == pytest.approx(sum(bounds), rel=1e-3)
        assert found[run] >= sum(exact) - 1e-4


def test_buckets_that_all_values_share_equally_have_no_penalty(torch):
    training = training_of(torch, quick(md.MutualInformation), [0.5])
    alike = torch.rand(1, 1, 5, generator=torch.Generator().manual_seed(0)).softmax(dim=2)
    same = alike.expand(sum(training.soft.sizes), 1, 5)
    assert float(training.aim.penalty(same, None, None, 0.01).detach()) == pytest.approx(0, abs=1e-5)
    own = torch.nn.functional.one_hot(torch.arange(sum(training.soft.sizes)) % 5, 5).float()[:, None]
    assert float(training.aim.penalty(own, None, None, 0.01).detach()) > 10  # hard buckets: the bound is far above


@pytest.mark.parametrize("weighted", [False, True])
def test_the_adversarys_penalty_stops_at_the_naive_guess(torch, weighted):
    X, y = table()
    records = np.where(X["job"] == "cook", 30, 1) if weighted else None
    method = quick(md.AdversarialTraining, personal=["job"])
    training = training_of(torch, method, [0.5], X, y, records)
    for parameter in training.aim._network.parameters:
        parameter.data = parameter.data * 40  # an adversary that is sure, and wrong
    counts = X["job"].value_counts() if records is None else pd.Series(records).groupby(X["job"]).sum()
    shares = counts / counts.sum()
    naive = float(-(shares * np.log(shares)).sum())
    batch = torch.arange(200)
    seen = training.encode_batch(training.soft.probabilities(2.0), batch)
    assert float(training.aim._network.losses(seen, training.aim._truth[batch])[0, 0].detach()) > 2 * naive
    penalty = training.aim.penalty(training.soft.probabilities(2.0), seen, batch, 0.0)
    assert float(penalty[0].detach()) == pytest.approx(-naive, abs=1e-4)


def test_the_weights_of_the_adversary_sum_to_one_and_numbers_are_guessed_by_tenths(torch):
    method = quick(md.AdversarialTraining, personal=["age", "wage"], weights={"age": 3})
    aim = training_of(torch, method, [0.5]).aim
    assert aim._weights.tolist() == [0.75, 0.25]
    assert [len(np.unique(column)) for column in aim._truth.numpy().T] == [10, 11]  # tenths, and missing


def test_rows_are_drawn_in_proportion_to_their_weights(torch):
    X, y = table()
    records = np.where(np.arange(len(X)) < 40, 91, 1)
    training = training_of(torch, quick(md.AdversarialTraining, inner_steps=2), [0.5], X, y, records)
    for rows in (training.batches().numpy().ravel(), training.draw_rows(4_000).numpy()):
        assert np.mean(rows < 40) == pytest.approx(91 / 100, abs=0.03)
    plain = training_of(torch, quick(md.AdversarialTraining), [0.5], X, y)
    sizes = np.bincount(plain.batches().numpy().ravel(), minlength=len(X))
    assert sizes.max() - sizes.min() <= 1  # without weights every record as often as any other
    assert np.mean(plain.draw_rows(4_000).numpy() < 40) == pytest.approx(0.1, abs=0.03)


# Fitted generalizations


@both
@pytest.mark.slow
@pytest.mark.usefixtures("torch")
def test_without_privacy_the_deciding_attribute_is_kept(method, monkeypatch):
    monkeypatch.setattr(neural, "_STEPS", (50, 50))
    X, older = table()
    for name, y in (("age", older), ("job", X["job"].isin(["nurse", "cook"]))):
        g = quick(method, privacy=0.0, epochs=12).fit(X[["age", "job"]], y).generalization_
        codes = g.codes(X)[:, g.names.index(name)]
        guess = pd.Series(y).groupby(codes).transform(lambda own: own.mode()[0])
        assert np.mean(guess == y) > 0.9, name


@both
@pytest.mark.slow
@pytest.mark.usefixtures("torch")
def test_privacy_alone_collects_next_to_nothing(method, monkeypatch):
    monkeypatch.setattr(neural, "_STEPS", (50, 50))
    X, y = table()
    some, none = (quick(method, epochs=12, privacy=p).fit(X, y).generalization_.n_buckets for p in (0.0, 1.0))
    assert none <= 4 + 2 < some


@both
@pytest.mark.usefixtures("torch")
def test_each_run_of_a_path_is_what_fit_finds_alone(method):
    X, y = table()
    path = [0.0, 0.05, 0.9]
    fitted = quick(method)
    found = fitted.fit_path(X, y, path)
    assert fitted.generalization_ == found[-1]
    assert len({str(g.to_dict()) for g in found}) > 1
    for privacy, g in zip(path, found, strict=True):
        alone = quick(method, privacy=privacy).fit(X, y).generalization_
        codes, others = g.codes(X), alone.codes(X)
        # Up to rounding: a few records at a border at most.
        for j in range(codes.shape[1]):
            assert (
                pd.Series(codes[:, j]).groupby(others[:, j]).agg(lambda own: own.eq(own.mode()[0]).mean()).min() > 0.9
            )


@both
def test_the_same_seed_gives_the_same_bytes_on_any_number_of_threads(torch, method):
    X, y = table()
    before = torch.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.append(
                quick(method, random_state=5, inner_steps=2) if method is METHODS[0] else quick(method, random_state=5)
            )
            found[-1] = found[-1].fit(X, y).generalization_.to_dict()
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]
    other = quick(method, random_state=6).fit(X, y).generalization_.to_dict()
    assert other != found[0]


@both
def test_the_number_of_threads_survives_an_error(torch, method, monkeypatch):
    X, y = table()
    before = torch.get_num_threads()

    def fails(self, *inputs):
        assert torch.get_num_threads() == 1
        raise RuntimeError("out of memory")

    monkeypatch.setattr(Training, "_step", fails)
    torch.set_num_threads(3)
    try:
        for device in ("cpu", "cpu:0"):
            with pytest.raises(RuntimeError, match="out of memory"):
                quick(method, device=device).fit(X, y)
            assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


@both
@settings(max_examples=12)
@given(random_table=tables(min_rows=10), privacy=st.sampled_from([0.0, 0.2, 1.0]), k=st.integers(1, 4))
def test_the_result_is_a_strict_generalization_that_can_be_saved(
    torch, method, tmp_path_factory, random_table, privacy, k
):
    X, y, schema = random_table
    fitted = quick(method, epochs=1, privacy=privacy, buckets=k, schema=schema).fit(X, y)
    g = fitted.generalization_
    path = tmp_path_factory.mktemp("neural") / "g.json"
    g.save(path)
    again = md.load(path)
    assert again == g
    codes = again.codes(X)
    for j, partition in enumerate(g.partitions):
        assert partition.n_buckets <= k
        if partition.name in g.needed:
            assert ((codes[:, j] >= 0) & (codes[:, j] < len(partition.labels))).all()
    assert np.array_equal(codes, fitted.generalization_.codes(X))


@both
@pytest.mark.usefixtures("torch")
def test_polars_gives_the_same_artifact(method):
    X, y = table()
    schema = md.Schema.infer(X)
    pandas, polars = (quick(method, schema=schema).fit(frame, y).generalization_ for frame in (X, as_polars(X)))
    assert pandas == polars


@both
@pytest.mark.usefixtures("torch")
def test_a_constant_column_a_single_attribute_and_several_classes_are_fitted(method):
    X, y = table()
    constant = X.assign(same="x", zero=0)
    g = quick(method, privacy=0.0).fit(constant, y).generalization_
    assert g["same"].action == g["zero"].action == "dropped"
    for name in X.columns:
        assert quick(method).fit(X[[name]], y).generalization_.names == [name]
    assert quick(method).fit(X, X["age"] % 3).generalization_.names == list(X.columns)
    assert quick(method, label_bins=4).fit(X[["job", "age"]], X["age"]).generalization_.names == ["job", "age"]


@both
@pytest.mark.usefixtures("torch")
def test_locked_and_forbidden_attributes_are_respected(method):
    X, y = table()
    schema = md.Schema.infer(X).replace("job", locked=True).replace("age", forbidden=True)
    g = quick(method, schema=schema).fit(X, y).generalization_
    assert g["job"].action == "kept"
    assert g["age"].action == "dropped"
    for name in X.columns:
        schema = schema.replace(name, locked=False, forbidden=True)
    assert quick(method, schema=schema).fit(X, y).generalization_.needed == []
    assert [g.needed for g in quick(method, schema=schema).fit_path(X, y, [0.1, 0.9])] == [[], []]


@both
@pytest.mark.usefixtures("torch")
def test_a_row_of_weight_zero_is_never_used(method):
    X, y = table()
    extra = pd.concat([X, X.assign(job="spy", age=999)], ignore_index=True)
    weights = np.repeat([1, 0], len(X))
    g = quick(method, privacy=0.0).fit(extra, np.tile(y, 2), sample_weight=weights).generalization_
    assert "spy" not in str(g.to_dict())
    assert g["age"].n_buckets > 1


@pytest.mark.usefixtures("torch")
def test_weights_protect_what_they_name(monkeypatch):
    """Both attributes help alike; the one with all the weight is collected in less detail."""
    monkeypatch.setattr(neural, "_STEPS", (50, 50))
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.normal(size=600).round(2), "b": random.normal(size=600).round(2)})
    y = (X["a"] + X["b"] > 0).astype(int)
    for heavy, light in (("a", "b"), ("b", "a")):
        method = quick(md.MutualInformation, privacy=0.2, epochs=8, weights={heavy: 20, light: 0.1})
        g = method.fit(X, y).generalization_
        assert g[heavy].n_buckets < g[light].n_buckets


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"privacy": 2}, "The 'privacy' parameter of {} must be a number from 0 to 1. Got 2 instead."),
        ({"privacy": float("nan")}, "'privacy' parameter of {}"),
        ({"buckets": 0}, "The 'buckets' parameter of {} must be an int ≥ 1. Got 0 instead."),
        ({"epochs": 0}, "'epochs' parameter of {}"),
        ({"random_state": -1}, "'random_state' parameter of {}"),
        ({"random_state": None}, "'random_state' parameter of {}"),
        ({"weights": {"nobody": 1}}, "'nobody', which is not a personal attribute"),
        ({"device": "abacus"}, "The 'device' parameter of {} names 'abacus', which PyTorch does not offer here."),
        ({"device": "cuda:77"}, "'device' parameter of {} names 'cuda:77'"),
        ({"device": "meta"}, "'device' parameter of {} names 'meta'"),
    ],
)
@both
@pytest.mark.usefixtures("torch")
def test_invalid_parameters_are_refused(method, options, complaint):
    with pytest.raises(ParameterError, match=complaint.format(method.__name__)):
        quick(method, **options).fit(*table())


@both
@pytest.mark.usefixtures("torch")
def test_an_invalid_path_or_label_is_refused(method):
    X, y = table()
    with pytest.raises(ParameterError, match="at least one value of 'privacy'"):
        quick(method).fit_path(X, y, [])
    with pytest.raises(ParameterError, match="'privacy' parameter"):
        quick(method).fit_path(X, y, [0.1, 1.1])
    with pytest.raises(DataError, match="constant"):
        quick(method).fit(X, np.zeros(len(X)))
    weights = (y == 1).astype(int)
    with pytest.raises(DataError, match="constant"):
        quick(method).fit(X, y, sample_weight=weights)
    with pytest.raises(ParameterError, match="'inner_steps' parameter of AdversarialTraining"):
        md.AdversarialTraining(inner_steps=0).fit(X, y)


@both
def test_without_pytorch_the_extra_is_named(method, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(md.errors.MissingPackageError, match=r"pip install 'modicum\[neural\]'"):
        quick(method).fit(*table())
