"""`modicum anatomize`: what it writes, prints and refuses."""

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.errors import ModicumError


def make_people(n=600, seed=0):
    random = np.random.default_rng(seed)
    ill = random.choice(["asthma", "cold", "flu", "gout", "measles"], n)
    age = pd.Series(ill).map({"asthma": 20, "cold": 32, "flu": 44, "gout": 56, "measles": 68}) + random.integers(
        -9, 9, n
    )
    bought = np.where(random.random(n) < 0.5, "yes", "no")
    towns = random.choice(["ely", "wells", "bath"], n)
    return pd.DataFrame(
        {"age": age, "town": towns, "ill": ill, "bought": bought, "id": [f"secret{i}" for i in range(n)]}
    )


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    make_people().to_csv(path, index=False)
    return path


def anatomize(*arguments):
    return CliRunner().invoke(app, ["anatomize", *map(str, arguments)])


def output_of(result):
    """Return the output on one line, for a terminal of any width."""
    return " ".join(result.output.split())


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_the_two_written_tables_read_back_with_every_value(people, tmp_path):
    out = tmp_path / "out"
    result = anatomize(people, "--sensitive", "ill", "--l", 4, "--label", "bought", "--identifier", "id", "-o", out)
    assert result.exit_code == 0, result.output
    release = md.AnatomyRelease.load(out)
    assert (release.l, release.rows, release.label) == (4, 600, "bought")
    assert set(release.identifying_names) == {"age", "town"}
    given = make_people()
    assert sorted(release.sensitive["ill"]) == sorted(given["ill"])
    for name in ("age", "town", "bought"):
        assert sorted(release.identifying[name].astype(str)) == sorted(given[name].astype(str))
    output = output_of(result)
    for fact in ("records 600", "groups of ill 150, of 4 people each", "l of ill 4 (asked for 4)", "class bought"):
        assert fact in output
    assert "table of ill GID, ill" in output


@pytest.mark.parametrize("format", ["csv", "parquet"])
@pytest.mark.parametrize("grouping", ["bucketize", "random"])
def test_the_same_seed_writes_the_same_bytes_and_no_seed_does_not(people, tmp_path, format, grouping):
    options = ["--sensitive", "ill", "--identifier", "id", "--format", format, "--grouping", grouping]
    for name in "ab":
        assert anatomize(people, *options, "--seed", 3, "-o", tmp_path / name).exit_code == 0
    for name in "cd":
        assert anatomize(people, *options, "-o", tmp_path / name).exit_code == 0
    a, b, c, d = (contents(tmp_path / name) for name in "abcd")
    assert a == b
    assert c != d
    assert any(name.endswith(format) for name in a)


def test_the_attack_is_shown_with_its_baselines(people, tmp_path):
    options = ["--sensitive", "ill", "--l", 2, "--identifier", "id", "--seed", 0, "--attack"]
    result = anatomize(people, *options, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    output = output_of(result)
    assert "matched to the right ill" in output
    assert "50.0% without learning" in output
    assert "by the most frequent value overall" in output
    result = anatomize(people, *options, "--json", "-o", tmp_path / "again")
    found = json.loads(result.stdout)
    attack = found["attack"]["ill"]
    assert attack["interval"][0] > attack["baseline"] == 0.5
    assert (found["l"], found["asked_l"], found["suppressed"]) == (2, 2, 0)


def test_several_sensitive_columns_get_a_table_each(people, tmp_path):
    given = ["--sensitive", "ill,town", "--l", 2, "--identifier", "id", "--max-suppressed", 1]
    result = anatomize(people, *given, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert md.AnatomyRelease.load(tmp_path / "out").sensitive_names == ["ill", "town"]
    repeated = ["--sensitive", "ill", "--sensitive", "town", *given[2:]]
    assert anatomize(people, *repeated, "-o", tmp_path / "again").exit_code == 0


def test_a_schema_can_name_the_sensitive_column_and_the_class(people, tmp_path):
    schema = md.Schema.infer(make_people(), label="bought", sensitive=["ill"], identifiers=["id"])
    schema.to_yaml(tmp_path / "schema.yaml")
    result = anatomize(people, "--schema", tmp_path / "schema.yaml", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    release = md.AnatomyRelease.load(tmp_path / "out")
    assert (release.sensitive_names, release.label) == (["ill"], "bought")


def test_records_are_left_out_only_on_request(tmp_path):
    table = make_people().drop(columns="id").assign(ill=np.where(np.arange(600) < 400, "flu", make_people()["ill"]))
    table.to_csv(tmp_path / "in.csv", index=False)
    refused = anatomize(tmp_path / "in.csv", "--sensitive", "ill", "--l", 3, "-o", tmp_path / "out")
    assert isinstance(refused.exception, ModicumError)
    assert "largest possible l is 1" in str(refused.exception)
    assert not (tmp_path / "out").exists()
    less = anatomize(
        tmp_path / "in.csv", "--sensitive", "ill", "--l", 3, "--max-suppressed", 0.1, "-o", tmp_path / "out"
    )
    assert "a larger share than the 'max_suppressed' parameter allows (0.1)" in str(less.exception)
    assert not (tmp_path / "out").exists()
    options = ["--sensitive", "ill", "--l", 3, "--max-suppressed", 1, "--json"]
    result = anatomize(tmp_path / "in.csv", *options, "-o", tmp_path / "out")
    found = json.loads(result.stdout)
    assert found["suppressed"] > 0
    assert found["rows"] + found["suppressed"] == 600
    assert found["l"] == 3


def test_rows_without_a_class_are_left_out_with_a_note(tmp_path):
    table = make_people().drop(columns="id")
    table.loc[:4, "bought"] = None
    table.to_csv(tmp_path / "in.csv", index=False)
    options = ["--sensitive", "ill", "--label", "bought"]
    result = anatomize(tmp_path / "in.csv", *options, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "5 rows without a value of 'bought' are left out" in output_of(result)
    assert md.AnatomyRelease.load(tmp_path / "out").rows == 595


def test_a_column_that_reveals_the_sensitive_one_is_pointed_out(tmp_path):
    table = make_people().drop(columns="id").assign(code=pd.factorize(make_people()["ill"])[0])
    table.to_csv(tmp_path / "in.csv", index=False)
    result = anatomize(tmp_path / "in.csv", "--sensitive", "ill", "--category", "code", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Note: " in result.stderr
    assert "'code'" in output_of(result)


def test_columns_that_look_like_identifiers_are_pointed_out_before_writing(people, tmp_path, monkeypatch):
    result = anatomize(people, "--sensitive", "ill", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "Note: 'id' looks like an identifier" in output_of(result)
    assert "--identifier id" in output_of(result)
    assert "secret" not in result.output

    def stopped(*given, **options):
        raise ModicumError("stopped")

    monkeypatch.setattr(md.AnatomyRelease, "save", stopped)
    result = anatomize(people, "--sensitive", "ill", "-o", tmp_path / "other")
    assert "--identifier id" in output_of(result)


def test_json_warns_of_columns_that_look_like_identifiers(people, tmp_path):
    options = ["--sensitive", "ill", "--json"]
    found = json.loads(anatomize(people, *options, "-o", tmp_path / "out").stdout)
    assert any("--identifier id" in each for each in found["warnings"])
    found = json.loads(anatomize(people, *options, "--identifier", "id", "-o", tmp_path / "without").stdout)
    assert found["warnings"] == []


def test_rows_without_a_sensitive_value_are_left_out_on_request_and_counted(tmp_path):
    table = make_people().drop(columns="id")
    table.loc[:6, "ill"] = None
    table.to_csv(tmp_path / "in.csv", index=False)
    refused = anatomize(tmp_path / "in.csv", "--sensitive", "ill", "-o", tmp_path / "out")
    assert "7 rows have no value of the sensitive column 'ill'" in str(refused.exception)
    assert "--drop-missing" in str(refused.exception)
    options = ["--sensitive", "ill", "--drop-missing", "--json", "--attack", "--l", 2]
    result = anatomize(tmp_path / "in.csv", *options, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert (found["rows"], found["without_sensitive_value"]) == (593, 7)
    assert "7 rows without a value" in " ".join(result.stderr.split())
    assert found["attack"]["ill"]["accuracy"] > 0.6


def test_missing_texts_of_the_file_are_not_in_the_schema_of_the_release(tmp_path):
    table = make_people().drop(columns="id")
    table.to_csv(tmp_path / "in.csv", index=False)
    options = ["--sensitive", "ill", "--missing", "nothing", "--seed", 5]
    assert anatomize(tmp_path / "in.csv", *options, "-o", tmp_path / "out").exit_code == 0
    assert not md.AnatomyRelease.load(tmp_path / "out").schema.missing


def test_a_release_of_two_values_is_not_called_safe(tmp_path):
    table = make_people().drop(columns="id")
    table = table[table["ill"].isin(["cold", "gout"])]
    table.to_csv(tmp_path / "in.csv", index=False)
    options = ["--sensitive", "ill", "--l", 2, "--max-suppressed", 1, "--attack"]
    output = output_of(anatomize(tmp_path / "in.csv", *options, "-o", tmp_path / "out"))
    assert "Someone who knows a few of these people can infer the values of the others" in output


def test_text_and_json_give_the_same_number_left_out(tmp_path):
    table = pd.concat([make_people(1_500).drop(columns="id").assign(ill="flu"), make_people(600).drop(columns="id")])
    table.to_csv(tmp_path / "in.csv", index=False)
    options = ["--sensitive", "ill", "--l", 3, "--max-suppressed", 1, "--seed", 0]
    output = output_of(anatomize(tmp_path / "in.csv", *options, "-o", tmp_path / "a"))
    found = json.loads(anatomize(tmp_path / "in.csv", *options, "--json", "-o", tmp_path / "b").stdout)
    assert found["suppressed"] > 1_000
    assert f"({found['suppressed']:,} left out)" in output


def test_importing_anatomy_does_not_load_the_classifier():
    code = "import sys; from modicum.anatomy import Anatomy; print('modicum.anatomy.anatomy_classifier' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ([], "Name the column to protect with --sensitive"),
        (["--sensitive", "height"], "'height' is not in the file"),
        (["--sensitive", "bought", "--label", "bought"], "cannot be both the class and sensitive"),
        (["--sensitive", "ill", "--label", "height"], "'height' is not in the file"),
        (["--sensitive", "ill", "--l", 6], "5 different values"),
        (["--sensitive", "bought", "--l", 3], "2 different values"),
        (["--sensitive", "ill", "--identifier", "height"], "'height' is not in the file"),
        (["--sensitive", "id", "--identifier", "id"], "role 'identifier'"),
        (["--sensitive", "ill", "--person", "height"], "column 'height' of --person is not in the file"),
        (["--sensitive", "ill", "--missing", "flu"], "leave them out with --drop-missing"),
        (["--sensitive", "ill", "--schema", "nowhere.yaml"], "cannot be read"),
        (["--sensitive", "age,town,bought,id,ill", "--l", 2, "--max-suppressed", 1], "needs a column besides"),
    ],
)
def test_bad_input_is_refused_in_one_sentence_and_nothing_is_left(people, tmp_path, options, complaint):
    result = anatomize(people, *options, "-o", tmp_path / "out")
    assert isinstance(result.exception, ModicumError), result.output
    assert complaint in str(result.exception)
    assert "\n" not in str(result.exception)
    assert not any(word in str(result.exception) for word in ("secret", "asthma", "gout"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [["--l", 1], ["--grouping", "best"], ["--format", "xml"], ["--seed", -1]])
def test_options_out_of_range_are_refused_before_the_file_is_read(people, tmp_path, options):
    result = anatomize(people, "--sensitive", "ill", *options, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_places_that_are_taken_or_do_not_exist_are_refused(people, tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for place, why in (
        ("full", "has files already"),
        ("file", "something else has that name"),
        ("no/out", "does not exist"),
        ("/dev/null", "something else has that name"),
        ("/proc/x", "nothing can be written there"),
        (os.getcwd(), "the current folder"),
    ):
        result = anatomize(people, "--sensitive", "ill", "-o", tmp_path / place)
        assert why in str(result.exception)
    assert contents(tmp_path / "full") == {"mine.txt": b"mine"}
    (tmp_path / "empty").mkdir()
    assert anatomize(people, "--sensitive", "ill", "-o", tmp_path / "empty").exit_code == 0


def test_files_that_are_not_tables_are_refused(tmp_path):
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "head.csv").write_text("age,ill\n")
    for name in ("empty.csv", "head.csv", "nowhere.csv", "head.txt"):
        result = anatomize(tmp_path / name, "--sensitive", "ill", "-o", tmp_path / "out")
        assert isinstance(result.exception, ModicumError), name
        assert not (tmp_path / "out").exists()


def test_hostile_column_names_stay_unchanged(tmp_path):
    names = {"age": "=cmd|'/c calc'!A0", "town": "[red]town[/red]", "ill": "ill, or\nnot", "bought": "</script>"}
    table = make_people().drop(columns="id").rename(columns=names)
    table.to_csv(tmp_path / "in.csv", index=False)
    options = ["--sensitive", names["ill"], "--label", names["bought"]]
    result = anatomize(tmp_path / "in.csv", *options, "-o", tmp_path / "out")
    assert result.exit_code == 0, (result.output, result.exception)
    assert "[red]town[/red]" in output_of(result)
    release = md.AnatomyRelease.load(tmp_path / "out")
    assert (release.sensitive_names, release.label) == ([names["ill"]], names["bought"])


def test_a_folder_that_cannot_be_written_leaves_nothing(people, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr(os, "rename", full)
    result = anatomize(people, "--sensitive", "ill", "-o", tmp_path / "out")
    assert isinstance(result.exception, OSError | ModicumError)
    assert list(tmp_path.iterdir()) == []
