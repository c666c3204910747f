"""The page of a study: the same numbers as its data, the choice and its reason, safe, no counts of few people."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_numbers import leaves, markdown_text, missing, noticed, page_text, raw_markup, undocumented
from test_reporting import HOSTILE, Reader, _numbers

import modicum as md
from modicum.evaluation.study.candidates import Later
from modicum.evaluation.study.study_result import Study
from modicum.reporting import Report, charts
from modicum.reporting.document import Cards
from modicum.reporting.study import study_charts
from modicum.reporting.study.data import PersonalAttribute, StudyContent
from modicum.reporting.study.study_sentences import comparison

GRIDS = {"PrivacyTree": {"privacy": [0.2, 0.6], "max_leaves": [4, 8]}, "Uniform": {"buckets": [2, 3]}}


@pytest.fixture(scope="module")
def found() -> Study:
    adult = md.datasets.load_adult()
    options = {"grids": GRIDS, "minimizers": list(GRIDS), "seeds": 2, "train_sizes": (1.0, 0.3), "progress": False}
    X, y = adult.X[:4_000], adult.y[:4_000]
    return md.study(X, y, schema=adult.schema, personal=["sex", "race", "age"], fronts_of="each", **options)


@pytest.fixture(scope="module")
def whole(found) -> Report:
    evidence = md.evidence(found, progress=False)
    return md.report(
        evidence, "Help <people>", people="those who were asked", date="2026-11-16", command="modicum study"
    )


@pytest.fixture(scope="module")
def page(whole) -> str:
    return whole.to_html()


@pytest.fixture(scope="module")
def hostile() -> Study:
    random = np.random.default_rng(0)
    n = 1_500
    X = pd.DataFrame(
        {
            HOSTILE: random.choice([HOSTILE, "b", "\x1b[31mc"], n),
            "age": random.integers(18, 80, n),
            "rare": np.where(np.arange(n) % 300 == 3, "rare", "usual"),
        }
    )
    label = np.where((X["age"] > 50) ^ (random.random(n) < 0.1) ^ (X[HOSTILE] == "b"), HOSTILE, "no")
    schema = md.Schema.infer(X).replace("rare", locked=True).replace(HOSTILE, locked=True)
    grids = {"PrivacyTree": {"privacy": [0.1], "max_leaves": [4], "min_leaf": [20]}}
    options = {"grids": grids, "minimizers": ["PrivacyTree"], "seeds": 1, "progress": False}
    return md.study(X, pd.Series(label, name=HOSTILE), schema=schema, **options)


def test_it_is_safe_to_open(page, hostile):
    odd = md.report(md.evidence(replace(hostile, skipped=[HOSTILE]), progress=False), HOSTILE).to_html()
    for text in (page, odd):
        reader = Reader(text)
        assert not {"script", "img"} & set(reader.tags)
        assert not [name for name, _ in reader.attributes if name.startswith("on") or name == "src"]
        links = [value for name, value in reader.attributes if name == "href"]
        assert links  # the contents
        assert all(re.fullmatch(r"#s\d+", link) for link in links)
        assert "<script" not in text
        assert "\x1b" not in text
        assert "Content-Security-Policy" in text
    assert any(HOSTILE in text for text in Reader(odd).text)


def test_every_number_of_the_tables_is_in_the_data(whole, page):
    content = whole.to_dict()
    numbers = list(_numbers(content))
    shown = set()
    for table in re.findall(r"<tbody>.*?</tbody>", page, re.DOTALL):
        for cell in re.findall(r'<td class="n">(.*?)</td>', table, re.DOTALL):
            shown |= set(re.findall(r"\d[\d,]*(?:\.\d+)?%?", re.sub(r"<[^>]+>|&lt; 10", " ", cell)))
    known = {f"{value:.{digits}%}" for value in numbers for digits in (0, 1)}
    known |= {f"{left:.2%}" for value in numbers for left in (value, 1 - value)}  # A7 shows correct joins
    known |= {f"{abs(100 * value):.1f}" for value in numbers}  # changes are in percentage points, behind their sign
    gains = [a["naive_error"] - a["adversary_error"] for a in content["evidence"]["attributes"] if a["personal"]]
    known |= {f"{abs(100 * gain):.1f}" for gain in gains}
    known |= {f"{np.floor(1000 * value + 1e-9) / 1000:.1%}" for value in numbers}  # certified: rounded down
    known |= {f"{np.ceil(1000 * value - 1e-9) / 1000:.1%}" for value in numbers}  # or up, for bounds on being right
    known |= {f"{100 * size:g}%" for size in content["train_sizes"]}
    known |= {f"{value:.{digits}f}" for value in numbers for digits in (1, 3)} | {f"{value:,}" for value in numbers}
    assert len(shown) > 40
    assert shown <= known, shown - known


def test_every_number_of_the_data_is_in_the_page_and_in_the_markdown(found, hostile):
    limits = found.limits[found.seed].test
    points = [(c, (c.error + 0.0123, c.adversary_error - 0.0321)) for c in found.pareto()]
    bare = replace(found, candidates=[replace(c, judged=None) for c in found.candidates])
    for study in (found, replace(found, later={"2016": Later(limits, 1_234, points)}), hostile, bare):
        report = md.report(study)
        content = report.to_dict()
        assert len(list(leaves(content))) > 40
        for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
            assert missing(content, text) == []
            assert noticed(content, text) > 0.6  # slightly different numbers are absent
    tampered = json.loads(json.dumps(content))
    tampered["points"][0]["by_counts"][1], tampered["records"] = 0.87654, 98_765
    absent = missing(tampered, markdown_text(report.to_markdown()))
    assert [path.split(":")[0] for path in absent] == ["records", "points.0.by_counts.1"]


def test_drawn_points_are_in_a_table(found):
    """The Markdown has no picture, so every candidate and every point of a front has a line."""
    report = md.report(found)
    content, markdown = report.to_dict(), markdown_text(report.to_markdown())
    lines = markdown.splitlines()
    for point in content["points"]:
        pair = ", ".join(f"{error:.1%}" for error in point["by_counts"])
        assert any(line.startswith(f"| {point['name']} |") and pair in line for line in lines)
    for series in content["sizes"]["series"]:
        for x, y in series["points"]:
            assert f"| {100 * series['train_size']:g}% | {x:.1%} | {y:.1%} |" in lines
    for row in content["front"]:
        for name, error in row["risks"].items():
            assert f"{name} ({error:.1%})" in markdown


def test_hostile_names_stay_text_in_markdown(hostile):
    odd = f"{HOSTILE}\n| a | b |\n# [link](https://example.org) ![x](y) www.example.org"
    for study in (hostile, replace(hostile, skipped=[odd], settings=hostile.settings | {"label": odd})):
        markdown = md.report(md.evidence(study, progress=False), odd).to_markdown()
        assert raw_markup(markdown) == []
        assert "\x1b" not in markdown
        assert "alert(1)" in markdown


def test_the_data_fits_its_schema(found, hostile):
    bare = replace(found, candidates=[replace(c, judged=None) for c in found.candidates])
    for study in (found, hostile, bare, replace(found, candidates=[])):
        StudyContent.model_validate(md.report(study).to_dict())
    with pytest.raises(ValueError, match="surplus"):
        StudyContent.model_validate(md.report(found).to_dict() | {"surplus": 1})
    assert undocumented(StudyContent.model_json_schema()) == []


def test_the_decision_says_what_was_compared_and_chosen_against_both_baselines(found):
    content = md.report(found).to_dict()
    chosen, decision = content["chosen"], content["decision"]
    assert content["modicum"] == "study"
    for words in ("2 minimizers (PrivacyTree, Uniform)", "4,000 records", "2 random splits", chosen["name"]):
        assert words in decision
    assert "inflection" in decision
    assert f"{chosen['needed']} of 12 attributes" in decision
    ends = content["raw_data"]["error"], content["nothing_collected"]["error"], chosen["adversary_error"]
    assert all(f"{value:.1%}" in decision for value in ends)
    assert "0% on raw data" in decision
    low, high = chosen["adversary_interval"]
    assert low <= chosen["adversary_error"] <= high
    assert chosen["certificate"]["mean_error"] <= found.choose(knee=True).candidate.adversary_error
    assert any("no adversary" in sentence for sentence in chosen["certificate"]["sentences"])


def test_the_evidence_is_not_repeated(found, whole):
    titles = [section.title for section in whole.document.sections]
    assert [titles.count(title) for title in ("What is certified", "What this does and does not say")] == [1, 1]
    assert "What the chosen one asks" not in titles
    assert "Attribute by attribute" in titles
    blocks = [*whole.document.lead, *(block for section in whole.document.sections for block in section.blocks)]
    assert sum(isinstance(block, Cards) for block in blocks) == 1
    content = whole.to_dict()
    assert not set(content["limits"]) & set(content["evidence"]["limits"])
    assert set(content["limits"]) < set(md.report(found).to_dict()["limits"])


def test_one_quantity_has_one_value_in_study_and_evidence(whole):
    content = whole.to_dict()
    others = content["evidence"]["alternatives"]
    assert others["nothing_collected"] == pytest.approx(content["nothing_collected"])
    front = {row["name"]: row["adversary_error"] for row in content["front"]}
    assert front == pytest.approx({point["name"]: point["adversary_error"] for point in others["points"]})


def test_another_choice_is_reported(found):
    private = found.choose(max_error=1.0)
    content = md.report(md.evidence(private, progress=False)).to_dict()
    assert content["chosen"]["name"] == private.candidate.name
    assert "the most private" in content["decision"]
    assert [row["name"] for row in content["front"] if row["chosen"]] == [private.candidate.name]


def test_the_chosen_candidate_is_ringed_and_titles_name_the_buckets(found, page):
    assert page.count('class="chosen"') == 1
    titles = re.findall(r"<g><title>(.*?)</title>", page, re.DOTALL)
    chosen = md.report(found).to_dict()["chosen"]
    own = next(title for title in titles if title.startswith(chosen["name"]))
    first = next(a for a in chosen["attributes"] if a["decision"] == "coarsened")
    assert f"{first['name']}: {first['buckets'][0]}" in own
    assert "smallest group" in own


def test_every_candidate_of_the_first_split_is_drawn_with_both_limits(found, page):
    content = md.report(found).to_dict()
    assert len(content["points"]) == len(found.of())
    assert page.count("<polygon") == 2  # stars
    for minimizer in content["minimizers"]:
        heights = [y for _, y in minimizer["line"]]
        assert heights == sorted(heights)
        assert minimizer["name"] in page


def test_figures_that_the_study_cannot_fill_are_left_out(found, hostile):
    page = md.report(found).to_html()
    assert "How many records it takes" in page
    assert "On later records" not in page
    small = md.report(hostile).to_html()
    assert "How many records it takes" not in small
    assert "Minimizer by minimizer" in small


def test_later_records_are_drawn_with_the_study(found):
    limits = found.limits[found.seed].test
    points = [(c, (c.error + 0.01, c.adversary_error - 0.01)) for c in found.pareto()]
    later = {HOSTILE: Later(limits, 1_200, points), "2016": Later(limits, 1_200, [])}
    report = md.report(md.evidence(replace(found, later=later), progress=False))
    page, content = report.to_html(), report.to_dict()
    assert [period["name"] for period in content["later"]] == ["in the study", HOSTILE, "2016"]
    assert "On later records" in page
    assert "script" not in Reader(page).tags


def test_a_study_without_a_front_chooses_nothing_and_says_so(found):
    bare = replace(found, candidates=[replace(c, judged=None) for c in found.candidates], is_whole=False)
    report = md.report(bare)
    page, content = report.to_html(), report.to_dict()
    assert content["chosen"] is None
    assert "none is chosen" in content["decision"]
    assert any("stopped early" in warning for warning in content["warnings"])
    assert "What the chosen one asks" not in page
    assert all(minimizer["line"] for minimizer in content["minimizers"])  # by counts
    empty = md.report(md.evidence(replace(found, candidates=[]))).to_html()
    assert "none is chosen" in empty


def test_counts_under_ten_are_hidden_on_the_page_and_in_the_data(hostile):
    assert hostile.choose(knee=True).candidate.screened.smallest_group < 10
    report = md.report(hostile)
    content = report.to_dict()
    assert content["chosen"]["smallest_group"] == "< 10"
    assert {p["smallest_group"] for p in content["points"]} == {"< 10"}
    assert "smallest group &lt; 10" in report.to_html()
    n = content["test_people"]
    shares = [share for row in content["front"] for share in (row["error"], *row["risks"].values())]
    for share in [*shares, *(a["certified_error"] or 0 for a in content["chosen"]["attributes"])]:
        assert share * n / 10 == pytest.approx(round(share * n / 10), abs=1e-6)


def test_no_winner_is_claimed_if_intervals_overlap(found):
    minimizer = md.report(found).content.minimizers[0]

    def with_intervals(*intervals):
        volumes = [
            minimizer.hypervolume.model_copy(update={"mean": 1 - i / 10, "interval": ends})
            for i, ends in enumerate(intervals)
        ]
        return [minimizer.model_copy(update={"name": str(i), "hypervolume": v}) for i, v in enumerate(volumes)]

    assert "no minimizer is shown to be best" in comparison(with_intervals([0.8, 1.0], [0.7, 0.85]))
    assert "no minimizer is shown to be best" in comparison(with_intervals(None, None))
    assert "reaches the most" in comparison(with_intervals([0.95, 1.0], [0.7, 0.85]))
    assert comparison(with_intervals([0.8, 1.0])) is None
    for minimizer in md.report(found).to_dict()["minimizers"]:
        low, high = minimizer["hypervolume"]["interval"]
        assert 0 <= low <= minimizer["hypervolume"]["mean"] <= high <= 1


def test_minimizers_lines_are_by_counts_if_one_front_was_judged(found):
    judged = {id(c) for c in found.pareto()}
    own = [c if id(c) in judged else replace(c, judged=None) for c in found.candidates]
    changed = replace(found, candidates=own, settings=found.settings | {"fronts_of": "all"})
    report = md.report(md.evidence(changed, progress=False))
    page, content = report.to_html(), report.to_dict()
    assert all(minimizer["hypervolume"]["judged"] is None for minimizer in content["minimizers"])
    assert all(minimizer["line"] for minimizer in content["minimizers"])
    assert "as judged" in page
    assert page.count(" (by counts)\n") == len(content["points"])


def test_a_hundred_attributes_and_a_long_front_stay_readable(found):
    names = [f"attribute {i}" for i in range(100)]
    row = md.report(found).content.front[0]
    errors = [{"error": 0.1 + i / 1000, "risks": {name: min(1, 0.3 + i / 400) for name in names}} for i in range(120)]
    front = [row.model_copy(update={"adversary_error": 0.3, **each}) for each in errors]
    ends = {"naive": 0.6, "highest": 0.6, "lowest": 0.3}
    personal = [PersonalAttribute(name=n, weight=0.01, drawn=i < 12, **ends) for i, n in enumerate(names)]
    drawn = study_charts.attributes_chart(front, personal)
    labels = re.findall(r'y="([\d.]+)"[^>]*>attribute \d+<title>', drawn)
    assert len(labels) == 12
    heights = sorted(float(y) for y in labels)
    assert min(np.diff(heights)) >= study_charts.LABEL - 0.2
    one = study_charts.attributes_chart(front[:1], personal)
    assert 'role="img"' in one


@pytest.mark.parametrize(("low", "high"), [(0.1461, 0.2439), (0, 0.517), (0.3, 0.3001), (0, 1), (0.05, 0.93)])
def test_axes_have_round_numbers(low, high):
    found = charts.ticks(low, high)
    assert 2 <= len(found) <= 9
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    step = (found[1] - found[0]) / 10 ** np.floor(np.log10(found[1] - found[0]) + 1e-9)
    assert min(abs(step - nice) for nice in (1, 2, 5)) < 1e-6


def test_it_is_saved_as_page_and_data(found, tmp_path):
    report = md.report(md.evidence(found, progress=False), "why")
    report.save(tmp_path / "study.html")
    report.save(tmp_path / "study.json")
    assert json.loads((tmp_path / "study.json").read_text(encoding="utf-8")) == report.to_dict()
    assert (tmp_path / "study.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_only_studies_and_their_choices_are_accepted(found):
    with pytest.raises(md.errors.ParameterError, match=r"a study or its choice\. Got Candidate"):
        md.evidence(found.pareto()[0])
    with pytest.raises(md.errors.ParameterError, match="A report is made of what"):
        md.report(found.choose(knee=True))
    with pytest.raises(md.errors.ParameterError, match="A report is made of what"):
        md.report("a study")


def test_a_study_without_its_records_reports_missing_evidence_and_keeps_its_head(found):
    evidence = md.evidence(replace(found, data=None))
    report = md.report(evidence, people="those who were asked", date="2026-11-16", command="modicum x")
    content = report.to_dict()
    assert content["evidence"] is None
    assert "does not hold its records" in content["without_evidence"]
    assert content["people"] == "those who were asked"
    assert (content["provenance"]["date"], content["provenance"]["command"]) == ("2026-11-16", "modicum x")
    assert content["provenance"]["settings"]["seeds"] == [0, 1]
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
        for words in (content["without_evidence"], "Records: those who were asked.", "16 November 2026", "modicum x"):
            assert words in text
        assert "Sign-off" in text


def test_a_study_with_evidence_has_the_head_of_its_evidence(whole):
    content = whole.to_dict()
    assert content["without_evidence"] is None
    assert content["provenance"] == content["evidence"]["provenance"]
    assert content["people"] == content["evidence"]["people"] == "those who were asked"
    titles = [section.title for section in whole.document.sections]
    assert titles.count("Sign-off") == titles.count("How to reproduce this report") == 1
