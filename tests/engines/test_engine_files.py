"""Files opened and written by an engine: one file, folders that are partitioned or not, patterns."""

import duckdb
import numpy as np
import pandas as pd
import pytest

import modicum as md
from modicum.engines.file_tables import open_table
from modicum.engines.partitioned_writing import write
from modicum.errors import DataError
from modicum.table.files import read_table

ENGINES = ["duckdb", pytest.param("spark", marks=pytest.mark.services)]
ODD = 'w "q` [a]*'


@pytest.fixture
def records():
    return pd.DataFrame(
        {
            "n": range(12),
            ODD: ["a/b é=", None, "x%41", "{y}"] * 3,
            "year": [2020, 2021, 2022] * 4,
            "day": pd.to_datetime(["2020-01-01 00:00", "2021-06-05 10:30", None] * 4),
        }
    )


@pytest.fixture
def engine(request):
    """An engine by name; for Spark, with the tests' own session."""
    if request.param == "spark":
        request.getfixturevalue("spark")
    return request.param


def rows(table):
    frame = table.lazy.collect(backend="pyarrow").to_native().to_pandas()
    return sorted(map(str, frame.to_dict("records")))


def expected(X):
    return sorted(map(str, X.to_dict("records")))


@pytest.mark.parametrize("engine", ENGINES, indirect=True)
@pytest.mark.parametrize("partition_by", [[], ["year"], [ODD, "year"]])
def test_every_engine_reads_files_written_by_another(engine, partition_by, records, tmp_path):
    folder = tmp_path / "a b [1]"
    with duckdb.connect() as connection:
        write(connection.from_df(records), folder, partition_by=partition_by)
    with open_table(folder, engine) as table:
        assert rows(table) == expected(records[table.columns])
        write(table.native, tmp_path / "again", partition_by=partition_by)
    for place in (tmp_path / "again", tmp_path / "again" / "**" / "*.parquet"):
        with open_table(place) as table:
            assert sorted(table.columns) == sorted(records)
            assert rows(table) == expected(records[table.columns])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a b [1]", "again"]


def test_an_engine_reads_a_csv_by_its_schema_like_read_table(people, tmp_path):
    X, _ = people
    X.to_csv(tmp_path / "people.csv", index=False)
    schema = md.Schema.infer(X)
    with open_table(tmp_path / "people.csv", schema=schema) as table:
        assert rows(table) == expected(read_table(tmp_path / "people.csv", schema=schema))


def test_duckdb_recommends_spark_for_other_machines(tmp_path):
    with pytest.raises(DataError, match="use the engine 'spark'"), open_table("s3://bucket/people"):
        pass


def test_a_csv_without_a_schema_has_the_types_that_fit_every_row(tmp_path):
    n = 6
    columns = {
        "n": np.arange(n),
        "x": np.resize([0.5, None], n),
        "answer": np.resize(["True", "False", None], n),
        "text": np.resize(["true", "no"], n),
        "day": np.resize(["2020-01-01", "2020-02-03T04:05:06Z", "2020-02-03 04:05+0200"], n),
        "almost": np.resize(["2020-01-01", "2020-13-01"], n),
        "empty": np.resize([None], n),
    }
    pd.DataFrame(columns).to_csv(tmp_path / "t.csv", index=False)
    known = read_table(tmp_path / "t.csv")
    with open_table(tmp_path / "t.csv", ordered=True) as table:
        found = table.native.df()
    for name in columns:
        plain, same = ([None if pd.isna(value) else value for value in each[name]] for each in (found, known))
        assert list(map(str, plain)) == list(map(str, same)), name


def test_a_folder_name_with_two_equals_signs_is_refused(tmp_path):
    (tmp_path / "year=2020=1").mkdir()
    pd.DataFrame({"age": [31]}).to_parquet(tmp_path / "year=2020=1" / "a.parquet")
    with pytest.raises(DataError, match="more than one '='"), open_table(tmp_path):
        pass
