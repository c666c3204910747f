"""The trade-off of two errors against brute force; distinct values against the generalization itself."""

import datetime as dt
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import as_polars, tables
from hypothesis import given, settings
from hypothesis import strategies as st

import modicum as md
from modicum.generalization.core import DistinctColumns
from modicum.measures.front import ErrorLimits, best_within, hypervolume, knee, on_front

_errors = st.integers(0, 8).map(lambda i: i / 8)
POINTS = st.lists(st.tuples(_errors, _errors), max_size=12)
BOX = ErrorLimits(raw_error=0.25, majority_error=0.75, naive_adversary=0.5)


def dominates(a, b) -> bool:
    return a[0] <= b[0] and a[1] >= b[1] and a != b


@given(POINTS)
def test_the_front_holds_the_candidates_that_no_other_beats(points):
    expected = [
        not any(dominates(other, point) for other in points) and point not in points[:i]
        for i, point in enumerate(points)
    ]
    assert on_front(points).tolist() == expected


@given(POINTS.filter(bool), st.randoms())
def test_the_front_does_not_depend_on_the_order(points, random):
    mixed = list(points)
    random.shuffle(mixed)
    chosen = [{p for p, ok in zip(some, on_front(some), strict=True) if ok} for some in (points, mixed)]
    assert chosen[0] == chosen[1]
    front = sorted(chosen[0])
    assert front == sorted(front, key=lambda p: p[1])  # more error, more privacy


@given(POINTS)
def test_the_hypervolume_is_the_share_of_a_fine_grid(points):
    """All coordinates are eighths, so cells of a sixteenth are covered fully or not at all."""
    x = np.arange(0.25, 0.75, 1 / 16) + 1 / 32
    y = np.arange(0, 0.5, 1 / 16) + 1 / 32
    reached = np.zeros((len(x), len(y)), dtype=bool)
    for a, b in points:
        reached |= (x[:, None] >= a) & (y[None, :] <= b)
    assert hypervolume(points, BOX) == pytest.approx(reached.mean(), abs=1e-9)


@given(POINTS, st.tuples(_errors, _errors))
def test_one_more_candidate_never_reaches_less(points, more):
    assert hypervolume([*points, more], BOX) >= hypervolume(points, BOX)
    assert best_within([*points, more], 0.5) is None or best_within([*points, more], 0.5) >= (
        best_within(points, 0.5) or 0.0
    )


@given(POINTS)
def test_only_the_front_counts(points):
    front = [p for p, ok in zip(points, on_front(points), strict=True) if ok]
    assert hypervolume(front, BOX) == hypervolume(points, BOX)
    for error in (0.0, 0.4, 1.0):
        assert best_within(front, error) == best_within(points, error)


def test_the_limits_of_the_hypervolume():
    assert hypervolume([], BOX) == 0
    assert hypervolume([[0.75, 0.5]], BOX) == 0  # collecting nothing
    assert hypervolume([[0.25, 0.0]], BOX) == 0  # raw data
    assert hypervolume([[0.25, 0.5]], BOX) == 1
    assert hypervolume([[0.0, 0.9]], BOX) == 1  # better than both limits is no more than all
    assert hypervolume([[0.9, 0.5], [0.25, -0.1]], BOX) == 0
    for limits in (ErrorLimits(0.3, 0.3, 0.5), ErrorLimits(0.4, 0.3, 0.5), ErrorLimits(0.1, 0.3, 0.0)):
        assert np.isnan(hypervolume([[0.2, 0.1]], limits))


@given(POINTS)
def test_the_best_within_an_error_is_the_most_private_candidate(points):
    for error in (-1, 0.5, 2):
        inside = [b for a, b in points if a <= error]
        assert best_within(points, error) == (max(inside) if inside else None)


ENDS = ErrorLimits(raw_error=0.1, majority_error=0.5, naive_adversary=0.42)


@given(POINTS.filter(bool))
def test_the_knee_is_the_furthest_above_the_line_from_raw_data_to_nothing(points):
    chosen = knee(points, ENDS)
    front = [i for i, ok in enumerate(on_front(points)) if ok]
    assert chosen in front
    above = {i: points[i][1] / 0.42 - (points[i][0] - 0.1) / 0.4 for i in front}
    assert above[chosen] == pytest.approx(max(above.values()))


def test_the_knee_of_a_bent_front_and_of_a_single_candidate():
    bent = [[0.10, 0.0], [0.11, 0.2], [0.12, 0.38], [0.30, 0.41], [0.50, 0.42]]
    assert knee(bent, ENDS) == 2
    assert knee([*bent[::-1], [0.5, 0.1]], ENDS) == 2  # neither the order nor beaten candidates matter
    assert knee([[0.3, 0.3]], ENDS) == 0


def test_nothing_collected_is_the_knee_only_if_nothing_is_above_the_line():
    """A front's own ends do not move it: a study whose useful end is missing must not choose to collect nothing."""
    nothing, useful = [0.5, 0.42], [0.3, 0.30]
    assert knee([nothing, useful], ENDS) == 1
    assert knee([nothing, [0.45, 0.30]], ENDS) == 0
    hopeless = ErrorLimits(raw_error=0.5, majority_error=0.5, naive_adversary=0.42)  # raw data predicts nothing
    assert knee([nothing, useful], hopeless) == 0


# Distinct values


def typed() -> pd.DataFrame:
    """Every kind of column that a table may have."""
    random = np.random.default_rng(0)
    n = 200
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), unit="D")
    return pd.DataFrame(
        {
            "number": np.where(random.random(n) < 0.1, np.nan, random.normal(size=n).round(1)),
            "zero": random.choice([-0.0, 0.0, 1.0], n),
            "whole": pd.array(random.integers(0, 40, n), dtype="Int64"),
            "yes": random.random(n) < 0.5,
            "perhaps": pd.array(np.where(random.random(n) < 0.5, None, random.random(n) < 0.5), dtype="boolean"),
            "day": days.where(random.random(n) < 0.9),
            "text": np.where(random.random(n) < 0.1, None, random.choice(["a", "é", "e\u0301", "None", "nan"], n)),
            "level": pd.Categorical(random.choice(["low", "top"], n), ["low", "top"], ordered=True),
        }
    )


METHODS = {
    "tree": lambda schema: md.PrivacyTree(min_leaf=5, privacy=0.0, schema=schema),
    "uniform": lambda schema: md.Uniform(buckets=3, schema=schema),
    "selection": lambda schema: md.FeatureSelection(k=4, schema=schema),
    "all": lambda schema: md.FeatureSelection(k=8, schema=schema),
    "iterative": lambda schema: md.Iterative(max_error=0.0, schema=schema),
    "adversarial": lambda schema: md.AdversarialTraining(privacy=0.0, epochs=1, device="cpu", schema=schema),
    "information": lambda schema: md.MutualInformation(privacy=0.0, epochs=1, device="cpu", schema=schema),
}


@cache
def fitted(method: str):
    X = typed()
    y = np.random.default_rng(1).integers(0, 2, len(X)) | (X["number"].fillna(0) > 0.5).to_numpy()
    return METHODS[method](md.Schema.infer(X)).fit(X, y).generalization_


@pytest.mark.parametrize("method", METHODS)
def test_codes_by_distinct_values_agree_with_the_generalization(method):
    if method in ("adversarial", "information"):
        pytest.importorskip("torch", reason="PyTorch is not there; it comes with the extra 'neural'")
    g = fitted(method)
    X = typed()
    assert len(g.needed) >= 4
    mixed = X.sample(frac=1, random_state=0)
    frames = [X, mixed, X[:1], X[:0], as_polars(X)]
    for frame in frames:
        columns = DistinctColumns.of(frame, g.schema)
        assert len(columns) == len(frame)
        assert np.array_equal(columns.codes(g), g.codes(frame))


@given(tables(), st.sampled_from(["tree", "uniform", "all"]))
@settings(max_examples=40)
def test_codes_agree_on_random_tables(table, method):
    X, y, schema = table
    minimizer = md.PrivacyTree(min_leaf=1, privacy=0.0, schema=schema) if method == "tree" else METHODS[method](schema)
    if method == "all":
        minimizer = md.FeatureSelection(k=len(schema.features), score_func="mutual_information", schema=schema)
    g = minimizer.fit(X, y).generalization_
    for frame in (X, as_polars(X)):
        assert np.array_equal(DistinctColumns.of(frame, schema).codes(g), g.codes(frame))


def test_sizes_count_values_without_missing():
    X = pd.DataFrame({"a": [1.0, np.nan, 2.0, 1.0], "b": ["x", None, "x", "x"], "c": [True, False, True, True]})
    schema = md.Schema.infer(X)
    expected = {"a": 2, "b": 1, "c": 2}
    assert DistinctColumns.of(X, schema).sizes() == expected
    both = pl.DataFrame({"a": [1.0, float("nan"), None, 2.0], "b": ["x", None, "x", "x"], "c": [True, False] * 2})
    assert DistinctColumns.of(both, schema).sizes() == expected


def fingerprint(columns, schema=None) -> str:
    X = pd.DataFrame(columns)
    return DistinctColumns.of(X, schema or md.Schema.infer(X)).fingerprint()


def test_other_data_has_another_fingerprint(as_frame):
    columns = {"a": [1, 2, 3, 2], "b": ["x", "y", None, "x"]}
    schema = md.Schema.infer(pd.DataFrame(columns))

    def fingerprint_of(changed, schema=schema):
        return DistinctColumns.of(as_frame(changed), schema).fingerprint()

    same = fingerprint_of(columns)
    assert fingerprint_of(columns) == same
    others = {
        "one value": columns | {"a": [1, 2, 3, 3]},
        "one missing": columns | {"b": ["x", None, None, "x"]},
        "another order": {"a": [2, 1, 3, 2], "b": ["y", "x", None, "x"]},
        "the other end": {"a": [2, 2, 3, 1], "b": ["x", "y", None, "x"]},
        "fewer rows": {"a": [1, 2, 3], "b": ["x", "y", None]},
    }
    found = {name: fingerprint_of(changed) for name, changed in others.items()}
    assert len({same, *found.values()}) == 1 + len(others)
    renamed = {"c": columns["a"], "b": columns["b"]}
    assert fingerprint_of(renamed, md.Schema.infer(pd.DataFrame(renamed))) != same


def test_missing_values_and_similar_texts_have_different_fingerprints():
    text = md.Schema(attributes=(md.Attribute(name="a", kind="category"),))
    for first in ("None", "nan", "<NA>", "NaT", ""):
        assert fingerprint({"a": [None, "x"]}, text) != fingerprint({"a": [first, "x"]}, text)
    assert fingerprint({"a": [True, False]}, text) != fingerprint({"a": ["True", "False"]}, text)


def test_the_fingerprint_distinguishes_close_numbers_and_dates():
    number = md.Schema(attributes=(md.Attribute(name="a", kind="number", storage="float"),))
    assert fingerprint({"a": [0.1, 1.0]}, number) != fingerprint({"a": [np.nextafter(0.1, 1), 1.0]}, number)
    day = md.Schema(attributes=(md.Attribute(name="a", kind="date", storage="date"),))
    one, other = ([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, d)] for d in (2, 3))
    assert fingerprint({"a": one}, day) != fingerprint({"a": other}, day)


def test_the_same_records_have_the_same_fingerprint_in_both_libraries():
    columns = {"a": [1.5, None, 3.0], "b": ["x", "é", None], "c": [True, False, True]}
    columns["d"] = [dt.datetime(2020, 1, 1), None, dt.datetime(2021, 1, 1)]
    schema = md.Schema.infer(pd.DataFrame(columns))
    found = {DistinctColumns.of(frame(columns), schema).fingerprint() for frame in (pd.DataFrame, pl.DataFrame)}
    assert len(found) == 1
