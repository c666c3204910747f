"""One meaning for a value, however a file, a frame or an engine stores it."""

import datetime as dt
import os
import subprocess
import sys
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import modicum as md
from modicum.errors import DataError
from modicum.generalization.bins import FullDetail
from modicum.generalization.build import groups, intervals
from modicum.table.files import open_connection, read_table, scan_table
from modicum.table.frames import as_frame, texts


def one(attribute: md.Attribute, partition) -> md.Generalization:
    return md.Generalization(md.Schema(attributes=(attribute,)), [partition])


def engines(columns: dict):
    frame = pl.DataFrame(columns, strict=False)
    return frame, frame.lazy(), duckdb.from_arrow(frame.to_arrow())


def listed(result) -> list:
    if isinstance(result, pl.LazyFrame):
        result = result.collect()
    if isinstance(result, duckdb.DuckDBPyRelation):
        return [row[0] for row in result.fetchall()]
    return list(result[result.columns[0]])


def test_a_csv_means_the_same_to_every_command_and_to_pandas(tmp_path):
    n = 300
    rows = {
        "answer": ["yes", "no", "yes"] * (n // 3),
        "truth": ["True", "False", "True"] * (n // 3),
        "at": ["08:15", "12:30", "12:30"] * (n // 3),
        "day": ["28.01.2015", "02.03.2016", "28.01.2015"] * (n // 3),
        "iso": ["2015-01-28", "2016-03-02", "2015-01-28"] * (n // 3),
        "code": [1.0, 2.0, None] * (n // 3),
    }
    X = pd.DataFrame(rows)
    path = tmp_path / "t.csv"
    X.to_csv(path, index=False)
    table = read_table(path)
    kinds = {a.name: (a.kind, a.storage) for a in md.Schema.infer(table)}
    assert kinds == {
        "answer": ("category", "text"),
        "truth": ("category", "boolean"),
        "at": ("category", "text"),
        "day": ("category", "text"),
        "iso": ("date", "date"),
        "code": ("number", "integer"),
    }
    schema = md.Schema.infer(table).replace("code", kind="category")
    g = md.FeatureSelection(k=6, schema=schema).fit(table, [0, 1, 0] * (n // 3)).generalization_
    assert np.array_equal(g.codes(pd.read_csv(path)), g.codes(table))
    with open_connection() as connection:
        streamed = g.transform(scan_table(connection, path, g.schema)).df()
    expected = g.transform(table)
    for name in ("answer", "truth", "at", "day", "code"):
        assert streamed[name].tolist() == expected[name].tolist(), name
    assert np.array_equal(g.codes(read_table(path, schema=g.schema)), g.codes(table))


def test_zoned_times_do_not_depend_on_where_they_are_read(tmp_path):
    moments = [dt.datetime(2020, 1, 1, hour, tzinfo=dt.UTC) for hour in range(24)]
    when = md.Attribute(name="when", kind="date", storage="datetime")
    g = one(when, intervals(when, [dt.datetime(2020, 1, 1, 11, 30, tzinfo=dt.UTC).timestamp()]))
    frame = pl.DataFrame({"when": moments})
    frame.write_parquet(tmp_path / "t.parquet")
    g.save(tmp_path / "g.json")
    assert g.codes(frame)[:, 0].tolist() == [0] * 12 + [1] * 12
    assert listed(g.transform(frame.lazy(), output="codes")) == [0] * 12 + [1] * 12
    for zone in ("UTC", "Asia/Tokyo"):
        command = [sys.executable, "-m", "modicum", "apply", "g.json", "t.parquet", "-o", "o.csv", "--as", "codes"]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "TZ": zone}, check=True, capture_output=True)
        assert pd.read_csv(tmp_path / "o.csv")["when"].tolist() == [0] * 12 + [1] * 12
    zoned = pd.DataFrame({"when": pd.Series(moments).dt.tz_convert("Asia/Tokyo")})
    assert g.codes(zoned)[:, 0].tolist() == [0] * 12 + [1] * 12
    assert np.array_equal(g.codes(g.transform(zoned, output="values")), g.codes(zoned))


def test_values_of_a_category_are_written_as_the_column_is():
    code = md.Attribute(name="code", kind="category", storage="integer")
    g = one(code, groups(code, [["1", "2"], ["10"]], values=["2", "10"]))
    for values, expected in (([1, 10], [2, 10]), (["1", "10"], ["2", "10"]), ([1.0, 10.0], [2.0, 10.0])):
        for X in engines({"code": values}):
            assert listed(g.transform(X, output="values")) == expected
        assert listed(g.transform(pd.DataFrame({"code": values}), output="values")) == expected
    ordered = pd.Categorical([1, 2, 10, 2], categories=[1, 2, 10], ordered=True)
    result = g.transform(pd.DataFrame({"code": ordered}), output="values")["code"]
    assert result.tolist() == [2, 2, 10, 2]
    assert result.dtype == ordered.dtype


def test_a_representative_is_not_rounded_to_fit_a_column():
    dose = md.Attribute(name="dose", kind="number", storage="float")
    g = one(dose, intervals(dose, [1.3, 2.5], values=[1.0, 1.5, 3.0]))
    for X in (pd.DataFrame({"dose": [2, 1, 3]}), *engines({"dose": [2, 1, 3]})):
        assert listed(g.transform(X, output="values")) == [1.5, 1.0, 3.0]


def test_integers_beyond_2_to_the_53_stay_different(tmp_path):
    big = 2**53
    numbers = [big, big + 1, big + 3]
    code = md.Attribute(name="code", kind="category", storage="integer")
    g = one(code, groups(code, [[str(n)] for n in numbers]))
    for X in engines({"code": [*numbers, None]}):
        assert listed(g.transform(X)) == [*map(str, numbers), "(missing)"]
    assert listed(g.transform(pd.DataFrame({"code": pd.array([*numbers, None], dtype="Int64")})))[:3] == list(
        map(str, numbers)
    )
    (tmp_path / "t.csv").write_text("code\n" + "\n".join(map(str, numbers)) + "\n")
    with open_connection() as connection:
        assert listed(g.transform(scan_table(connection, tmp_path / "t.csv", g.schema))) == list(map(str, numbers))


def test_a_number_differs_from_text_that_looks_like_it():
    code = md.Attribute(name="code", kind="category")
    g = one(code, groups(code, [["01", "1e1", "nan", "1_0"], ["1"]]))
    for values in ([1, 10], [1.0, 10.0]):
        for X in engines({"code": values}):
            assert listed(g.transform(X)) == ["1", "(other)"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array(["2020-01-01"], dtype="datetime64[ns]"), ["2020-01-01"]),
        (np.array([0.1], dtype=np.float32), ["0.1"]),
        (pd.Series([Decimal("1.10"), Decimal("2")], dtype=object), ["1.1", "2"]),
        (pd.array([True, None], dtype="boolean"), ["true"]),
        (pd.array(["a", None], dtype="string"), ["a"]),
        (pd.Categorical([3, 1]), ["3", "1"]),
    ],
)
def test_canonical_text_of_every_dtype(values, words):
    assert texts(as_frame(pd.DataFrame({"x": values}))["x"])[1] == words


def test_columns_that_cannot_be_compared_are_refused():
    day = md.Attribute(name="day", kind="category")
    g = one(day, groups(day, [["2020-01-01"]]))
    with pytest.raises(DataError, match="'day' is a category but has the type Date"):
        g.transform(pl.DataFrame({"day": [dt.date(2020, 1, 1)]}).lazy())
    with pytest.raises(DataError, match="'x' holds lists"):
        texts(as_frame(pd.DataFrame({"x": [[1], [2]]}))["x"])


def test_a_refusal_holds_for_a_kept_number_everywhere():
    dose = md.Attribute(name="dose", kind="number", storage="float")
    g = one(dose, FullDetail(attribute=dose, missing="refuse"))
    for X in (pd.DataFrame({"dose": [1.0, None]}), *engines({"dose": [1.0, None]})):
        for output in ("labels", "values"):
            with pytest.raises(DataError, match=r"'dose' has 1 .*missing"):
                g.transform(X, output=output)


def test_pyarrow_tables_keep_their_columns():
    X = pa.table({"a": [1.0, None, 30.0], "c": ["x", "y", None]})
    g = md.Uniform(buckets=2).fit(X).generalization_
    for output in ("labels", "codes", "values"):
        assert g.transform(X, output=output).column_names == ["a", "c"]


def test_a_kept_date_with_gaps_reaches_a_model():
    days = pd.date_range("2000-01-01", periods=200).to_series(index=range(200))
    y = (np.arange(200) > 100).astype(int)
    X = pd.DataFrame({"day": days.where(np.arange(200) % 10 > 0)})
    g = md.FeatureSelection(k=1).fit(X, y).generalization_
    scaled = g.encoder().fit_transform(g.transform(X))
    assert np.isfinite(scaled).all()
    assert np.ptp(scaled[:, 0]) > 2
    model = make_pipeline(g.encoder(), LogisticRegression()).fit(g.transform(X), y)
    assert model.score(g.transform(X), y) > 0.85


def test_a_path_is_a_file_and_not_a_pattern(tmp_path):
    (tmp_path / "people1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "people[1].csv").write_text("c,d\n3,4\n")
    assert list(read_table(tmp_path / "people[1].csv").columns) == ["c", "d"]
    folder = tmp_path / "region=north"
    folder.mkdir()
    (folder / "p.csv").write_text("a,b\n1,2\n")
    assert list(read_table(folder / "p.csv").columns) == ["a", "b"]


def test_a_ragged_file_is_refused_without_showing_a_line(tmp_path):
    rows = [f"{i},{i % 7}" for i in range(30_000)]
    rows[25_000] = "1,2,MARY-SECRET"
    (tmp_path / "t.csv").write_text("a,b\n" + "\n".join(rows) + "\n")
    with pytest.raises(DataError, match="its lines do not have the fields that the header names") as caught:
        read_table(tmp_path / "t.csv")
    assert "SECRET" not in str(caught.value)
    g = md.Uniform(buckets=2).fit(pd.DataFrame({"a": [1, 2], "b": [3, 4]})).generalization_
    g.save(tmp_path / "g.json")
    command = [sys.executable, "-m", "modicum", "apply", "g.json", "t.csv", "-o", "o.csv"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert result.returncode == 2
    assert "line 25002 does not have the fields" in result.stderr
    assert "SECRET" not in result.stderr
    assert not (tmp_path / "o.csv").exists()
    (tmp_path / "u.csv").write_bytes(b"a,b\n" + b"1,caf\xe9\n" * 100)
    with pytest.raises(DataError, match="is not UTF-8 text"):
        read_table(tmp_path / "u.csv")


def test_names_that_differ_only_in_case_are_refused(tmp_path):
    (tmp_path / "t.csv").write_text("Age,age\n1,2\n")
    with pytest.raises(DataError, match="'age' appears more than once"):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("size", [1, 2])
def test_many_groups_are_looked_up_alike(size):
    words = [f"café {i}" for i in range(80)]
    word = md.Attribute(name="word", kind="category")
    g = one(word, groups(word, [words[i : i + size] for i in range(0, 60, size)]))
    values = [*words, "cafe\u0301 3", None]
    expected = listed(g.transform(pd.DataFrame({"word": values})))
    assert expected[-2] == expected[3]
    for X in engines({"word": values}):
        assert listed(g.transform(X)) == expected
        assert listed(g.transform(X, output="codes")) == g.codes(pl.DataFrame({"word": values}))[:, 0].tolist()


def test_a_character_with_another_canonical_form_is_one_character():
    """U+F900 is neither normal form C nor D: both are U+8C48. A NUL does not end a text."""
    word = md.Attribute(name="word", kind="category")
    g = one(word, groups(word, [["\u8c48"], [""], ["\0"]]))
    values = ["\uf900", "\u8c48", "", "\0"]
    for X in (pd.DataFrame({"word": values}), *engines({"word": values})):
        assert listed(g.transform(X)) == ["\u8c48", "\u8c48", "", "\0"]
