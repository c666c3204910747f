"""`Generalization.coarsen`: every observed combination of buckets has k members, at little cost to the prediction."""

import json
import signal

import numpy as np
import pandas as pd
import pytest
from conftest import as_polars, tables
from hypothesis import given
from hypothesis import strategies as st

import modicum as md
from modicum.errors import DataError, ParameterError, StoppedWarning
from modicum.evaluation.coarsening_effect import effect
from modicum.generalization import coarsening
from modicum.generalization.bins import FullDetail

METHODS = st.sampled_from(
    [
        lambda schema: md.PrivacyTree(max_leaves=9, min_leaf=1, privacy=0.0, schema=schema),
        lambda schema: md.Uniform(buckets=3, schema=schema),
        lambda schema: md.FeatureSelection(k=3, score_func="mutual_information", schema=schema),
    ]
)


def smallest(g, X) -> int:
    return int(np.unique(g.codes(X), axis=0, return_counts=True)[1].min())


def is_coarser(before, after, X) -> bool:
    """Whether records that were equal in an attribute still are."""
    old, new = before.codes(X), after.codes(X)
    return all(
        len(np.unique(np.column_stack([old[:, j], new[:, j]]), axis=0)) == len(np.unique(old[:, j]))
        for j in range(old.shape[1])
    )


@given(tables(), METHODS, st.integers(1, 8))
def test_every_group_is_large_enough_and_the_result_coarser(table, method, k):
    X, y, schema = table
    g = method(schema).fit(X, y).generalization_
    coarser = g.coarsen(X, y, min_group=k)
    assert smallest(coarser, X) >= k
    assert is_coarser(g, coarser, X)
    assert md.Generalization.from_dict(json.loads(json.dumps(coarser.to_dict()))) == coarser
    assert coarser == g.coarsen(X, y, min_group=k)
    values = coarser.transform(X, output="values")
    assert np.array_equal(coarser.codes(values), coarser.codes(X))


@given(tables(), METHODS, st.integers(1, 4), st.integers(2, 6))
def test_persons_are_counted_where_the_schema_names_them(table, method, k, records_each):
    X, y, schema = table
    X = X.assign(who=np.arange(len(X)) // records_each)
    schema = md.Schema(attributes=(*schema, md.Attribute(name="who", kind="category", roles=["person"])))
    k = min(k, X["who"].nunique())
    coarser = method(schema).fit(X, y).generalization_.coarsen(X, y, min_group=k)
    alike = pd.DataFrame(coarser.codes(X)).assign(who=X["who"])
    assert alike.groupby(list(range(len(coarser.names))))["who"].nunique().min() >= k


@given(tables(), st.integers(2, 8))
def test_buckets_for_other_and_missing_values_join_too(table, k):
    X, y, schema = table
    half = X.iloc[: max(2, len(X) // 2)].dropna(axis=1, how="all")
    schema = schema.select(half.columns)
    g = md.Uniform(buckets=3, schema=schema).fit(half).generalization_
    coarser = g.coarsen(X, y, min_group=k)
    assert smallest(coarser, X) >= k
    assert is_coarser(g, coarser, X)


@pytest.mark.parametrize(
    "method",
    [md.Uniform(buckets=4), md.FeatureSelection(k=4), md.PrivacyTree(max_leaves=20)],
    ids=["uniform", "feature selection", "privacy tree"],
)
def test_generalizations_of_any_method_are_coarsened(people, method):
    X, y = people
    g = method.fit(X, y).generalization_
    assert smallest(g, X) < 10
    coarser = g.coarsen(X, y, min_group=10)
    assert smallest(coarser, X) >= 10
    assert coarser.needed
    assert g.coarsen(as_polars(X), y, min_group=10) == coarser


def test_numbers_in_full_detail_are_cut_only_where_needed(people):
    X, y = people
    rounded = X.assign(income=np.where(X["income"] > 20_000, 2.5, 1.5))[["income", "age"]]
    kept = md.FeatureSelection(k=2).fit(rounded, y).generalization_
    assert all(isinstance(p, FullDetail) for p in kept.partitions)
    coarser = kept.drop("age").coarsen(rounded, y, min_group=20)
    assert isinstance(coarser["income"], FullDetail)
    both = kept.coarsen(rounded, y, min_group=20)
    assert not isinstance(both["age"], FullDetail)
    assert smallest(both, rounded) >= 20


def test_a_generalization_with_large_enough_groups_stays_equal(people):
    X, y = people
    g = md.Uniform(buckets=3).fit(X).generalization_
    coarser = g.coarsen(X, y, min_group=10)
    assert coarser.coarsen(X, y, min_group=10) == coarser
    assert g.coarsen(X, y, min_group=1) == g


def test_a_group_of_everyone_leaves_nothing_to_collect(people):
    X, y = people
    assert md.Uniform(buckets=3).fit(X).generalization_.coarsen(X, y, min_group=len(X)).needed == []


def test_noise_is_merged_before_predictive_attributes():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"noise": random.integers(0, 8, 400), "signal": random.integers(0, 8, 400)})
    y = np.where(X["signal"] + random.normal(0, 1, 400) > 3.5, "yes", "no")
    g = md.Uniform(buckets=8).fit(X).generalization_
    coarser = g.coarsen(X, y, min_group=12)
    assert coarser["signal"].n_buckets > coarser["noise"].n_buckets
    assert md.utility(coarser, X, y, X, y).error < 0.25


def test_buckets_of_a_category_that_predict_alike_join_first():
    random = np.random.default_rng(0)
    job = random.choice(list("abcdef"), 600, p=[0.33, 0.01, 0.32, 0.01, 0.32, 0.01])
    y = np.where(np.isin(job, ["a", "d"]), 1, np.where(np.isin(job, ["b", "c"]), 2, 3))
    X = pd.DataFrame({"job": job})
    coarser = md.Uniform(buckets=6).fit(X).generalization_.coarsen(X, y, min_group=50)
    assert {frozenset(bucket.values) for bucket in coarser["job"].buckets} == {
        frozenset("ad"),
        frozenset("bc"),
        frozenset("ef"),
    }


def test_locked_attributes_stay(people):
    X, y = people
    schema = md.Schema.infer(X).replace("sex", locked=True)
    g = md.Uniform(buckets=4, schema=schema).fit(X).generalization_
    coarser = g.coarsen(X, y, min_group=50)
    assert coarser["sex"] == g["sex"]
    assert smallest(coarser, X) >= 50
    with pytest.raises(DataError, match="coarser buckets of 'sex', which the schema locks"):
        g.coarsen(X, y, min_group=500)
    schema = schema.replace("job", locked=True)
    g = md.Uniform(buckets=4, schema=schema).fit(X).generalization_
    with pytest.raises(DataError, match="'job'"):
        g.coarsen(X, y, min_group=100)


def test_a_numeric_label_is_cut(people):
    X, _ = people
    g = md.Uniform(buckets=3).fit(X).generalization_
    assert smallest(g.coarsen(X, X["income"], min_group=5, label_bins=4), X) >= 5
    with pytest.raises(DataError, match="label_bins"):
        g.coarsen(X, X["income"], min_group=5)


def test_only_needed_columns_are_read(people):
    X, y = people
    g = md.Uniform(buckets=3).fit(X).generalization_.drop("income")
    assert g.coarsen(X.drop(columns="income"), y, min_group=5) == g.coarsen(X, y, min_group=5)
    with pytest.raises(DataError, match="'job' is not in the data"):
        g.coarsen(X.drop(columns="job"), y, min_group=5)


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, "3", None])
def test_an_invalid_group_size_is_refused(people, wrong):
    X, y = people
    with pytest.raises(ParameterError, match="'min_group' parameter must be an int ≥ 1"):
        md.Uniform(buckets=3).fit(X).generalization_.coarsen(X, y, min_group=wrong)


def test_bad_input_is_named(people):
    X, y = people
    g = md.Uniform(buckets=3).fit(X).generalization_
    with pytest.raises(ParameterError, match="more than the 600 records in X"):
        g.coarsen(X, y, min_group=601)
    with pytest.raises(DataError, match="has no rows"):
        g.coarsen(X[:0], y[:0], min_group=2)
    with pytest.raises(DataError, match="one value for each of the 600 rows"):
        g.coarsen(X, y[:-1], min_group=2)
    with pytest.raises(DataError, match="1 missing values"):
        g.coarsen(X, y.where(y.index > 0, None), min_group=2)


def test_a_group_size_above_the_number_of_persons_is_refused(people):
    X, y = people
    X = X.assign(who=np.arange(len(X)) // 3)
    g = md.Uniform(buckets=3, schema=md.Schema.infer(X, person="who")).fit(X).generalization_
    with pytest.raises(ParameterError, match="more than the 200 persons in X"):
        g.coarsen(X, y, min_group=201)


def test_coarsening_weakens_the_adversaries_on_adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    known, test = X[:20_000], X[20_000:30_000]
    g = md.PrivacyTree(max_leaves=40).fit(known, y[:20_000]).generalization_
    found = effect(
        g, g.coarsen(known, y[:20_000], min_group=10), known, test, personal=["race", "sex"], population=10**6
    )
    assert found.smallest_before < 10 <= found.smallest_after
    assert found.buckets_after < found.buckets_before
    assert found.singling_out_after.unique < found.singling_out_before.unique
    assert found.certificate_after.mean < found.certificate_before.mean
    content = json.loads(json.dumps(found.to_dict()))
    assert content["smallest_group"] == {"before": found.smallest_before, "after": found.smallest_after}
    assert "predicate" not in content["singling_out"]["after"]


def test_stopping_early_still_gives_large_enough_groups(people, monkeypatch):
    X, y = people
    g = md.Uniform(buckets=4).fit(X).generalization_
    whole = g.coarsen(X, y, min_group=5)
    calls = []

    def once_then_stop(*arguments):
        calls.append(1)
        if len(calls) == 6:
            signal.raise_signal(signal.SIGINT)
        return best_split(*arguments)

    best_split = coarsening._best_split
    monkeypatch.setattr(coarsening, "_best_split", once_then_stop)
    with pytest.warns(StoppedWarning):
        early = g.coarsen(X, y, min_group=5)
    assert smallest(early, X) >= 5
    assert early.n_buckets < whole.n_buckets
