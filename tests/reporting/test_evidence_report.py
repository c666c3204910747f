"""The evidence report: everything that an assessment needs, the same in page, Markdown and JSON."""

import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from report_numbers import markdown_text, missing, noticed, page_text, raw_markup, undocumented

import modicum as md
from modicum.evaluation import alternatives
from modicum.reporting import json_schema
from modicum.reporting.disclosure import select_comparable_groups, tens
from modicum.reporting.generalization.data import GroupContent, find_worst_groups
from modicum.reporting.generalization.generalization_sentences import (
    certificate_sentences,
    decision,
    describe_most_exposed,
)
from modicum.reporting.generalization.page import WORDS

HOSTILE = "</td><script>alert(1)</script> | [a](http://x) `b` *c*\n# d"


@pytest.fixture(scope="module")
def found():
    random = np.random.default_rng(0)
    n = 4_000
    X = pd.DataFrame(
        {
            HOSTILE: random.choice([HOSTILE, "b", "c"], n, p=[0.3, 0.3, 0.4]),
            "age": random.integers(18, 80, n),
            "town": random.choice(["north", "south", "east"], n),
            "noise": random.normal(size=n).round(2),
        }
    )
    y = pd.Series(
        np.where((X["age"] > 50) ^ (random.random(n) < 0.1) ^ (X[HOSTILE] == "b"), "yes", "no"), name="bought"
    )
    schema = md.Schema.infer(X.assign(bought=y), label="bought", personal=[HOSTILE, "age", "town"])
    train, test = (X[:2500], y[:2500]), (X[2500:], y[2500:])
    g = md.PrivacyTree(max_leaves=6, min_leaf=50, schema=schema).fit(*train).generalization_
    evidence = md.evidence(g, *train, *test, population=100_000, model=b"weights", progress=False)
    path = [g.drop("age"), g]
    others = alternatives(g, *train, *test, path=path, why="it was agreed upon")
    return replace(evidence, alternatives=others)


@pytest.fixture(scope="module")
def report(found):
    return md.report(found, HOSTILE, people="customers of the shop", date="2026-11-16", command="modicum report x")


def test_page_and_markdown_show_every_number_of_the_data(report):
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
        assert missing(report.to_dict(), text) == []
        assert noticed(report.to_dict(), text) > 0.5  # the check would notice another number


def test_every_field_of_the_format_is_described(report):
    schema = json_schema("report")
    assert undocumented(schema) == []
    assert set(report.to_dict()) == set(schema["properties"])


def test_it_has_the_sections_of_an_assessment(report):
    titles = [section.title.split(":")[0] for section in report.document.sections if section.level == 2]
    expected = [
        "Attribute by attribute",
        "Why each attribute is needed",
        "Alternatives considered",
        "What the prediction loses",
        "Error by group",
        "Inference",
        "Linkability",
        "Singling out",
        "What is certified",
        "What this does and does not say",
        "How to reproduce this report",
        "Sign-off",
    ]
    assert [title for title in titles if title in expected] == expected


def test_the_certificate_can_be_quoted(report):
    (sentence, *_), certificate = report.to_dict()["certificate"]["sentences"], report.to_dict()["certificate"]
    for words in ("16 November 2026", "99% confidence", "on average over customers of the shop"):
        assert words in sentence
    (bound,) = re.findall(r"more often than ([\d.]+)% of the time", sentence)
    named = next(name for name in certificate["bounds"] if f"“{name}”" in sentence)
    assert certificate["bounds"][named] <= float(bound) / 100 < certificate["bounds"][named] + 0.001
    assert "A2" in certificate["exposed"]


def with_bounds(report, **changes):
    """Return the report's content with another certificate, where age is the worst attribute."""
    certificate = report.content.certificate
    bounds = dict.fromkeys(certificate.bounds, 0.5) | {"age": 0.9}
    other = {"bounds": bounds, "naive": dict.fromkeys(bounds, 0.4), **changes}
    return report.content.model_copy(update={"certificate": certificate.model_copy(update=other)})


def test_the_sentence_on_a_number_says_that_its_range_is_guessed(report):
    content = with_bounds(report)
    sentence = certificate_sentences(content)[0]
    assert "places “age” in the correct one of at most 10 ranges" in sentence
    town = certificate_sentences(with_bounds(report, bounds=dict.fromkeys(content.certificate.bounds, 0.5)))[0]
    assert "correctly" in town


def test_the_sentence_states_its_assumptions_and_what_it_averages_over(report):
    (sentence, mean) = certificate_sentences(with_bounds(report))
    for each in (sentence, mean):
        assert "provided that these are a random sample of this population and had no part in deciding" in each
    of_records = certificate_sentences(with_bounds(report, unit="records"))
    assert all("on average over the records of customers of the shop" in each for each in of_records)


def test_unequal_weights_are_named_in_the_mean(report):
    weights = dict.fromkeys(report.to_dict()["certificate"]["weights"], 0.25) | {"age": 0.5}
    assert "each with its weight" in certificate_sentences(with_bounds(report, weights=weights))[1]
    assert "each with its weight" not in certificate_sentences(with_bounds(report))[1]


def test_the_next_level_is_shown_if_the_surest_percent_are_too_few_people(report):
    content = report.to_dict()
    attacks = content["attacks"]
    assert 1.0 in attacks["too_few_for_confident"]  # of 1,500 people
    assert attacks["a2_most_exposed"]["percent"] == 10
    assert "The surest 1%, 5% are about too few people" in content["certificate"]["exposed"]
    assert "Of the 10% of guesses" in describe_most_exposed(report.content)


def test_the_decision_names_the_most_important_attribute_and_those_not_needed(report):
    content = report.to_dict()
    needs = content["necessity"]["attributes"]
    skill = {name: need["without"]["skill_change"] for name, need in needs.items() if need["without"]}
    assert f"The most important attribute is “{min(skill, key=skill.get)}”" in content["decision"]
    unshown = [name for name, need in needs.items() if need["verdict"] == "not shown to be needed"]
    assert all(f"“{name}”" in content["decision"] for name in unshown)


def test_a_group_too_small_for_its_rounded_share_is_not_named_the_worst():
    def group(persons, error, raw):
        shares = {"error": error, "interval": None, "raw_error": raw, "majority_error": 0.5}
        return GroupContent(records=persons, persons=persons, **shares)

    def worst(groups):
        return find_worst_groups(
            groups, select_comparable_groups({name: each.persons for name, each in groups.items()})
        )

    groups = {"a": group(10, 1.0, 0.0), "b": group(500, 0.3, 0.29), "c": group(900, 0.2, 0.1)}
    assert worst(groups) == ("b", "c")
    assert worst({"a": groups["a"]})[0] == "a"
    assert worst({"b": group(500, 0.3, 0.3)})[1] is None
    assert worst({}) == (None, None)


def test_scores_are_rounded(report):
    utility = report.to_dict()["utility"]
    auc = utility["scores"]["auc"]
    assert all(auc[key] == round(auc[key], 3) for key in ("minimized", "raw", "majority"))  # of 1,500 records
    assert all(end == round(end, 3) for end in auc["interval"])
    assert all(utility[key] == round(utility[key], 4) for key in ("skill_kept", "raw_skill"))


def test_no_attribute_is_the_most_important_if_none_is_needed(report):
    content = report.content
    needs = {
        name: need.model_copy(update={"verdict": "not shown to be needed" if need.without else need.verdict})
        for name, need in content.necessity.attributes.items()
    }
    necessity = content.necessity.model_copy(update={"attributes": needs})
    sentence = decision(content.model_copy(update={"necessity": necessity}))
    assert "The most important attribute" in content.decision
    assert "The most important attribute" not in sentence
    assert "not shown to be needed: “" in sentence


def test_the_change_without_the_most_needed_attribute_is_in_points(report):
    assert re.search(r"and the share of skill kept by −\d+\.\d points\.", report.to_dict()["decision"])


def test_one_quantity_has_one_value(found, report):
    """A mean over attributes is the mean of the shown values, also among the alternatives."""
    content = report.to_dict()
    others = content["alternatives"]
    assert others["nothing_collected"]["adversary_error"] == pytest.approx(content["attack"]["naive"])
    for shown, point in zip(others["points"], found.alternatives.points, strict=True):
        assert shown["adversary_error"] == pytest.approx(np.mean([tens(error, 1_500) for error in point.risk.values()]))
    weights = {HOSTILE: 0.6, "age": 0.3, "town": 0.1}
    weighed = replace(found.alternatives, weights=weights)
    shown = md.report(replace(found, alternatives=weighed)).to_dict()["alternatives"]["nothing_collected"]
    naive = {name: tens(error, 1_500) for name, error in found.alternatives.naive.items()}
    assert shown["adversary_error"] == pytest.approx(sum(weights[name] * error for name, error in naive.items()))


def test_alternatives_and_necessity_agree_on_the_same_records(found):
    others, judged = found.alternatives, found
    (chosen,) = (point for point in others.points if point.is_chosen)
    assert chosen.error == judged.utility.error == found.necessity.error
    assert chosen.adversary_error == pytest.approx(found.necessity.adversary_error)
    assert chosen.skill_kept == pytest.approx(judged.utility.skill_kept)
    assert (others.raw_error, others.majority_error) == (judged.utility.raw_error, judged.utility.majority_error)
    assert others.naive_adversary == pytest.approx(judged.attack.naive)
    assert others.records == judged.utility.records


def test_hard_words_are_explained(report):
    text = report.to_markdown()
    for word in ("log-loss", "AUC", "back-off", "naive guess", "bucket", "inflection point", "holdout"):
        assert any(word in each for each in WORDS)
        assert word in text


def test_each_attribute_has_its_price(report):
    content = report.to_dict()
    for attribute in content["attributes"]:
        need = content["necessity"]["attributes"][attribute["name"]]
        is_asked = attribute["decision"] != "not collected"
        assert (need["without"] is not None) == is_asked
        assert (need["in_full"] is not None) == (not is_asked)
    needed = content["necessity"]["attributes"]["age"]
    assert needed["without"]["error_interval"][0] > 0
    assert needed["verdict"].startswith("needed")


def test_the_chosen_one_is_among_its_alternatives_with_the_reason(report):
    content = report.to_dict()["alternatives"]
    assert [point["chosen"] for point in content["points"]].count(True) == 1
    assert "it was agreed upon" in report.to_markdown()


def test_hostile_names_stay_text(report):
    assert raw_markup(report.to_markdown()) == []
    assert "<script" not in report.to_html()


def test_the_same_seed_gives_the_same_bytes(found, report):
    again = md.report(found, HOSTILE, people="customers of the shop", date="2026-11-16", command="modicum report x")
    assert again.to_html() == report.to_html()
    assert again.to_markdown() == report.to_markdown()
    assert json.loads(again.to_json()) == json.loads(report.to_json())


def test_it_can_be_reproduced(report):
    content = report.to_dict()["provenance"]
    assert {"training records", "test records", "schema", "artifact"} <= set(content["hashes"])
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in content["hashes"].values())
    assert content["settings"]["random_state"] == 0
    assert content["command"] == "modicum report x"
    assert content["hashes"]["model"] == hashlib.sha256(b"weights").hexdigest()


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "16.11.2026", 20261116])
def test_bad_dates_are_refused(found, day):
    with pytest.raises(md.errors.ParameterError, match="day such as"):
        md.report(found, date=day)


def test_only_evidence_is_accepted():
    with pytest.raises(md.errors.ParameterError, match="`evidence`"):
        md.report({"error": 0.1})
    with pytest.raises(md.errors.ParameterError, match="kind"):
        json_schema("poem")


def test_overlap_with_known_people_is_a_warning_at_the_top(found):
    report = md.report(replace(found, attacks=replace(found.attacks, overlap=4)), date="2026-11-16")
    warnings = [each for each in report.to_dict()["warnings"] if "also among the known ones" in each]
    assert [each.split(" breached")[0] for each in warnings] == ["Fewer than 10 of the 1,500"]
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
        assert warnings[0] in text
