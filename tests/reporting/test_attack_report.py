"""The page on the adversaries: the same numbers as its data, safe to open, and no counts of few people."""

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from report_numbers import leaves, markdown_text, missing, noticed, page_text, raw_markup, undocumented
from test_reporting import HOSTILE, Reader, _numbers

import modicum as md
from modicum.attacks import SuiteResult
from modicum.reporting._report import Report
from modicum.reporting.attack import page as attack_page
from modicum.reporting.attack.data import AttackContent, MostExposed
from modicum.reporting.document import Document
from modicum.reporting.render import to_markdown

THREATS = ("Inference", "Linkability", "Singling out")
MARKUP = f"{HOSTILE}\n| a | b |\n# [link](https://example.org) ![x](y) www.example.org *bold* `code`"


@pytest.fixture(scope="module")
def found() -> SuiteResult:
    random = np.random.default_rng(0)
    n = 4_000
    group = random.integers(0, 5, n)
    X = pd.DataFrame(
        {
            HOSTILE: np.array([HOSTILE, "b", "\x1b[31mc", "d", "e"])[group],
            "age": (20 + 10 * group + random.integers(0, 12, n)).astype(float),
            "sex": random.choice(["f", "m"], n),
            "rare": np.where(np.arange(n) % 500 == 3, "rare", "usual"),
        }
    )
    schema = md.Schema.infer(X, personal=[HOSTILE, "age", "sex"])
    g = md.Uniform(buckets=4, schema=schema).fit(X[:2_000]).generalization_
    other = md.Uniform(buckets=2, schema=schema).fit(X[:2_000]).generalization_
    options = {"others": [other], "population": 1_000_000, "percent": [2, 10, 100], "weights": {"sex": 2}}
    return md.attacks.suite(g, X[:2_000], X[2_000:], progress=False, **options)


@pytest.fixture(scope="module")
def page(found) -> str:
    return md.report(found, purpose=HOSTILE).to_html()


def test_it_is_safe_to_open(page):
    reader = Reader(page)
    assert not {"script", "img"} & set(reader.tags)
    assert not [name for name, _ in reader.attributes if name.startswith("on") or name in ("src", "href")]
    assert any(HOSTILE in text for text in reader.text)
    assert "\x1b" not in page
    assert "Content-Security-Policy" in page


def test_every_number_of_the_page_is_in_the_data(found, page):
    content = md.report(found).to_dict()
    numbers = [*_numbers(content), *(1 - value for value in _numbers(content))]
    shares = {f"{value:.{digits}%}" for value in numbers for digits in (0, 1, 2)}
    body = " ".join(Reader(page.split("<body>")[1]).text)
    percents = {f"{level:g}%" for level in (2, 10, 100)}
    ticks = {f"{20 * i}%" for i in range(6)} | set(re.findall(r">([\d.]+%)</text>", page.split("A2: where")[1]))
    shown = set(re.findall(r"\d+(?:\.\d+)?%", body)) - percents - ticks - {"95%"}
    assert len(shown) > 20
    assert shown <= shares, shown - shares


def test_every_number_of_the_data_is_in_the_page_and_in_the_markdown(found):
    report = md.report(found)
    content = report.to_dict()
    assert len(list(leaves(content))) > 150
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
        assert missing(content, text) == []
        assert noticed(content, text) > 0.6  # slightly different numbers are absent
    tampered = json.loads(json.dumps(content))
    tampered["linkability"]["error"], tampered["known"] = 0.123456, 98_765
    absent = missing(tampered, page_text(report.to_html()))
    assert [path.split(":")[0] for path in absent] == ["known", "linkability.error"]


def test_the_threat_sections_show_every_number(found):
    """Another report holds the content and shows these sections."""
    report = md.report(found)
    content, sections = report.to_dict(), attack_page.threats(report.content, level=3)
    assert {section.level for section in sections} == {3}
    text = markdown_text(to_markdown(Document("", [], sections, "")))
    excluded = {"version": content["version"], "random_state": content["random_state"]}
    assert missing({key: value for key, value in content.items() if key not in excluded}, text) == []


def test_adversaries_are_listed_under_the_three_threats(found):
    markdown = md.report(found).to_markdown()
    inference, linkability, singling_out = (markdown.index(f"## {name}") for name in THREATS)
    assert inference < linkability < singling_out
    rows = {name: markdown.index(f"| {name} ") for name in ("A1", "A3", "A5", "A4", "A6")}
    assert all(inference < row < linkability for row in rows.values())
    for name in THREATS:
        assert f"{name} means that" in markdown
    assert "Opinion 05/2014" in markdown


def test_hostile_names_stay_text_in_markdown(found):
    content = json.loads(json.dumps(md.report(found, purpose=MARKUP).to_dict()))
    content["attributes"][0]["name"] = MARKUP
    content["adversaries"][0]["worst"] = MARKUP
    content["linkability"]["a"] = [MARKUP]
    content["skipped"] = [{"id": "A3", "name": "Non-personal knowledge", "why": MARKUP}]
    markdown = Report(AttackContent.model_validate(content)).to_markdown()
    assert raw_markup(markdown) == []
    assert "www" in markdown
    assert raw_markup(f"| a |\n| {HOSTILE} |") != []
    assert raw_markup("| a |\n| b | c |") != []
    assert "\x1b" not in markdown


def test_the_data_fits_its_schema(found):
    content = md.report(found).to_dict()
    AttackContent.model_validate(content)
    with pytest.raises(ValueError, match="singling_out"):
        AttackContent.model_validate({key: value for key, value in content.items() if key != "singling_out"})
    with pytest.raises(ValueError, match="surplus"):
        AttackContent.model_validate(content | {"surplus": 1})
    assert undocumented(AttackContent.model_json_schema()) == []
    assert undocumented({"properties": {"a": {}}, "$defs": {"B": {"properties": {"c": {}}}}}) == [".a", "B.c"]


def test_the_most_exposed_are_shown_with_interval_and_baseline(found):
    content = md.report(found).to_dict()
    exposed, level = content["a2_most_exposed"], content["confident"][0]
    assert exposed["percent"] == 10
    assert exposed["error"] == level["error"] < exposed["naive"] == level["naive"]
    low, high = exposed["interval"]
    for shown in (exposed["error"], low, high, exposed["naive"]):
        assert f"{shown:.1%}" in exposed["sentence"]
    assert "The surest 2% are about too few people" in exposed["sentence"]
    assert exposed["sentence"] in content["sentences"]
    everyone = md.report(found).content.confident[0].model_copy(update={"percent": 100})
    assert MostExposed.of([], [1.0]) is None
    assert MostExposed.of([everyone], [1.0]) is None


def test_each_adversary_is_shown_with_its_baselines(found):
    content = json.loads(json.dumps(md.report(found).to_dict()))
    assert [each["id"] for each in content["adversaries"]] == ["A1", "A3", "A5", "A4", "A6"]
    for each in content["adversaries"]:
        low, high = each["interval"]
        assert low <= each["error"] <= high or each["error"] == pytest.approx(low, abs=0.01)
        assert each["naive"] >= each["error"] - 0.02
        assert each["raw"] == 0
        assert each["worst"] in {a["name"] for a in content["attributes"]}
    certified = {each["id"]: each["certified_error"] for each in content["adversaries"]}
    assert [certified[name] is None for name in ("A1", "A3", "A4", "A5", "A6")] == [False, False, False, True, True]
    assert certified["A1"] <= content["adversaries"][0]["error"] + 0.01
    assert len(content["adversaries"][-1]["alone"]) == 2
    assert content["weights"]["sex"] == 0.5
    assert content["skipped"] == []


def test_few_people_are_not_counted(found):
    assert found.singling_out.least < 10
    content = md.report(found).to_dict()
    single = content["singling_out"]
    assert single["least"] == "< 10"
    assert all(many == "< 10" or many % 10 == 0 for many in single["sizes"].values())
    assert found.singling_out.predicate not in json.dumps(content)
    assert content["too_few_for_confident"] == [2.0]  # 40 people
    assert [level["percent"] for level in content["confident"]] == [10, 100]
    for attribute in content["attributes"]:
        for each in attribute["errors"].values():
            for share in (each["error"], *each["interval"]):
                assert share * 200 == pytest.approx(round(share * 200))  # tens of 2,000


def test_only_python_names_rows(found):
    exposed = found.reconstruction["A1"].exposed(5)
    assert len(exposed) == 5
    for content in (found.to_dict(), md.report(found).to_dict()):
        assert not {"row", "rows", "guesses", "predicate"} & set(_keys(content))


def _keys(value):
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)


def test_a_report_of_few_people_is_refused():
    X = pd.DataFrame({"job": ["nurse", "smith"] * 40, "age": np.arange(80.0)})
    g = md.Uniform(buckets=2).fit(X).generalization_
    few = md.attacks.suite(g, X[:40], X[40:], progress=False)
    with pytest.raises(md.errors.DataError, match="at least 100"):
        md.report(few)


@pytest.mark.parametrize(("overlap", "shown"), [(3, "Fewer than 10 of the 2,000"), (117, "About 120 of the 2,000")])
def test_overlap_is_reported_but_not_exactly_counted(found, overlap, shown):
    report = md.report(dataclasses.replace(found, overlap=overlap))
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown()), report.to_json()):
        assert f"{shown} breached rows are also among the known ones" in text
        assert f"{overlap} of the" not in text


def test_it_has_the_head_and_the_end_of_every_report(found):
    report = md.report(
        found, "To advise", people="customers of the shop", date="2026-11-16", command="modicum attack x"
    )
    provenance = report.to_dict()["provenance"]
    assert {"known records", "breached records", "schema", "artifact", "artifact 2"} == set(provenance["hashes"])
    assert provenance["settings"]["weights"] == {"sex": 2}
    assert (provenance["settings"]["random_state"], provenance["date"], provenance["command"]) == (
        0,
        "2026-11-16",
        "modicum attack x",
    )
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
        for words in ("Purpose: To advise", "Records: customers of the shop.", "16 November 2026", "modicum attack x"):
            assert words in text
        assert "Sign-off" in text
        assert provenance["hashes"]["breached records"] in text


def test_other_records_have_another_hash():
    X = md.datasets.load_adult().X[["age", "sex"]]
    g = md.Uniform(buckets=2).fit(X[:500]).generalization_
    first, again, other = (
        md.attacks.suite(g, X[:500], X[start : start + 300], personal=["sex"], progress=False).provenance["hashes"]
        for start in (500, 500, 800)
    )
    assert first == again
    assert [name for name in first if first[name] != other[name]] == ["breached records"]


@pytest.mark.parametrize("option", [{"date": "not a date"}, {"people": 7}, {"command": ["x"]}])
def test_bad_options_are_refused(found, option):
    with pytest.raises(md.errors.ParameterError, match=f"The '{next(iter(option))}' parameter"):
        md.report(found, **option)
