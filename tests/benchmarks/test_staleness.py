"""A result is stale once the code that it depends on has changed, unless its canary agrees with the present code."""

import doctest
import json
import subprocess
import sys
from pathlib import Path

import common
import loaded_code
import pytest
from claims import canary, check, staleness, values

ROOT = Path(__file__).parents[2]
CODE = '"""About."""\n\ndef f(x):\n    """Twice."""\n    return 2 * x  # so\n'
SCRIPT = "from common import Speed\n\n\ndef quick():\n    return {figures}\n"


@pytest.fixture(autouse=True)
def commit(monkeypatch):
    """Set a commit, as a copy without its history has none."""
    monkeypatch.setenv("MODICUM_COMMIT", "abc")


@pytest.fixture
def root(tmp_path):
    """A checkout with one module and a result that depends on it."""
    (tmp_path / "src" / "modicum").mkdir(parents=True)
    (tmp_path / "src" / "modicum" / "a.py").write_text(CODE)
    (tmp_path / "results").mkdir()
    return tmp_path


def code_of(root):
    """Return the module's present hash; the cache assumes that files do not change while a process runs."""
    loaded_code.hash_file.cache_clear()
    return {"src/modicum/a.py": loaded_code.hash_file(root / "src" / "modicum" / "a.py")}


def result_of(root, **more):
    run = {"commit": "abc", "seconds": 1.0, "code": code_of(root)}
    return {"machine": {"commit": "abc"}, "figures": {"x": 1.0}, "runs": {"all": run}} | more


def change(root, text):
    (root / "src" / "modicum" / "a.py").write_text(text)
    loaded_code.hash_file.cache_clear()


def test_a_result_is_stale_once_its_code_has_changed(root):
    result = result_of(root)
    assert staleness.explain_stale(result, root) is None
    change(root, CODE.replace("2 * x", "3 * x"))
    assert staleness.explain_stale(result, root) == "changed since abc: src/modicum/a.py"
    (root / "src" / "modicum" / "a.py").unlink()
    assert staleness.explain_stale(result, root) == "changed since abc: src/modicum/a.py"


def test_comments_docstrings_and_form_do_not_make_a_result_stale(root):
    result = result_of(root)
    change(root, "def f( x ):\n    # another word\n    return (2\n            * x)\n")
    assert staleness.explain_stale(result, root) is None


def test_a_canary_that_agreed_with_the_present_code_keeps_a_result(root):
    result = result_of(root)
    change(root, CODE.replace("2 * x", "x + x"))
    agreed = result | {"canary": {"commit": "def", "code": code_of(root)}}
    assert staleness.explain_stale(result, root) is not None
    assert staleness.explain_stale(agreed, root) is None
    change(root, CODE.replace("2 * x", "x * 2"))
    assert staleness.explain_stale(agreed, root) == "changed since abc: src/modicum/a.py"


def test_a_result_without_a_record_of_its_code_is_stale_until_its_canary_agrees(root):
    old = {"machine": {"commit": "abc"}, "figures": {"x": 1.0}}
    assert staleness.explain_stale(old, root) == "measured at abc, without a record of its code"
    agreed = old | {"canary": {"commit": "def", "code": code_of(root)}}
    assert staleness.explain_stale(agreed, root) is None
    change(root, "x = 1\n")
    assert staleness.explain_stale(agreed, root) == "changed since def: src/modicum/a.py"


def test_every_section_is_checked_by_itself(root):
    now, then = code_of(root), {"src/modicum/a.py": "0"}
    runs = {"one": {"commit": "abc", "code": now}, "two": {"commit": "old", "code": then}}
    figures = {"one": {"machine": {}}, "two": {"machine": {}}}
    result = {"machine": {"commit": "abc"}, "figures": figures, "runs": runs}
    assert staleness.explain_stale(result, root) == "changed since old: src/modicum/a.py"
    del runs["two"]
    assert staleness.explain_stale(result, root) == "measured at abc, without a record of its code"
    del figures["two"]
    assert staleness.explain_stale(result, root) is None


def test_a_stale_result_names_the_pages_that_depend_on_it(root, monkeypatch):
    (root / "results" / "some.json").write_text(json.dumps({"machine": {"commit": "abc"}, "figures": {}}))
    stale = staleness.find_stale(root / "results", root)
    monkeypatch.setattr(check, "find_stale", lambda: stale)
    page = check.Page((check.Claim("{} of", ("some:x",)), check.Claim("Ahead.", holds=("max(some:y) > other:z",))))
    (line,) = check.find_outdated({"a.md": page, "b.md": check.NOTHING})
    assert line.startswith("benchmarks/results/some.json: measured at abc")
    assert line.endswith("sentences of a.md (2) depend on it")


def test_a_written_result_records_its_code(tmp_path, monkeypatch):
    monkeypatch.setattr(common, "RESULTS", tmp_path)
    monkeypatch.setitem(common._ELSEWHERE, "some", ("modicum.service", "speed.scale_step"))
    common.write("some", {"a": {"machine": {}}, "b": {"machine": {}}}, ["a"])
    common.write("some", {"a": {"machine": {}}, "b": {"machine": {}}}, ["b"])
    result = json.loads((tmp_path / "some.json").read_text())
    assert result["runs"].keys() == {"a", "b"}
    code = result["runs"]["b"]["code"]
    assert {"src/modicum/service/app.py", "benchmarks/speed/scale_step.py", "src/modicum/__init__.py"} <= code.keys()
    assert not any(path.startswith(("benchmarks/claims/", "benchmarks/common.py")) for path in code)
    assert staleness.explain_stale(result) is None
    assert common._read_times(result).keys() == {"a", "b"}


@pytest.fixture
def benchmark(tmp_path, monkeypatch):
    """Return a function that writes a benchmark `made_up` with quick figures, and its stored result."""

    def make(figures, stored):
        (tmp_path / "speed").mkdir()
        (tmp_path / "speed" / "made_up.py").write_text(SCRIPT.format(figures=figures))
        (tmp_path / "results").mkdir()
        (tmp_path / "results" / "made_up.json").write_text(json.dumps({"figures": stored, "machine": {}}))
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(common, "RESULTS", tmp_path / "results")
        monkeypatch.setattr(values, "RESULTS", tmp_path / "results")
        return tmp_path / "results" / "made_up.json"

    values.figures_of.cache_clear()
    yield make
    values.figures_of.cache_clear()
    sys.modules.pop("speed.made_up", None)


@pytest.mark.parametrize(
    ("stored", "path", "found", "agrees"),
    [
        ({"x": 10}, "x", "10", True),
        ({"x": 10}, "x", "11", False),
        ({"x": 0.5}, "x", "0.504", True),
        ({"x": 0.5}, "x", "0.51", False),
        ({"x": 0.5, "x_interval": [0.4, 0.6]}, "x", "0.59", True),
        ({"x": 0.5, "x_interval": [0.4, 0.6]}, "x", "0.61", False),
        ({"a": {"value": 0.5, "interval": [0.4, 0.6]}}, "a.value", "0.59", True),
        ({"a": {"value": 0.5, "interval": [0.6, 0.7]}}, "a.value", "0.54", False),  # another figure's interval
        ({"each": [0.5, 0.4, 0.6]}, "each.0", "0.59", True),
        ({"each": [0.5, 0.4, 0.6]}, "each.0", "0.61", False),
        ({"by_seed": {"0": 0.5, "1": 0.4, "2": 0.6}}, "by_seed.0", "0.59", True),
        ({"by_seed": {"0": 0.5, "1": 0.5}}, "by_seed.0", "0.501", False),
        ({"seconds": 4.0}, "seconds", "Speed(7.9)", True),
        ({"seconds": 4.0}, "seconds", "Speed(1.9)", False),
    ],
)
def test_a_canary_agrees_within_interval_spread_or_factor(benchmark, stored, path, found, agrees, capsys):
    file = benchmark(f"{{{path!r}: {found}}}", stored)
    assert canary.run("made_up") is agrees
    kept = json.loads(file.read_text()).get("canary")
    if agrees:
        assert kept["figures"][path]["stored"] == values.value_of("made_up", path)
        assert kept.keys() == {"figures", "commit", "date", "seconds", "code"}
    else:
        assert kept is None
        assert f"made_up: {path} " in capsys.readouterr().out


def test_a_figure_that_the_result_does_not_have_is_refused(benchmark):
    benchmark("{'none': 1.0}", {"x": 1.0})
    with pytest.raises(values.ClaimError, match="nothing is at made_up:none"):
        canary.run("made_up")


def test_every_benchmark_has_a_quick_form():
    for path in (ROOT / "benchmarks" / "results").glob("*.json"):
        (script,) = (ROOT / "benchmarks").glob(f"*/{path.stem}.py")
        assert "def quick() -> dict[str, float]:" in script.read_text(encoding="utf-8"), path.stem


def test_canaries_answer_help():
    script = ROOT / "benchmarks" / "claims" / "canary.py"
    done = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=True)
    assert "--all-stale" in done.stdout


def test_the_examples_run():
    done = doctest.testmod(loaded_code)
    assert done.attempted > 0
    assert done.failed == 0
