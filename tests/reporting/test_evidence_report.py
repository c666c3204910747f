"""The evidence report: everything that an assessment asks for, the same in page, Markdown and JSON."""

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
def made(found):
    return md.report(found, HOSTILE, people="customers of the shop", date="2026-11-16", command="modicum report x")


def test_every_number_of_the_data_stands_in_page_and_markdown(made):
    for text in (page_text(made.to_html()), markdown_text(made.to_markdown())):
        assert missing(made.to_dict(), text) == []
        assert noticed(made.to_dict(), text) > 0.5  # the check would see another number


def test_every_field_of_the_format_is_described(made):
    schema = json_schema("report")
    assert undocumented(schema) == []
    assert set(made.to_dict()) == set(schema["properties"])


def test_it_has_what_an_assessment_asks_for(made):
    titles = [section.title.split(":")[0] for section in made.document.sections if section.level == 2]
    wanted = [
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
    assert [title for title in titles if title in wanted] == wanted


def test_the_certificate_can_be_quoted(made):
    (sentence, *_), certificate = made.to_dict()["certificate"]["sentences"], made.to_dict()["certificate"]
    for words in ("16 November 2026", "99% confidence", "on average over customers of the shop"):
        assert words in sentence
    (bound,) = re.findall(r"more often than ([\d.]+)% of the time", sentence)
    named = next(name for name in certificate["bounds"] if f"“{name}”" in sentence)
    assert certificate["bounds"][named] <= float(bound) / 100 < certificate["bounds"][named] + 0.001
    assert "A2" in certificate["exposed"]


def with_bounds(made, **changes):
    """The content of the report with another certificate, of which age is the worst attribute."""
    certificate = made.content.certificate
    bounds = dict.fromkeys(certificate.bounds, 0.5) | {"age": 0.9}
    other = {"bounds": bounds, "naive": dict.fromkeys(bounds, 0.4), **changes}
    return made.content.model_copy(update={"certificate": certificate.model_copy(update=other)})


def test_of_a_number_the_sentence_says_that_its_range_is_guessed(made):
    content = with_bounds(made)
    sentence = certificate_sentences(content)[0]
    assert "places “age” in the correct one of at most 10 ranges" in sentence
    town = certificate_sentences(with_bounds(made, bounds=dict.fromkeys(content.certificate.bounds, 0.5)))[0]
    assert "correctly" in town


def test_the_sentence_says_what_is_assumed_and_what_the_average_is_over(made):
    (sentence, mean) = certificate_sentences(with_bounds(made))
    for each in (sentence, mean):
        assert "provided that these are a random sample of this population and had no part in deciding" in each
    of_records = certificate_sentences(with_bounds(made, unit="records"))
    assert all("on average over the records of customers of the shop" in each for each in of_records)


def test_unequal_weights_are_named_in_the_mean(made):
    weights = dict.fromkeys(made.to_dict()["certificate"]["weights"], 0.25) | {"age": 0.5}
    assert "each with its weight" in certificate_sentences(with_bounds(made, weights=weights))[1]
    assert "each with its weight" not in certificate_sentences(with_bounds(made))[1]


def test_where_the_surest_percent_are_too_few_people_the_next_level_is_told_and_said_so(made):
    content = made.to_dict()
    attacks = content["attacks"]
    assert 1.0 in attacks["too_few_for_confident"]  # of 1,500 people
    assert attacks["a2_most_exposed"]["percent"] == 10
    assert "The surest 1%, 5% are about too few people" in content["certificate"]["exposed"]
    assert "Of the 10% of guesses" in describe_most_exposed(made.content)


def test_the_decision_names_what_matters_most_and_what_is_not_shown_to_be_needed(made):
    content = made.to_dict()
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


def test_scores_have_no_more_digits_than_are_told(made):
    utility = made.to_dict()["utility"]
    auc = utility["scores"]["auc"]
    assert all(auc[key] == round(auc[key], 3) for key in ("minimized", "raw", "majority"))  # of 1,500 records
    assert all(end == round(end, 3) for end in auc["interval"])
    assert all(utility[key] == round(utility[key], 4) for key in ("skill_kept", "raw_skill"))


def test_nothing_is_said_to_matter_most_where_nothing_is_shown_to_be_needed(made):
    content = made.content
    needs = {
        name: need.model_copy(update={"verdict": "not shown to be needed" if need.without else need.verdict})
        for name, need in content.necessity.attributes.items()
    }
    necessity = content.necessity.model_copy(update={"attributes": needs})
    told = decision(content.model_copy(update={"necessity": necessity}))
    assert "The most important attribute" in content.decision
    assert "The most important attribute" not in told
    assert "not shown to be needed: “" in told


def test_what_is_changed_without_the_most_needed_one_is_in_points(made):
    assert re.search(r"and the share of skill kept by −\d+\.\d points\.", made.to_dict()["decision"])


def test_one_quantity_has_one_value(found, made):
    """A mean over attributes is the mean of what is told of each, among the alternatives, too."""
    content = made.to_dict()
    others = content["alternatives"]
    assert others["nothing_collected"]["adversary_error"] == pytest.approx(content["attack"]["naive"])
    for told, point in zip(others["points"], found.alternatives.points, strict=True):
        assert told["adversary_error"] == pytest.approx(np.mean([tens(error, 1_500) for error in point.risk.values()]))
    weights = {HOSTILE: 0.6, "age": 0.3, "town": 0.1}
    weighed = replace(found.alternatives, weights=weights)
    told = md.report(replace(found, alternatives=weighed)).to_dict()["alternatives"]["nothing_collected"]
    naive = {name: tens(error, 1_500) for name, error in found.alternatives.naive.items()}
    assert told["adversary_error"] == pytest.approx(sum(weights[name] * error for name, error in naive.items()))


def test_alternatives_are_judged_as_necessity_judges_on_the_same_records(found):
    others, judged = found.alternatives, found
    (chosen,) = (point for point in others.points if point.is_chosen)
    assert chosen.error == judged.utility.error == found.necessity.error
    assert chosen.adversary_error == pytest.approx(found.necessity.adversary_error)
    assert chosen.skill_kept == pytest.approx(judged.utility.skill_kept)
    assert (others.raw_error, others.majority_error) == (judged.utility.raw_error, judged.utility.majority_error)
    assert others.naive_adversary == pytest.approx(judged.attack.naive)
    assert others.records == judged.utility.records


def test_hard_words_are_explained(made):
    text = made.to_markdown()
    for word in ("log-loss", "AUC", "back-off", "naive guess", "bucket", "inflection point", "holdout"):
        assert any(word in each for each in WORDS)
        assert word in text


def test_each_attribute_has_its_price(made):
    content = made.to_dict()
    for attribute in content["attributes"]:
        need = content["necessity"]["attributes"][attribute["name"]]
        is_asked = attribute["decision"] != "not collected"
        assert (need["without"] is not None) == is_asked
        assert (need["in_full"] is not None) == (not is_asked)
    needed = content["necessity"]["attributes"]["age"]
    assert needed["without"]["error_interval"][0] > 0
    assert needed["verdict"].startswith("needed")


def test_the_taken_one_stands_among_its_alternatives_with_the_reason(made):
    content = made.to_dict()["alternatives"]
    assert [point["chosen"] for point in content["points"]].count(True) == 1
    assert "it was agreed upon" in made.to_markdown()


def test_hostile_names_stay_text(made):
    assert raw_markup(made.to_markdown()) == []
    assert "<script" not in made.to_html()


def test_the_same_seed_gives_the_same_bytes(found, made):
    again = md.report(found, HOSTILE, people="customers of the shop", date="2026-11-16", command="modicum report x")
    assert again.to_html() == made.to_html()
    assert again.to_markdown() == made.to_markdown()
    assert json.loads(again.to_json()) == json.loads(made.to_json())


def test_it_can_be_made_again(made):
    content = made.to_dict()["provenance"]
    assert {"training records", "test records", "schema", "artifact"} <= set(content["hashes"])
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in content["hashes"].values())
    assert content["settings"]["random_state"] == 0
    assert content["command"] == "modicum report x"
    assert content["hashes"]["model"] == hashlib.sha256(b"weights").hexdigest()


@pytest.mark.parametrize("day", ["yesterday", "2026-13-01", "16.11.2026", 20261116])
def test_what_is_no_day_is_refused(found, day):
    with pytest.raises(md.errors.ParameterError, match="day such as"):
        md.report(found, date=day)


def test_what_is_no_evidence_is_refused():
    with pytest.raises(md.errors.ParameterError, match="`evidence`"):
        md.report({"error": 0.1})
    with pytest.raises(md.errors.ParameterError, match="kind"):
        json_schema("poem")


def test_an_adversary_who_has_seen_the_people_is_told_of_at_the_top(found):
    report = md.report(replace(found, attacks=replace(found.attacks, overlap=4)), date="2026-11-16")
    told = [each for each in report.to_dict()["warnings"] if "also among the known ones" in each]
    assert [each.split(" breached")[0] for each in told] == ["Fewer than 10 of the 1,500"]
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
        assert told[0] in text
