"""The commands as a person runs them: results, exit codes, no half-written files."""

import contextlib
import io
import json
import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import shared_file

import modicum as md
from modicum.cli.main import run
from modicum.cli.options import command_line
from modicum.reporting.disclosure import few
from modicum.table.splits import split_rows


def run_process(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """Run the command in a new process, as a terminal does."""
    command = [sys.executable, "-m", "modicum", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", cwd=cwd, timeout=300)


def modicum(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess:
    """Run the command in this process, which has everything loaded, with a result like that of `run_process`."""
    out, errors = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(cwd or Path.cwd()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
        pytest.MonkeyPatch.context() as patch,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")
        patch.setattr(sys, "argv", ["modicum", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            run()
    return subprocess.CompletedProcess(arguments, int(end.value.code or 0), out.getvalue(), errors.getvalue())


@pytest.fixture
def table(people, tmp_path) -> Path:
    X, y = people
    path = tmp_path / "people.csv"
    X.assign(id=np.arange(len(X)), bought=y).to_csv(path, index=False)
    return path


@pytest.fixture
def artifact(table, tmp_path) -> Path:
    path = tmp_path / "g.json"
    result = modicum("minimize", table, "--label", "bought", "--identifier", "id", "--min-leaf", 20, "-o", path)
    assert result.returncode == 0, result.stderr
    return path


@pytest.fixture
def artifact_here(people, tmp_path) -> Path:
    """An artifact for the table of people, without a command."""
    X, y = people
    path = tmp_path / "a.json"
    schema = md.Schema.infer(X.assign(bought=y), label="bought")
    md.PrivacyTree(max_leaves=6, min_leaf=50, schema=schema).fit(X, y).generalization_.save(path)
    return path


@pytest.mark.slow
def test_demo(tmp_path):
    result = run_process("demo", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    g = md.load(tmp_path / "demo-output" / "generalization.json")
    # What the README says about it.
    assert len(g.names) - len(g.needed) == 7
    assert not {"age", "race", "sex"} & set(g.needed)
    assert all(g[name].action == "coarsened" for name in g.needed)
    assert "7 of 12 attributes not collected" in result.stdout
    report = json.loads((tmp_path / "demo-output" / "report.json").read_text(encoding="utf-8"))
    assert report["collected"]["needed"] == 5
    published = json.loads(
        (Path(__file__).parents[2] / "benchmarks" / "results" / "demo.json").read_text(encoding="utf-8")
    )
    assert f"{report['utility']['skill_kept']:.2f}" == f"{published['figures']['skill_kept']:.2f}"
    assert report["decision"] in " ".join(result.stdout.split())
    assert (tmp_path / "demo-output" / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_minimize_then_apply_gives_what_python_gives(table, artifact, tmp_path):
    g = md.load(artifact)
    X = pd.read_csv(table)
    for name in ("out.csv", "out.parquet"):
        out = tmp_path / name
        result = modicum("apply", artifact, table, "-o", out, "--keep-columns", "id,bought")
        assert result.returncode == 0, result.stderr
        found = duckdb.sql(f"SELECT * FROM '{out}'").df() if name.endswith("parquet") else pd.read_csv(out)
        assert list(found.columns) == ["id", "bought", *g.needed]
        expected = g.transform(X).astype(str)
        pd.testing.assert_frame_equal(found[g.needed].astype(str), expected)


def test_same_seed_same_bytes(table, tmp_path):
    for name in ("a.json", "b.json"):
        assert (
            run_process("minimize", table, "--label", "bought", "--identifier", "id", "-o", tmp_path / name).returncode
            == 0
        )
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_json_for_programs(table, artifact, tmp_path):
    result = modicum("describe", artifact, table, "--json")
    content = json.loads(result.stdout)
    assert content["records"] == 600
    assert content["smallest_group"] == "< 10"
    exact = md.load(artifact).describe(pd.read_csv(table))
    assert exact.groups > 10 > exact.smallest_group
    assert content["groups"] == few(exact.groups)
    result = modicum("minimize", table, "--label", "bought", "--identifier", "id", "--json", "-o", tmp_path / "h.json")
    assert json.loads(result.stdout)["suggestions"]


def test_apply_reads_a_parquet_file_and_a_csv_alike(table, artifact, tmp_path):
    duckdb.sql(f"SELECT * FROM read_csv('{table}')").write_parquet(str(tmp_path / "people.parquet"))
    assert modicum("apply", artifact, tmp_path / "people.parquet", "-o", tmp_path / "a.csv").returncode == 0
    assert modicum("apply", artifact, table, "-o", tmp_path / "b.csv").returncode == 0
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_apply_does_not_write_over_its_artifact(table, artifact, tmp_path):
    saved = tmp_path / "artifact.csv"
    saved.write_bytes(artifact.read_bytes())
    result = modicum("apply", saved, table, "-o", saved)
    assert result.returncode == 2
    assert "would overwrite an input" in result.stderr
    assert saved.read_bytes() == artifact.read_bytes()


def test_apply_to_codes_and_values(table, artifact, tmp_path):
    g, X = md.load(artifact), pd.read_csv(table)
    assert modicum("apply", artifact, table, "-o", tmp_path / "c.csv", "--as", "codes").returncode == 0
    codes = pd.read_csv(tmp_path / "c.csv")
    assert np.array_equal(codes.to_numpy(), g.transform(X, output="codes").to_numpy())
    assert modicum("apply", artifact, table, "-o", tmp_path / "v.csv", "--as", "values").returncode == 0
    values = pd.read_csv(tmp_path / "v.csv")
    assert list(values.columns) == g.names
    assert np.array_equal(g.codes(values), g.codes(X))


def test_a_needed_column_cannot_be_kept_in_full_detail(table, artifact, tmp_path):
    name = md.load(artifact).needed[0]
    result = modicum("apply", artifact, table, "-o", tmp_path / "o.csv", "--keep-columns", name)
    assert result.returncode == 2
    assert "full detail" in result.stderr
    assert not (tmp_path / "o.csv").exists()


def test_rows_without_a_label_are_left_out_with_a_note(table, tmp_path):
    X = pd.read_csv(table)
    X.loc[:9, "bought"] = None
    X.to_csv(table, index=False)
    result = modicum("minimize", table, "--label", "bought", "--identifier", "id", "-o", tmp_path / "g.json")
    assert result.returncode == 0
    assert "10 rows without a value of 'bought' are left out." in result.stderr


def test_a_schema_file_gives_kinds_and_roles(table, tmp_path):
    schema = md.Schema.infer(pd.read_csv(table), identifiers=["id"], personal=["sex"])
    schema = schema.replace("income", forbidden=True).replace("sex", locked=True)
    schema.to_yaml(tmp_path / "s.yaml")
    out = tmp_path / "g.json"
    result = modicum("minimize", table, "--label", "bought", "--schema", tmp_path / "s.yaml", "-o", out)
    assert result.returncode == 0, result.stderr
    g = md.load(out)
    assert g.schema.personal == ["sex"]
    assert "income" not in g.needed
    assert g["sex"].action == "kept"


def test_minimize_judge_and_report_give_the_same_figures(table, tmp_path):
    options = ["--label", "bought", "--identifier", "id", "--min-leaf", 20]
    result = modicum(
        "minimize", table, *options, "-o", tmp_path / "g.json", "--report", tmp_path / "r.html", "--by", "sex"
    )
    assert result.returncode == 0, result.stderr
    report = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert report["label"] == "bought"
    assert set(report["utility"]["by_group"]) == {"sex: f", "sex: m"}
    assert report["decision"] in " ".join(result.stdout.split())
    judged = modicum("judge", tmp_path / "g.json", table, "--by", "sex", "--json")
    assert judged.returncode == 0, judged.stderr
    same = ("collected", "attributes", "utility", "attack", "label", "classes")
    assert {key: json.loads(judged.stdout)[key] for key in same} == {key: report[key] for key in same}
    written = modicum("report", tmp_path / "g.json", table, "--by", "sex", "-o", tmp_path / "again.html")
    assert written.returncode == 0, written.stderr
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert {**again, "provenance": report["provenance"]} == report
    assert again["provenance"]["hashes"] == report["provenance"]["hashes"]
    for ending in (".html", ".md"):
        assert (tmp_path / "again").with_suffix(ending).stat().st_size > 1_000


def test_judge_takes_an_edited_artifact(table, artifact, tmp_path):
    g = md.load(artifact)
    g.drop(g.needed[0]).save(tmp_path / "less.json")
    before = json.loads(modicum("judge", artifact, table, "--json").stdout)
    after = json.loads(modicum("judge", tmp_path / "less.json", table, "--json").stdout)
    assert after["collected"]["needed"] == before["collected"]["needed"] - 1
    assert after["certificate"]["mean"] <= before["certificate"]["mean"]
    assert "adversary's error" in modicum("judge", artifact, table).stdout


def test_keep_finds_the_most_private_result_within_the_target(people, tmp_path):
    random = np.random.default_rng(0)
    X = people[0].iloc[random.integers(0, 600, 6_000)].reset_index(drop=True)
    y = np.where((X["age"] > 40) ^ (random.random(6_000) < 0.1), "yes", "no")
    table = tmp_path / "many.csv"
    X.assign(bought=y).to_csv(table, index=False)
    for method, more in (("merge", []), ("pat", ["--max-leaves", 20])):
        options = ["--label", "bought", *more, "--json"]
        found = {}
        for keep in (0.3, 0.9):
            result = modicum("minimize", table, *options, "--keep", keep, "-o", tmp_path / "g.json")
            assert result.returncode == 0, result.stderr
            found[keep] = json.loads(result.stdout)["search"]
            assert found[keep]["method"] == method
            assert found[keep]["skill_kept"] >= keep
        assert found[0.3]["adversary_error"] >= found[0.9]["adversary_error"]
        result = modicum("minimize", table, *options, "--max-error", 0.2, "-o", tmp_path / "h.json")
        assert json.loads(result.stdout)["search"]["error"] <= 0.2


def test_a_table_without_validation_records_is_refused(tmp_path):
    (tmp_path / "tiny.csv").write_text("a,b,y\n1,x,0\n2,y,1\n3,x,0\n4,y,1\n5,x,0\n")
    result = modicum("minimize", tmp_path / "tiny.csv", "--label", "y", "-o", tmp_path / "g.json")
    assert result.returncode == 2
    assert "There are no validation records to choose on" in result.stderr
    assert not (tmp_path / "g.json").exists()


def test_ctrl_c_while_merging_prints_one_sentence(tmp_path):
    X, y = md.datasets.load_adult(return_X_y=True)
    X.assign(income=y).to_csv(tmp_path / "adult.csv", index=False)
    code = (
        "import os, signal, sys; from modicum.minimizers.merge_path import path; really = path.descend\n"
        "def once(*given):\n"
        "    path.descend = really; os.kill(os.getpid(), signal.SIGINT); return really(*given)\n"
        "path.descend = once\n"
        "from modicum.cli.main import run; run()"
    )
    command = ["minimize", tmp_path / "adult.csv", "--label", "income", "-o", tmp_path / "g.json"]
    result = subprocess.run([sys.executable, "-c", code, *map(str, command)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stderr.strip() == "modicum: Stopped merging buckets early; the best so far is kept."


def test_each_method_refuses_options_of_the_other(table, tmp_path):
    options = ["--label", "bought", "--identifier", "id", "-o", tmp_path / "g.json"]
    for extra, complaint in [
        (
            ["--method", "merge", "--max-leaves", 4],
            "The option --max-leaves belongs to method 'pat': leave it out, or use that method",
        ),
        (
            ["--privacy", 0.5, "--risk", "certificate"],
            "The option --risk belongs to method 'merge': leave it out",
        ),
        (["--method", "cut"], "'cut' is not one of 'merge', 'pat'"),
        (["--keep", 0.9, "--max-error", 0.1], "Say one of"),
        (["--max-error", 0.0], "No point of the path has an error of at most 0"),
    ]:
        result = modicum("minimize", table, *options, *extra)
        assert result.returncode == 2, result.stdout
        assert complaint in " ".join(re.sub("[│╭╰─╮╯]", " ", result.stderr).split())
        assert not (tmp_path / "g.json").exists()
    result = modicum("minimize", table, *options, "--risk", "certificate", "--min-group", 20)
    assert result.returncode == 0, result.stderr
    assert (
        "the inflection point of the path, after which a little more skill costs much privacy; on these it keeps"
        in " ".join(result.stdout.split())
    )
    assert "is shared by at least 20 people" in " ".join(result.stdout.split())
    X = pd.read_csv(table)
    train = split_rows(X["bought"]).train
    assert md.load(tmp_path / "g.json").describe(X.iloc[train]).smallest_group >= 20


def test_unreachable_targets_and_bad_options_are_refused(table, tmp_path):
    options = ["--label", "bought", "--identifier", "id", "--min-leaf", 100, "--max-leaves", 2]
    for extra, complaint in [
        (["--max-error", 0.0], "No candidate"),
        (["--keep", 0.5, "--max-error", 0.2], "Give either the share of skill to keep"),
        (["--keep", 95], "The option --keep must be a number from 0 to 1"),
        (["--report", tmp_path / "r.pdf"], "must end in .html"),
        (["--by", "sex"], "--report"),
        (["--report", tmp_path / "r.html", "--by", "id"], "identifies people"),
        (["--report", tmp_path / "r.html", "--by", "bought"], "'bought' is the label"),
        (["--report", tmp_path / "g.html"], "g.json' would overwrite an input or another output"),
        (["--report", tmp_path / "r.html", "--by", "shoes"], "'shoes' is not in the file"),
    ]:
        result = modicum("minimize", table, *options, *extra, "-o", tmp_path / "g.json")
        assert result.returncode == 2, extra
        assert re.search(complaint, result.stderr), result.stderr
        assert "Traceback" not in result.stderr
        assert sorted(p.name for p in tmp_path.iterdir()) == ["people.csv"]


def test_report_on_the_wrong_file_is_refused(table, artifact, tmp_path):
    X = pd.read_csv(table)
    X.drop(columns="bought").to_csv(tmp_path / "unlabelled.csv", index=False)
    X.drop(columns="age").to_csv(tmp_path / "less.csv", index=False)
    X.assign(bought="yes").to_csv(tmp_path / "constant.csv", index=False)
    X[:2].to_csv(tmp_path / "tiny.csv", index=False)
    X[:200].to_csv(tmp_path / "small.csv", index=False)
    X.assign(income="secret").to_csv(tmp_path / "text.csv", index=False)
    for name, complaint in [
        ("unlabelled.csv", "label 'bought' is not in the file"),
        ("less.csv", "column 'age' is not in the file"),
        ("constant.csv", "label 'bought' is constant"),
        ("tiny.csv", "at least 3"),
        ("small.csv", "a report needs at least 100"),
        ("text.csv", "'income'"),
        ("none.csv", "none.csv"),
    ]:
        result = modicum("report", artifact, tmp_path / name, "-o", tmp_path / "r.html")
        assert result.returncode == 2, name
        assert complaint in result.stderr, result.stderr
        assert "Traceback" not in result.stderr
        assert "secret" not in result.stderr
        assert not list(tmp_path.glob("r.*"))
    result = modicum("judge", artifact, table, "--label", "sex")
    assert "is an attribute of this generalization" in result.stderr


def test_the_bank_data_are_minimized_and_applied(tmp_path):
    bank = shared_file("bank/bank-full.csv.gz")
    out = tmp_path / "g.json"
    result = modicum("minimize", bank, "--label", "y", "-o", out)
    assert result.returncode == 0, result.stderr
    assert modicum("apply", out, bank, "-o", tmp_path / "z.parquet", "--keep-columns", "y").returncode == 0
    rows = duckdb.sql(f"SELECT count(*) FROM '{tmp_path / 'z.parquet'}'").fetchall()
    assert rows == [(45_211,)]


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


ROWS = "".join(f"{i % 50},{'xyz'[i % 3]},{i % 2}\n" for i in range(300))

BAD_FILES = {
    "an empty file": ("", "is empty"),
    "a header only": ("a,b,y\n", "no row"),
    "one column": ("y\n" + "0\n1\n" * 20, "only the column 'y'"),
    "no label": ("a,b,z\n" + ROWS, "label 'y' is not in the file"),
    "a constant label": ("a,b,y\n" + "1,x,1\n" * 300, "label 'y' is constant"),
    "a label never given": ("a,b,y\n" + "1,x,\n" * 300, "no row with a value of the label 'y'"),
    "a repeated column": ("a,a,y\n" + ROWS, "'a' appears more than once"),
    "a column without values": (
        "a,b,y\n" + "".join(f"{i},,{i % 2}\n" for i in range(300)),
        "'b' holds no value at all",
    ),
    "too many categories": (
        "a,b,y\n" + "".join(f"{i},v{i},{i % 2}\n" for i in range(100_000)),
        "'b' has .* categories",
    ),
    "infinite values": ("a,b,y\n" + ROWS + "inf,x,1\n" * 9, "'a' contains infinity"),
    "bytes that are no UTF-8": (b"a,b,y\n1,\xff\xfe,0\n2,x,1\n" * 200, "is not UTF-8 text"),
    "a numeric label": ("a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(300)), "label 'y' is a number with 180"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_input_gets_one_sentence_and_leaves_no_file(tmp_path, case):
    content, complaint = BAD_FILES[case]
    file = write(tmp_path / "bad.csv", content)
    result = modicum("minimize", file, "--label", "y", "-o", tmp_path / "g.json")
    assert result.returncode == 2, result.stdout + result.stderr
    message = result.stderr.strip().splitlines()[-1]
    assert re.search(complaint, message), message
    assert "Traceback" not in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.csv"]


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE people; --", "</script><script>alert(1)</script>", 'a"b', "a,b", "über é"]
)
def test_hostile_names_and_categories_pass_through_unharmed(tmp_path, name):
    X = pd.DataFrame({name: ["x", name, "z"] * 100, "n": range(300), "y": [0, 1, 0] * 100})
    X.to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "g.json"
    assert modicum("minimize", tmp_path / "t.csv", "--label", "y", "--min-leaf", 5, "-o", out).returncode == 0
    g = md.load(out)
    assert name in g.needed
    assert modicum("apply", out, tmp_path / "t.csv", "-o", tmp_path / "o.csv", "--keep-columns", "y").returncode == 0
    assert pd.read_csv(tmp_path / "o.csv")[name].tolist() == g.transform(X)[name].tolist()


BAD_ARTIFACTS = {
    "cut short": ('{"modicum": "generalization", "vers', "is not valid JSON|not readable|JSON"),
    "empty": ("", "empty|JSON"),
    "of a newer version": ('{"modicum": "generalization", "version": 99, "schema": {}, "attributes": []}', "version"),
    "of another kind": ('{"modicum": "sandwich", "version": 1}', "sandwich"),
    "no artifact": ('{"hello": 1}', "modicum"),
    "bytes that are no UTF-8": (b"\xff\xfe\x00", "UTF-8|JSON"),
}


@pytest.mark.parametrize("case", BAD_ARTIFACTS)
@pytest.mark.parametrize("command", ["apply", "attack", "describe", "judge", "report"])
def test_a_bad_artifact_gets_one_sentence_from_every_command(table, tmp_path, command, case):
    content, complaint = BAD_ARTIFACTS[case]
    bad = write(tmp_path / "bad.json", content)
    extra = {"apply": ["-o", tmp_path / "o.csv"], "report": ["-o", tmp_path / "o.html"]}.get(command, [])
    result = modicum(command, bad, table, *extra)
    assert result.returncode == 2
    assert re.search(complaint, result.stderr), result.stderr
    assert "\n" not in result.stderr.strip()
    assert not list(tmp_path.glob("o.*"))


@pytest.mark.parametrize("case", ["an empty file", "a header only", "a repeated column", "bytes that are no UTF-8"])
@pytest.mark.parametrize("command", ["apply", "attack", "describe", "judge", "report"])
def test_a_bad_file_gets_one_sentence_from_every_command(artifact_here, tmp_path, command, case):
    content, _ = BAD_FILES[case]
    file = write(tmp_path / "bad.csv", content)
    extra = {"apply": ["-o", tmp_path / "o.csv"], "report": ["-o", tmp_path / "o.html"]}.get(command, [])
    result = modicum(command, artifact_here, file, *extra)
    assert result.returncode == 2, result.stderr
    assert re.search("bad.csv|column|label", result.stderr), result.stderr
    assert not list(tmp_path.glob("o.*"))


@pytest.mark.parametrize("command", ["minimize", "report", "apply", "attack"])
def test_a_place_that_cannot_be_written_is_refused(table, artifact_here, tmp_path, command):
    nowhere = tmp_path / "no" / "folder"
    arguments = {
        "minimize": ["minimize", table, "--label", "bought", "-o", nowhere / "g.json"],
        "report": ["report", artifact_here, table, "-o", nowhere / "r.html"],
        "apply": ["apply", artifact_here, table, "-o", nowhere / "z.csv"],
        "attack": ["attack", artifact_here, table, "--report", nowhere / "r.html"],
    }[command]
    result = modicum(*arguments)
    assert result.returncode == 2
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize("command", ["minimize", "report", "attack", "study"])
@pytest.mark.parametrize("option", ["--purpose", "--people"])
def test_option_texts_that_are_not_utf8_are_refused_before_any_work(table, artifact_here, tmp_path, command, option):
    given = {
        "minimize": [table, "--label", "bought", "-o", tmp_path / "m.json", "--report", tmp_path / "r.html"],
        "report": [artifact_here, table, "-o", tmp_path / "r.html"],
        "attack": [artifact_here, table, "--report", tmp_path / "r.html"],
        "study": [table, "--label", "bought", "--folder", tmp_path / "s", "--report", tmp_path / "r.html"],
    }
    before = sorted(tmp_path.iterdir())
    table.write_text("")  # the table is not even read
    result = modicum(command, *given[command], option, "caf\udce9")
    assert result.returncode == 2
    assert f"The option {option} must be text in UTF-8. Got 'caf\\udce9' instead." in result.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_the_command_line_replaces_undecodable_characters_of_a_file_name():
    assert command_line(words=["modicum", "report", "caf\udce9.csv"]) == "modicum report 'caf?.csv'"


def test_a_generalization_is_saved_even_if_its_report_cannot_be_written(table, tmp_path):
    (tmp_path / "r.md").symlink_to(tmp_path / "nowhere" / "r.md")
    options = ["--min-leaf", 20, "--report", tmp_path / "r.html"]
    result = modicum("minimize", table, "--label", "bought", "-o", tmp_path / "g.json", *options)
    assert result.returncode == 2
    assert "r.md' cannot be written" in result.stderr
    assert md.load(tmp_path / "g.json").names
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.json", "people.csv", "r.md"]


def unexpected_work(*given, **options):
    raise AssertionError("the work was begun")


@pytest.fixture
def visits(people, tmp_path) -> Path:
    """Many rows of few people: 30% of 1,200 rows are enough for a report, 30% of 120 people are not."""
    X, y = people
    path = tmp_path / "visits.csv"
    pd.concat([X.assign(bought=y)[:120].assign(who=range(120))] * 10, ignore_index=True).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("more", [[], ["--engine", "duckdb"]])
def test_nan_is_missing_in_a_parquet_file_too(more, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 80, 3_000), "pay": rng.gamma(2, 2e4, 3_000).astype("float32")})
    X.loc[::7, "age"] = np.nan
    X.loc[::5, "pay"] = np.nan
    pq.write_table(pa.table({name: pa.array(values.to_numpy()) for name, values in X.items()}), tmp_path / "a.parquet")
    g = md.Uniform(buckets=3).fit(X).generalization_
    g.save(tmp_path / "g.json")
    done = modicum("apply", tmp_path / "g.json", tmp_path / "a.parquet", "-o", tmp_path / "out.csv", *more)
    assert done.returncode == 0, done.stderr
    written = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert written.to_numpy().tolist() == g.transform(X).astype(str).to_numpy().tolist()
    assert (written["age"] == "(missing)").sum() == len(X[::7])


@pytest.fixture
def pays(tmp_path) -> Callable[[bool], Path]:
    """People whose pay, class or illness is missing, written as NaN or as null."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, 3_000), "pay": rng.integers(1, 90, 3_000) * 1e3})
    X["ill"], X["bought"] = rng.integers(0, 9, 3_000).astype(float), rng.integers(0, 2, 3_000).astype(float)
    for i, name in enumerate(["pay", "ill", "bought"]):
        X.loc[i :: 7 + i, name] = np.nan

    def write_pays(as_null: bool) -> Path:
        columns = {name: pa.array(values.to_numpy(), from_pandas=as_null) for name, values in X.items()}
        pq.write_table(pa.table(columns), tmp_path / "people.parquet")
        return tmp_path / "people.parquet"

    return write_pays


@pytest.mark.parametrize(
    ("command", "options", "output"),
    [
        ("anonymize", ["--k", 20, "--method", "mondrian", "--quasi-identifiers", "age,pay"], "out.csv"),
        ("anatomize", ["--sensitive", "ill", "--l", 3, "--seed", 1, "--drop-missing", "--format", "csv"], "out"),
        ("anatomize", ["--sensitive", "ill", "--l", 3], "out"),
    ],
)
def test_releases_of_an_engine_treat_nan_as_missing(pays, tmp_path, command, options, output):
    def release(as_null: bool) -> list[object]:
        place = tmp_path / str(as_null) / output
        place.parent.mkdir()
        given = [pays(as_null), "--label", "bought", *options, "--engine", "duckdb", "-o", output]
        done = modicum(command, *given, cwd=place.parent)
        files = [place] if place.is_file() else sorted(place.glob("*.csv"))
        # Records are assigned to groups by a hash of their values, in which NaN and null differ.
        tables = [pd.read_csv(file).drop(columns="GID", errors="ignore").fillna(-1) for file in files]
        rows = [sorted(table.astype(float).to_numpy().tolist()) for table in tables]
        return [done.returncode, done.stderr, len(files), rows]

    assert release(False) == release(True)


@pytest.mark.parametrize(
    ("command", "options", "work"),
    [
        ("minimize", ["-o", "g.json"], "modicum.workflow._MinimizationTask.merge"),
        ("prism", ["--sensitive", "job", "--threshold", 0.9], "modicum.evaluation._evidence.evidence"),
    ],
)
def test_rows_of_too_few_people_are_refused_before_the_work(visits, monkeypatch, command, options, work):
    monkeypatch.setattr(work, unexpected_work)
    given = ["--label", "bought", "--person", "who", "--report", "r.html", *options]
    result = modicum(command, visits, *given, cwd=visits.parent)
    assert result.returncode == 2
    assert re.search(r"There are \d\d people in the test records \(30% of the rows\); a report needs", result.stderr)
    assert [path.name for path in visits.parent.iterdir()] == ["visits.csv"]


@pytest.mark.parametrize("command", ["judge", "report"])
def test_judging_too_few_people_is_refused_before_the_work(people, visits, tmp_path, monkeypatch, command):
    X, y = people
    schema = md.Schema.infer(X.assign(bought=y, who=range(len(X))), label="bought", person="who")
    md.PrivacyTree(max_leaves=6, min_leaf=50, schema=schema).fit(X, y).generalization_.save(tmp_path / "a.json")
    monkeypatch.setattr("modicum.workflow.gather_evidence", unexpected_work)
    more = ["-o", tmp_path / "r.html"] if command == "report" else []
    result = modicum(command, tmp_path / "a.json", visits, *more)
    assert result.returncode == 2
    assert re.search(r"There are \d\d people in the test records", result.stderr)


def test_judging_too_few_people_in_an_engine_is_refused_before_the_work(people, visits, tmp_path, monkeypatch):
    X, y = people
    schema = md.Schema.infer(X.assign(bought=y, who=range(len(X))), label="bought", person="who")
    md.PrivacyTree(max_leaves=6, min_leaf=50, schema=schema).fit(X, y).generalization_.save(tmp_path / "a.json")
    table = pd.read_csv(visits)
    table[table["who"] < 60].to_parquet(tmp_path / "few.parquet")
    table.to_parquet(tmp_path / "known.parquet")
    monkeypatch.setattr("modicum.evaluation._evidence.evidence", unexpected_work)
    given = ["--engine", "duckdb", "--known", tmp_path / "known.parquet"]
    result = modicum("judge", tmp_path / "a.json", tmp_path / "few.parquet", *given)
    assert result.returncode == 2
    assert "There are 60 people in the test records; a report needs at least 100" in result.stderr


def test_a_report_is_not_written_over_the_model(table, artifact_here, tmp_path):
    model = tmp_path / "model.json"
    model.write_text("weights")
    result = modicum("report", artifact_here, table, "--model", model, "-o", tmp_path / "model.html")
    assert result.returncode == 2
    assert "model.json' would overwrite an input or another output" in result.stderr
    assert model.read_text() == "weights"


def test_attack_shows_every_adversary_with_its_baselines(artifact_here, people, tmp_path):
    X, y = people
    file, other = tmp_path / "people.csv", tmp_path / "others.csv"
    table = pd.concat([X.assign(bought=y)] * 2, ignore_index=True)
    table["age"] = table["age"] + np.random.default_rng(0).uniform(-5, 5, len(table)).round(1)
    table[: len(X)].to_csv(file, index=False)
    table[len(X) :].drop(columns="bought").to_csv(other, index=False)
    page = tmp_path / "attacks.html"
    also = tmp_path / "coarser.json"
    g = md.load(artifact_here)
    g.drop(g.needed[0]).save(also)
    options = ["--also", also, "--population", "100000", "--percent", "20,50", "--report", page]
    options += ["--purpose", "To advise", "--people", "customers of the shop"]
    options += ["--weight", f"{g.names[0]}=3", "--link-a", g.names[0], "--link-b", g.names[1], "--link-k", "50"]
    result = modicum("attack", artifact_here, file, "--known", other, *options)
    assert result.returncode == 0, result.stderr
    for shown in ("A1 the record", "A2 surest 20%", "A4 + all but one", "A6 several", "A7 halves", "A8 people"):
        assert shown in result.stdout
    assert "In a population of 100,000" in result.stdout
    content = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))
    assert (content["purpose"], content["records_of"]) == ("To advise", "customers of the shop")
    assert content["provenance"]["command"].startswith("modicum attack a.json people.csv --known others.csv")
    assert page.with_suffix(".md").exists()
    assert "with .md and .json versions next to it" in " ".join(result.stdout.split())
    assert content["records"] == len(X)
    assert content["weights"][g.names[0]] == pytest.approx(3 / (2 + len(g.names)))
    assert content["linkability"]["k"] == 50
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_attack_for_programs_splits_as_judge_does(table, artifact, tmp_path):
    result = modicum("attack", artifact, table, "--json", "--personal", "job", "--percent", "100")
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    judged = json.loads(modicum("judge", artifact, table, "--json").stdout)
    assert content["records"] == judged["collected"]["records"]
    mine, theirs = content["attributes"][0], judged["attack"]["by_attribute"]["job"]
    assert mine["errors"]["A1"]["error"] == pytest.approx(theirs["error"], abs=0.05)
    assert mine["naive"] == theirs["naive"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--weight", "job"], "NAME=NUMBER"),
        (["--weight", "job=much"], "--weight needs a number"),
        (["--weight", "shoe size=2"], "'shoe size', which is not a personal attribute"),
        (["--percent", "0"], "option --percent must list numbers"),
        (["--percent", "some"], "--percent needs a number"),
        (["--population", "3"], "option --population must be an int"),
        (["--link-a", "job"], "Linking needs both halves"),
        (["--link-a", "job", "--link-b", "job"], "'job' is in both halves"),
        (["--link-a", "shoe size", "--link-b", "job"], "'shoe size' is not in the artifact"),
        (["--link-k", "2999"], "so 2,999 of them cannot be linked"),
        (["--personal", "shoe size"], "'shoe size' is not in the artifact"),
        (["--confidence", "7"], "option --confidence must be a number"),
        (["--also", "nowhere.json"], "nowhere.json"),
        (["--report", "r.txt"], "must end in .html"),
        (["--purpose", "x"], "--purpose is part of the report"),
        (["--people", "x"], "--people is part of the report"),
    ],
)
def test_attack_refuses_in_one_sentence(table, artifact_here, options, complaint):
    result = modicum("attack", artifact_here, table, *options)
    assert result.returncode == 2, result.stderr
    assert re.search(complaint, result.stderr), result.stderr
    assert "\n" not in result.stderr.strip()


def test_attack_refuses_a_file_that_lacks_an_attribute_or_records(table, artifact_here, tmp_path):
    pd.read_csv(table).drop(columns="job").to_csv(tmp_path / "less.csv", index=False)
    result = modicum("attack", artifact_here, tmp_path / "less.csv")
    assert result.returncode == 2
    assert "'job' is not in 'less.csv'" in result.stderr
    pd.read_csv(table)[:50].to_csv(tmp_path / "few.csv", index=False)
    result = modicum("attack", artifact_here, tmp_path / "few.csv", "--known", table)
    assert result.returncode == 2
    assert "There are 50 breached records" in result.stderr


def test_attack_counts_people_if_people_have_several_rows(people, tmp_path):
    X, y = people
    table = pd.concat([X.assign(bought=y, who=np.arange(len(X)))] * 3, ignore_index=True)
    table.to_csv(tmp_path / "many.csv", index=False)
    table[table["who"] < 200].to_csv(tmp_path / "few.csv", index=False)
    minimized = modicum(
        "minimize", tmp_path / "many.csv", "--label", "bought", "--person", "who", "-o", tmp_path / "p.json"
    )
    assert minimized.returncode == 0, minimized.stderr
    result = modicum("attack", tmp_path / "p.json", tmp_path / "few.csv")
    assert result.returncode == 2
    assert "people in the breached records" in result.stderr
    table.drop(columns="who").to_csv(tmp_path / "nobody.csv", index=False)
    result = modicum("attack", tmp_path / "p.json", tmp_path / "nobody.csv", "--known", tmp_path / "many.csv")
    assert result.returncode == 2
    assert "'who' is not in 'nobody.csv'" in result.stderr
    result = modicum("attack", tmp_path / "p.json", tmp_path / "many.csv", "--json", "--personal", "job")
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["records"] == 3 * content["people"]
    assert content["unit"] == "records"
    assert content["singling_out"]["people"] == content["people"]


def test_apply_refuses_the_wrong_file(table, artifact, tmp_path):
    X = pd.read_csv(table)
    needed = md.load(artifact).needed
    X.drop(columns=needed[0]).to_csv(tmp_path / "less.csv", index=False)
    result = modicum("apply", artifact, tmp_path / "less.csv", "-o", tmp_path / "o.csv")
    assert result.returncode == 2
    assert f"{needed[0]!r} is not in the data" in result.stderr
    X.astype({"age": object}).assign(age="secret text").to_csv(tmp_path / "text.csv", index=False)
    result = modicum("apply", artifact, tmp_path / "text.csv", "-o", tmp_path / "o.csv")
    assert result.returncode == 2
    assert "'age' holds text that cannot be read as a number" in result.stderr
    assert "secret" not in result.stderr
    result = modicum("apply", artifact, table, "-o", tmp_path / "o.xlsx")
    assert result.returncode == 2
    assert "neither CSV nor Parquet" in result.stderr
    assert not list(tmp_path.glob("o.*"))
    assert not list(tmp_path.glob(".modicum*"))


def test_help_and_version():
    assert run_process("--version").stdout.strip() == md.__version__
    assert "How little personal data" in modicum("--help").stdout
    for command in ("demo", "minimize", "apply", "describe", "judge", "report"):
        assert modicum(command, "--help").returncode == 0


def test_texts_that_mean_missing_are_kept_in_the_artifact(people, tmp_path):
    X, y = people
    X.assign(bought=y).to_csv(tmp_path / "t.csv", index=False, na_rep="N/A")
    result = modicum(
        "minimize", "t.csv", "--label", "bought", "--missing", "N/A", "--min-leaf", 20, "-o", "g.json", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert md.load(tmp_path / "g.json").schema.missing == ("N/A",)
    assert modicum("apply", "g.json", "t.csv", "-o", "o.csv", cwd=tmp_path).returncode == 0
    assert modicum("describe", "g.json", "t.csv", cwd=tmp_path).returncode == 0


def test_compressed_and_tab_separated_results(table, artifact, tmp_path):
    for name, separator in (("o.csv.gz", ","), ("o.tsv", "\t"), ("o.data.csv", ",")):
        assert modicum("apply", artifact, table, "-o", tmp_path / name, "--keep-columns", "id").returncode == 0
        assert len(pd.read_csv(tmp_path / name, sep=separator).columns) == 1 + len(md.load(artifact).needed)


def test_the_result_may_replace_the_input(table, artifact):
    assert modicum("apply", artifact, table, "-o", table, "--keep-columns", "bought").returncode == 0
    assert len(pd.read_csv(table)) == 600


def test_names_cannot_steer_the_terminal(tmp_path):
    X = pd.DataFrame({"\x1b[31mred": ["a", "b"] * 200, "y": [0, 1] * 200})
    X.to_csv(tmp_path / "t.csv", index=False)
    result = modicum("minimize", tmp_path / "t.csv", "--label", "y", "-o", tmp_path / "g.json")
    assert result.returncode == 0
    assert "\x1b" not in result.stdout


def test_a_column_can_be_left_out(table, tmp_path):
    out = tmp_path / "g.json"
    options = ["--label", "bought", "--identifier", "id", "-o", out]
    result = modicum("minimize", table, *options, "--leave-out", "income")
    assert result.returncode == 0, result.stderr
    assert "income" not in md.load(out).names
    for wrong, words in (("bought", "cannot be left out"), ("nosuch", "is not in the file")):
        refused = modicum("minimize", table, *options, "--leave-out", wrong)
        assert refused.returncode == 2
        assert words in refused.stderr
    schema = tmp_path / "s.yaml"
    md.Schema.infer(pd.read_csv(table), identifiers=["id"], label="bought").to_yaml(schema)
    result = modicum("minimize", table, "--label", "bought", "--schema", schema, "--leave-out", "income", "-o", out)
    assert result.returncode == 0, result.stderr
    assert "income" not in md.load(out).names
    assert "--leave-out" in modicum("minimize", table, *options, "--leave-out", "income", "--sample", 100).stderr
