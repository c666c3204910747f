"""Commands that the documents name exist, and the benchmarks reached their targets.

Their numbers are checked by test_claims.py, their code is run by test_pages.py.
"""

import importlib
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@pytest.fixture(autouse=True)
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_the_commands_of_the_readme_are_in_the_makefile():
    targets = re.findall(r"^ *(?:\$ )?make ([a-z-]+)", text_of("README.md"), flags=re.MULTILINE)
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", text_of("Makefile"), flags=re.MULTILINE), target


def test_ci_runs_the_test_command_of_the_readme():
    assert re.search(r"^make .*\btest\b", text_of(".ci/run"), flags=re.MULTILINE)


def test_the_commands_of_the_results_page_are_scripts():
    scripts = set(re.findall(r"`(\w+\.py)\b", text_of("docs/results.md")))
    assert {"reproduce_vdm.py", "reproduce_apt.py", "reproduce_prism.py", "reproduce_anatomy.py"} <= scripts
    assert scripts - {path.name for path in (ROOT / "benchmarks").glob("*/*.py")} == set()


def test_every_file_of_results_is_used_by_a_page():
    known = (ROOT / "docs" / "claims.toml").read_text(encoding="utf-8")
    used = {stem for line in re.findall(r"^results = '+\n?([^']+)", known, re.MULTILINE) for stem in line.split()}
    assert {path.stem for path in RESULTS.glob("*.json")} - used - set(re.findall(r"(\w+):\w", known)) == set()


def test_the_targets_of_speed_and_memory_were_reached():
    pages, tables = (importlib.import_module(f"claims.{name}") for name in ("pages", "tables"))
    known = pages.read(ROOT / "docs" / "claims.toml")["results.md"].tables
    table = tables.make(next(one for one in known if one.maker == "claims.target_tables:targets"))
    assert table.count("reached") > 40
    assert "missed" not in table


def test_the_goals_of_merging_follow_from_its_cells():
    figures = json.loads((RESULTS / "beyond_pat.json").read_text(encoding="utf-8"))["figures"]
    assert importlib.import_module("papers.beyond_pat").summary(figures["datasets"]) == figures["goals"]


def test_the_figures_of_the_demo_are_read_from_its_report():
    demo = importlib.import_module("papers.demo")
    report = {
        "collected": {"attributes": 12, "needed": 5, "in_full_detail": 0, "buckets": 24, "groups": 120, "records": 9},
        "attributes": [
            {"name": "age", "n_buckets": 1, "personal": True},
            {"name": "job", "n_buckets": 3, "personal": False},
        ],
        "utility": {"error": 0.15, "raw_error": 0.13, "majority_error": 0.24, "skill_kept": 0.8, "skill_interval": []},
        "attack": {"error": 0.4, "interval": [], "naive": 0.5, "raw": 0.0, "worst": "job"},
        "certificate": {"mean_error": 0.3, "confidence": 0.99},
    }
    found = demo.read_figures(report)
    assert (found["not_asked"], found["names_not_asked"], found["certified_error"]) == (7, ["age"], 0.3)
    assert found["personal"] == 1
    assert found.keys() == json.loads((RESULTS / "demo.json").read_text(encoding="utf-8"))["figures"].keys()
