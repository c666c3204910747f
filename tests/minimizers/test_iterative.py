"""The Iterative minimizer [Staab24 §6, Appendix C]: its groups, its order, its threshold."""

import time
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import as_polars, tables
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import modicum as md
from modicum.errors import DataError, ParameterError
from modicum.generalization.bins import FullDetail
from modicum.minimizers.iterative import _along_main_axis, _label_scores, least_variance_groups
from modicum.table.codes import equal_starts


def average_variance(scores, groups) -> float:
    return float(np.mean([np.var(scores[groups == g]) for g in np.unique(groups)]))


def partitions(n: int, k: int):
    """All ways to cut n values into k runs."""
    for cuts in combinations(range(1, n), k - 1):
        yield np.searchsorted(np.array(cuts), np.arange(n), side="right")


@given(st.lists(st.floats(-10, 10).map(lambda x: round(x, 2)), min_size=1, max_size=7), st.integers(1, 9))
def test_no_cut_into_runs_has_a_smaller_average_variance(scores, k):
    scores = np.array(scores)
    found = least_variance_groups(scores, k)
    assert len(found) == min(k, len(scores))
    for n_groups, groups in enumerate(found, start=1):
        assert sorted(set(groups.tolist())) == list(range(n_groups))
        assert (np.diff(groups) >= 0).all()
        best = min(average_variance(scores, cut) for cut in partitions(len(scores), n_groups))
        assert average_variance(scores, groups) == pytest.approx(best, abs=1e-9)


def test_equal_scores_still_form_every_number_of_groups():
    for n_groups, groups in enumerate(least_variance_groups(np.full(5, 3.7), 9), start=1):
        assert len(set(groups.tolist())) == n_groups
    assert [g.tolist() for g in least_variance_groups(np.array([2.0]), 4)] == [[0]]


def test_the_average_of_variances_is_not_weighted_by_size():
    """Cutting off the far value leaves 9 and 0; the size-weighted optimum would cut in the middle of the spread."""
    scores = np.array([0.0] * 8 + [4.0, 4.0, 4.0, 10.0])
    groups = least_variance_groups(scores, 2)[1]
    plain = {i: average_variance(scores, cut) for i, cut in enumerate(partitions(12, 2))}
    sized = {
        i: sum(np.var(scores[cut == g]) * (cut == g).mean() for g in (0, 1)) for i, cut in enumerate(partitions(12, 2))
    }
    assert min(plain, key=plain.get) != min(sized, key=sized.get)
    assert groups.tolist() == list(partitions(12, 2))[min(plain, key=plain.get)].tolist()


def test_thousands_of_values_are_grouped_quickly():
    scores = np.sort(np.random.default_rng(0).normal(size=2_000))
    begin = time.perf_counter()
    found = least_variance_groups(scores, 4)
    assert time.perf_counter() - begin < 10
    assert [int(groups.max()) for groups in found] == [0, 1, 2, 3]


def table(n: int = 1_500, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """y is `cause` with some noise; `number` helps a little; `secret` is independent of everything."""
    random = np.random.default_rng(seed)
    cause, number = random.integers(0, 4, n), random.normal(size=n)
    X = pd.DataFrame(
        {
            "secret": random.choice(list("abcdefgh"), n),
            "cause": np.array(["n", "e", "s", "w"])[cause],
            "number": number.round(3),
        }
    )
    return X, np.where(random.random(n) < 0.05, number > 0, cause >= 2).astype(int)


def fit_start(method: md.Iterative, X, y, monkeypatch) -> md.Iterative:
    """Fit while every step raises the error, so the result is the start."""
    from modicum.minimizers import iterative

    monkeypatch.setattr(iterative._Search, "error", lambda self, chosen: 1 / sum(chosen))
    return method.fit(X, y)


def test_a_number_starts_with_its_quantiles(monkeypatch):
    X, y = table()
    for k in (1, 2, 4, 7):
        g = fit_start(md.Iterative(max_error=0, buckets=k), X, y, monkeypatch).generalization_
        assert g["number"].n_buckets == k
        sizes = np.bincount(g.codes(X)[:, 2], minlength=k)[:k]
        assert sizes.max() - sizes.min() <= 12  # the values are coded by 256 groups of about 6 records
        for bound, q in zip(getattr(g["number"], "edges", []), np.arange(1, k) / k, strict=True):
            assert np.mean(X["number"] <= bound) == pytest.approx(q, abs=0.005)


def test_a_heavy_value_leaves_fewer_groups_than_quantiles(monkeypatch):
    X = pd.DataFrame({"x": [0] * 90 + list(range(1, 11)), "z": np.arange(100) % 3})
    g = fit_start(md.Iterative(max_error=0), X, np.arange(100) % 2, monkeypatch).generalization_
    assert g["x"].n_buckets == len(set(np.cumsum(equal_starts(np.array([90] + [1] * 10), 4)).tolist())) == 2
    assert g["z"].n_buckets == 3


def test_a_category_starts_with_groups_of_similar_weight(monkeypatch):
    random = np.random.default_rng(1)
    chance = {"a": 0.05, "b": 0.9, "c": 0.07, "d": 0.5, "e": 0.92, "f": 0.48}
    job = random.choice(list(chance), 4_000)
    y = (random.random(4_000) < np.vectorize(chance.get)(job)).astype(int)
    X = pd.DataFrame({"job": job, "other": random.choice(["x", "y"], 4_000)})
    method = md.Iterative(max_error=0, buckets=3)
    g = fit_start(method, X, y, monkeypatch).generalization_
    assert {frozenset(group.values) for group in g["job"].buckets} == {
        frozenset("ac"),
        frozenset("be"),
        frozenset("df"),
    }
    data = method._encode_data(X, y, None)
    scores = _label_scores(data, np.ones(4_000, dtype=bool))
    hot = pd.get_dummies(X).to_numpy(dtype=float)
    model = LogisticRegression(tol=1e-3).fit(hot, y)
    assert np.concatenate(scores) == pytest.approx(model.coef_[0], abs=0.02)


def test_only_neighbours_of_an_ordered_category_share_a_group(monkeypatch):
    random = np.random.default_rng(2)
    grade = random.integers(0, 6, 3_000)
    y = (random.random(3_000) < np.array([0.1, 0.9, 0.1, 0.9, 0.1, 0.9])[grade]).astype(int)
    values = np.array(["none", "low", "fair", "good", "high", "top"])
    X = pd.DataFrame({"grade": values[grade]})
    kinds = {"ordered": {"kind": "ordered", "domain": tuple(values)}, "free": {"kind": "category"}}
    found = {}
    for kind, options in kinds.items():
        schema = md.Schema(attributes=(md.Attribute(name="grade", **options),))
        g = fit_start(md.Iterative(max_error=0, buckets=2, schema=schema), X, y, monkeypatch).generalization_
        found[kind] = [sorted(values.tolist().index(v) for v in group.values) for group in g["grade"].buckets]
    assert all(run == list(range(run[0], run[-1] + 1)) for run in found["ordered"])
    assert sorted(found["free"]) == [[0, 2, 4], [1, 3, 5]]


def test_missing_is_a_separate_bucket_of_a_number_and_a_value_of_a_category(monkeypatch):
    random = np.random.default_rng(3)
    n = 2_000
    lost = random.random(n) < 0.3
    grade = np.where(lost, None, random.choice(["a", "b"], n))
    X = pd.DataFrame({"number": np.where(random.random(n) < 0.2, np.nan, random.normal(size=n)), "grade": grade})
    X["level"] = np.where(random.random(n) < 0.2, None, random.choice(["low", "mid", "top"], n))
    schema = md.Schema.infer(X).replace("level", kind="ordered", domain=("low", "mid", "top"))
    y = np.where(lost | (grade == "a"), 1, 0)
    g = fit_start(md.Iterative(max_error=0, buckets=2, schema=schema), X, y, monkeypatch).generalization_
    assert g["number"].n_buckets == g["level"].n_buckets == 2  # missing is not counted
    assert set(g.codes(X[X["level"].isna()])[:, 2]) == {g["level"].missing_code}
    assert g["level"].missing_code not in g.codes(X[X["level"].notna()])[:, 2]
    assert g["number"].missing_code not in g.codes(X.dropna())[:, 0]
    codes = g.codes(pd.DataFrame({"number": [0.0] * 3, "grade": ["a", "b", None], "level": ["low"] * 3}))[:, 1]
    assert codes[2] == codes[0] != codes[1]  # like the value of the same weight


def test_a_high_threshold_collects_nothing_and_has_the_error_of_the_majority_guess(people):
    X, y = people
    method = md.Iterative(max_error=1).fit(X, y)
    assert method.generalization_.needed == []
    assert method.error_ == pytest.approx((y == "yes").mean(), abs=0.1) or method.error_ == pytest.approx(
        (y == "no").mean(), abs=0.1
    )


@given(tables(min_rows=12), st.sampled_from([0.0, 0.2, 0.5]), st.integers(1, 5))
@settings(max_examples=25)
def test_the_error_stays_below_the_threshold_or_the_start(random_table, max_error, k):
    X, y, schema = random_table
    method = md.Iterative(max_error=max_error, buckets=k, schema=schema)
    search = method._search(method._encode_data(X, y, None))
    start = search.error([len(ladder) for ladder in search.ladders])
    method.fit(X, y)
    assert method.error_ <= max(max_error, start)
    most = sum(k + int(X[name].isna().any()) for name in X.columns)
    assert method.generalization_.n_buckets <= most
    again = md.Generalization.from_dict(method.generalization_.to_dict())
    assert np.array_equal(again.codes(X), method.generalization_.codes(X))


def test_the_error_is_that_of_the_final_generalization(people):
    from modicum.learners.backoff import Backoff
    from modicum.learners.inputs import Inputs, count_table

    X, y = people
    for schema in (None, md.Schema.infer(X).replace("age", forbidden=True).replace("job", locked=True)):
        method = md.Iterative(max_error=0.3, schema=schema, buckets=3).fit(X, y)
        aside = method._search(method._encode_data(X, y, None)).aside
        inputs, cells = Inputs.of(method.generalization_, X).distinct()
        truth = (y == "yes").to_numpy().astype(int)
        learned = count_table(cells[~aside], truth[~aside], (len(inputs), 2))
        guess = Backoff().fit(inputs, [learned]).predict(inputs)[0].argmax(axis=1)
        assert method.error_ == pytest.approx(np.mean(guess[cells[aside]] != truth[aside]), abs=0.02)


def test_a_useless_personal_attribute_goes_first_and_the_cause_last():
    X, y = table()
    method = md.Iterative(max_error=0.1).fit(X, y)
    assert list(method.impact_)[-1] == "cause"
    assert next(iter(md.Iterative(personal=["secret"]).fit(X, y).impact_)) == "secret"
    assert method.generalization_["cause"].n_buckets == 2
    assert method.generalization_["secret"].action == "dropped"
    assert list(method.impact_.values()) == sorted(method.impact_.values(), key=lambda i: i.difference)


def test_only_personal_attributes_have_an_impact_on_the_adversary():
    X, y = table()
    found = md.Iterative(personal=["secret"]).fit(X, y).impact_
    assert found["cause"].adversary == found["number"].adversary == 0
    assert found["secret"].adversary == pytest.approx(7 / 8, abs=0.06)  # guessed among 8 independent values
    assert found["cause"].classifier == pytest.approx(0.45, abs=0.1)
    assert found["secret"].classifier == pytest.approx(0, abs=0.1)
    half = md.Iterative(personal=["secret", "number"]).fit(X, y).impact_
    assert half["secret"].adversary == pytest.approx(found["secret"].adversary / 2)
    assert half["number"].adversary == pytest.approx(0.9 / 2, abs=0.05)  # tenths


def test_weights_change_the_order():
    X, y = table()
    first = {}
    for name in ("secret", "number"):
        impact = md.Iterative(weights={n: 10.0 * (n == name) + 0.1 for n in X.columns}).fit(X, y).impact_
        first[name] = next(iter(impact))
    assert first == {"secret": "secret", "number": "number"}
    silent = md.Iterative(weights={"secret": 0}).fit(X, y).impact_
    assert silent["secret"].adversary == 0


def test_the_search_respects_locked_and_forbidden_attributes():
    X, y = table()
    schema = md.Schema.infer(X).replace("cause", forbidden=True).replace("secret", locked=True)
    method = md.Iterative(max_error=0.2, schema=schema).fit(X, y)
    g = method.generalization_
    assert g["cause"].action == "dropped"
    assert g["secret"].action == "kept"
    assert set(method.impact_) == {"number"}
    assert method.error_ > 0.35  # the cause may not be used
    kept = md.Schema.infer(X).replace("cause", locked=True)
    method = md.Iterative(max_error=0.1, schema=kept).fit(X, y)
    assert method.error_ < 0.1
    assert method.generalization_.needed == ["cause"]
    assert method.generalization_["cause"].n_buckets == 4
    assert md.Iterative(buckets=1, schema=kept).fit(X, y).error_ < 0.1


def test_a_locked_number_is_kept_in_full_detail_and_a_forbidden_table_collects_nothing():
    X, y = table()
    schema = md.Schema.infer(X).replace("number", locked=True)
    assert isinstance(md.Iterative(schema=schema, max_error=1).fit(X, y).generalization_["number"], FullDetail)
    for name in X.columns:
        schema = schema.replace(name, locked=False, forbidden=True)
    method = md.Iterative(schema=schema).fit(X, y)
    assert method.generalization_.needed == []
    assert method.impact_ == {}


def test_several_classes_are_sorted_along_one_axis():
    random = np.random.default_rng(4)
    job = random.integers(0, 6, 3_000)
    y = np.where(random.random(3_000) < 0.1, random.integers(0, 3, 3_000), job // 2)
    X = pd.DataFrame({"job": np.array(list("pqrstu"))[job], "noise": random.normal(size=3_000)})
    method = md.Iterative(max_error=0.15, buckets=3).fit(X, y)
    assert {frozenset(group.values) for group in method.generalization_["job"].buckets} == {
        frozenset("pq"),
        frozenset("rs"),
        frozenset("tu"),
    }
    assert method.generalization_["noise"].action == "dropped"
    assert method.error_ < 0.15


def test_the_axis_of_several_classes_has_the_largest_spread():
    random = np.random.default_rng(5)
    weights = random.normal(size=(3, 8))
    scores = _along_main_axis(weights)
    centred = weights - weights.mean(axis=1, keepdims=True)
    assert np.var(scores) * 8 == pytest.approx(np.linalg.eigvalsh(centred @ centred.T)[-1])
    assert _along_main_axis(np.zeros((3, 4))).tolist() == [0, 0, 0, 0]
    assert _along_main_axis(weights[:1]).tolist() == weights[0].tolist()


def test_a_numeric_label_is_cut_into_bins():
    X, _ = table()
    with pytest.raises(DataError, match="label_bins"):
        md.Iterative().fit(X[["secret"]], X["number"])
    g = md.Iterative(label_bins=3, max_error=0.1, buckets=3).fit(X, X["number"]).generalization_
    assert g.needed == ["number"]
    with pytest.raises(ParameterError, match="'label_bins' parameter of Iterative"):
        md.Iterative(label_bins=1).fit(X, X["number"])


def test_a_row_of_weight_n_counts_as_n_rows():
    X, y = table()
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    copies = X.loc[X.index.repeat(weights)].reset_index(drop=True)
    method = md.Iterative(max_error=0, buckets=4)
    weighted = method._search(method._encode_data(X, y, weights))
    repeated = method._search(method._encode_data(copies, np.repeat(y, weights), None))
    assert all(np.array_equal(a, b) for a, b in zip(weighted.ladders[2], repeated.ladders[2], strict=True))
    repeated.aside, repeated.ladders = np.repeat(weighted.aside, weights), weighted.ladders
    for chosen in ([1, 1, 1], [2, 2, 3], [len(ladder) for ladder in weighted.ladders]):
        assert weighted.error(chosen) == pytest.approx(repeated.error(chosen))
    assert list(weighted.impact) == list(repeated.impact)
    for one, other in zip(weighted.impact.values(), repeated.impact.values(), strict=True):
        assert one.classifier == pytest.approx(other.classifier)
        assert one.adversary == pytest.approx(other.adversary)
    tens = np.full(len(X), 10)
    one, ten = (md.Iterative().fit(X, y, sample_weight=w) for w in (None, tens))
    # Ten times as many records of each kind: the same start, less smoothing.
    assert one.generalization_["cause"].n_buckets == ten.generalization_["cause"].n_buckets == 2


def test_a_row_of_weight_zero_counts_as_absent():
    X, y = table()
    weights = (np.arange(len(X)) < 900).astype(int)
    a = md.Iterative().fit(X, y, sample_weight=weights)
    b = md.Iterative().fit(X[:900], y[:900])
    assert a.generalization_ == b.generalization_
    assert a.error_ == b.error_


def test_the_records_of_one_person_are_never_on_both_sides():
    X, y = table(300)
    X["who"] = np.repeat(np.arange(60), 5)
    schema = md.Schema.infer(X).with_roles(person="who")
    method = md.Iterative(schema=schema)
    search = method._search(method._encode_data(X, y, None))
    sides = pd.Series(search.aside).groupby(X["who"]).nunique()
    assert (sides == 1).all()
    assert search.aside.mean() == pytest.approx(0.2)
    assert "who" not in method.fit(X, y).generalization_.names


def test_pandas_polars_and_arrays_give_the_same_artifact(people):
    X, y = people
    schema = md.Schema.infer(X)
    expected = md.Iterative(schema=schema, max_error=0.3).fit(X, y).generalization_
    polars = md.Iterative(schema=schema, max_error=0.3).fit(as_polars(X), pl.Series("bought", y.tolist()))
    assert polars.generalization_ == expected
    array = md.Iterative(schema=schema, max_error=0.3).fit(X.to_numpy(dtype=object), y.to_numpy())
    assert array.generalization_ == expected


def test_the_same_seed_gives_the_same_bytes(people):
    X, y = people
    first, second = (md.Iterative(max_error=0.3, random_state=7).fit(X, y) for _ in range(2))
    assert first.generalization_.to_dict() == second.generalization_.to_dict()
    assert first.impact_ == second.impact_
    sides = [md.Iterative(random_state=s)._search(md.Iterative()._encode_data(X, y, None)).aside for s in (1, 2)]
    assert not np.array_equal(*sides)


def test_the_path_lies_between_the_limits_and_matches_single_fits(people):
    X, y = people
    shares = [0.0, 0.3, 0.7, 1.0]
    method = md.Iterative()
    path = method.fit_path(X, y, shares)
    search = method._search(method._encode_data(X, y, None))
    least, most = search.error([len(ladder) for ladder in search.ladders]), search.error([1] * 5)
    assert list(path) == pytest.approx([least + share * (most - least) for share in shares])
    assert method.generalization_ == list(path.values())[-1]
    for threshold, g in path.items():
        single = md.Iterative(max_error=threshold).fit(X, y)
        assert single.generalization_ == g
        assert single.error_ <= max(threshold, least)
    sizes = [g.n_buckets for g in path.values()]
    assert sizes == sorted(sizes, reverse=True)


def test_an_attribute_dropped_on_the_path_stays_dropped(people):
    """Fewer quantiles are not unions of more, but an attribute dropped at a low threshold stays dropped at a higher."""
    X, y = people
    path = list(md.Iterative().fit_path(X, y, [0.0, 0.5, 1.0]).values())
    assert set(path[2].needed) <= set(path[1].needed) <= set(path[0].needed)


@pytest.mark.parametrize("shares", [[], [-0.1], [1.5], [float("nan")], ["much"]])
def test_an_invalid_share_is_refused(people, shares):
    with pytest.raises(ParameterError, match="shares from 0 to 1, at least one"):
        md.Iterative().fit_path(*people, shares)


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        (md.Iterative(max_error=2), "The 'max_error' parameter of Iterative must be a number from 0 to 1. Got 2"),
        (md.Iterative(max_error=float("nan")), "'max_error' parameter of Iterative"),
        (md.Iterative(max_error="low"), "'max_error' parameter of Iterative"),
        (md.Iterative(buckets=0), "The 'buckets' parameter of Iterative must be an int ≥ 1. Got 0 instead."),
        (md.Iterative(buckets=2.5), "'buckets' parameter of Iterative"),
        (md.Iterative(weights={"nobody": 1}), "'nobody', which is not a personal attribute"),
        (md.Iterative(weights={"age": -1}), "numbers ≥ 0"),
    ],
)
def test_invalid_parameters_are_refused(people, method, complaint):
    with pytest.raises(ParameterError, match=complaint):
        method.fit(*people)


def test_too_few_records_are_refused(people):
    X, y = people
    with pytest.raises(DataError, match="at least 5 records"):
        md.Iterative().fit(X[:4], y[:4])
    assert md.Iterative().fit(X[:5], ["a", "b", "a", "b", "a"]).generalization_.names == list(X.columns)


def test_unseen_and_declared_categories_have_a_bucket():
    X, y = table()
    schema = md.Schema.infer(X).replace("cause", domain=("n", "e", "s", "w", "up"))
    g = md.Iterative(schema=schema, max_error=0.1).fit(X, y).generalization_
    new = pd.DataFrame({"secret": ["z", None], "cause": ["up", "down"], "number": [np.inf, np.nan]})
    codes = g.codes(new)
    assert codes.shape == (2, 3)
    assert (codes >= 0).all()
    assert "up" in [value for group in g["cause"].buckets for value in group.values]


def test_one_attribute_a_constant_and_many_values_are_fitted():
    X, y = table()
    X["same"] = "x"
    X["id"] = [f"i{i}" for i in range(len(X))]
    schema = md.Schema.infer(X[["cause"]])
    assert md.Iterative(schema=schema, max_error=0.1).fit(X[["cause"]], y).generalization_["cause"].n_buckets == 2
    schema = md.Schema(attributes=tuple(md.Attribute(name=n, kind="category") for n in ("cause", "same", "id")))
    g = md.Iterative(schema=schema, max_error=0.1, buckets=10_000).fit(X[["cause", "same", "id"]][:300], y[:300])
    assert g.generalization_["same"].action == "dropped"


def test_training_records_may_have_only_one_class():
    """Whole people are set aside: of two people, the training half may have a single class."""
    X = pd.DataFrame({"x": list("aabb") * 3, "who": [0] * 6 + [1] * 6})
    schema = md.Schema.infer(X).with_roles(person="who")
    for seed in range(4):
        method = md.Iterative(schema=schema, random_state=seed).fit(X, [0] * 6 + [1] * 6)
        assert method.error_ == 1.0
