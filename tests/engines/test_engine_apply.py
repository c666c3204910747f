"""An artifact gives the same buckets in memory and in every engine."""

import math

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from engine_places import EVERYWHERE, LAZY
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.engines.file_tables import open_table
from modicum.engines.partitioned_writing import write
from modicum.errors import ArtifactError, DataError
from modicum.generalization.bins import FullDetail
from modicum.generalization.build import groups, intervals
from modicum.generalization.cells import Ask, Cell

ODD = "a \"b` 'c' é"
BIG = 2**53
N = 42
FORMS = ["labels", "codes", "values"]


def records():
    """Every kind of column, with missing, unseen, edge and extreme values."""
    day = pd.Timestamp("2019-12-31 23:59:59.999999")
    when = pd.Series([day + pd.Timedelta(microseconds=i % 3) for i in range(N)])
    return pd.DataFrame(
        {
            "id": np.arange(N),
            "whole": np.resize([-3, 19, 20, 39, 40, 1_000_000], N),
            "small": np.resize(np.array([0, 1, 2, 250], dtype=np.uint8), N),
            "big": np.resize([BIG - 1, BIG, BIG + 1, BIG + 2, -BIG], N),
            "amount": np.resize([0.1, 0.2, np.nan, np.inf, -np.inf, 0.15], N),
            "single": np.resize(np.array([0.1, 0.2, 0.3], dtype=np.float32), N),
            "when": when.where(np.arange(N) % 7 > 0),
            "zoned": pd.Series([day + pd.Timedelta(hours=i) for i in range(N)]).dt.tz_localize("UTC"),
            "code": np.resize([1, 2, 3, 7, 9, -4], N),
            "share": np.resize([0.5, 1.0, np.nan, 0.25], N),
            "truth": np.resize([True, False], N),
            "word": np.resize(np.array(["é", "e\u0301", "x", None, "never", "a\0b", "'; DROP"], dtype=object), N),
            ODD: np.resize(np.array(["f", "m", "(other)", ""], dtype=object), N),
        }
    )


def number(name, edges, values, storage="float"):
    return intervals(md.Attribute(name=name, kind="number", storage=storage), edges, values=values)


def date(name, moments):
    edges = [pd.Timestamp(moment).timestamp() for moment in moments]
    return intervals(md.Attribute(name=name, kind="date", storage="datetime"), edges)


def category(name, members, storage="text", values=None, **options):
    return groups(md.Attribute(name=name, kind="category", storage=storage), members, values=values, **options)


def artifact(*others):
    """Edges at and next to the values; the attribute `id` makes every record unique."""
    partitions = [
        number("id", [i + 0.5 for i in range(N - 1)], list(range(N)), "integer"),
        number("whole", [19.5, 39], [10, 30, 50], "integer"),
        number("small", [-1.5, 0.5, 300.5], [-2, 0, 100, 400], "integer"),
        number("big", [float(BIG)], [0, BIG + 2], "integer"),
        number("amount", [0.1, 0.15], [0.1, 0.125, 2.0]),
        number("single", [0.1, float(np.float32(0.2))], [0.0, 0.15, 1.0]),
        date("when", ["2019-12-31 23:59:59.999999", "2020-01-01"]),
        date("zoned", ["2020-01-01 03:00"]),
        category("code", [["1", "2", "7"], ["3"]], "integer", ["1", "3"], missing_in=1),
        category("share", [["0.5"], ["1"]], "float", ["0.5", "1"]),
        category("truth", [["true"], ["false"]], "boolean", ["true", "false"]),
        category("word", [["é", "'; DROP"], ["x", "a\0b"]], values=["é", "x"]),
        category(ODD, [["f"], ["m", ""]], values=["f", ""]),
    ]
    return generalization_of([*partitions, *others])


def generalization_of(partitions):
    return md.Generalization(md.Schema(attributes=tuple(p.attribute for p in partitions)), partitions)


def rows(result):
    """The records in the order of `id`, dates in UTC, every missing value as None."""
    frame = nw.from_native(result)
    frame = frame.collect(backend="pyarrow") if isinstance(frame, nw.LazyFrame) else frame
    found = [tuple(_plain(value) for value in row) for row in frame.rows()]
    return sorted(found, key=lambda row: str(row[0]).zfill(4))


def _plain(value):
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, pd.Timestamp) or hasattr(value, "tzinfo"):
        moment = pd.Timestamp(value)
        return moment.tz_convert("UTC").tz_localize(None) if moment.tzinfo else moment
    return value


@pytest.mark.parametrize("output", FORMS)
@pytest.mark.parametrize("place", EVERYWHERE)
def test_every_place_finds_the_same_buckets(place, output, held):
    g, X = artifact(), records()
    assert rows(g.transform(held(place, X), output=output)) == rows(g.transform(X, output=output))


@pytest.mark.parametrize("place", LAZY)
def test_nan_is_missing_in_every_engine(place, held):
    g, X = artifact(), records()
    frame = nw.from_native(held(place, X))
    for name in ("amount", "share"):
        column = nw.col(name)
        frame = frame.with_columns(nw.when(column.is_null()).then(nw.lit(float("nan"))).otherwise(column).alias(name))
    assert rows(g.transform(frame.to_native())) == rows(g.transform(X))


@pytest.mark.parametrize("output", FORMS)
@pytest.mark.parametrize("place", EVERYWHERE)
def test_categories_with_many_values_are_looked_up(place, output, held):
    """Enough values for DuckDB to look them up at once: words with every kind of quote, and whole numbers."""
    words = [f"w'{i}\"" for i in range(20)] + ["é", "", "(other)"]
    numbers = [str(i * 7 - 30) for i in range(20)] + [str(2**62), "07", "x"]
    X = pd.DataFrame(
        {
            "id": np.arange(60),
            "word": np.resize(np.array([*words, "e\u0301", None, "never", "a\0b"], dtype=object), 60),
            "number": np.resize([*range(-30, 120, 7), 2**62, 1, 8], 60),
            "(labels looked up for word)": 0,
        }
    )
    parts = [
        number("id", [i + 0.5 for i in range(59)], list(range(60)), "integer"),
        category("word", [words[:9], words[9:]], values=[words[0], ""]),
        category("number", [numbers[::2], numbers[1::2]], storage="integer", values=numbers[:2]),
    ]
    g = generalization_of(parts)
    assert rows(g.transform(held(place, X), output=output)) == rows(g.transform(X, output=output))


@pytest.mark.parametrize("place", LAZY)
def test_many_kept_values_stay_in_every_engine(place, held):
    words = [f"w{i}" for i in range(70)] + ["o'clock", "é", "(missing)"]
    X = pd.DataFrame({"id": range(150), "word": np.resize([*words, "never", None], 150), "code": np.arange(150) * 3})
    g = generalization_of(
        [
            FullDetail(attribute=md.Attribute(name="id", kind="number", storage="integer")),
            category("word", [[word] for word in words]),
            category("code", [[str(3 * i)] for i in range(100)], "integer"),
        ]
    )
    assert rows(g.transform(held(place, X))) == rows(g.transform(X))


@pytest.mark.parametrize("place", LAZY)
def test_an_engine_refuses_values_that_the_artifact_refuses(place, held):
    word = category("word", [["é", "'; DROP"], ["x", "a\0b"]])
    g = generalization_of([word.model_copy(update={"unseen": "refuse"})])
    with pytest.raises(DataError, match="'word' has 6 missing or unseen values") as error:
        g.transform(held(place, records()))
    assert "never" not in str(error.value)


def some_cells():
    """Cells over three attributes that also keep the attribute `id`."""
    code, word, whole = (artifact()[name] for name in ("code", "word", "whole"))
    id_ranges = number("id", [N / 2], [0, N], "integer")
    entries = [
        Ask(ask="whole", left=(0, 3)),
        Ask(ask="word", left=(0, 2)),
        Cell(values=(0, 10, "é", "1")),
        Cell(values=(0, 10, "x", "3")),
        Ask(ask="code", left=(1, 2)),
        Cell(values=(0, 30, "é", "3")),
        Cell(values=(0, 50, "x", "1")),
    ]
    kept = [FullDetail(attribute=id_ranges.attribute)]
    return md.CellPartition(generalization_of([id_ranges, whole, word, code]), entries, kept=kept)


@pytest.mark.parametrize("output", ["labels", "values"])
@pytest.mark.parametrize("place", EVERYWHERE)
def test_every_place_finds_the_same_cells(place, output, held):
    cells, X = some_cells(), records()
    assert rows(cells.transform(held(place, X), output=output)) == rows(cells.transform(X, output=output))


@pytest.mark.parametrize("moment", ["1333-09-28 14:56:03", "2606-09-28 14:56:03"])
@pytest.mark.parametrize("place", LAZY)
def test_microseconds_that_equal_an_edge_far_from_1970_share_its_bucket(place, moment, held):
    if place == "spark" and moment < "1582":
        pytest.skip("Spark reads a date before 1582 that Python gives it in the calendar of that time")
    edge = pd.Timestamp(moment)
    when = pd.Series([edge + pd.Timedelta(microseconds=i) for i in range(6)]).astype("datetime64[us]")
    g, X = generalization_of([date("when", [edge])]), pd.DataFrame({"when": when})
    assert g.transform(X, output="codes")["when"].tolist() == [0, 0, 0, 1, 1, 1]
    assert rows(g.transform(held(place, X), output="codes")) == rows(g.transform(X, output="codes"))


@pytest.mark.parametrize("place", LAZY)
def test_engines_refuse_cells_with_many_nested_questions(place, held):
    whole = number("id", [i + 0.5 for i in range(60)], list(range(61)), "integer")
    entries = [each for i in range(60) for each in (Ask(ask="id", left=(i,)), Cell(values=(i,)))]
    deep = md.CellPartition(generalization_of([whole]), [*entries, Cell(values=(60,))])
    with pytest.raises(ArtifactError, match="more than 40 nested questions"):
        deep.transform(held(place, records()[["id"]]))


@pytest.fixture(params=["duckdb", pytest.param("spark", marks=pytest.mark.services)])
def engine(request):
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


def run(*arguments):
    return CliRunner().invoke(app, ["apply", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path):
    """The records in a folder of Parquet files, one folder per `year`, and the artifact next to it."""
    write(duckdb.from_df(records().assign(year=np.resize([2020, 2021], N))), tmp_path / "in", ["year"])
    artifact().save(tmp_path / "g.json")
    return tmp_path


def test_apply_reads_and_writes_partitioned_parquet(folder, engine):
    arguments = ["--engine", engine, "--keep-columns", "year", "--partition-by", "year,whole"]
    for form in FORMS:
        result = run(folder / "g.json", folder / "in", "-o", folder / "out", "--as", form, *arguments)
        assert result.exit_code == 0, result.output
        with open_table(folder / "out") as table:
            found = table.lazy.select(["id", "year", *[name for name in artifact().names if name != "id"]])
            expected = artifact().transform(records(), output=form)
            expected.insert(1, "year", np.resize([2020, 2021], N))
            assert rows(found.to_native()) == rows(expected)
    assert sorted(each.name for each in folder.iterdir()) == ["g.json", "in", "out"]


def test_apply_partitions_only_by_columns_of_its_result(folder, engine):
    result = run(folder / "g.json", folder / "in", "-o", folder / "out", "--engine", engine, "--partition-by", "year")
    assert isinstance(result.exception, DataError)
    assert "'year' is not in the result" in str(result.exception)
    assert not (folder / "out").exists()


def test_a_refusal_stops_apply_and_leaves_the_old_result(folder, engine):
    word = category("word", [["é", "'; DROP"], ["x", "a\0b"]])
    generalization_of([word.model_copy(update={"unseen": "refuse"})]).save(folder / "strict.json")
    arguments = [folder / "in", "-o", folder / "out", "--engine", engine]
    assert run(folder / "g.json", *arguments).exit_code == 0
    before = sorted((folder / "out").rglob("*.parquet"))
    result = run(folder / "strict.json", *arguments)
    assert isinstance(result.exception, DataError)
    assert str(result.exception) == "The column 'word' has missing or unseen values, which this artifact refuses."
    assert sorted((folder / "out").rglob("*.parquet")) == before
    assert sorted(each.name for each in folder.iterdir()) == ["g.json", "in", "out", "strict.json"]


@pytest.mark.parametrize("output", ["year=2020", "year=2020/a.parquet"])
def test_apply_does_not_overwrite_files_that_a_pattern_matches(output, tmp_path):
    X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"]})
    md.Uniform(buckets=2).fit(X).generalization_.save(tmp_path / "g.json")
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        X.to_parquet(tmp_path / f"year={year}" / "a.parquet")
    arguments = [str(tmp_path / "g.json"), str(tmp_path / "year=*" / "a.parquet"), "-o", str(tmp_path / output)]
    result = CliRunner().invoke(app, ["apply", *arguments])
    assert isinstance(result.exception, DataError) or "overwrite its input" in result.output
    assert pd.read_parquet(tmp_path / "year=2020" / "a.parquet").equals(X)
