"""`modicum anonymize`: what it writes and refuses."""

import csv
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.errors import DataError, ModicumError

QUASI = ["age", "sex", "race"]


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A file with odd texts in columns that nobody should touch."""
    X, y = md.datasets.load_adult(return_X_y=True)
    X = X[:1_200].reset_index(drop=True)
    table = X[[*QUASI, "education", "hours-per-week"]].assign(
        income=y[:1_200].to_numpy(), score=["1.50", "007", " x ", "a,b"] * 300, id=[f"p{i}" for i in range(1_200)]
    )
    path = tmp_path_factory.mktemp("people") / "people.csv"
    table.to_csv(path, index=False)
    return path


def anonymize(*arguments):
    return CliRunner().invoke(app, ["anonymize", *map(str, arguments)])


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("method", ["accuracy-guided", "mondrian", "hilbert", "rplus-tree"])
def test_other_columns_keep_their_exact_texts(people, tmp_path, method):
    out = tmp_path / "out.csv"
    options = ["--quasi-identifiers", ",".join(QUASI), "--label", "income", "--identifier", "id"]
    result = anonymize(people, "--k", 30, *options, "--method", method, "-o", out)
    assert result.exit_code == 0, result.output
    assert "smallest group" in result.output
    given, written = rows(people), rows(out)
    assert len(given) == len(written)
    assert "id" not in written[0]
    for name in ("education", "hours-per-week", "income", "score"):
        assert [row[name] for row in given] == [row[name] for row in written]
    assert md.measures.k_anonymity(pd.DataFrame(written), QUASI) >= 30


def test_records_are_left_out_only_on_request(people, tmp_path):
    out = tmp_path / "out.csv"
    options = ["--quasi-identifiers", ",".join(QUASI), "--identifier", "id", "--as", "ranges", "--json"]
    result = anonymize(people, "--k", 30, *options, "--max-suppressed", 0.1, "-o", out)
    found = json.loads(result.output[: result.output.rindex("}") + 1])
    written = rows(out)
    assert 0 < found["suppressed"] == 1_200 - len(written)
    given = {row["hours-per-week"] + row["score"] for row in rows(people)}
    assert {row["hours-per-week"] + row["score"] for row in written} <= given
    assert found["k"] == md.measures.k_anonymity(pd.DataFrame(written), QUASI) >= 30


def test_a_sensitive_column_is_protected_and_parquet_written(people, tmp_path):
    out = tmp_path / "out.parquet"
    options = ["--quasi-identifiers", ",".join(QUASI), "--sensitive", "education", "--l", 4, "--t", 0.4]
    result = anonymize(people, "--k", 20, *options, "-o", out)
    assert result.exit_code == 0, result.output
    Z = pd.read_parquet(out)
    assert md.measures.l_diversity(Z, QUASI, "education") >= 4
    assert md.measures.t_closeness(Z, QUASI, "education") <= 0.4
    assert Z["age"].dtype == np.int64


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--k", 5_000], "only 1,200 records"),
        (["--quasi-identifiers", "height"], "'height' is not in the file"),
        (["--sensitive", "education"], "alone it protects nothing"),
        (["--diversity", "entropy"], "belongs to --l"),
        (["--l", 3], "'sensitive' parameter must name"),
        (["--quasi-identifiers", "age,education", "--sensitive", "education", "--l", 3], "both a quasi-identifier"),
        (["--quasi-identifiers", "age,id", "--identifier", "id"], "'id' has the role 'identifier'"),
        (["--quasi-identifiers", "age,income", "--label", "income"], "'income' has the role 'label'"),
        (["--method", "accuracy-guided"], "name it with --label"),
        (["--label", "height"], "'height' is not in the file"),
        (["--sensitive", "education", "--t", 2], "from 0 to 1"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_left(people, tmp_path, options, message):
    out = tmp_path / "out.csv"
    result = anonymize(people, *options, "-o", out)
    assert isinstance(result.exception, ModicumError)
    assert message in str(result.exception)
    assert list(tmp_path.iterdir()) == []


def test_identifiers_are_pointed_out_and_unchanged_columns_listed(people, tmp_path):
    result = anonymize(people, "--quasi-identifiers", "age,sex", "-o", tmp_path / "out.csv")
    assert result.exit_code == 0, result.output
    output = " ".join(result.output.split())
    assert "written unchanged race, education" in output
    assert "id: " in output


def test_texts_that_mean_missing_do_so_only_in_quasi_identifiers(tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    table = pd.DataFrame({"age": ["30", "N"] * 100, "sex": ["f", "m"] * 100, "note": ["N", "x"] * 100})
    table.to_csv(path, index=False)
    result = anonymize(path, "--quasi-identifiers", "age,sex", "--missing", "N", "-o", out)
    assert result.exit_code == 0, result.output
    written = rows(out)
    assert [row["note"] for row in written] == table["note"].tolist()
    assert {(row["age"], row["sex"]) for row in written} == {("30", "f"), ("", "m")}


def test_parquet_keeps_its_types_and_days_stay_days(tmp_path):
    import duckdb

    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    duckdb.sql(
        "SELECT i::INTEGER AS age, DATE '2020-01-01' + i::INTEGER AS day, (i / 4)::DECIMAL(9, 2) AS pay "
        "FROM range(200) AS t(i)"
    ).write_parquet(str(source))
    assert anonymize(source, "--quasi-identifiers", "age", "--k", 5, "-o", out).exit_code == 0
    given, written = duckdb.read_parquet(str(source)), duckdb.read_parquet(str(out))
    assert written.types[1:] == given.types[1:]
    assert written.project("day, pay").fetchall() == given.project("day, pay").fetchall()
    days, text = tmp_path / "days.csv", tmp_path / "text.csv"
    given.write_csv(str(days))
    assert anonymize(days, "--quasi-identifiers", "day,age", "--k", 5, "-o", text).exit_code == 0
    assert all(len(row["day"]) == 10 and row["age"].isdigit() for row in rows(text))


@pytest.mark.parametrize("command", [["anonymize", "--k", "5"], ["anatomize", "--sensitive", "sex", "--l", "2"]])
def test_a_column_of_lists_is_refused_by_name(command, tmp_path):
    source, out = tmp_path / "in.parquet", tmp_path / "out.csv"
    table = pd.DataFrame({"age": [30, 40] * 50, "sex": ["f", "m"] * 50, "visits": [[1, 2]] * 100})
    table.to_parquet(source)
    result = CliRunner().invoke(app, [command[0], str(source), *command[1:], "-o", str(out)])
    assert isinstance(result.exception, DataError)
    assert str(result.exception) == "The column 'visits' holds lists or similar values; remove it from the file."
    assert not out.exists()


def test_a_schema_must_describe_the_named_columns(people, tmp_path):
    schema = tmp_path / "schema.yaml"
    md.Schema(attributes=(md.Attribute(name="age", kind="number", storage="integer"),)).to_yaml(schema)
    out = tmp_path / "out.csv"
    result = anonymize(people, "--schema", schema, "--quasi-identifiers", "age,sex", "-o", out)
    assert "does not describe the column 'sex'" in str(result.exception)
    assert anonymize(people, "--schema", schema, "--k", 20, "-o", out).exit_code == 0
    assert all(row["age"].isdigit() for row in rows(out))


def test_a_file_whose_lines_do_not_fit_its_header_is_refused(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text("a,b,c,d\n" + "1,2,3,4\n" * 50 + "1,2\n" + "1,2,3,4\n" * 50)
    result = anonymize(path, "--k", 5, "-o", tmp_path / "out.csv")
    assert isinstance(result.exception, ModicumError)
    assert "cannot be read as CSV" in str(result.exception)
