"""Every measured number that README and docs publish comes from the benchmarks, and wrong ones are found."""

import doctest
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module("claims.check")


@pytest.fixture
def pages(claims):
    return importlib.import_module("claims.pages")


@pytest.fixture
def tables(claims):
    return importlib.import_module("claims.tables")


@pytest.fixture
def values(claims):
    return importlib.import_module("claims.values")


@pytest.fixture
def prose(claims):
    return importlib.import_module("claims.prose")


@pytest.fixture
def papers(claims, monkeypatch, tmp_path):
    """The module that looks papers up, with a temporary folder in which tests write papers."""
    module = importlib.import_module("claims.cited")
    monkeypatch.setattr(module, "PAPERS", tmp_path)
    module.text_of.cache_clear()
    yield module
    module.text_of.cache_clear()


@pytest.fixture
def engines(claims):
    """A page with generated tables: its text and its claims."""
    return (ROOT / "docs" / "engines.md").read_text(encoding="utf-8"), claims.read(claims.CLAIMS)["engines.md"]


def page_of(claims, text, *sources, holds=(), every=False):
    """A page with one claim, whose text has {} for each number."""
    return claims.Page((claims.Claim(text, sources, holds, every),))


def reasons(claims, text, page):
    return [fault.why for fault in claims.find_faults(text, page)]


def why_not(claims, source, number):
    """What is wrong with a number of this source, in a sentence."""
    return reasons(claims, f"It is {number} here.", page_of(claims, "It is {} here.", source))


@pytest.mark.parametrize("page", PAGES)
def test_the_claims_of_a_page_hold(claims, page):
    name = page.removeprefix("docs/")
    text = (ROOT / page).read_text(encoding="utf-8")
    assert claims.list_pages()[name] == ROOT / page
    found = claims.find_faults(text, claims.read(claims.CLAIMS).get(name, claims.NOTHING))
    assert [f"{fault.said}: {fault.why}" for fault in found] == []


def test_every_page_with_claims_exists(claims):
    assert claims.read(claims.CLAIMS).keys() <= claims.list_pages().keys()


@pytest.mark.parametrize("page", PAGES)
def test_a_page_holds_no_comments_for_claims(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert re.findall(r"<!--\s*(?:f|holds|paper|given|table|end of)\b", text) == []


def test_every_generated_table_can_be_made_here(claims, tables):
    every = [table for page in claims.read(claims.CLAIMS).values() for table in page.tables]
    assert len(every) > 40
    assert [table for table in every if not tables.can_make(table)] == []
    assert [table for table in every if tables.make(table).split("\n")[0] != table.head] == []


def test_a_table_of_an_absent_library_is_named_and_is_no_fault(claims, pages, capsys):
    page = pages.Page(tables=(pages.Table("| 0.7 |", "no_such_module:table", ("scale",)),))
    text = "| 0.7 |\n| --- |\n| 0.8 |\n\nMore."
    assert claims.find_faults(text, page) == []
    assert "no_such_module is not installed" in capsys.readouterr().err
    assert claims.rewrite(text, page) == text


def test_a_tampered_number_is_found(claims):
    page = page_of(claims, "Of {} cells.", "beyond_pat:goals.compared")
    assert reasons(claims, "Of 23 cells.", page) == []
    assert reasons(claims, "Of 24 cells.", page) == ["the results say 23"]


def test_a_number_without_a_source_is_found(claims):
    found = claims.find_faults("Fine.\n\nIt keeps 84% of its skill.")
    assert [(fault.said, fault.at) for fault in found] == [("84%", 16)]


def test_a_sentence_that_is_missing_or_repeated_is_found(claims):
    page = page_of(claims, "Of {} cells.", "beyond_pat:goals.compared")
    assert reasons(claims, "Of so many cells, 23.", page) == ["missing from the page"]
    assert reasons(claims, "Of 23 cells. Of 23 cells.", page) == ["appears 2 times"]
    assert [fault.at for fault in claims.find_faults("Of 23 cells.\n\nOf 23 cells.", page)] == [14]
    assert [fault.at for fault in claims.find_faults("Well.\n\nOf all of them.", page)] == [7]
    every = page_of(claims, "Of {} cells.", "beyond_pat:goals.compared", every=True)
    assert reasons(claims, "Of 23 cells. Of 23 cells.", every) == []
    assert reasons(claims, "Of 23 cells. Of 22 cells.", every) == ["the results say 23"]
    assert reasons(claims, "None.", every) == ["missing from the page"]


def test_a_sentence_is_found_across_lines_with_the_places_of_its_numbers(pages):
    text = "- First.\n- It keeps **0.1,\n  0.5 and 0.9** of\n  all"
    (place,) = pages.find_places(text, pages.Claim("It keeps **{}** of all"))
    assert place.at == text.index("It")
    assert [(text[start:end], said) for start, end, said in place.numbers] == [
        ("0.1,\n  0.5 and 0.9", "0.1, 0.5 and 0.9")
    ]


@pytest.mark.parametrize(
    ("text", "sentence", "numbers"),
    [
        ("| 0.1 | 0.2 at 0.3 |", "| {} at {} |", ["0.2", "0.3"]),  # never across cells
        ("of 1.20.1, and so on", "of {}, and", ["1.20.1"]),
        ("with 1.20.1.", "with {}.", ["1.20.1"]),  # a full stop within a number ends no sentence
        ("some 5 of 12 here", "{} of {} here", ["5", "12"]),  # one word at the start
        ("it is 5", "it is {}", ["5"]),
    ],
)
def test_the_text_around_a_number_decides_where_it_ends(pages, text, sentence, numbers):
    assert [[said for *_, said in place.numbers] for place in pages.find_places(text, pages.Claim(sentence))] == [
        numbers
    ]


@pytest.mark.parametrize(
    "entry",
    [
        "text = 'Of {} and {}.'\nfrom = ['given']",
        "text = 'Of them.'\nfrom = ['given']",
        "text = 'Of them.'",
        "text = 'Of {}.'\nfrom = ['given']\nhold = ['a:b > 1']",
    ],
)
def test_an_entry_without_a_source_for_each_number_or_of_another_form_is_refused(pages, tmp_path, entry):
    (tmp_path / "claims.toml").write_text(f'[["x.md".claim]]\n{entry}\n')
    with pytest.raises(SystemExit, match="needs as many sources as numbers"):
        pages.read(tmp_path / "claims.toml")


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
    assert why_not(claims, path, "23") == [why]


def test_a_tampered_table_is_found_and_rewritten(claims, engines):
    text, page = engines
    line = next(line for line in text.split("\n") if line.startswith("| fit PAT"))
    number = re.search(r"\d+\.\d", line)
    assert number is not None
    wrong = text.replace(line, line.replace(number[0], "0.7", 1))
    assert [fault.said for fault in claims.find_faults(wrong, page)] == [page.tables[0].head]
    assert claims.rewrite(wrong, page) == text


def test_a_table_that_is_missing_or_unknown_is_found(claims, pages, engines):
    text, page = engines
    head = page.tables[0].head
    lost = text.replace(head, "| another |")
    assert "appears 1 times too rarely" in reasons(claims, lost, page)
    where = "docs/claims.toml does not say where this comes from"
    assert reasons(claims, "| a |\n| --- |\n| 0.97 |", claims.NOTHING) == [where]
    none = pages.Page(tables=(pages.Table("| a |", "speed.scale:speed", ("none",)),))
    assert reasons(claims, "| a |\n| --- |\n| 0.97 |", none) == ["there is no benchmarks/results/none.json"]


def test_a_repeated_table_is_found_and_the_first_is_checked(claims, tables, engines):
    text, page = engines
    table = next(own.text for own in tables.find(text, page.tables)[0] if own.table == page.tables[0])
    wrong = table.replace("| fit PAT", "| fits PAT")
    found = claims.find_faults(text.replace(table, f"{wrong}\n\n{table}"), page)
    assert {fault.said for fault in found} >= {table.split("\n")[0]}
    assert {"appears 1 times too often", tables.find_difference(wrong, table)} <= {fault.why for fault in found}


def test_tables_with_the_same_first_line_are_distinguished_by_their_order(claims, tables):
    text = (ROOT / "docs" / "prism.md").read_text(encoding="utf-8")
    known = claims.read(claims.CLAIMS)["prism.md"].tables
    twice = [own for own in tables.find(text, known)[0] if [table.head for table in known].count(own.table.head) == 2]
    assert len(twice) == 2
    swapped = text.replace(twice[0].text, "?").replace(twice[1].text, twice[0].text).replace("?", twice[1].text, 1)
    page = claims.Page((), known)
    assert len([fault for fault in claims.find_faults(swapped, page) if fault.said == twice[0].table.head]) == 2


def test_a_statement_that_no_longer_holds_is_found(claims):
    true = page_of(claims, "Ahead.", holds=("size(beyond_pat:goals.behind_others) == 0",))
    assert reasons(claims, "Ahead.", true) == []
    false = page_of(claims, "Ahead.", holds=("beyond_pat:goals.compared > 23",))
    assert reasons(claims, "Ahead.", false) == ["is not true of the results"]
    several = page_of(claims, "Ahead.", holds=("beyond_pat:goals.compared > 22", "beyond_pat:goals.compared < 23"))
    assert [fault.said for fault in claims.find_faults("Ahead.", several)] == ["beyond_pat:goals.compared < 23"]


@pytest.mark.parametrize("constant", ["0.999|.1%", "2 + 5|word", "size('beyond_pat:goals')", 'max("demo:asked")'])
def test_a_source_of_constants_alone_is_found(claims, constant):
    assert why_not(claims, constant, "99.9%")[0].endswith("names no file of results")
    held = f"{constant.partition('|')[0]} > 1"
    page = page_of(claims, "It is.", holds=(held,))
    assert reasons(claims, "It is.", page) == [f"{held!r} names no file of results"]


@pytest.mark.parametrize(
    ("source", "number", "why"),
    [
        ("given", "0.5", None),
        ("given", "50,000", None),
        ("given", "95%", None),
        ("given", "98%", "98% is not round"),
        ("given", "0.1 and 0.84", "0.84 is not round"),
        ("given", "10 of 20", "10 of 20 cannot be a given number"),
        ("given", "10/20", "10/20 cannot be a given number"),
        ("given", "most", "most cannot be a given number"),
        ("given src/modicum/table/codes.py", "256", None),
        ("given src/modicum/table/codes.py", "257", "src/modicum/table/codes.py sets no 257"),
        ("given benchmarks/papers/reproduce_prism.py", "1e-4 and 30%", None),
        ("given benchmarks/papers/reproduce_prism.py", "31%", "benchmarks/papers/reproduce_prism.py sets no 31%"),
        ("given benchmarks/none.py", "5", "there is no code file benchmarks/none.py"),
        ("given benchmarks/results/demo.json", "5", "there is no code file benchmarks/results/demo.json"),
    ],
)
def test_a_given_number_is_a_setting_of_the_code_or_round(claims, source, number, why):
    found = why_not(claims, source, number)
    assert found == [] if why is None else [reason.startswith(why) for reason in found] == [True]


def test_a_figure_of_a_paper_names_paper_and_place(claims):
    assert why_not(claims, "Staab24 §8.4", "0.23") == []
    for source in ("Staab24", "Staab24 §", "Staab24 Table"):
        assert "a paper's figure needs" in why_not(claims, source, "0.23")[0]
    for source in ("Staab25 §1", "PAT §8"):
        assert "cannot be read" in why_not(claims, source, "0.23")[0]


PAPER = """# 8. Results
It was .23 among 2085 people, 5% of all.
## 8.1. More
Here 0.34, as Figure 2 shows.
TABLE 3: One

a\t0.7\t52k (1)
b\t0.81\t0.82

9 Outlook
Perhaps 0.99.

c\t7

Table 4: Another
# Appendix B. Details
Only 0.5.
"""


@pytest.mark.parametrize(
    ("place", "number", "why"),
    [
        ("§8", "0.23 of 2,085", None),
        ("§8", "5%", None),
        ("§8.1", "2%", "Staab24 §8.1 has no 2"),  # Figure 2 is no share
        ("§8", "0.34", None),  # §8.1 is a part of it
        ("§8.1", "0.34", None),
        ("§8.1", "0.43", "Staab24 §8.1 has no 0.43"),
        ("§8.1", "0.23", "Staab24 §8.1 has no 0.23"),
        ("§8.1", "0.99", "Staab24 §8.1 has no 0.99"),
        ("§9", "0.99", None),
        ("§7", "0.99", "Staab24 has no §7 that can be found"),
        ("Table 3", "52k", None),
        ("Table 3", "0.34", "Staab24 Table 3 has no 0.34"),
        ("Table 4", "7", None),
        ("Table 5", "7", "Staab24 has no Table 5 that can be found"),
        ("Appendix B", "0.5", None),
        ("Appendix B", "0.99", "Staab24 Appendix B has no 0.99"),
        ("Figure 2", "0.34", None),
    ],
)
def test_a_figure_of_a_paper_is_in_the_cited_place(claims, papers, tmp_path, place, number, why):
    (tmp_path / "0-some.txt").write_text(PAPER.replace("TABLE", "\nTABLE"), encoding="utf-8")
    assert why_not(claims, f"Staab24 {place}", number) == ([] if why is None else [why])


@pytest.mark.parametrize(
    ("value", "is_said"),
    [(0.81, True), (0.18, False), ([0.81, 0.82], True), ([0.82, 0.81], False), ("52k (1)", True), (None, False)],
)
def test_a_figure_of_a_paper_in_the_results_is_in_the_paper(papers, tmp_path, monkeypatch, value, is_said):
    (tmp_path / "0-some.txt").write_text(PAPER.replace("TABLE", "\nTABLE"), encoding="utf-8")
    monkeypatch.setattr(papers, "list_held", lambda: [("some:x", "Staab24", "Table 3", value)])
    assert list(papers.find_held_faults()) == ([] if is_said else [f"some:x: {value!r} is not in Staab24 Table 3"])


def test_all_figures_of_papers_in_the_results_are_in_the_papers(claims):
    papers = importlib.import_module("claims.cited")
    if not all(map(papers.text_of, papers.KEYS)):
        pytest.skip("the papers are not there: a folder `papers` next to the one that MODICUM_DATA names")
    assert list(papers.find_held_faults()) == []
    assert {paper for _, paper, _, _ in papers.list_held()} == set(papers.KEYS)
    assert why_not(claims, "Staab24 §8.4", "34") == []
    assert why_not(claims, "Staab24 §8.4", "43") == ["Staab24 §8.4 has no 43"]


def test_unchecked_numbers_are_listed_without_the_papers(claims, papers):
    page = page_of(claims, "It was {}, then {}.", "Staab24 §8.4", "Goldsteen22 §4.2")
    lines = claims.list_unchecked([page])
    held = f"{len(papers.list_held())} figures of the results"
    assert lines == [f"not checked, as the papers are not at hand: 2 numbers, {held}"]
    assert len(papers.list_held()) > 100
    assert all(value is not None for *_, value in papers.list_held())


def test_rewriting_follows_the_results_and_leaves_unreadable_sources(claims):
    page = page_of(claims, "Of {}, {}, {}.", "beyond_pat:goals.compared", "none:x", "given")
    assert claims.rewrite("Of 1,\n2, 3.", page) == "Of 23,\n2, 3."


@pytest.mark.parametrize(
    "text",
    [
        "See §4, §5.1 and [Staab24 §8.2–8.4]; Theorem 4.1, Figure B.2, equation (4.6), Figures C.1, C.2 and 5.",
        "A1 to A8 with k=50, k = 10, k ≥ 500, ε = 0.5 and ℓ = 3 in 2024, by a split of 60/10/30.",
        "Opinion 05/2014 of 29 November, SHA-256, port 8000, HTTP 503, seed 123, 127.0.0.1.",
        "Python 3.11 or newer, ai-privacy-toolkit 0.2.1, Apache-2.0, CC BY 4.0; with 95% intervals.",
        "Twelve attributes, 11 columns, 20 leaves, three splits.",
        "Code `keep=0.9` and `--keep 0.9` and\n\n```python\nkeep = 0.9  # 5 s\n```\n\nand text.",
        "Type\n\n    modicum study people.csv --keep 0.9 \\\n        --rows 100000\n\nand wait.",
        "And [a link](page-0.5.md#1.2).",
        "## 2. A heading",
        "https://example.org/1.5/x",
    ],
)
def test_text_that_is_no_measurement_is_ignored(prose, text):
    assert list(prose.find_measured(text)) == []


def test_a_claimed_number_is_ignored(prose):
    assert list(prose.find_measured("It is 0.5, a parameter.", [(6, 9)])) == []


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
        ("on 48,842 records", "48,842"),
        ("on 4,891 raw records", "4,891"),
        ("ahead in 21 of\n23 cells", "21 of 23"),
        ("222 of 2,446", "222 of 2,446"),
        ("- a list\n\n    of 0.5 in it", "0.5"),
        ("!!! note\n\n    loses 0.5", "0.5"),
        ("| a cell | 0.25 |", "0.25"),
        ("ahead in 23/23 cells", "23/23"),
        ("500x faster", "500x"),
        ("12x", "12x"),
        ("a 166-fold gain", "166-fold"),
        ("by a factor of 12", "factor of 12"),
        ("an error (9.9) of", "9.9"),
        ("an error of `0.01`", "0.01"),
        ("it keeps `84 %`", "84 %"),
        ("ahead in 21 cells", "21 cells"),
        ("all but two cells", "two cells"),
        ("ten times faster", "ten times faster"),
        ("12 out of 23", "12 out of 23"),
        ("Served 2106 requests", "2106"),
        ("Served 2024 requests", "2024"),
        ("3 million rows", "3 million"),
        ("52k people", "52k"),
        ("84 per cent", "84 per cent"),
        ("an error of .25", ".25"),
        ("a gap of 1e-4", "1e-4"),
        ("a gap of 10⁻⁴", "10⁻"),
        ("3pp more", "3pp"),
        ("84&nbsp;% of it", "84 %"),
        ("84\u00a0% of it", "84 %"),
        ("*84*% of it", "84 %"),
        ("**84%** of it", "84%"),
        ("_84_ % of it", "84 %"),
        ("<b>84</b>% of it", "84 %"),
        ("a lone ` here\n\nand 0.97\n\nand ` there", "0.97"),
        ("A = 0.99", "0.99"),
        ("p = 0.03", "0.03"),
        ("§8.2, 0.94 of people", "0.94"),
        ("Table 3, 0.94 of people", "0.94"),
        ("## 0.97 accuracy", "0.97"),
        ("```text\nskill kept 0.97\n```", "0.97"),
        ("```\nskill kept 0.97\n```", "0.97"),
        ("So:\n\n    skill kept 0.97\n", "0.97"),
        ("So:\n\n    make demo  # in 3 s\n", "3 s"),
        ("![a picture of 0.97](x.svg)", "0.97"),
    ],
)
def test_text_that_looks_measured_is_found(prose, text, found):
    assert [said for _, said in prose.find_measured(text)] == [found]


@pytest.mark.parametrize(("code", "found"), [("python", 0), ("sh", 0), ("json", 1)])
def test_a_text_block_is_checked_if_no_code_prints_it(claims, code, found):
    """If there is code, tests/docs/test_pages.py compares the block with what it prints."""
    text = f"```{code}\nx\n```\n\n```text\nskill 0.97\n```"
    assert [fault.said for fault in claims.find_faults(text)] == ["0.97"] * found


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
def test_the_evaluator_refuses_everything_except_sums(values, expression):
    with pytest.raises(values.ClaimError):
        values.evaluate(expression)


def test_the_evaluator_sums_over_paths(values, monkeypatch, tmp_path):
    cells = [{"kind": "a", "level": 1, "x": 2.0}, {"kind": "a", "level": 2, "x": 4.0}, {"kind": "b", "x": 5.0}]
    text = json.dumps({"figures": {"cells": cells, "by": {"0.5": {"x": 1}, "all of it": {"x": 3}}}})
    (tmp_path / "some.json").write_text(text)
    monkeypatch.setattr(values, "RESULTS", tmp_path)
    values.figures_of.cache_clear()
    try:
        assert values.evaluate("max(some:cells.{kind=a}.x - some:cells.{kind=b}.x)") == -1
        assert values.evaluate("mean(some:cells.{level=1/2}.x) / some:cells.2.x") == 0.6
        assert values.evaluate('some:by."0.5".x + some:by."all of it".x') == 4
        assert values.evaluate('total(some:by.("0.5","all of it").x)') == 4
        assert values.evaluate("count(some:cells.*.x > 3)") == 2
        assert values.evaluate("all(some:cells.*.x >= 2)") is True
        assert values.evaluate("1 - -abs(2 - 4)") == 3
        assert values.evaluate("size(some:cells)") == 3
        assert values.write_value("some:cells.0.x / 8|.0%") == "25%"
        assert values.write_value("some:cells.0.x|.1f") == "2.0"
        assert values.write_value("size(some:cells)|Word") == "Three"
    finally:
        values.figures_of.cache_clear()


@pytest.mark.parametrize("name", ["claims.check", "claims.pages", "claims.values", "claims.prose", "claims.given"])
def test_the_examples_of_the_script_run(claims, name):
    done = doctest.testmod(importlib.import_module(name))
    assert done.attempted > 0
    assert done.failed == 0


def test_the_script_fails_if_a_page_is_wrong(tmp_path):
    """On a copy of the pages: one line for each fault, and exit status 1."""
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "claims.toml", tmp_path / "docs")
    shutil.copytree(ROOT / "benchmarks" / "claims", tmp_path / "benchmarks" / "claims")
    shutil.copy(ROOT / "benchmarks" / "loaded_code.py", tmp_path / "benchmarks")
    (tmp_path / "README.md").write_text("Fine.\n\nIt takes 3 s.\n")
    command = [sys.executable, str(tmp_path / "benchmarks" / "claims" / "check.py")]
    elsewhere = {**os.environ, "MODICUM_DATA": str(tmp_path / "data")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=elsewhere)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "README.md:3: '3 s': docs/claims.toml does not say where this comes from" in lines
    assert sum(line.startswith("not checked, as ") for line in lines) == 2  # the copy has neither papers nor results


def test_reading_numbers_alone_needs_no_library():
    """Only a page's generated tables ask for what their benchmark imports."""
    code = (
        "import sys; sys.path.insert(0, 'benchmarks'); from claims import check; check.find_faults('It is 3 s.'); "
        "sys.exit(bool({'numpy', 'sklearn', 'pandas', 'modicum'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
