"""Coding: exact for few values, by deterministic groups for many."""

import numpy as np
import pandas as pd
import pytest

import modicum as md
from modicum.errors import DataError
from modicum.table.codes import MAX_CODES, Coder, group_rows, sizes_of


def coder_of(X, **roles):
    return Coder.fit(X, md.Schema.infer(X, **roles))


def test_few_values_are_coded_exactly(as_frame):
    X = as_frame({"x": [3.0, 1.0, None, 2.0], "c": ["b", "a", None, "b"]})
    coder = coder_of(X)
    assert coder.encode(X).tolist() == [[2, 1], [0, 0], [3, 2], [1, 1]]
    assert coder.sizes == [4, 3]
    assert coder.codings[0].edges.tolist() == [1.5, 2.5]


def test_many_values_fall_into_groups_of_equal_weight():
    values = np.random.default_rng(0).normal(size=100_000)
    X = pd.DataFrame({"x": values})
    coding = coder_of(X).codings[0]
    assert coding.n_values == MAX_CODES
    assert coding.counts.max() < 1.1 * 100_000 / MAX_CODES
    assert not np.isin(coding.edges, values).any()


def test_codes_do_not_depend_on_the_order_of_rows():
    X = pd.DataFrame({"x": np.random.default_rng(0).normal(size=5000), "c": list("abcde") * 1000})
    shuffled = X.sample(frac=1, random_state=1)
    a, b = coder_of(X), coder_of(shuffled)
    assert np.array_equal(a.encode(X), b.encode(X))


def test_a_weight_counts_as_that_many_records():
    X = pd.DataFrame({"x": np.arange(1000.0), "c": ["u", "v"] * 500})
    weights = np.random.default_rng(0).integers(1, 5, 1000)
    schema = md.Schema.infer(X)
    weighted = Coder.fit(X, schema, weights)
    repeated = Coder.fit(X.loc[X.index.repeat(weights)], schema)
    assert np.array_equal(weighted.codings[0].edges, repeated.codings[0].edges)
    assert np.array_equal(weighted.codings[1].counts, repeated.codings[1].counts)


def test_an_ordered_category_keeps_its_order():
    X = pd.DataFrame({"s": [10, 2, 1, 10]})
    schema = md.Schema.infer(X).replace("s", kind="ordered")
    assert Coder.fit(X, schema).codings[0].values == ("1", "2", "10")
    words = md.Schema.infer(pd.DataFrame({"s": ["low", "high"]})).replace("s", kind="ordered")
    with pytest.raises(DataError, match="'s' is ordered, but its order is not known"):
        Coder.fit(pd.DataFrame({"s": ["low", "high"]}), words)


@pytest.mark.parametrize(
    ("column", "complaint"),
    [
        ([1.0, np.inf], "'x' contains infinity"),
        ([np.nan, np.nan], "'x' holds no value at all"),
        ([f"v{i}" for i in range(100_000)], "'x' has 100,000 different categories"),
    ],
)
def test_a_column_that_cannot_be_coded_is_refused(column, complaint):
    X = pd.DataFrame({"x": column})
    with pytest.raises(DataError, match=complaint):
        coder_of(X)


def test_text_in_a_number_column_is_refused(as_frame):
    coder = coder_of(as_frame({"x": [1.0, 2.0]}))
    with pytest.raises(DataError, match="'x' should hold a number, but 1 of its values"):
        coder.encode(as_frame({"x": ["1", "two"]}))
    assert coder.encode(as_frame({"x": ["1", "2"]})).tolist() == [[0], [1]]


def test_equal_rows_share_a_group():
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, (500, 4))
    frame = pd.DataFrame(codes)
    assert sizes_of(list(codes.T)).tolist() == frame.groupby([0, 1, 2, 3]).size().tolist()
    wide = random.integers(0, 2**62, (50, 9))
    assert len(np.unique(group_rows(np.vstack([wide, wide])))) == 50


def test_a_mixed_column_distinguishes_true_and_one():
    X = pd.DataFrame({"x": pd.Series([1, True, "1", 1.0, None], dtype=object)})
    codes = Coder.fit(X, md.Schema(attributes=(md.Attribute(name="x", kind="category"),))).encode(X)[:, 0]
    assert codes[0] == codes[2] == codes[3] != codes[1]
