"""A table is released where it lives, and what is written is what the same records give in memory."""

import numpy as np
import pandas as pd
import pytest
from engines import LAZY

import modicum as md

METHODS = [md.Mondrian, md.RPlusTree, md.AccuracyGuided]
QUASI = ["age", "sex", "race", "native-country", "hours-per-week", "workclass"]


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    X = X.assign(income=y)[:4_000]
    gone = np.random.default_rng(0).uniform(size=len(X)) < 0.1
    return X.assign(**{"hours-per-week": X["hours-per-week"].astype(float).where(~gone)})


@pytest.fixture(scope="module")
def schema(adult):
    return md.Schema.infer(adult).with_roles(label="income")


def records(frame, columns=None):
    """The records of a table as plain values, in one order."""
    frame = frame if isinstance(frame, pd.DataFrame) else table_of(frame)
    columns = list(frame.columns) if columns is None else list(columns)
    plain = {name: [_plain(value) for value in frame[name].tolist()] for name in columns}
    return sorted(map(repr, zip(*plain.values(), strict=True)))


def _plain(value):
    if pd.isna(value):
        return None
    return float(value) if isinstance(value, int | float | np.number) else str(value)


def table_of(lazy):
    return lazy.toArrow().to_pandas() if hasattr(lazy, "toArrow") else lazy.df()


def same_figures(one, other):
    found, wanted = one.to_dict(), other.to_dict()
    losses = found.pop("ncp_by_attribute"), wanted.pop("ncp_by_attribute")
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)
    assert found.pop("ncp") == pytest.approx(wanted.pop("ncp"), rel=1e-12)
    assert found == wanted


def check_same(anonymizer, place, held, X, path, rows_at_once=300, **options):
    """Released in its engine in many parts, and in memory: the same records and figures."""
    memory = anonymizer.fit(X, X["income"]).release_
    there = anonymizer.release_to(held(place, X), path, "income", rows_at_once=rows_at_once, **options).release_
    assert records(there.frame, memory.frame.columns) == records(memory.frame)
    same_figures(there, memory)
    return there


@pytest.mark.parametrize("place", LAZY)
def test_every_engine_writes_the_release_that_memory_gives(place, held, adult, schema, tmp_path):
    anonymizer = md.Mondrian(k=10, quasi_identifiers=QUASI, l=3, sensitive="occupation", schema=schema)
    check_same(anonymizer, place, held, adult, tmp_path / "released")


@pytest.mark.parametrize(
    "asked", [{}, {"output": "ranges"}, {"representatives": "mean"}], ids=["values", "ranges", "mean"]
)
@pytest.mark.parametrize("method", METHODS)
def test_what_stands_for_groups_is_the_same(method, asked, held, adult, schema, tmp_path):
    anonymizer = method(k=10, quasi_identifiers=QUASI, schema=schema, **asked)
    check_same(anonymizer, "duckdb", held, adult, tmp_path / "released.parquet")


@pytest.mark.parametrize(
    "asked",
    [
        {"l": 2, "diversity": "entropy"},
        {"l": 2, "diversity": "recursive", "c": 2.0},
        {"t": 0.3},
        {"t": 0.4, "l": 3},
    ],
    ids=["entropy", "recursive", "closeness", "both"],
)
@pytest.mark.parametrize("method", METHODS)
def test_diversity_and_closeness_hold_as_in_memory(method, asked, held, adult, schema, tmp_path):
    anonymizer = method(k=10, quasi_identifiers=QUASI, sensitive="occupation", schema=schema, **asked)
    check_same(anonymizer, "duckdb", held, adult, tmp_path / "released.parquet")
