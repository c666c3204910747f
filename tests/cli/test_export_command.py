"""`modicum export` as a person runs it: what it prints and writes; bad input gets one sentence."""

import json
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from test_cli import modicum

import modicum as md


@pytest.fixture(scope="module")
def X():
    return pd.DataFrame({"id": range(12), "age": range(15, 75, 5), "job": ["nurse", "clerk", "nurse", "smith"] * 3})


@pytest.fixture(scope="module")
def g(X):
    return md.Uniform(buckets=2).fit(X[["age", "job"]]).generalization_


@pytest.fixture(scope="module")
def cells(X):
    return md.ModelGuided(lambda X: X["age"] > 40, random_state=0).fit(X[["age"]]).cells_


@pytest.fixture
def files(g, cells, tmp_path):
    g.save(tmp_path / "g.json")
    cells.save(tmp_path / "cells.json")
    return tmp_path


def test_a_select_is_printed_and_runs(files, X, g):
    result = modicum("export", files / "g.json", "--to", "sql", "--table", "X", "--keep-columns", "id")
    assert result.returncode == 0, result.stderr
    assert duckdb.sql(result.stdout).df()["age"].tolist() == g.transform(X)["age"].tolist()


def test_cells_are_exported_as_a_select_too(files, X, cells):
    result = modicum("export", files / "cells.json", "--to", "sql", "--table", "X")
    assert duckdb.sql(result.stdout).df()["age"].tolist() == cells.transform(X[["age"]])["age"].tolist()


@pytest.mark.parametrize("form", ["labels", "codes", "values"])
def test_a_select_gives_buckets_in_each_form(files, X, g, cells, form):
    for file, artifact in (("g.json", g), ("cells.json", cells)):
        result = modicum("export", files / file, "--to", "sql", "--table", "X", "--as", form)
        assert result.returncode == 0, result.stderr
        expected = artifact.transform(X[artifact.names], output=form)
        assert duckdb.sql(result.stdout).df()["age"].tolist() == expected["age"].tolist()


@pytest.mark.parametrize("dialect", ["postgres", "spark", "bigquery", "snowflake"])
def test_each_dialect_is_written_to_a_file(files, g, dialect):
    path = files / "g.sql"
    result = modicum("export", files / "g.json", "--to", "sql", "--dialect", dialect, "-o", path)
    assert (result.returncode, result.stdout.split()[:2]) == (0, ["Written", "to"])
    assert path.read_text(encoding="utf-8") == g.to_sql("people", dialect) + "\n"


def test_a_dbt_model_is_written_to_a_folder(files, g):
    options = ["--table", "staff.people", "--name", "less", "--dialect", "postgres"]
    assert modicum("export", files / "g.json", "--to", "dbt", "-o", files / "project", *options).returncode == 0
    written = {f"models/{path.name}": path.read_bytes().decode() for path in (files / "project" / "models").iterdir()}
    assert written == g.to_dbt("staff.people", "less", "postgres")


def test_a_json_schema_is_printed(files, g, cells):
    assert json.loads(modicum("export", files / "g.json", "--to", "json-schema").stdout) == g.to_json_schema()
    result = modicum("export", files / "cells.json", "--to", "json-schema", "--questionnaire")
    assert json.loads(result.stdout) == md.Questionnaire(cells).to_json_schema()


BAD = {
    "no such artifact": (["nothing.json", "--to", "sql"], "nothing.json"),
    "an unknown format": (["g.json", "--to", "cobol"], "cobol"),
    "no format": (["g.json"], "--to"),
    "an unknown dialect": (["g.json", "--to", "sql", "--dialect", "oracle"], "oracle"),
    "an option without meaning": (["g.json", "--to", "json-schema", "--table", "x"], "--table has no meaning"),
    "a model's name for plain SQL": (["g.json", "--to", "sql", "--name", "x"], "--name has no meaning"),
    "codes for dbt": (["g.json", "--to", "dbt", "-o", "p", "--as", "codes"], "--as has no meaning for dbt"),
    "codes in a contract": (["g.json", "--to", "json-schema", "--as", "codes"], "--as has no meaning"),
    "an unknown form": (["g.json", "--to", "sql", "--as", "words"], "words"),
    "values of a generalization": (["g.json", "--to", "javascript", "--representatives"], "is for cells"),
    "values in SQL": (["cells.json", "--to", "sql", "--representatives"], "--representatives has no meaning for sql"),
    "a questionnaire of a generalization": (
        ["g.json", "--to", "json-schema", "--questionnaire"],
        "A questionnaire needs cells",
    ),
    "a questionnaire in SQL": (
        ["cells.json", "--to", "sql", "--questionnaire"],
        "A questionnaire cannot be exported to sql",
    ),
    "dbt without a folder": (["g.json", "--to", "dbt"], "name the project's folder"),
    "dbt into a file": (["g.json", "--to", "dbt", "-o", "g.json"], "is a file"),
    "dbt of cells": (["cells.json", "--to", "dbt", "-o", "project"], "holds cells"),
    "a model's name that leaves the folder": (["g.json", "--to", "dbt", "-o", "p", "--name", "../x"], "--name must be"),
    "a folder above that is not there": (["g.json", "--to", "dbt", "-o", "no/such"], "does not exist"),
    "a file over its artifact": (["g.json", "--to", "sql", "-o", "g.json"], "would overwrite an input"),
    "a file in no folder": (["g.json", "--to", "sql", "-o", "no/g.sql"], "its folder does not exist"),
    "too many parts of a table": (["g.json", "--to", "sql", "--table", "a.b.c.d"], "--table must be"),
    "an empty table": (["g.json", "--to", "sql", "--table", ""], "it is empty"),
    "an empty part of a table": (["g.json", "--to", "sql", "--table", "a..b"], "it is empty"),
    "an attribute passed through": (["g.json", "--to", "sql", "--keep-columns", "age"], "in full detail"),
    "a name that PostgreSQL would cut": (
        ["g.json", "--to", "sql", "--dialect", "postgres", "--table", "x" * 64],
        "64 bytes, more than 63",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing_behind(files, case):
    arguments, message = BAD[case]
    before = {path: path.read_bytes() for path in files.rglob("*") if path.is_file()}
    result = modicum("export", *arguments, cwd=files)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert {path: path.read_bytes() for path in files.rglob("*") if path.is_file()} == before
    assert not (files / "p").exists()


def test_a_module_of_cells_holds_their_values_on_request(files, cells):
    for options, artifact in (([], cells), (["--questionnaire"], md.Questionnaire(cells))):
        command = ["export", files / "cells.json", "--to", "javascript", *options]
        assert modicum(*command).stdout == artifact.to_javascript().module + "\n"
        expected = artifact.to_javascript(representatives=True).module
        assert modicum(*command, "--representatives").stdout == expected + "\n"


def test_dbt_refuses_a_folder_with_a_file_called_models(files):
    (files / "project").mkdir()
    (files / "project" / "models").write_text("mine")
    result = modicum("export", "g.json", "--to", "dbt", "-o", "project", cwd=files)
    assert result.returncode == 2
    message = " ".join(result.stderr.split())
    assert str(Path("project", "models")) in message
    assert "a file has that name; rename it, or name another folder with -o." in message
    assert (files / "project" / "models").read_text() == "mine"


def test_a_module_is_printed_or_written_with_its_types(files, g):
    printed = modicum("export", files / "g.json", "--to", "javascript")
    assert (printed.returncode, printed.stdout) == (0, g.to_javascript().module + "\n")
    assert modicum("export", files / "g.json", "--to", "javascript", "-o", files / "g.mjs").returncode == 0
    assert (files / "g.mjs").read_text(encoding="utf-8") == g.to_javascript().module
    assert (files / "g.d.mts").read_text(encoding="utf-8") == g.to_javascript().types
    wrong = modicum("export", files / "g.json", "--to", "javascript", "-o", files / "g.py")
    assert (wrong.returncode, (files / "g.py").exists()) == (2, False)
