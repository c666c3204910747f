"""Properties of every table: strictness, totality, round trips, the tree's promise, one meaning everywhere."""

import json

import duckdb
import numpy as np
import pandas as pd
from conftest import as_polars, tables
from hypothesis import given
from hypothesis import strategies as st

import modicum as md
from modicum.generalization.bins import FullDetail
from modicum.table.targets import Target

METHODS = st.sampled_from(
    [
        lambda schema: md.PrivacyTree(max_leaves=9, min_leaf=2, privacy=0.2, schema=schema),
        lambda schema: md.PrivacyTree(max_leaves=9, min_leaf=1, privacy=0.0, schema=schema),
        lambda schema: md.Uniform(buckets=3, schema=schema),
        lambda schema: md.FeatureSelection(k=2, score_func="mutual_information", schema=schema),
        lambda schema: md.Iterative(max_error=0.3, buckets=3, schema=schema),
    ]
)


def with_unseen(X: pd.DataFrame, schema: md.Schema) -> pd.DataFrame:
    """Add records that the fit never saw: numbers outside and between, new categories, missing values."""
    rows = {}
    for a in schema:
        if a.kind == "date":
            rows[a.name] = pd.Series([pd.Timestamp("1901-01-01 12:00"), pd.Timestamp("2199-01-01"), pd.NaT])
        elif a.kind == "number":
            rows[a.name] = pd.Series([-np.inf, np.nan, np.inf])
        else:
            rows[a.name] = pd.Series(["never seen", None, "e\u0301"], dtype=object)
    extra = pd.DataFrame(rows)
    numbers = [a.name for a in schema if a.kind == "number"]
    between = X.copy()
    between[numbers] = between[numbers] + 0.25
    return pd.concat([X, between, extra], ignore_index=True).astype(X.dtypes)


@given(tables(), METHODS)
def test_every_record_has_exactly_one_bucket(table, method):
    X, y, schema = table
    g = method(schema).fit(X, y).generalization_
    everything = with_unseen(X, schema)
    codes = g.codes(everything)
    for j, partition in enumerate(g.partitions):
        if not isinstance(partition, FullDetail):
            assert codes[:, j].min() >= 0
            assert codes[:, j].max() < len(partition.labels)
            assert len(set(partition.labels)) == len(partition.labels)
        # Strict: one value, one bucket, whatever the rest of the record.
        shuffled = everything.sample(frac=1, random_state=0)
        assert np.array_equal(g.codes(shuffled)[:, j], codes[shuffled.index, j])
    labels = g.transform(everything)
    assert list(labels.columns) == g.needed
    assert not labels[[p.name for p in g.partitions if p.name in g.needed and p.labels]].isna().any().any()


@given(tables(), METHODS)
def test_json_round_trip(table, method):
    X, y, schema = table
    g = method(schema).fit(X, y).generalization_
    again = md.Generalization.from_dict(json.loads(json.dumps(g.to_dict())))
    assert again == g
    assert np.array_equal(again.codes(with_unseen(X, schema)), g.codes(with_unseen(X, schema)))


@given(tables(max_rows=120), st.sampled_from([0.0, 0.2, 0.6]), st.integers(1, 4))
def test_the_tree_cannot_distinguish_a_record_from_its_generalization(table, privacy, min_leaf):
    X, y, schema = table
    pat = md.PrivacyTree(max_leaves=16, min_leaf=min_leaf, privacy=privacy, schema=schema).fit(X, y)
    everything = with_unseen(X, schema)
    for size, g in zip((3, 16), pat.path([3, 16]), strict=True):
        values = g.transform(everything, output="values")
        leaf = pat.tree_.apply(pat.coder_.encode(everything), size)
        again = pat.tree_.apply(pat.coder_.encode(values), size)
        assert np.array_equal(leaf, again)


@given(tables(), st.sampled_from([0.0, 0.3]))
def test_coded_records_fall_into_the_same_buckets(table, privacy):
    X, y, schema = table
    pat = md.PrivacyTree(max_leaves=9, min_leaf=2, privacy=privacy, schema=schema).fit(X, y)
    found = pat.generalization_.transform_codes(pat.coder_.encode(X), pat.coder_)
    assert np.array_equal(found, pat.generalization_.codes(X))


@given(tables(), METHODS)
def test_a_bucket_leaves_the_true_value_possible(table, method):
    """The mask never rules out what the record holds, whatever the bins."""
    X, y, schema = table
    g = method(schema).fit(X, y).generalization_
    codes = g.codes(X)
    for j, attribute in enumerate(schema):
        target = Target.fit(X, attribute, bins=4)
        mask = g.possible(attribute.name, target, codes[:, j])
        assert mask[np.arange(len(X)), target.encode(X)].all()


@given(tables(), METHODS)
def test_a_representative_lies_in_its_bucket(table, method):
    X, y, schema = table
    g = method(schema).fit(X, y).generalization_
    values = g.transform(X, output="values")
    assert list(values.columns) == g.names
    assert np.array_equal(g.codes(values), g.codes(X))


@given(tables(), METHODS)
def test_pandas_polars_numpy_duckdb_and_exported_sql_agree(table, method):
    X, y, schema = table
    g = method(schema).fit(X, y).generalization_
    everything = with_unseen(X, schema)
    buckets = [p.name for p in g.partitions if p.labels and p.name in g.needed]
    expected = g.transform(everything)[buckets].astype(object)
    assert np.array_equal(g.codes(everything.to_numpy(dtype=object)), g.codes(everything))
    frame = as_polars(everything)
    _same(g.transform(frame).select(buckets).to_dict(as_series=False), expected)
    if buckets:
        _same(g.transform(frame.lazy()).collect().select(buckets).to_dict(as_series=False), expected)
        relation = g.transform(duckdb.from_arrow(frame.to_arrow()))
        _same(dict(zip(relation.columns, zip(*relation.fetchall(), strict=True), strict=True)), expected)
        with duckdb.connect() as connection:
            connection.register("people", frame.to_arrow())
            exported = connection.sql(g.to_sql("people"))
            _same(dict(zip(exported.columns, zip(*exported.fetchall(), strict=True), strict=True)), expected)


def _same(found: dict, expected: pd.DataFrame) -> None:
    for name in expected.columns:
        assert list(found[name]) == expected[name].tolist(), name


@given(tables(), st.integers(0, 5))
def test_the_intersection_distinguishes_what_either_one_does(table, seed):
    X, _, schema = table
    a = md.Uniform(buckets=2, schema=schema, random_state=seed).fit(X).generalization_
    b = md.Uniform(buckets=3, schema=schema, random_state=seed + 1).fit(X).generalization_
    both = a.intersect(b)
    everything = with_unseen(X, schema)
    pairs = np.concatenate([a.codes(everything), b.codes(everything)], axis=1)
    joint = both.codes(everything)
    d = len(a.names)
    for j in range(d):
        together = pd.factorize(pd.Series(list(zip(pairs[:, j], pairs[:, d + j], strict=True))))[0]
        assert np.array_equal(together, pd.factorize(joint[:, j])[0])
