"""Files are read and written by their ending, in upper case too."""

import duckdb
import pandas as pd
import pytest

import modicum as md
from modicum.table.files import read_table, write_frame


@pytest.fixture(scope="module")
def people():
    return pd.DataFrame({"code": ["0", "1"] * 50, "age": range(100)})


@pytest.mark.parametrize("name", ["a.csv", "A.CSV", "A.CSV.GZ", "a.csv.GZ", "a.Tsv", "A.TSV.gz", "A.PARQUET"])
def test_files_with_endings_in_any_case_are_written_and_read(name, people, tmp_path):
    write_frame(people, tmp_path / name)
    assert read_table(tmp_path / name)["age"].tolist() == people["age"].tolist()
    compressed = (tmp_path / name).read_bytes().startswith(b"\x1f\x8b")
    assert compressed == name.lower().endswith(".gz")


@pytest.mark.parametrize("name", ["out.csv", "OUT.CSV", "OUT.CSV.GZ", "OUT.PARQUET"])
def test_an_engine_releases_to_any_ending_and_texts_stay_texts(name, people, tmp_path):
    anonymizer = md.Mondrian(k=5, quasi_identifiers=["age"], schema=md.Schema.infer(people))
    release = anonymizer.release_to(duckdb.from_df(people), tmp_path / name).release_
    assert sorted(release.frame.df()["code"]) == sorted(people["code"])


@pytest.mark.parametrize("output", ["values", "ranges"])
def test_a_release_has_the_same_types_from_csv_as_from_parquet(output, people, tmp_path):
    people = people.assign(number=range(2**60, 2**60 + 100), member=[True, False] * 50)
    anonymizer = md.Mondrian(k=5, quasi_identifiers=["age"], output=output)
    names = ["out.csv", "out.parquet"]
    csv, parquet = (anonymizer.release_to(duckdb.from_df(people), tmp_path / n).release_.frame.df() for n in names)
    pd.testing.assert_frame_equal(*(frame.sort_values("number", ignore_index=True) for frame in (csv, parquet)))
