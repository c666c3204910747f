"""Minimizers learn the same from a table in an engine as from its records in memory."""

import json
import sys
import tempfile
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engine_places import LAZY, held_in

import modicum as md
from modicum.cli.main import run
from modicum.engines import table_at
from modicum.engines.coded_table import CodedTable, StreamedCounts
from modicum.engines.coding import coder_at, labels_at, schema_at
from modicum.errors import DataError, DataWarning, ParameterError
from modicum.minimizers.privacy_tree import _criterion, _layout
from modicum.minimizers.sample_check import draw_samples
from modicum.table.codes import all_counts
from modicum.table.counts import NodeSplit, RowCounts
from modicum.table.estimator_input import attribute_weights
from modicum.trees import grow

LOCAL = [place for place in LAZY if isinstance(place, str)]
SCORES = ["anova", "mutual_information", "chi2", "stepwise"]


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[:6_000], y[:6_000].rename("income")


@pytest.fixture
def bought(people):
    """Missing values, continuous numbers, and names that need quotes; the schema orders schooling."""
    X, y = people
    named = {"age": "it's <age>", "income": 'pay "net"', "job": "job; DROP TABLE records"}
    X = X.rename(columns=named).astype({"school": str})
    schema = md.Schema.infer(X).replace("school", kind="ordered", domain=("none", "basic", "higher"))
    return X, y, schema


def splits_of(tree):
    return [(split.node, split.attribute, split.gain, split.goes_left.tolist()) for split in tree.splits]


def codings_of(coder):
    return [repr(coding) for coding in coder.codings]


def demand_the_same(here, there):
    """Compare two artifacts byte for byte, and their trees gain for gain."""
    assert json.dumps(there.generalization_.to_dict()) == json.dumps(here.generalization_.to_dict())
    assert there.feature_names_in_.tolist() == here.feature_names_in_.tolist()
    assert there.n_features_in_ == here.n_features_in_
    if hasattr(here, "tree_"):
        assert splits_of(there.tree_) == splits_of(here.tree_)
        assert codings_of(there.coder_) == codings_of(here.coder_)
    if hasattr(here, "scores_"):
        assert there.scores_ == here.scores_


@pytest.mark.parametrize("place", LAZY)
def test_a_tree_is_the_same_split_for_split(place, held, adult):
    X, y = adult
    settings = {"max_leaves": 20, "privacy": 0.3, "personal": ["age", "sex", "race"], "weights": {"age": 2.0}}
    here = md.PrivacyTree(**settings).fit(X, y)
    assert here.tree_.n_leaves == 20
    demand_the_same(here, md.PrivacyTree(**settings).fit(held(place, X.assign(income=y)), "income"))


@pytest.mark.parametrize("place", LOCAL)
@pytest.mark.parametrize("max_leaves", [1, 2, 20])
def test_missing_values_continuous_numbers_and_hostile_names_change_nothing(place, max_leaves, held, bought):
    X, y, schema = bought
    settings = {"max_leaves": max_leaves, "min_leaf": 10, "schema": schema}
    here = md.PrivacyTree(**settings).fit(X, y)
    demand_the_same(here, md.PrivacyTree(**settings).fit(held(place, X.assign(bought=y)), "bought"))


@pytest.mark.parametrize("place", LOCAL)
def test_a_numeric_label_is_cut_at_the_same_edges(place, held, bought):
    X, _, _ = bought
    label = pd.Series(np.random.default_rng(0).normal(size=len(X)).round(3), name="height")
    here = md.PrivacyTree(max_leaves=4, min_leaf=10, label_bins=3).fit(X, label)
    there = md.PrivacyTree(max_leaves=4, min_leaf=10, label_bins=3).fit(held(place, X.assign(height=label)), "height")
    demand_the_same(here, there)


@pytest.mark.parametrize("place", LOCAL)
def test_ranges_of_equal_width_are_the_same(place, held, adult, bought):
    X, y, schema = bought
    demand_the_same(md.Uniform(buckets=4).fit(adult[0]), md.Uniform(buckets=4).fit(held(place, adult[0])))
    here = md.Uniform(buckets=5, schema=schema).fit(X)
    demand_the_same(here, md.Uniform(buckets=5, schema=schema).fit(held(place, X.assign(bought=y)), "bought"))


@pytest.mark.parametrize("place", LOCAL)
@pytest.mark.parametrize("score", SCORES)
def test_attributes_score_the_same(place, score, held, adult, bought):
    for X, y, schema in ((*adult, None), bought):
        here = md.FeatureSelection(k=3, score_func=score, schema=schema).fit(X, y)
        table = held(place, X.assign(**{y.name: y}))
        demand_the_same(here, md.FeatureSelection(k=3, score_func=score, schema=schema).fit(table, y.name))


@pytest.mark.services
def test_spark_finds_the_same_ranges_and_scores(held, bought):
    X, y, schema = bought
    table = held("spark", X.assign(bought=y))
    demand_the_same(md.Uniform(schema=schema).fit(X, y), md.Uniform(schema=schema).fit(table, "bought"))
    here = md.FeatureSelection(score_func="stepwise", schema=schema).fit(X, y)
    demand_the_same(here, md.FeatureSelection(score_func="stepwise", schema=schema).fit(table, "bought"))


def test_columns_that_the_schema_excludes_are_not_features(held, adult):
    X, y = adult
    table = X.assign(passport=np.arange(len(X)), income=y)
    schema = md.Schema.infer(table).with_roles(label="income", identifiers=["passport"])
    here = md.PrivacyTree(max_leaves=3, schema=schema).fit(table, y)
    there = md.PrivacyTree(max_leaves=3, schema=schema).fit(held("duckdb", table), "income")
    assert "passport" not in there.generalization_.names
    assert there.generalization_.to_dict() == here.generalization_.to_dict()
    unlabelled = md.Schema.infer(table).with_roles(identifiers=["passport"])
    there = md.PrivacyTree(max_leaves=3, schema=unlabelled).fit(held("duckdb", table), "income")
    assert "income" not in there.generalization_.names


@pytest.mark.parametrize("batch", [1, 2, 64])
@pytest.mark.parametrize("keep_bytes", [0, 10**9])
def test_neither_batch_nor_memory_changes_the_tree(batch, keep_bytes, adult):
    X, y = adult
    table = table_at(held_in("duckdb", X.assign(income=y)))
    coder, labels = coder_at(table, schema_at(table, X.columns.tolist())), labels_at(table, "income", None)
    here = md.PrivacyTree(max_leaves=12, min_leaf=40).fit(X, y)
    data = here._encode_data(X, y, None)
    layout = _layout(data)
    criterion = _criterion(data, layout, 0.5, attribute_weights(data.schema.personal, None), 40)
    value_counts = [all_counts(coder.codings[j]) for j in layout.splits]
    with CodedTable.of(table, coder, ("income", labels)) as coded:
        source = StreamedCounts(coded, layout, batch, keep_bytes)
        tree = grow(source, criterion, max_leaves=12, value_counts=value_counts)
    assert splits_of(tree) == splits_of(here.tree_)
    assert source.passes == 11 if batch == 1 else source.passes < 11


def test_streamed_histograms_equal_those_of_rows(adult):
    X, y = adult
    table = table_at(held_in("polars-lazy", X.assign(income=y)))
    data = md.PrivacyTree()._encode_data(X, y, None)
    layout = _layout(data)
    rows = RowCounts(data.with_label, layout)
    with CodedTable.of(table, data.coder, ("income", labels_at(table, "income", None))) as coded:
        stream = StreamedCounts(coded, layout)
        for source in (rows, stream):
            assert source.root().histogram.dtype == np.int32
        tree = md.PrivacyTree(max_leaves=2).fit(X, y).tree_
        first = tree.splits[0]
        split = NodeSplit(0, 1, 2, first.attribute, first.goes_left)
        for (a, b), (c, d) in zip(rows.expand([split]), stream.expand([split]), strict=True):
            assert np.array_equal(a.histogram, c.histogram)
            assert np.array_equal(b.histogram, d.histogram)


def test_more_than_256_codes_take_two_bytes(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    random = np.random.default_rng(1)
    X = pd.DataFrame({"town": random.integers(0, 900, 4_000).astype(str), "sex": random.choice(["f", "m"], 4_000)})
    y = pd.Series(np.where(X["town"].str.len() + random.integers(0, 2, 4_000) > 3, "a", "b"), name="y")
    schema = md.Schema.infer(X).replace("town", kind="category")
    here = md.PrivacyTree(max_leaves=5, privacy=0.1, schema=schema).fit(X, y)
    there = md.PrivacyTree(max_leaves=5, privacy=0.1, schema=schema).fit(held_in("duckdb", X.assign(y=y)), "y")
    demand_the_same(here, there)
    assert list(tmp_path.iterdir()) == []


def test_no_file_is_left_when_coding_fails(tmp_path, monkeypatch, adult):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    X, y = adult
    table = table_at(held_in("duckdb", X.assign(income=y)))
    coder, labels = coder_at(table, schema_at(table, X.columns.tolist())), labels_at(table, "income", None)
    other = table_at(held_in("duckdb", X.assign(income=np.arange(len(X)).astype(str))))
    with pytest.raises(DataError, match="'income' has new classes: the table changed"):
        CodedTable.of(other, coder, ("income", labels))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", LAZY)
def test_the_same_records_are_drawn_everywhere(place, held, adult):
    X, y = adult
    here, others = draw_samples(X, y, 500)
    there, others_there = draw_samples(held(place, X.assign(income=y)), "income", 500)
    for one, two in ((here, there), (others, others_there)):
        assert one.y.tolist() == two.y.tolist()
        assert one.X["hours-per-week"].tolist() == two.X["hours-per-week"].to_pylist()
        assert one.X["education"].tolist() == two.X["education"].to_pylist()
    again, _ = draw_samples(X.iloc[::-1], y.iloc[::-1], 500)
    assert again.X.reset_index(drop=True).equals(here.X.reset_index(drop=True))
    assert not draw_samples(X, y, 500, 1)[0].X.index.equals(here.X.index)


def test_equal_records_are_drawn_by_their_share(monkeypatch):
    monkeypatch.setattr("modicum.engines.sampling._MORE", -(10**9))  # compare hashes to the last digit
    values = np.concatenate([np.zeros(6_000, dtype=int), np.arange(1, 4_001)])
    table = held_in("duckdb", pd.DataFrame({"n": values}))
    learning, other = draw_samples(table, None, 1_000)
    for part in (learning, other):
        found = np.asarray(part.X["n"].to_pylist())
        assert len(found) == 1_000
        assert abs((found == 0).sum() - 600) <= 1
        assert len(set(found[found > 0])) == (found > 0).sum()
    both = [np.asarray(part.X["n"].to_pylist()) for part in (learning, other)]
    assert not set(both[0][both[0] > 0]) & set(both[1][both[1] > 0])


@pytest.mark.parametrize("method", [md.PrivacyTree(max_leaves=4), md.Uniform(), md.FeatureSelection(), md.Iterative()])
def test_a_sample_from_an_engine_gives_the_same_fit(method, adult):
    X, y = adult[0].iloc[:, :4], adult[1]
    here = type(method)(**method.get_params())
    with pytest.warns(DataWarning, match="may be too small"):
        here.fit(X, y, sample=400)
    with pytest.warns(DataWarning, match="may be too small"):
        there = method.fit(held_in("duckdb", X.assign(income=y)), "income", sample=400)
    assert there.generalization_.to_dict() == here.generalization_.to_dict()
    assert there.sample_check_ == here.sample_check_


def test_a_large_sample_is_enough_and_a_tiny_one_is_not():
    X, y = md.datasets.load_adult(return_X_y=True)
    large = md.PrivacyTree(max_leaves=6, privacy=0.1).fit(X, y, sample=15_000).sample_check_
    assert large.enough
    assert large.predicts == "label"
    assert large.interval[0] <= large.excess <= large.interval[1] <= large.tolerance
    assert large.holds < large.baseline
    with pytest.warns(DataWarning, match="A sample of 60 records may be too small"):
        tiny = md.PrivacyTree(max_leaves=20, min_leaf=1, privacy=0.0).fit(X, y, sample=60).sample_check_
    assert not tiny.enough
    assert tiny.excess > 0.02  # it memorizes its own records
    assert json.loads(json.dumps(tiny.to_dict()))["enough"] is False


def test_without_a_label_the_answers_are_checked(adult):
    with pytest.warns(DataWarning):
        check = md.Uniform(buckets=3).fit(adult[0], sample=300).sample_check_
    assert check.predicts == "answers"
    assert 0 < check.promised < check.baseline


def test_a_fit_on_everything_forgets_the_sample(adult):
    method = md.Uniform()
    with pytest.warns(DataWarning):
        method.fit(adult[0], sample=300)
    assert not hasattr(method.fit(adult[0]), "sample_check_")


@pytest.mark.parametrize(
    ("method", "y", "settings", "message"),
    [
        (md.PrivacyTree(), "pay", {}, "The column 'pay' is not in the data"),
        (md.PrivacyTree(), None, {}, "PrivacyTree requires y to be passed"),
        (md.PrivacyTree(), "n", {}, "'n' is a number with 3,000 different values"),
        (md.PrivacyTree(), "one", {}, "'one' is constant"),
        (md.PrivacyTree(), "class", {"sample_weight": [1]}, "sample_weight counts rows in memory"),
        (md.PrivacyTree(), "class", {"sample_weight": [1], "sample": 5}, "not both"),
        (md.PrivacyTree(), "class", {"sample": 0}, "The 'sample' parameter must be an int ≥ 1. Got 0 instead."),
        (md.PrivacyTree(), "class", {"sample": True}, "The 'sample' parameter must be an int ≥ 1. Got True"),
        (md.PrivacyTree(), "class", {"sample": 3_001}, "A sample of 3,001 records cannot be drawn"),
        (md.PrivacyTree(min_leaf=2_000), "class", {}, "cannot split 3,000 records"),
        (md.Iterative(), "class", {}, "Iterative learns from records in memory, not from a table in duckdb"),
        (md.MergePath(), "class", {}, "MergePath learns from records in memory"),
        (md.ModelGuided(None), None, {}, "ModelGuided learns from records in memory"),
    ],
)
def test_impossible_fits_are_refused_in_a_sentence(method, y, settings, message):
    X = pd.DataFrame({"n": np.arange(3_000), "one": 1, "class": np.arange(3_000) % 2})
    with pytest.raises((DataError, ParameterError), match=message):
        method.fit(held_in("duckdb", X), y, **settings)


def test_a_table_with_only_a_label_has_nothing_to_minimize():
    table = held_in("duckdb", pd.DataFrame({"class": [0, 1] * 200}))
    with pytest.raises(DataError, match="no attribute to minimize"):
        md.PrivacyTree().fit(table, "class")


def test_an_array_of_labels_works_with_a_lazy_table(adult):
    X, y = adult
    here = md.PrivacyTree(max_leaves=3).fit(X, y)
    there = md.PrivacyTree(max_leaves=3).fit(held_in("duckdb", X), y)
    assert there.generalization_.to_dict() == here.generalization_.to_dict()


@pytest.fixture(scope="module")
def files(tmp_path_factory, adult):
    folder = tmp_path_factory.mktemp("files")
    X, y = adult
    table = X.assign(income=y.where(y.index % 100 > 0))
    table.to_csv(folder / "adult.csv", index=False)
    table.to_parquet(folder / "adult.parquet", index=False)
    return folder


@pytest.fixture
def minimized(capsys, monkeypatch):
    """Run the command in this process; return its exit code, output and messages."""

    def runs(*arguments):
        monkeypatch.setattr(sys, "argv", ["modicum", "minimize", *map(str, arguments)])
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command sets its own
        with pytest.raises(SystemExit) as ended:
            run()
        output = capsys.readouterr()
        return ended.value.code or 0, output.out, " ".join(output.err.split())

    return runs


@pytest.mark.parametrize("name", ["adult.csv", "adult.parquet"])
def test_the_command_learns_from_a_file_in_an_engine(name, files, adult, tmp_path, minimized):
    X, y = adult
    settings = ["--label", "income", "--engine", "duckdb", "--max-leaves", 6, "--personal", "age,sex"]
    code, _, notes = minimized(files / name, *settings, "-o", tmp_path / "g.json")
    assert code == 0, notes
    assert "60 rows without a value of 'income' are left out" in notes
    known = y.index % 100 > 0
    table = X.assign(income=y)
    schema = md.Schema.infer(table).with_roles(label="income", personal=["age", "sex"])
    here = md.PrivacyTree(max_leaves=6, schema=schema).fit(X[known], y[known])
    assert md.load(tmp_path / "g.json").partitions == here.generalization_.partitions


def test_a_nan_label_is_missing_in_an_engine_too(adult, tmp_path, minimized):
    X, y = adult
    pay = pd.Series(np.where(y == ">50K", 1.0, 0.0), index=y.index)
    pay[:30] = np.nan
    table = pa.table({name: pa.array(values) for name, values in X.items()} | {"pay": pa.array(pay.to_numpy())})
    assert table["pay"].null_count == 0  # NaN, not null
    pq.write_table(table, tmp_path / "people.parquet")
    found = []
    for engine in (["--method", "pat"], ["--engine", "duckdb"]):
        code, _, notes = minimized(tmp_path / "people.parquet", "--label", "pay", *engine, "-o", tmp_path / "g.json")
        assert code == 0, notes
        assert "30 rows without a value of 'pay' are left out" in notes
        found.append(md.load(tmp_path / "g.json").schema.label)
    assert found == ["pay", "pay"]


def test_the_command_learns_from_a_sample_and_reports_whether_it_is_enough(files, tmp_path, minimized):
    settings = ["--label", "income", "--sample", 2_000, "--max-leaves", 4, "--json"]
    code, output, notes = minimized(files / "adult.parquet", *settings, "-o", tmp_path / "g.json")
    assert code == 0, notes
    found = json.loads(output)["sample"]
    assert (found["records"], found["others"], found["predicts"]) == (2_000, 2_000, "label")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--engine", "duckdb", "--keep", "0.5"],
            "The option --keep needs the records in memory",
        ),
        (["--engine", "duckdb", "--method", "merge"], "The option --method with 'merge' needs the records in memory"),
        (["--sample", "0"], "must be an int ≥ 1"),
        (["--engine", "duckdb", "--label", "pay"], "The label 'pay' is not in the file"),
    ],
)
def test_the_command_refuses_what_an_engine_cannot_do(options, message, files, tmp_path, minimized):
    label = [] if "--label" in options else ["--label", "income"]
    code, _, notes = minimized(files / "adult.csv", *options, *label, "-o", tmp_path / "g.json")
    assert code == 2
    assert message in notes
    assert not (tmp_path / "g.json").exists()
