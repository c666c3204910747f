"""A schema, coder or label learned in an engine equals one learned in memory."""

import datetime as dt
from dataclasses import fields
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_places import LAZY
from hypothesis import given
from hypothesis import strategies as st

import modicum as md
import modicum.engines.coding as coding
from modicum.engines import counting, order_statistics, table_at
from modicum.engines.coding import coder_at, labels_at, numbers_at, schema_at, target_at
from modicum.errors import ModicumError
from modicum.table.codes import AtEdges, AtRanks, Coder, EqualCounts, EqualWidths, group_numbers, number_coding, rises
from modicum.table.frames import as_frame, numbers, texts
from modicum.table.targets import Labels, Target

NUMBER = md.Attribute(name="v", kind="number", storage="float")


def same(found, wanted):
    """Compare two codings, targets or labels field for field and byte for byte."""
    assert type(found) is type(wanted)
    for field in fields(wanted):
        a, b = getattr(found, field.name), getattr(wanted, field.name)
        if isinstance(b, np.ndarray):
            assert a.dtype == b.dtype, field.name
            assert np.array_equal(a, b), field.name
        elif hasattr(b, "__dataclass_fields__"):
            same(a, b)
        else:
            assert a == b, field.name


def same_coder(found, wanted):
    assert found.schema == wanted.schema
    for a, b in zip(found.codings, wanted.codings, strict=True):
        same(a, b)


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X.assign(income=y)[:4_000]


@pytest.fixture(scope="module")
def odd():
    """Columns of every type, under names that need quoting, with values that are easily confused."""
    random = np.random.default_rng(0)
    n = 600
    words = np.array(["a", " a", "A", "", "é", "e\u0301", "a\x00", "1", "01", "NaN"], dtype=object)
    day = pd.Timestamp("2020-01-01")
    return pd.DataFrame(
        {
            'say "x"; --': np.where(random.random(n) < 0.1, None, random.choice(words, n)),
            "count": np.where(random.random(n) < 0.2, np.nan, random.integers(-5, 6, n)),
            "a.b": random.normal(size=n),
            "zero": random.choice([-0.0, 0.0, 0.5], n),
            "big": random.integers(2**60, 2**62, n),
            "yes": random.random(n) < 0.3,
            "day": day + pd.to_timedelta(random.integers(0, 900, n), unit="D"),
            "moment": day + pd.to_timedelta(random.integers(0, 10**12, n), unit="us"),
            "zoned": (day + pd.to_timedelta(random.integers(0, 10**6, n), unit="s")).tz_localize("UTC"),
            "tied": np.where(random.random(n) < 0.7, 3.25, np.round(random.normal(size=n), 3)),
            "größe": random.integers(0, 3, n).astype(np.int8),
        }
    )


@pytest.mark.parametrize("place", LAZY)
def test_a_coder_learned_in_an_engine_equals_one_learned_in_memory(place, held, adult):
    schema = md.Schema.infer(adult)
    table = table_at(held(place, adult))
    assert schema_at(table) == schema
    same_coder(coder_at(table, schema), Coder.fit(adult, schema))


@pytest.mark.parametrize("place", ["duckdb", "polars-lazy", "ibis"])
def test_a_coder_learned_in_several_passes_is_the_same(place, held, adult, monkeypatch):
    schema = md.Schema.infer(adult)
    _lower_limits(monkeypatch, 300)
    same_coder(coder_at(table_at(held(place, adult)), schema), Coder.fit(adult, schema))


@pytest.mark.parametrize("place", LAZY)
def test_odd_names_and_types_are_coded_alike_everywhere(place, held, odd):
    table = table_at(held(place, odd))
    schema = schema_at(table)
    assert schema == md.Schema.infer(odd)
    same_coder(coder_at(table, schema), Coder.fit(odd, schema))
    as_category = (
        schema.replace("big", kind="category").replace("zero", kind="category").replace("day", kind="category")
    )
    wanted = Coder.fit(odd, as_category)
    same_coder(coder_at(table, as_category), wanted)
    for name in schema.names if place != "spark" else schema.names[:2]:  # each takes Spark seconds
        same(target_at(table, schema[name], 7, named=["new"]), Target.fit(odd, schema[name], 7, named=["new"]))


@pytest.mark.parametrize("place", ["duckdb", "polars-lazy", "ibis"])
def test_batches_are_coded_like_a_pandas_frame(place, held, odd):
    schema = md.Schema.infer(odd).replace("big", kind="category").replace("moment", kind="category")
    coder = Coder.fit(odd, schema)
    batches = [coder.encode(batch) for batch in table_at(held(place, odd)).batches(schema.names)]
    found, wanted = (np.vstack(each) for each in (batches, [coder.encode(odd)]))
    assert sorted(found.tolist()) == sorted(wanted.tolist())


@pytest.mark.parametrize("place", LAZY)
def test_labels_learned_in_an_engine_equal_those_learned_in_memory(place, held, adult, monkeypatch):
    table = table_at(held(place, adult))
    same(labels_at(table, "income"), Labels.fit(adult["income"], name="income"))
    for limit in (1_000, 12) if place != "spark" else (1_000,):
        _lower_limits(monkeypatch, limit)
        same(labels_at(table, "hours-per-week", 5), Labels.fit(adult["hours-per-week"], 5, name="hours-per-week"))


@pytest.mark.parametrize("limit", [100, 400, 10_000])
def test_many_values_are_narrowed_down_to_the_same_codes_in_few_passes(limit, held, monkeypatch):
    random = np.random.default_rng(1)
    X = pd.DataFrame(
        {
            "v": random.normal(size=5_000),
            "ties": np.where(random.random(5_000) < 0.8, 0.5, random.normal(size=5_000)),
            "few": random.integers(0, 5, 5_000),
            "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 10**13, 5_000), unit="us"),
        }
    )
    X.loc[::7, "v"] = np.nan
    _lower_limits(monkeypatch, limit)
    table = table_at(held("duckdb", X))
    schema = schema_at(table)
    passes = _counting_passes(monkeypatch, table)
    for grouping in (EqualCounts(20), EqualWidths(30), AtEdges((-0.5, 1.25)), AtRanks((100, 2_000))):
        found = numbers_at(table, dict.fromkeys(X.columns, grouping), schema)
        for name, each in found.items():
            values = numbers(as_frame(X)[name], schema[name])
            same(each, group_numbers(schema[name], values, None, grouping.starts))
    assert len(passes) == 4 if limit == 10_000 else 4 < len(passes) < 60


def test_a_column_of_many_values_takes_three_passes(held):
    X = pd.DataFrame({"v": np.random.default_rng(0).permutation(200_000) / 7, "w": np.arange(200_000) % 9})
    table, schema = table_at(held("duckdb", X)), md.Schema.infer(X)
    with pytest.MonkeyPatch.context() as patch:
        passes = _counting_passes(patch, table)
        found = coder_at(table, schema)
    assert passes == [("v", "w"), ("v",), ("v",)]
    same_coder(found, Coder.fit(X, schema))


@pytest.mark.services
def test_spark_narrows_down_to_the_same_codes(held, monkeypatch):
    values = np.random.default_rng(0).normal(size=3_000)
    X = pd.DataFrame({"v": np.where(np.arange(3_000) % 3, values, 1.5)})
    _lower_limits(monkeypatch, 260)
    table, schema = table_at(held("spark", X)), md.Schema.infer(X)
    same_coder(coder_at(table, schema), Coder.fit(X, schema))


@given(
    values=st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32) | st.integers(0, 9), min_size=1),
    most=st.integers(1, 6),
    limit=st.integers(6, 12),
    fetched=st.integers(1, 9),
    dealt=st.integers(1, 9),
)
def test_order_statistics_do_not_depend_on_what_was_sampled(values, most, limit, fetched, dealt):
    values = np.array(values, dtype=np.float64)
    table = table_at(pd.DataFrame({"v": values}))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("modicum.engines.local_table.ROWS", dealt)
        for grouping in (EqualCounts(most), EqualWidths(most), AtRanks(tuple(range(1, len(values), 3)))):
            wanted = group_numbers(NUMBER, values, None, grouping.starts)
            found = counting.survey_columns(table, [NUMBER], limit)
            if found["v"].complete:
                starts, known = grouping.starts, found["v"]
                same(number_coding(NUMBER, known.distinct, known.counts, 0, starts), wanted)
            else:
                known = order_statistics.narrow_gaps(table, {"v": NUMBER}, found, {"v": grouping}, fetched)["v"]
                same(number_coding(NUMBER, known.distinct, known.abridged, 0, partial(rises, grouping)), wanted)


def _refusals():
    many = [f"w{i}" for i in range(10_001)]
    number, word = md.Attribute(name="x", kind="number"), md.Attribute(name="x", kind="category")
    yield "no rows", pd.DataFrame({"x": pd.Series([], dtype=np.float64)}), number
    yield "no value at all", pd.DataFrame({"x": [np.nan, np.nan]}), number
    yield "no value at all", pd.DataFrame({"x": pd.Series([None, None], dtype=object)}), word
    yield "infinity", pd.DataFrame({"x": [1.0, np.inf]}), number
    yield "10,001 different categories", pd.DataFrame({"x": [*many, None]}), word
    yield "cannot be read", pd.DataFrame({"x": ["1", "two", "three", None]}), number
    yield "cannot be read", pd.DataFrame({"x": ["2020-01-01", "then"]}), md.Attribute(name="x", kind="date")
    yield "does not name", pd.DataFrame({"x": ["a", "b", "c"]}), word.model_copy(update={"domain": ("a",)})
    yield "outside its domain", pd.DataFrame({"x": [1, 5, 9]}), number.model_copy(update={"domain": (2, 6)})
    yield "order is not known", pd.DataFrame({"x": ["a", "b"]}), md.Attribute(name="x", kind="ordered")
    yield "which the data does not have", pd.DataFrame({"y": [1]}), number


@pytest.mark.parametrize(("message", "X", "attribute"), list(_refusals()))
@pytest.mark.parametrize("limit", [300, 100_000])
def test_columns_that_cannot_be_coded_are_refused_in_the_same_words(message, X, attribute, limit, held, monkeypatch):
    _lower_limits(monkeypatch, limit)
    schema = md.Schema(attributes=(attribute,))
    with pytest.raises(ModicumError, match=message) as wanted:
        Coder.fit(X, schema)
    for place in ("duckdb", "polars-lazy"):
        with pytest.raises(type(wanted.value)) as found:
            coder_at(table_at(held(place, X)), schema)
        assert str(found.value) == str(wanted.value)


def test_domain_and_infinity_are_also_checked_among_many_values(held, monkeypatch):
    _lower_limits(monkeypatch, 300)
    values = np.random.default_rng(0).normal(size=2_000)
    narrow = md.Schema(attributes=(NUMBER.model_copy(update={"domain": (-1, 2)}),))
    for X, schema in ((pd.DataFrame({"v": values}), narrow), (pd.DataFrame({"v": [*values, -np.inf]}), None)):
        schema = schema or md.Schema.infer(X)
        with pytest.raises(ModicumError) as wanted:
            Coder.fit(X, schema)
        with pytest.raises(type(wanted.value)) as found:
            coder_at(table_at(held("duckdb", X)), schema)
        assert str(found.value) == str(wanted.value)


@pytest.mark.parametrize(
    ("values", "bins"),
    [
        (["a", None, None, "b"], None),
        ([1.0, np.nan, 2.0], 2),
        ([1.0, np.inf, 2.0], None),
        ([1.0, np.inf, 2.0], 2),
        ([3, 3], None),
        ([1] + [3] * 90, 2),
        (list(range(30)), None),
        (list(range(300)), None),
        ([*np.linspace(0, 1, 300), np.nan], None),
        ([*np.linspace(0, 1, 300), np.inf], None),
        ([f"w{i}" for i in range(300)], None),
        (["a", "b"], 2),
        ([1, 2, 3], 1),
        ([True, False, True], 2),
    ],
)
def test_unusable_labels_are_refused_in_the_same_words(values, bins, held):
    X = pd.DataFrame({"y": values})
    with pytest.raises(ModicumError) as wanted:
        Labels.fit(X["y"], bins, name="y")
    for place in ("duckdb", "polars-lazy"):
        with pytest.raises(type(wanted.value)) as found:
            labels_at(table_at(held(place, X)), "y", bins)
        assert str(found.value) == str(wanted.value)


def test_a_table_that_changes_while_it_is_read_is_noticed(monkeypatch):
    _lower_limits(monkeypatch, 300)
    table = table_at(pd.DataFrame({"v": np.random.default_rng(0).normal(size=2_000)}))
    fold = table.fold
    monkeypatch.setattr(table, "fold", lambda work: fold(work) * 2)
    with pytest.raises(ModicumError, match="changed while it was read"):
        numbers_at(table, {"v": EqualCounts(10)}, md.Schema(attributes=(NUMBER,)))


def test_arrow_columns_are_read_as_the_same_texts():
    moments = [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), None, dt.datetime(2020, 1, 1, 3, tzinfo=dt.UTC)]
    columns = {
        "flag": pa.array([True, None, False]),
        "whole": pa.array([2**60 + 1, None, -3]),
        "half": pa.array([0.5, float("nan"), 2.0]),
        "day": pa.array([dt.date(2020, 1, 2), None, dt.date(1960, 5, 6)]),
        "moment": pa.array(moments, pa.timestamp("ns", "UTC")),
        "text": pa.array(["a\x00", None, "e\u0301"]),
        "named": pa.array(["b", None, "a"]).dictionary_encode().take(pa.array([0, 1, 0])),
    }
    wanted = {
        "flag": ["true", None, "false"],
        "whole": ["1152921504606846977", None, "-3"],
        "half": ["0.5", None, "2"],
        "day": ["2020-01-02", None, "1960-05-06"],
        "moment": ["2020-01-01", None, "2020-01-01T03:00:00"],
        "text": ["a\x00", None, "é"],
        "named": ["b", None, "b"],
    }
    frame = as_frame(pa.table(columns))
    for name in columns:
        codes, words = texts(frame[name])
        assert [None if code < 0 else words[code] for code in codes] == wanted[name]
        assert set(words) == set(wanted[name]) - {None}


def _lower_limits(monkeypatch, limit):
    """Count at most `limit` values one by one, so that small tables need several passes."""
    monkeypatch.setattr(coding, "survey_columns", partial(_survey_columns, limit))
    monkeypatch.setattr(order_statistics, "survey_columns", partial(_survey_columns, limit))


def _survey_columns(most, table, attributes, limit=counting.LIMIT, *rest, **more):
    return counting.survey_columns(table, attributes, min(most, limit), *rest, **more)


def _counting_passes(monkeypatch, table):
    passes, batches = [], table.batches
    monkeypatch.setattr(table, "batches", lambda columns: passes.append(columns) or batches(columns))
    return passes
