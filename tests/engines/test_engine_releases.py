"""A table is released in its engine as the same records are in memory."""

import json

import numpy as np
import pandas as pd
import pytest
from engine_places import LAZY
from typer.testing import CliRunner

import modicum as md
from modicum.errors import DataError, ParameterError
from modicum.releases import AnatomyRelease

METHODS = [md.Mondrian, md.RPlusTree, md.AccuracyGuided]
QUASI = ["age", "sex", "race", "native-country", "hours-per-week", "workclass"]


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    X = X.assign(income=y)[:2_500]
    missing = np.random.default_rng(0).uniform(size=len(X)) < 0.1
    return X.assign(**{"hours-per-week": X["hours-per-week"].astype(float).where(~missing)})


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
    """Release in the engine in many parts, and in memory; check equal records and figures."""
    memory = anonymizer.fit(X, X["income"]).release_
    there = anonymizer.release_to(held(place, X), path, "income", rows_at_once=rows_at_once, **options).release_
    assert records(there.frame, memory.frame.columns) == records(memory.frame)
    same_figures(there, memory)
    return there


@pytest.mark.parametrize("place", LAZY)
def test_every_engine_writes_the_same_release_as_memory(place, held, adult, schema, tmp_path):
    options = {} if place == "spark" else {"l": 3, "sensitive": "occupation"}  # each pass takes Spark a second or two
    anonymizer = md.Mondrian(k=10, quasi_identifiers=QUASI, schema=schema, **options)
    check_same(anonymizer, place, held, adult, tmp_path / "released", rows_at_once=1_500 if place == "spark" else 400)


@pytest.mark.services
def test_spark_grows_the_guided_tree_too(held, adult, schema, tmp_path):
    anonymizer = md.AccuracyGuided(k=20, quasi_identifiers=QUASI[:4], output="ranges", schema=schema)
    check_same(anonymizer, "spark", held, adult, tmp_path / "released", rows_at_once=1_500, partition_by=["income"])


@pytest.mark.parametrize("options", [{"output": "ranges"}, {"representatives": "mean"}], ids=["ranges", "mean"])
@pytest.mark.parametrize("method", METHODS)
def test_representatives_of_groups_are_the_same(method, options, held, adult, schema, tmp_path):
    anonymizer = method(k=10, quasi_identifiers=QUASI, schema=schema, **options)
    check_same(anonymizer, "duckdb", held, adult, tmp_path / "released.parquet")


@pytest.mark.parametrize(
    ("method", "options"),
    [
        (md.Mondrian, {"l": 2, "diversity": "entropy"}),
        (md.Mondrian, {"t": 0.3}),
        (md.RPlusTree, {"l": 2, "diversity": "recursive", "c": 2.0}),
        (md.AccuracyGuided, {"t": 0.4, "l": 3}),
    ],
    ids=["entropy", "closeness", "recursive", "both"],
)
def test_diversity_and_closeness_hold_as_in_memory(method, options, held, adult, schema, tmp_path):
    anonymizer = method(k=10, quasi_identifiers=QUASI, sensitive="occupation", schema=schema, **options)
    check_same(anonymizer, "duckdb", held, adult, tmp_path / "released.parquet")


def test_a_release_is_written_in_partitions_or_as_csv(held, adult, schema, tmp_path):
    anonymizer = md.Mondrian(k=10, quasi_identifiers=QUASI, schema=schema)
    check_same(anonymizer, "duckdb", held, adult, tmp_path / "folders", partition_by=["income"])
    assert sorted(each.name for each in (tmp_path / "folders").iterdir()) == ["income=%3C%3D50K", "income=%3E50K"]
    check_same(anonymizer, "duckdb", held, adult, tmp_path / "released.csv")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["folders", "released.csv"]


def test_kinds_are_inferred_and_a_small_table_is_one_part(held, adult, tmp_path):
    X = adult[["age", "sex", "income"]]
    memory = md.Mondrian(k=20).fit(X.drop(columns="income"), X["income"]).release_
    there = md.Mondrian(k=20).release_to(held("duckdb", X), tmp_path / "released.parquet", "income").release_
    assert records(there.frame, ["age", "sex"]) == records(memory.frame)
    same_figures(there, memory)


def test_numbers_and_dates_are_released_in_their_type(held, tmp_path):
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, 3_000), unit="D"),
            "moment": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 10**4, 3_000), unit="s"),
            "pay": random.lognormal(3, 1, 3_000).round(2).astype(np.float32),
            "ok": random.uniform(size=3_000) < 0.3,
            "income": random.integers(0, 2, 3_000),
        }
    )
    schema = md.Schema.infer(X).with_roles(label="income")
    there = check_same(md.Mondrian(k=10, schema=schema), "duckdb", held, X, tmp_path / "released.parquet")
    assert dict(zip(there.frame.columns, map(str, there.frame.types), strict=True))["pay"] == "FLOAT"


@pytest.mark.parametrize("method", METHODS)
def test_a_part_that_cannot_be_split_is_released_whole(method, held, tmp_path):
    X = pd.DataFrame({"a": [1] * 900 + list(range(2, 102)), "b": ["x"] * 1_000, "income": [0, 1] * 500})
    schema = md.Schema.infer(X).with_roles(label="income")
    check_same(method(k=10, schema=schema), "duckdb", held, X, tmp_path / "released.parquet", rows_at_once=100)


def test_a_broken_release_never_replaces_a_good_one(held, adult, schema, tmp_path, monkeypatch):
    from modicum.anonymizers.out_of_core import engine_release

    anonymizer = md.Mondrian(k=10, quasi_identifiers=QUASI, schema=schema)
    good = check_same(anonymizer, "duckdb", held, adult, tmp_path / "released.parquet")
    before = (tmp_path / "released.parquet").read_bytes()
    real = engine_release.size_counts
    monkeypatch.setattr(engine_release, "size_counts", lambda *given: (real(*given)[0] - 9, real(*given)[1]))
    with pytest.raises(DataError, match="does not meet the requested k, so it is not released"):
        anonymizer.release_to(held("duckdb", adult), tmp_path / "released.parquet", rows_at_once=300)
    assert (tmp_path / "released.parquet").read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["released.parquet"]
    assert good.k >= 10


def test_nothing_is_left_behind_when_a_part_fails(held, adult, schema, tmp_path, monkeypatch):
    def broken(self, table):
        raise DataError("This part is broken.")

    monkeypatch.setattr("modicum.anonymizers.out_of_core.engine_release.ReleasedParts.make", broken)
    with pytest.raises(DataError, match="This part is broken"):
        md.Mondrian(k=10, quasi_identifiers=QUASI, schema=schema).release_to(
            held("duckdb", adult), tmp_path / "released", rows_at_once=300
        )
    assert list(tmp_path.iterdir()) == []


def test_impossible_releases_are_refused_in_a_sentence(held, adult, schema, tmp_path):
    X, out = held("duckdb", adult), tmp_path / "released.parquet"
    person = schema.with_roles(person="fnlwgt") if "fnlwgt" in schema else schema.with_roles(person="capital-gain")
    refused = [
        (md.Hilbert(k=10), {}, "use Mondrian, RPlusTree or AccuracyGuided for a table"),
        (md.Mondrian(k=10, strict=False), {}, "use strict=True for release_to"),
        (md.Mondrian(k=10, representatives="record"), {}, "must be 'median' or 'mean'"),
        (md.Mondrian(k=10, schema=person), {}, "counts records, not persons"),
        (md.AccuracyGuided(k=10, model=lambda X: X), {}, "AccuracyGuided uses a model only in memory"),
        (md.Mondrian(k=10), {"rows_at_once": 15}, "must be an int ≥ 2 k"),
        (md.Mondrian(k=10), {"y": adult["income"]}, "must be the name of a column"),
        (md.Mondrian(k=10), {"partition_by": ["nothing"]}, "'nothing' is not in the data"),
    ]
    for anonymizer, options, message in refused:
        with pytest.raises((DataError, ParameterError), match=message):
            anonymizer.release_to(X, out, **options)
    with pytest.raises(DataError, match=r"release_to\(X, path\)"):
        md.Mondrian(k=10).fit(X)
    assert list(tmp_path.iterdir()) == []


def same_anatomy(anatomy, place, held, X, folder, **options):
    """Release an anatomy in memory and in the engine; check equal rows and figures."""
    memory = anatomy.fit(X).release_
    there = anatomy.release_to(held(place, X), folder, **options).release_
    read = AnatomyRelease.load(folder)
    assert records(read.identifying, memory.identifying.columns) == records(memory.identifying)
    for name, table in memory.sensitive_tables.items():
        assert records(read.sensitive_tables[name]) == records(table)
    assert there.to_dict() == memory.to_dict() == read.to_dict()
    return there


@pytest.mark.filterwarnings("ignore::modicum.errors.PrivacyWarning")
@pytest.mark.parametrize("place", LAZY)
def test_every_engine_writes_the_same_anatomy_as_memory(place, held, adult, schema, tmp_path):
    X = adult[["age", "sex", "hours-per-week", "education", "income"]]
    own = schema.select(X.columns.tolist())
    anatomy = md.Anatomy(l=3, sensitive="education", grouping="dealt", schema=own, random_state=5)
    assert same_anatomy(anatomy, place, held, X, tmp_path / "released").l >= 3


@pytest.mark.filterwarnings("ignore::modicum.errors.PrivacyWarning")
def test_records_of_too_frequent_values_are_left_out_as_in_memory(held, adult, tmp_path):
    X = adult[["age", "sex", "native-country"]].fillna("unknown")
    anatomy = md.Anatomy(l=3, sensitive="native-country", grouping="dealt", max_suppressed=1.0, random_state=1)
    there = same_anatomy(anatomy, "duckdb", held, X, tmp_path / "released", format="csv")
    assert there.suppressed > 0
    assert there.l == 3


@pytest.mark.filterwarnings("ignore::modicum.errors.PrivacyWarning")
def test_several_sensitive_columns_are_released_as_in_memory(held, adult, tmp_path):
    X = adult[["age", "sex", "education", "occupation"]].fillna("unknown")
    anatomy = md.Anatomy(l=3, sensitive=["education", "occupation"], grouping="dealt", random_state=1)
    same_anatomy(anatomy, "duckdb", held, X, tmp_path / "released")


@pytest.mark.filterwarnings("ignore::modicum.errors.PrivacyWarning")
def test_the_order_of_an_anatomy_reveals_nothing_about_its_values(held, adult, tmp_path):
    X = adult[["age", "education"]]
    md.Anatomy(l=3, sensitive="education", grouping="dealt", random_state=1).release_to(
        held("duckdb", X), tmp_path / "released"
    )
    release = AnatomyRelease.load(tmp_path / "released")
    numbers = release.identifying["GID"].to_numpy()
    assert abs(np.corrcoef(numbers, np.arange(len(numbers)))[0, 1]) < 0.06
    assert np.bincount(numbers)[1:].min() >= 3


def test_a_broken_anatomy_is_not_written(held, adult, tmp_path, monkeypatch):
    monkeypatch.setattr("modicum.anatomy.engine_tables.l_diversity", lambda *given, **options: 2)
    with pytest.raises(DataError, match="nothing is released"):
        md.Anatomy(l=3, sensitive="education", grouping="dealt").release_to(
            held("duckdb", adult[["age", "education"]]), tmp_path / "released"
        )
    assert list(tmp_path.iterdir()) == []


def test_impossible_anatomies_are_refused_in_a_sentence(held, adult, tmp_path):
    X, out = held("duckdb", adult[["age", "education", "workclass"]]), tmp_path / "released"
    refused = [
        (md.Anatomy(l=3, sensitive="education"), {}, "must be 'dealt'"),
        (md.Anatomy(l=3, sensitive="education", grouping="dealt"), {"format": "pickle"}, "'csv' or 'parquet'"),
        (md.Anatomy(l=3, sensitive="workclass", grouping="dealt"), {}, "missing values"),
        (md.Anatomy(l=9, sensitive="education", grouping="dealt"), {}, "the largest possible l"),
    ]
    for anatomy, options, message in refused:
        with pytest.raises((DataError, ParameterError), match=message):
            anatomy.release_to(X, out, **options)
    with pytest.raises(DataError, match=r"release_to\(X, folder\)"):
        md.Anatomy(l=3, sensitive="education").fit(X)
    assert list(tmp_path.iterdir()) == []


def test_anonymize_writes_the_same_with_an_engine_as_without(adult, tmp_path):
    from modicum.cli.main import app

    runner = CliRunner()
    adult.to_csv(tmp_path / "in.csv", index=False)
    arguments = [
        "anonymize",
        str(tmp_path / "in.csv"),
        "--quasi-identifiers",
        "age,sex,race",
        "--label",
        "income",
        "--json",
    ]
    outputs = {}
    for name, options in {"memory": [], "engine": ["--engine", "duckdb", "--rows-at-once", "500"]}.items():
        result = runner.invoke(app, [*arguments, "-o", str(tmp_path / f"{name}.csv"), *options])
        assert result.exit_code == 0, result.output
        outputs[name] = json.loads(result.stdout)
    assert {**outputs["engine"], "ncp": 0, "ncp_by_attribute": 0} == {
        **outputs["memory"],
        "ncp": 0,
        "ncp_by_attribute": 0,
    }
    lines = [sorted((tmp_path / f"{name}.csv").read_text().splitlines()) for name in outputs]
    assert lines[0] == lines[1]


def test_anatomize_works_in_an_engine(adult, tmp_path):
    from modicum.cli.main import app

    adult[["age", "sex", "occupation", "income"]].to_csv(tmp_path / "in.csv", index=False)
    arguments = ["anatomize", str(tmp_path / "in.csv"), "--sensitive", "occupation", "--label", "income", "--json"]
    arguments += ["--grouping", "dealt", "--seed", "3", "--drop-missing", "--format", "parquet"]
    outputs = []
    for name, options in {"memory": [], "engine": ["--engine", "duckdb"]}.items():
        result = CliRunner().invoke(app, [*arguments, "-o", str(tmp_path / name), *options])
        assert result.exit_code == 0, result.output
        outputs.append(json.loads(result.stdout) | {"folder": "", "warnings": []})
    assert outputs[0] == outputs[1]
    memory, engine = (AnatomyRelease.load(tmp_path / name) for name in ("memory", "engine"))
    assert records(engine.identifying, memory.identifying.columns) == records(memory.identifying)
    assert records(engine.sensitive) == records(memory.sensitive)


@pytest.mark.parametrize("options", [{}, {"t": 0.2, "sensitive": "ill"}], ids=["k", "t"])
@pytest.mark.parametrize("method", [md.Mondrian, md.AccuracyGuided])
def test_a_number_with_very_many_values_is_cut_where_memory_cuts_it(method, options, held, tmp_path, monkeypatch):
    monkeypatch.setattr("modicum.anonymizers.out_of_core.whole_task.MOST_NUMBERS", 200)
    monkeypatch.setattr("modicum.anonymizers.out_of_core.whole_task.RANGES", 20)
    monkeypatch.setattr("modicum.anonymizers.out_of_core.cut_tree._FETCHED", 300)
    random = np.random.default_rng(7)
    pay = random.lognormal(3, 1, 4_000)
    pay[random.uniform(size=4_000) < 0.2] = 12.5  # a frequent value
    X = pd.DataFrame(
        {
            "pay": np.where(random.uniform(size=4_000) < 0.15, np.nan, pay),
            "height": random.normal(170, 10, 4_000),
            "sex": random.choice(["f", "m"], 4_000),
            "ill": random.choice(["flu", "cold", "gout"], 4_000),
            "income": random.integers(0, 2, 4_000),
        }
    )
    schema = md.Schema.infer(X).with_roles(label="income")
    quasi = ["pay", "height", "sex"]
    anonymizer = method(k=10, quasi_identifiers=quasi, schema=schema, **options)
    check_same(anonymizer, "duckdb", held, X, tmp_path / "released.parquet", rows_at_once=150)
    with pytest.raises(DataError, match="use Mondrian"):
        md.RPlusTree(k=10, quasi_identifiers=quasi).release_to(held("duckdb", X), tmp_path / "o", rows_at_once=150)
