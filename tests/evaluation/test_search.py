"""The search for the most private candidate within a target."""

import numpy as np
import pandas as pd
import pytest

import modicum as md
from modicum.evaluation.search import most_private
from modicum.generalization.core import raw_generalization


def task(n: int, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    random = np.random.default_rng(seed)
    X = pd.DataFrame({"age": random.integers(18, 80, n), "job": random.choice(list("abcdef"), n)})
    return X, pd.Series((X["age"] > 45) ^ (random.random(n) < 0.1), name="y")


X, Y = task(4_000)
PARTS = (X[:3_000], Y[:3_000], X[3_000:], Y[3_000:])
SCHEMA = md.Schema.infer(X)


def test_nothing_is_collected_if_that_is_good_enough():
    found = most_private(*PARTS, schema=SCHEMA, max_error=0.6, privacy=[0.5], sizes=[1, 2, 4])
    assert found.generalization.needed == []
    assert most_private(*PARTS, schema=SCHEMA, keep=0.0, privacy=[0.5], sizes=[1, 2]).max_leaves == 1


def test_a_higher_target_never_gives_a_more_private_result():
    errors = [
        most_private(*PARTS, schema=SCHEMA, keep=keep, privacy=[0.0, 0.4, 0.8]).adversary_error
        for keep in (0.1, 0.5, 0.9)
    ]
    assert errors == sorted(errors, reverse=True)


def test_smaller_leaves_are_tried_on_little_data():
    X, y = task(200)
    found = most_private(X[:140], y[:140], X[140:], y[140:], schema=SCHEMA, max_error=0.25, privacy=[0.0])
    assert found.min_leaf == 20


def test_the_error_names_the_best_reachable_candidate():
    with pytest.raises(
        md.errors.DataError, match=r"No candidate is within that error; the best.* has an error of 0\.\d"
    ):
        most_private(*PARTS, schema=SCHEMA, max_error=0.01, privacy=[0.0, 0.5], sizes=[2, 4])


def test_no_skill_can_be_kept_if_raw_data_predicts_nothing():
    """Validation labels are the opposite of the training labels: the raw model is worse than the majority."""
    with pytest.raises(md.errors.DataError, match="no skill to keep"):
        most_private(*PARTS[:3], ~PARTS[3], schema=SCHEMA, keep=0.5)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({}, "either the share of skill to keep"),
        ({"keep": 0.5, "max_error": 0.5}, "either the share of skill to keep"),
        ({"keep": 1.5}, "from 0 to 1"),
        ({"keep": 0.5, "sizes": []}, "at least one value"),
    ],
)
def test_bad_arguments(arguments, complaint):
    with pytest.raises(md.errors.ParameterError, match=complaint):
        most_private(*PARTS, schema=SCHEMA, **arguments)
    with pytest.raises(md.errors.DataError, match="no validation records"):
        most_private(X, Y, X[:0], Y[:0], schema=SCHEMA, keep=0.5)


def test_raw_data_is_judged_unchanged():
    """A value outside the declared order, an empty column and a column with many categories do not stop the judging."""
    schema = md.Schema(
        attributes=(
            md.Attribute(name="school", kind="ordered", domain=("none", "basic")),
            md.Attribute(name="empty", kind="number"),
            md.Attribute(name="blank", kind="category"),
            md.Attribute(name="many", kind="category"),
        )
    )
    frame = pd.DataFrame(
        {
            "school": ["none", "basic", "higher"] * 5_000,
            "empty": np.nan,
            "blank": pd.Series([None] * 15_000, dtype=object),
            "many": np.arange(15_000).astype(str),
        }
    )
    raw = raw_generalization(frame, schema)
    assert raw.needed == ["school", "many"]
    assert len(np.unique(raw.codes(frame)[:, 3])) == 15_000
