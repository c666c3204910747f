"""`modicum study` and `--min-group` as a person runs them."""

import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from typer.testing import CliRunner

import modicum as md
from modicum.cli import main
from modicum.cli.main import app


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    X, y = md.datasets.load_adult(return_X_y=True)
    path = tmp_path_factory.mktemp("data") / "adult.csv"
    X[:1_500].assign(income=y[:1_500]).to_csv(path, index=False)
    return path


def study(table, folder, *more):
    quick = ["--minimizers", "Uniform,FeatureSelection", "--seeds", "1", "--personal", "race,sex"]
    return CliRunner().invoke(
        app, ["study", str(table), "--label", "income", "--folder", str(folder), *quick, *map(str, more)]
    )


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("study") / "results"
    result = study(table, folder)
    assert result.exit_code == 0, result.output
    return folder


def test_a_study_shows_minimizers_front_and_choice(table, folder):
    result = study(table, folder)
    assert "FeatureSelection" in result.stdout
    assert "Chosen (*), the inflection point of the front" in " ".join(result.stdout.split())
    assert "naive guess" in " ".join(result.stdout.split())
    assert len(pd.read_csv(folder / "table.csv")) > 5


def test_artifact_report_and_json_are_written(table, folder, tmp_path):
    g, page = tmp_path / "g.json", tmp_path / "r.html"
    result = study(table, folder, "--max-error", 0.23, "-o", g, "--report", page, "--min-group", 5, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert content["chosen"]["error"] <= 0.26
    assert (
        content["coarsened"]["smallest_group"]["after"] in ("< 10", 10)
        or content["coarsened"]["smallest_group"]["after"] > 4
    )
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert json.loads(page.with_suffix(".json").read_text())["modicum"] == "study"
    X = pd.read_csv(table)[:900]
    assert md.measures.k_anonymity(md.load(g).transform(X)) >= 1


def test_the_report_describes_the_written_artifact(table, folder, tmp_path):
    g, page = tmp_path / "g.json", tmp_path / "r.html"
    result = study(table, folder, "--max-error", 0.23, "-o", g, "--report", page, "--min-group", 40)
    assert result.exit_code == 0, result.output
    written, report = md.load(g), json.loads(page.with_suffix(".json").read_text())
    assert report["chosen"]["needed"] == len(written.needed)
    assert "min_group=40" in report["chosen"]["name"]
    assert "Worth a look before you decide" in result.stdout


def test_files_of_the_user_and_the_study_are_not_overwritten(table, folder, tmp_path):
    for path in (folder / "study.json", folder / "table.csv", table):
        assert "would overwrite an input or another output" in str(study(table, folder, "-o", path).exception)
    assert "belongs to the study" in str(study(table, folder, "-o", folder / "pieces" / "g.json").exception)
    (tmp_path / "table.csv").write_text(table.read_text())
    before = (tmp_path / "table.csv").read_text()
    assert "contains files that do not belong to a study" in str(study(tmp_path / "table.csv", tmp_path).exception)
    assert (tmp_path / "table.csv").read_text() == before


def test_minimize_can_make_groups_larger(table, tmp_path):
    out = tmp_path / "g.json"
    command = ["minimize", str(table), "--label", "income", "-o", str(out), "--min-group", "10", "--max-leaves", "8"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    shown = " ".join(result.stdout.split())
    assert "Coarsened until every group of training records has at least 10:" in shown
    assert "not alone with their answers (A8)" in shown
    assert "certified mean error of any adversary" in shown


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--keep", 0.5, "--max-error", 0.2], "Say one of"),
        (["--keep", 3], "'keep' parameter must be a number from 0 to 1"),
        (["--max-error", 0.001], "the best reachable"),
        (["--minimizers", "Trees"], "must be 'default', 'all' or some of"),
        (["--train-size", "all"], "--train-size needs a number"),
        (["--train-size", 3], "'train_sizes' parameter"),
        (["--weight", "age=2"], "names 'age', which is not a personal attribute"),
        (["--report", "page.pdf"], "must end in .html"),
        (["--min-group", 0], "'min_group' parameter must be an int ≥ 1"),
        (["--min-group", 10_000], "more than the 900 records of the training part"),
        (["--personal", "height"], "'height' is not in the file"),
    ],
)
def test_bad_input_is_one_sentence(table, folder, more, message):
    result = study(table, folder, *more)
    assert result.exit_code != 0
    assert isinstance(result.exception, md.errors.ModicumError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_folder_with_results_of_other_data_is_refused(table, folder, tmp_path):
    other = tmp_path / "other.csv"
    pd.read_csv(table).iloc[::-1].to_csv(other, index=False)
    result = study(other, folder)
    assert "holds the results of other data" in str(result.exception)


def test_ctrl_c_stops_cleanly_and_the_same_command_continues(table, tmp_path):
    folder = tmp_path / "results"
    command = [sys.executable, "-m", "modicum", "study", str(table), "--label", "income", "--folder", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    deadline = time.monotonic() + 60
    while len(list(folder.glob("pieces/*.json"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, error
    assert b"repeat the command to continue" in error
    assert b"Traceback" not in error
    assert b"UserWarning" not in error
    assert not out
    finished = len(list(folder.glob("pieces/*.json")))
    assert finished >= 3
    again = subprocess.run(command, capture_output=True, env=environment, timeout=120)
    assert again.returncode == 0, again.stderr
    assert len(list(folder.glob("pieces/*.json"))) > finished


def test_the_command_is_listed():
    assert main.app.registered_commands
    assert "study" in CliRunner().invoke(app, ["--help"]).stdout
