"""Every number that README and docs publish is that of the benchmarks, and a wrong one is found."""

import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("claims")


@pytest.fixture
def values(claims):
    return importlib.import_module("claim_values")


@pytest.fixture
def prose(claims):
    return importlib.import_module("claim_prose")


def reasons(claims, text, page=""):
    return [fault.why for fault in claims.faults(text, page)]


@pytest.mark.parametrize("page", PAGES)
def test_the_page_s_claims_hold(claims, page):
    path = ROOT / page
    found = claims.faults(path.read_text(encoding="utf-8"), claims.named(path))
    assert [f"{fault.said}: {fault.why}" for fault in found] == []


def test_every_generated_table_has_its_page_and_can_be_made_here(claims):
    tables = importlib.import_module("claim_tables")
    for page, own in tables.REGISTRY.items():
        assert (ROOT / "docs" / page).exists()
        assert [script for script in own if not tables.can_make(page, script)] == []


def test_a_table_whose_library_is_absent_is_named_and_no_fault(claims, monkeypatch, capsys):
    tables = importlib.import_module("claim_tables")
    monkeypatch.setitem(tables.REGISTRY, "x.md", {"none.py": tables.Source("no_such_module:table", "scale")})
    text = "<!-- table: written by benchmarks/none.py -->\n\n| 1 |\n\n<!-- end of none.py -->"
    assert claims.faults(text, "x.md") == []
    assert "no_such_module is not installed" in capsys.readouterr().err
    assert claims.rewritten(text, "x.md") == text


def test_a_tampered_number_is_found(claims):
    mark = "<!--f beyond_pat:goals.compared-->{}<!--/-->"
    assert reasons(claims, f"Of {mark.format(23)} cells.") == []
    assert reasons(claims, f"Of {mark.format(24)} cells.") == ["the results say 23"]


def test_a_number_without_a_mark_is_found(claims):
    found = claims.faults("Fine.\n\nIt keeps 84% of its skill.")
    assert [(fault.said, fault.at) for fault in found] == [("84%", 16)]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("beyond_pat:goals.none", "nothing is at beyond_pat:goals.none (no none)"),
        ("nowhere:goals", "there is no benchmarks/results/nowhere.json"),
        ("beyond_pat:goals", "'beyond_pat:goals' is no single value"),
        ("beyond_pat:datasets.*.raw_error", "'beyond_pat:datasets.*.raw_error' is no single value"),
        ("study_more:{rows=7}.rows", "nothing is at study_more:{rows=7}.rows"),
        ("beyond_pat:goals.compared|q", "'q' is no format for 23"),
    ],
)
def test_a_wrong_path_or_format_is_found(claims, path, why):
    assert reasons(claims, f"Of <!--f {path}-->23<!--/--> cells.") == [why]


def test_a_tampered_table_is_found_and_mended(claims):
    text = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    line = next(line for line in text.split("\n") if line.startswith("| fit PAT"))
    number = re.search(r"\d+\.\d", line)
    assert number is not None
    wrong = text.replace(line, line.replace(number[0], "0.7", 1))
    assert [fault.said for fault in claims.faults(wrong, "engines.md")] == ["table of scale.py"]
    assert claims.rewritten(wrong, "engines.md") == text


def test_a_table_that_is_gone_or_unknown_is_found(claims):
    text = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    lost = re.sub(
        r"<!-- table: written by benchmarks/scale.py -->.*?<!-- end of scale.py -->", "", text, flags=re.DOTALL
    )
    assert "the page has lost it" in reasons(claims, lost, "engines.md")
    table = "<!-- table: written by benchmarks/none.py -->\n\n| 1 |\n\n<!-- end of none.py -->"
    assert reasons(claims, table, "x.md") == ["nothing is known to make the table of none.py in x.md"]


def test_a_statement_that_no_longer_holds_is_found(claims):
    assert reasons(claims, "Ahead<!--holds size(beyond_pat:goals.behind_others) == 0-->.") == []
    assert reasons(claims, "Ahead<!--holds beyond_pat:goals.compared > 23-->.") == ["is not true of the results"]
    several = "Text.\n\n<!--holds\n2 > 1\n1 > 2\n-->\n\nMore."
    assert [fault.said for fault in claims.faults(several)] == ["1 > 2"]


def test_a_paper_s_figure_names_paper_and_place(claims):
    assert reasons(claims, "It was <!--paper 0 §8.4-->0.23<!--/-->.") == []
    for mark in ("<!--paper 5 §1-->", "<!--paper 0-->", "<!--paper PAT §8-->"):
        assert "a paper's mark needs" in reasons(claims, f"It was {mark}0.23<!--/-->.")[0]


def test_a_paper_s_figure_stands_in_the_paper(claims, monkeypatch, tmp_path):
    (tmp_path / "0-some.txt").write_text("an error of .23 among 2085 people")
    monkeypatch.setattr(claims, "PAPERS", tmp_path)
    claims._paper.cache_clear()
    try:
        assert reasons(claims, "It was <!--paper 0 §8.4-->0.23 of 2,085<!--/-->.") == []
        assert reasons(claims, "It was <!--paper 0 §8.4-->0.24<!--/-->.") == ["papers/0 has no 0.24"]
    finally:
        claims._paper.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        "<!--given-->0.5<!--/--> stands first",
        "- <!--given-->0.5<!--/--> is an item",
        "a line\n<!--holds 2 > 1-->\nanother",
    ],
)
def test_a_mark_that_would_break_the_paragraph_is_found(claims, text):
    assert reasons(claims, text) == ["a mark at the start of a line breaks the paragraph"]


def test_a_mark_without_an_end_is_found(claims):
    assert any("ends of marks" in why for why in reasons(claims, "It is <!--given-->5 long."))


def test_writing_follows_the_results_and_leaves_what_cannot_be_read(claims):
    text = "Of <!--f beyond_pat:goals.compared-->1<!--/-->, <!--f none:x-->2<!--/-->, <!--given-->3<!--/-->."
    new = claims.rewritten(text)
    assert new == text.replace("-->1<", "-->23<")


@pytest.mark.parametrize(
    "text",
    [
        "See §4, §5.1 and papers/0 §8.2–8.4; Theorem 4.1, Figure B.2, (4.6).",
        "A1 to A8 with k=50, k = 10, ε = 0.5 and ℓ = 3 in 2024, by a split of 60/10/30.",
        "Python 3.11 or newer, ai-privacy-toolkit 0.2.1, Apache-2.0, CC BY 4.0; with 95% intervals.",
        "Twelve attributes, 11 columns, 20 leaves, three splits.",
        "Code `keep=0.9` and\n\n```python\nkeep = 0.9  # 5 s\n```\n\n    indented 0.5 s\n\nand text.",
        "And [a link](page-0.5.md#1.2).",
        "## 2.1 A heading",
        "It is <!--given-->0.5<!--/-->, a parameter.",
        "https://example.org/1.5/x",
    ],
)
def test_what_is_no_measurement_is_left_alone(prose, text):
    assert list(prose.measured(text)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("an error of 0.25", "0.25"),
        ("it keeps 84% of it", "84%"),
        ("12 times faster", "12 times"),
        ("3× as fast", "3×"),
        ("after 2.5 s", "2.5 s"),
        ("in 40 minutes", "40 minutes"),
        ("with 1.9 GB", "1.9 GB"),
        ("on 48,842 records", "48,842 records"),
        ("on 4,891 raw records", "4,891 raw records"),
        ("ahead in 21 of\n23 cells", "21 of 23"),
        ("222 of 2,446", "222 of 2,446"),
        ("- a list\n\n    of 0.5 in it", "0.5"),
        ("!!! note\n\n    loses 0.5", "0.5"),
        ("| a cell | 0.25 |", "0.25"),
    ],
)
def test_what_looks_measured_is_found(prose, text, found):
    assert [said for _, said in prose.measured(text)] == [found]


@pytest.mark.parametrize(
    "expression",
    [
        "name",
        "open('x')",
        "__import__('os')",
        "(1).__class__",
        "[x for x in (1,)]",
        "lambda: 1",
        "max.__self__",
        "min(key=1)",
        "1 if 2 else 3",
        "2 ** 99",
        "min(1)(2)",
        "1 +",
        "1 / 0",
        "min(1, 'a')",
    ],
)
def test_the_evaluator_refuses_all_but_sums(values, expression):
    with pytest.raises(values.ClaimError):
        values.evaluated(expression)


def test_the_evaluator_sums_over_paths(values, monkeypatch, tmp_path):
    cells = [{"kind": "a", "level": 1, "x": 2.0}, {"kind": "a", "level": 2, "x": 4.0}, {"kind": "b", "x": 5.0}]
    text = json.dumps({"figures": {"cells": cells, "by": {"0.5": {"x": 1}, "all of it": {"x": 3}}}})
    (tmp_path / "some.json").write_text(text)
    monkeypatch.setattr(values, "RESULTS", tmp_path)
    values.figures_of.cache_clear()
    try:
        assert values.evaluated("max(some:cells.{kind=a}.x - some:cells.{kind=b}.x)") == -1
        assert values.evaluated("mean(some:cells.{level=1/2}.x) / some:cells.2.x") == 0.6
        assert values.evaluated('some:by."0.5".x + some:by."all of it".x') == 4
        assert values.evaluated('total(some:by.("0.5","all of it").x)') == 4
        assert values.evaluated("count(some:cells.*.x > 3)") == 2
        assert values.evaluated("all(some:cells.*.x >= 2)") is True
        assert values.evaluated("1 - -abs(2 - 4)") == 3
        assert values.evaluated("size(some:cells)") == 3
        assert values.written("some:cells.0.x / 8|.0%") == "25%"
        assert values.written("some:cells.0.x\\|.1f") == "2.0"
        assert values.written("size(some:cells)|Word") == "Three"
    finally:
        values.figures_of.cache_clear()


@pytest.mark.parametrize("name", ["claims", "claim_values", "claim_prose"])
def test_the_examples_of_the_script_run(claims, name):
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted > 0
    assert done.failed == 0


def test_the_script_fails_where_a_page_is_wrong(tmp_path):
    """On a copy of the pages: one line for each fault, and exit status 1."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "benchmarks").mkdir()
    for name in ("claims.py", "claim_values.py", "claim_prose.py", "claim_tables.py"):
        (tmp_path / "benchmarks" / name).write_text((ROOT / "benchmarks" / name).read_text(encoding="utf-8"))
    (tmp_path / "README.md").write_text("Fine.\n\nIt takes 3 s.\n")
    command = [sys.executable, str(tmp_path / "benchmarks" / "claims.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "README.md:3: '3 s': no mark says where this comes from" in done.stdout.splitlines()


def test_reading_numbers_alone_needs_no_library():
    """Only a page's generated tables ask for what their benchmark imports."""
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); import claims; claims.faults('It is 3 s.'); "
        "sys.exit(bool({'numpy', 'sklearn', 'pandas', 'modicum'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
