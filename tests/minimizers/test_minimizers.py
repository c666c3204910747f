"""What each minimizer promises beyond the contract that all share."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from conftest import DATA, shared_file
from data import load_acs

import modicum as md
from modicum.errors import DataError, ParameterError, SchemaError


def test_more_privacy_collects_less(people):
    X, y = people
    sizes = [md.PrivacyTree(privacy=p, min_leaf=20).fit(X, y).generalization_.n_buckets for p in (0.0, 0.3, 0.6, 1.0)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 5  # nothing is collected


def test_the_path_is_the_same_as_growing_each_size(people):
    X, y = people
    sizes = [1, 2, 5, 9]
    path = md.PrivacyTree(max_leaves=9, min_leaf=20, privacy=0.1).fit(X, y).path(sizes)
    for size, g in zip(sizes, path, strict=True):
        assert md.PrivacyTree(max_leaves=size, min_leaf=20, privacy=0.1).fit(X, y).generalization_ == g
    for coarse, fine in pairwise(path):
        assert all(change.relation == "finer" for change in coarse.diff(fine).changes)


def test_only_named_attributes_are_protected(people):
    X, y = people
    guarded = md.PrivacyTree(personal=["age"], privacy=0.6, min_leaf=20).fit(X, y).generalization_
    free = md.PrivacyTree(personal=["sex"], privacy=0.6, min_leaf=20).fit(X, y).generalization_
    assert guarded["age"].n_buckets < free["age"].n_buckets
    weighted = md.PrivacyTree(personal=["age", "sex"], weights={"sex": 0.0}, privacy=0.6, min_leaf=20).fit(X, y)
    assert weighted.generalization_["age"] == guarded["age"]


def test_missing_values_may_join_a_bucket_or_stand_alone():
    random = np.random.default_rng(0)
    age = random.integers(20, 80, 4000).astype(float)
    absent = random.random(4000) < 0.3
    X = pd.DataFrame({"age": np.where(absent, np.nan, age)})
    alone = md.PrivacyTree(privacy=0.0, max_leaves=3).fit(X, np.where(absent, 2, age > 50)).generalization_
    assert alone.buckets["age"] == ("≤ 50", "≥ 51", "(missing)")
    joined = md.PrivacyTree(privacy=0.0, max_leaves=2).fit(X, np.where(absent, 1, age > 50)).generalization_
    assert joined.buckets["age"] == ("≤ 50", "≥ 51")
    assert joined.codes(pd.DataFrame({"age": [np.nan]})).tolist() == [[1]]


def test_locked_attributes_are_kept_and_forbidden_ones_dropped(people):
    X, y = people
    schema = md.Schema.infer(X).replace("sex", locked=True).replace("age", forbidden=True)
    for method in (
        md.PrivacyTree(schema=schema, min_leaf=20),
        md.FeatureSelection(k=1, schema=schema),
        md.Uniform(schema=schema),
    ):
        g = method.fit(X, y).generalization_
        assert g["sex"].action == "kept"
        assert g["age"].action == "dropped"


def test_a_numeric_label_needs_bins(people):
    X, _ = people
    income = X["income"]
    with pytest.raises(DataError, match=r"label 'income' is a number with .* label_bins"):
        md.PrivacyTree(min_leaf=20).fit(X.drop(columns="income"), income)
    g = md.PrivacyTree(min_leaf=20, label_bins=3, privacy=0.0).fit(X[["age", "income"]], income).generalization_
    assert g["income"].n_buckets >= 3


def test_uniform_splits_evenly_and_by_its_seed(people):
    X, _ = people
    g = md.Uniform(buckets=3).fit(X).generalization_
    assert [p.n_buckets for p in g.partitions] == [3, 3, 3, 3, 2]
    assert md.Uniform(buckets=3).fit(X).generalization_ == g
    assert any(md.Uniform(buckets=3, random_state=s).fit(X).generalization_ != g for s in range(1, 5))
    edges = g["age"].edges
    assert np.allclose(edges, [17 + 73 / 3, 17 + 2 * 73 / 3], atol=1)


def test_feature_selection_works_with_each_score(people):
    X, y = people
    for score in ("anova", "mutual_information", "chi2", "stepwise"):
        method = md.FeatureSelection(k=3, score_func=score).fit(X, y)
        assert len(method.generalization_.needed) == 3
        assert "school" in method.generalization_.needed
        assert set(method.scores_) == set(X.columns)


def test_stepwise_selection_drops_a_copy():
    random = np.random.default_rng(0)
    a, b = random.integers(0, 4, 3000), random.integers(0, 4, 3000)
    y = (2 * a + b + random.normal(0, 1, 3000) > 4.5).astype(int)
    X = pd.DataFrame({"a": a, "copy of a": a, "b": b})
    assert set(md.FeatureSelection(k=2, score_func="anova").fit(X, y).generalization_.needed) == {"a", "copy of a"}
    assert "b" in md.FeatureSelection(k=2, score_func="stepwise").fit(X, y).generalization_.needed


def test_scores_agree_with_scikit_learn():
    from sklearn.feature_selection import f_classif, mutual_info_classif

    random = np.random.default_rng(0)
    X = pd.DataFrame({f"x{j}": random.integers(0, 2 + 9 * j, 2000) for j in range(3)})
    y = ((X["x0"] + 2 * random.random(2000)) > 1).astype(int)
    ours = md.FeatureSelection(score_func="anova").fit(X, y).scores_
    assert list(ours.values()) == pytest.approx(f_classif(X, y)[0].tolist())
    ours = md.FeatureSelection(score_func="mutual_information").fit(X, y).scores_
    assert list(ours.values()) == pytest.approx(mutual_info_classif(X, y, discrete_features=True).tolist(), abs=1e-9)


@pytest.mark.parametrize(
    ("method", "complaint"),
    [
        (md.PrivacyTree(max_leaves=0), "The 'max_leaves' parameter of PrivacyTree must be an int ≥ 1. Got 0 instead."),
        (
            md.PrivacyTree(privacy=2),
            "The 'privacy' parameter of PrivacyTree must be a number from 0 to 1. Got 2 instead.",
        ),
        (md.PrivacyTree(min_leaf=1.5), "'min_leaf' parameter"),
        (md.PrivacyTree(label_bins=1), "'label_bins' parameter"),
        (md.PrivacyTree(weights={"nobody": 1}), "'nobody', which is not a personal attribute"),
        (md.PrivacyTree(weights={"age": -1}), "numbers ≥ 0"),
        (md.Uniform(buckets=0), "'buckets' parameter of Uniform"),
        (md.FeatureSelection(k=-1), "'k' parameter"),
        (md.FeatureSelection(score_func="luck"), "'score_func' parameter of FeatureSelection must be one of 'anova'"),
    ],
)
def test_invalid_parameters_are_refused(people, method, complaint):
    with pytest.raises(ParameterError, match=complaint.replace("(", r"\(")):
        method.fit(*people)


def test_invalid_data_is_refused(people):
    X, y = people
    pat = md.PrivacyTree(min_leaf=20)
    with pytest.raises(SchemaError, match="no attribute 'height' to be personal"):
        md.PrivacyTree(personal=["height"]).fit(X, y)
    with pytest.raises(DataError, match="label 'bought' is constant"):
        pat.fit(X, pd.Series(["yes"] * len(X), name="bought"))
    with pytest.raises(DataError, match="label 'bought' has 1 missing"):
        pat.fit(X, y.where(np.arange(len(y)) > 0))
    with pytest.raises(DataError, match="one value for each of the 600 rows"):
        pat.fit(X, y[:10])
    with pytest.raises(DataError, match="'age' appears more than once"):
        pat.fit(pd.concat([X, X[["age"]]], axis=1), y)
    with pytest.raises(ParameterError, match="path reaches from 1 to 20"):
        pat.fit(X, y).path([21])


def test_pandas_and_polars_give_the_same_artifact(people):
    import polars as pl
    from conftest import as_polars

    X, y = people
    schema = md.Schema.infer(X)
    polars = as_polars(X)
    a = md.PrivacyTree(min_leaf=20, schema=schema).fit(X, y).generalization_
    b = md.PrivacyTree(min_leaf=20, schema=schema).fit(polars, pl.Series("bought", y.tolist())).generalization_
    assert a == b


def test_quality_on_acs_employment():
    """The shape of [Staab24 §8.4]: with α = 0.7 and 20 leaves most attributes need not be collected."""
    shared_file("acs/ny2024.parquet")
    data = load_acs("employment", folder=DATA)
    g = md.PrivacyTree(max_leaves=20, privacy=0.7, schema=data.schema).fit(data.X, data.y).generalization_
    assert 10 <= len(g.names) - len(g.needed) < 16
    assert {"AGEP", "SCHL"} <= set(g.needed)
    assert 20 <= g.n_buckets <= 40


@pytest.mark.slow
def test_a_million_rows_with_categories_and_missing_values_are_minimized():
    random = np.random.default_rng(0)
    n = 1_000_000
    X = pd.DataFrame(
        {
            "age": np.where(random.random(n) < 0.02, np.nan, random.integers(17, 95, n)),
            "income": random.lognormal(10, 1, n),
            "job": random.choice(np.array([f"job {i}" for i in range(300)] + [None], dtype=object), n),
            "sex": random.choice(["f", "m"], n),
        }
    )
    y = (X["age"].fillna(50) + 20 * (X["sex"] == "f") + random.normal(0, 10, n) > 65).astype(int)
    pat = md.PrivacyTree(max_leaves=50, privacy=0.3).fit(X, y)
    g = pat.generalization_
    assert {"age", "sex"} <= set(g.needed)
    assert np.bincount(pat.tree_.apply(pat.coder_.encode(X))).min() >= 100
    Z = g.transform(X)
    assert len(Z) == n
    assert not Z.isna().any().any()


def test_row_order_and_odd_words_do_not_change_the_artifact():
    X = pd.DataFrame({"c": ["1", "2", "nan", "3", "5", "4"] * 40})
    y = pd.Series(np.random.default_rng(0).integers(0, 2, 240))
    schema = md.Schema(attributes=(md.Attribute(name="c", kind="category"),))
    found = set()
    for seed in range(6):
        order = np.random.default_rng(seed).permutation(240)
        g = md.PrivacyTree(privacy=0.0, min_leaf=5, schema=schema).fit(X.iloc[order], y.iloc[order]).generalization_
        found.add(str(g.to_dict()))
    assert len(found) == 1


def test_arrays_are_matched_by_the_columns_of_fit():
    X = pd.DataFrame({"a": np.arange(100.0), "b": np.arange(100.0) * 1000})
    swapped = md.Schema.infer(X).select(["b", "a"])
    method = md.Uniform(buckets=2, schema=swapped).fit(X)
    expected = method.generalization_.transform(X, output="codes").to_numpy()
    with pytest.warns(UserWarning, match="fitted with feature names"):
        assert np.array_equal(method.transform(X.to_numpy()), expected)
    named = md.Uniform(buckets=2, schema=md.Schema.infer(X)).fit(X.to_numpy())
    assert named.generalization_.names == ["a", "b"]


def test_label_bins_count_weighted_records():
    X = pd.DataFrame({"x": np.arange(400)})
    y = np.minimum(np.arange(400), 120)
    with pytest.raises(DataError, match="cannot be cut into 2 ranges because one value is too frequent"):
        md.PrivacyTree(label_bins=2, min_leaf=10).fit(X, y)
    weights = np.random.default_rng(0).integers(1, 5, 400)
    method = md.PrivacyTree(label_bins=3, min_leaf=10, privacy=0.0)
    weighted = method.fit(X, np.arange(400), sample_weight=weights).generalization_
    assert weighted == method.fit(X.loc[X.index.repeat(weights)], np.repeat(np.arange(400), weights)).generalization_
    with pytest.raises(ParameterError, match="'label_bins' parameter of FeatureSelection"):
        md.FeatureSelection(label_bins=1).fit(X, y)


def test_too_few_records_are_refused(people):
    X, y = people
    with pytest.raises(DataError, match=r"cannot split 150 records .* at least 100"):
        md.PrivacyTree().fit(X[:150], y[:150])


def test_missing_may_come_first_if_last_is_not_feasible():
    a = np.array([1.0] * 8 + [2.0] * 12 + [np.nan] * 5)
    g = md.PrivacyTree(max_leaves=2, min_leaf=12, privacy=0.0).fit(pd.DataFrame({"a": a}), a == 2).generalization_
    assert g["a"].n_buckets == 2
    assert g["a"].missing_code == 0


def test_a_locked_constant_is_kept(people):
    X, y = people
    X = X.assign(country="here")
    schema = md.Schema.infer(X).replace("country", locked=True)
    assert md.PrivacyTree(min_leaf=20, schema=schema).fit(X, y).generalization_["country"].action == "kept"


def test_everything_forbidden_collects_nothing(people):
    X, y = people
    schema = md.Schema.infer(X)
    for name in X.columns:
        schema = schema.replace(name, forbidden=True)
    assert md.PrivacyTree(min_leaf=20, schema=schema).fit(X, y).generalization_.needed == []


def test_uniform_cuts_by_width_even_with_many_values():
    values = np.append(np.random.default_rng(0).lognormal(0, 0.5, 100_000), 1000.0)
    g = md.Uniform(buckets=4).fit(pd.DataFrame({"x": values})).generalization_
    low = values.min()
    bucket = np.minimum(3, np.floor(4 * (values - low) / (1000 - low)))
    assert np.array_equal(pd.factorize(g.codes(pd.DataFrame({"x": values}))[:, 0])[0], pd.factorize(bucket)[0])


def test_an_artifact_reveals_no_single_persons_number():
    values = np.append(np.random.default_rng(0).normal(50_000, 9_000, 5_000).round(2), 1_234_567.89)
    X = pd.DataFrame({"salary": values})
    for method in (md.Uniform(buckets=4), md.PrivacyTree(privacy=0.0, min_leaf=1, max_leaves=40)):
        g = method.fit(X, values > 60_000).generalization_
        numbers = [v for p in g.partitions for v in p.representatives if v is not None] + [*g["salary"].edges]
        assert not np.isin(numbers, values).any()


def test_many_classes_and_odd_weights_are_refused(people):
    X, y = people
    with pytest.raises(DataError, match="has 600 classes, more than 256"):
        md.PrivacyTree(min_leaf=20).fit(X, [f"class {i}" for i in range(600)])
    with pytest.raises(DataError, match="whole numbers"):
        md.PrivacyTree(min_leaf=20).fit(X, y, sample_weight=np.full(600, np.inf))
    with pytest.raises(ParameterError, match="numbers ≥ 0"):
        md.PrivacyTree(min_leaf=20, weights={"age": float("nan")}).fit(X, y)
    wide = pd.DataFrame({f"c{j}": [f"v{i}" for i in range(9000)] for j in range(3)})
    with pytest.raises(DataError, match="takes too much memory; group the values of 'c0'"):
        md.PrivacyTree().fit(wide, np.arange(9000) % 2)


def test_stepwise_does_not_depend_on_the_names_of_classes():
    random = np.random.default_rng(3)
    X = pd.DataFrame(random.integers(0, 4, (500, 5)), columns=list("abcde"))
    y = (X["a"] + X["b"] * random.integers(0, 2, 500) + random.integers(0, 3, 500)) % 3
    method = md.FeatureSelection(k=2, score_func="stepwise")
    chosen = {tuple(method.fit(X, (y + shift) % 3).generalization_.needed) for shift in range(3)}
    assert len(chosen) == 1
