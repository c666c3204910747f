"""The report on a PriSM classifier: true reasons, the same numbers everywhere, and no counts of few people."""

import json
from copy import copy
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from prism_people import make_people
from report_numbers import markdown_text, missing, noticed, noticed_counts, page_text
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.errors import DataError, ModicumError, ParameterError
from modicum.evaluation.evidence.prism_reasons import check_promise
from modicum.reporting.document import Text
from modicum.reporting.prism.data import PrismContent
from modicum.reporting.prism.page import threat_sections
from modicum.reporting.prism.prism_sentences import certificate_sentence, decision, warnings

HOSTILE = "</td><script>alert(1)</script>|`*_ & 'x' \"y\" [a](http://b)"
DATE = "2026-01-02"
pytestmark = pytest.mark.filterwarnings("ignore:At most")


@pytest.fixture(scope="module", autouse=True)
def quick():
    """The adversary with fewer folds, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        attack = partial(md.attacks.SensitiveInference, folds=2, inner_folds=2, n_jobs=1, max_rows=200)
        patch.setattr("modicum.evaluation.evidence.prism_cost.SensitiveInference", attack)
        yield


def table(n: int = 1_200, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Return people with every record twice: `noise` is 0 in one and 1 in the other, so it reveals nothing."""
    X, y = make_people(n // 2, seed)
    X, y = (each.loc[each.index.repeat(2)].reset_index(drop=True) for each in (X, y))
    X["noise"] = np.tile([0, 1], n // 2)
    return X, y


def model(**options: object) -> md.PrismClassifier:
    given = {"threshold": 0.3, "max_predictors": 8, "max_size": 2, "progress": False, **options}
    return md.PrismClassifier("ill", **given)


def evidence(X: pd.DataFrame, y: pd.Series, one: md.PrismClassifier, **options: object):
    at = len(y) * 2 // 3
    given = {"progress": False, **options}
    return md.evidence(one, X[:at], y[:at], X[at:], y[at:], **given)


@pytest.fixture(scope="module")
def found():
    return evidence(*table(), model())


@pytest.fixture(scope="module")
def report(found):
    return md.report(found, purpose="To try it", date=DATE)


def test_every_attribute_has_its_true_reason(found):
    reasons = {each.name: each.reason for each in found.attributes}
    assert reasons["ill"] == "sensitive"
    assert reasons["proxy"] == "alone"
    assert {reasons["a"], reasons["b"]} == {"predicts", "together"}
    assert reasons["d"] == reasons["age"] == "predicts"
    assert reasons["noise"] == "no use"
    assert reasons["flat"] == "one value"
    assert list(reasons) == list(table()[0].columns)


def test_the_less_needed_one_of_a_revealing_pair_is_left_out(found):
    out = next(each for each in found.attributes if each.reason == "together")
    (predictor,) = {"a", "b"} - {out.name}
    assert predictor in found.cost.prism.predictors_
    assert [set(each.attributes) for each in out.completes] == [{"a", "b"}]
    assert out.instead.instead_of == predictor
    assert out.instead.objective > 0  # the other way round is worse
    assert out.other.objective < 0  # both would be better still
    assert f"Together with {predictor!r}" in out.why


def test_leaving_out_a_predictor_costs(found):
    for name in found.cost.prism.predictors_:
        without = found.of(name).other
        assert without.objective > 0.005
        assert without.interval[0] <= without.error <= without.interval[1]
    many = evidence(*make_people(2_000), model(), depth="quick")
    assert many.of("a").other.interval[0] > 0  # other records show it, too


def test_useless_attributes_and_those_without_a_place_are_distinguished(found):
    useless = found.of("noise")
    assert (useless.status, useless.reason) == ("left out", "no use")
    assert useless.other.is_nothing
    assert useless.other.error == 0
    assert "change nothing" in useless.why
    few = evidence(*table(), model(max_predictors=2), depth="quick")
    assert len(few.cost.prism.predictors_) == 2
    third = next(each for each in few.attributes if each.name in {"d", "age"} - set(few.cost.prism.predictors_))
    assert third.reason == "no place"
    assert third.other.objective < 0
    assert few.of("noise").reason == "no use"


def test_a_set_that_the_owner_names_is_a_reason():
    X, y = table()
    found = evidence(X, y, model(known=[["d"]], max_predictors=2), depth="quick")
    assert found.of("d").reason == "alone"
    assert "owner says so" in found.of("d").why


def test_a_broken_promise_is_found_by_names_alone():
    check_promise([("a", "b")], ["a"], {"ill": ("ill",)})
    with pytest.raises(ModicumError, match="'a' and 'b'"):
        check_promise([("a", "b")], ["a", "b", "c"], {"ill": ("ill",)})
    with pytest.raises(ModicumError, match="'ill' is asked for"):
        check_promise([], ["ill"], {"ill": ("ill",)})


def test_a_fitted_model_is_reported_on_its_own_records_only():
    X, y = table()
    fitted = model(max_predictors=2).fit(X[:800], y[:800])
    assert evidence(X, y, fitted, depth="quick").cost.prism.predictors_ == fitted.predictors_
    other, label = table(seed=5)
    with pytest.raises(DataError, match="gives a different model"):
        evidence(other, label, fitted, depth="quick")
    with pytest.raises(DataError, match="'age' of the training records"):
        md.evidence(fitted, X[:800], y[:800], X[800:].drop(columns="age"), y[800:])
    with pytest.raises(ParameterError, match=r"a PrismClassifier.*Got str"):
        md.evidence("x", X, y, X, y)


def test_the_adversary_is_compared_with_the_naive_guess_and_all_attributes(report):
    (sensitive,) = report.content.sensitive
    rows = {each.model: each for each in sensitive.guesses}
    assert rows["SVM"].accuracy > sensitive.naive + 0.2  # a proxy reveals it
    assert rows["PriSM"].interval[0] <= sensitive.naive + 0.05
    assert rows["PriSM"].interval[0] <= rows["PriSM"].accuracy <= rows["PriSM"].interval[1]


def test_page_and_markdown_show_every_number_of_the_data(report):
    content = json.loads(json.dumps(report.to_dict()))
    PrismContent.model_validate(content)
    texts = page_text(report.to_html()), markdown_text(report.to_markdown())
    for text in texts:
        assert missing(content, text) == []
        assert noticed(content, text) > 0.5
        assert noticed_counts(content, text) > 0.8
        assert "To try it" in text
        assert DATE in text
        assert all(each in text for each in content["provenance"]["hashes"].values())
        for attribute in content["attributes"]:
            assert attribute["why"] in " ".join(text.split())


@pytest.fixture(scope="module")
def balanced():
    return evidence(*table(), model(class_weight="balanced", max_predictors=2), depth="quick")


def test_errors_that_depend_on_a_rare_label_are_hidden(balanced):
    assert all(each["error"] is not None for each in md.report(balanced).to_dict()["utility"]["models"])
    report = md.report(replace(balanced, rarest=3), date=DATE)
    content = report.to_dict()
    assert all(each["error"] is each["interval"] is None for each in content["utility"]["models"])
    assert all(each["other"]["error"] is None for each in content["attributes"] if each["other"])
    assert "wrong for" not in content["decision"]
    assert any("The errors are not shown" in text for text in content["warnings"])
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
        assert missing(content, text) == []


def with_error(content: PrismContent, error: float, majority: float) -> PrismContent:
    models = [each.model_copy(update={"error": error}) for each in content.utility.models]
    utility = content.utility.model_copy(update={"models": models, "majority": majority})
    return content.model_copy(update={"utility": utility})


def test_a_classifier_no_better_than_the_majority_causes_a_warning(report):
    found = warnings(with_error(report.content, 0.489, 0.467))
    assert any("at least as often (48.9%) as always guessing the majority (46.7%)" in text for text in found)
    assert not any("at least as often" in text for text in warnings(with_error(report.content, 0.4, 0.467)))


def test_the_decision_without_predictors_reads_well_and_counts_no_label(report, found):
    content = with_error(report.content, 0.2, 0.2)
    attributes = [each.model_copy(update={"status": "left out"}) for each in content.attributes]
    text = decision(content.model_copy(update={"attributes": attributes}))
    assert "the most frequent label. It is then wrong for 20.0% of people (20.0% with all attributes" in text
    nothing = copy(found.cost.prism)
    nothing.predictors_ = []
    hidden = md.report(replace(found, cost=replace(found.cost, prism=nothing)), date=DATE)
    proof = hidden.to_dict()["proof"]
    assert proof["objective"] is proof["bound"] is None
    assert "how many records have each label" in hidden.to_markdown()


def test_certified_bounds_are_rounded_up_and_no_confidence_is_a_hundred_percent(found, report):
    certificate = replace(found.exposure.certificate, confidence=0.999)
    assert "more than 71.3% of people" in certificate_sentence("ill", certificate, 0.7121, DATE, 400)
    bound = {"certified": 0.7121, "certified_naive": 0.5}
    sensitive = [each.model_copy(update=bound) for each in report.content.sensitive]
    sections = threat_sections(report.content.model_copy(update={"sensitive": sensitive, "confidence": 0.999}))
    words = " ".join(block.text for section in sections for block in section.blocks if isinstance(block, Text))
    assert "The certified 71.3% holds for every method, with a confidence of 99.9%;" in words


def test_the_same_seed_gives_the_same_bytes():
    pages = [
        md.report(evidence(*table(), model(max_predictors=2), depth="quick"), date=DATE).to_html() for _ in range(2)
    ]
    assert pages[0] == pages[1]


def test_errors_agree_with_a_count_by_hand(found):
    X, y = table()
    seen, truth = X[800:], y[800:]
    wrong = float((found.cost.prism.predict(seen) != truth).mean())
    assert 1 - found.cost.of("PriSM").accuracy.value == pytest.approx(wrong)
    assert found.cost.of("PriSM").accuracy.naive == pytest.approx(truth.value_counts(normalize=True).max())
    assert found.values["ill"] == X[:800]["ill"].astype(str).value_counts().to_dict()
    visible = seen[found.cost.prism.predictors_]
    alone = float((~visible.duplicated(keep=False)).mean())
    assert 1 - found.exposure.singling_out.error == pytest.approx(alone)


def test_several_sensitive_attributes_and_people_with_several_records_are_reported():
    X, y = table()
    X["poor"] = np.where(X["d"] == X["d"].iloc[0], "yes", "no")
    X["who"] = np.arange(len(X)) // 2
    schema = md.Schema.infer(X).with_roles(person="who")
    one = md.PrismClassifier(["ill", "poor"], threshold=0.3, max_size=2, schema=schema, progress=False)
    found = evidence(X, y, one, depth="quick")
    assert (found.unit, found.people) == ("records", {"train": 400, "test": 200})
    assert found.of("who").reason == "role"
    assert found.of("d").reason == "alone"
    content = md.report(found, date=DATE).to_dict()
    assert [each["name"] for each in content["sensitive"]] == ["ill", "poor"]
    assert content["singling_out"]["people"] == 200


class Reader(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)


def test_hostile_names_stay_text():
    X, y = table(600)
    renamed = X.rename(columns={"a": HOSTILE, "ill": f"ill{HOSTILE}"})
    one = md.PrismClassifier(f"ill{HOSTILE}", threshold=0.3, max_predictors=3, progress=False)
    found = evidence(renamed, y.rename(f"label{HOSTILE}"), one, depth="quick")
    report = md.report(found, purpose=HOSTILE, date=DATE)
    assert "script" not in Reader(report.to_html()).tags
    assert "<script" not in report.to_markdown().replace("\\<", "")
    assert report.to_dict()["purpose"] == HOSTILE


def test_no_count_under_ten_and_no_rare_sensitive_value_is_shown():
    X, y = table()
    X["ill"] = X["ill"].where(np.arange(len(X)) % 200 != 5, "plague")
    X["sign"] = np.where(X["ill"] == "plague", "spots", "none")
    report = md.report(evidence(X, y, model(max_predictors=2), depth="quick"), date=DATE)
    content = report.to_dict()
    assert any(each["about"] == "ill = a value of < 10 records" for each in content["sets"])
    for text in (report.to_html(), report.to_markdown(), json.dumps(content)):
        assert "plague" not in text
    assert content["singling_out"]["smallest"] == "< 10"
    groups = content["singling_out"]["people"] / 10
    assert content["singling_out"]["alone"] * groups == pytest.approx(round(content["singling_out"]["alone"] * groups))


def test_too_few_test_records_are_refused():
    X, y = table(200)
    with pytest.raises(DataError, match="at least 100"):
        md.report(evidence(X, y, model(max_predictors=2), depth="quick"))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    X, y = table(900)
    path = tmp_path_factory.mktemp("prism") / "people.csv"
    X.assign(label=y, id=range(len(y))).to_csv(path, index=False)
    return path


def prism(*arguments):
    return CliRunner().invoke(app, ["prism", *map(str, arguments)])


def test_the_command_writes_page_markdown_and_data(file, tmp_path, monkeypatch):
    options = ["--label", "label", "--sensitive", "ill", "--identifier", "id", "--threshold", 0.3]
    given = [
        *options,
        "--no-adversary",
        "--report",
        tmp_path / "r.html",
        "--purpose",
        "To try it",
        "--people",
        "patients",
    ]
    monkeypatch.setattr("sys.argv", ["modicum", "prism", str(file), *map(str, given)])  # as a shell starts it
    result = prism(file, *given)
    assert result.exit_code == 0, result.output
    assert sorted(each.name for each in tmp_path.iterdir()) == ["r.html", "r.json", "r.md"]
    content = json.loads((tmp_path / "r.json").read_text())
    assert (content["purpose"], content["people"]) == ("To try it", "patients")
    assert "Records: patients." in (tmp_path / "r.html").read_text(encoding="utf-8")
    assert {each["name"]: each["reason"] for each in content["attributes"]}["id"] == "role"
    command = content["provenance"]["command"]
    assert command == (
        "modicum prism people.csv --label label --sensitive ill --identifier id --threshold 0.3 --no-adversary "
        "--report r.html --purpose 'To try it' --people patients"
    )
    assert f"Command: {command}" in markdown_text((tmp_path / "r.md").read_text(encoding="utf-8"))
    assert "asked for" in result.output
    again = prism(file, *options, "--no-adversary", "--json")
    without = json.loads(again.output)
    assert without["classifier"]["predictors"] == [
        each["name"] for each in content["attributes"] if each["status"] == "asked"
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sensitive", "ill", "--report", "r.txt"], "must end in .html"),
        (["--sensitive", "ill", "--report", "nowhere/r.html"], "does not exist"),
        (["--sensitive", "ill", "--purpose", "x"], "give --report"),
        (["--sensitive", "nothing", "--report", "r.html"], "'nothing'"),
        (["--sensitive", "ill", "--threshold", "0", "--p-value", "1", "--report", "r.html"], "no classifier can exist"),
    ],
)
def test_a_failure_leaves_no_file(file, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    result = prism(file, "--label", "label", "--no-adversary", *options)
    assert result.exit_code != 0
    assert isinstance(result.exception, ModicumError)
    assert message in str(result.exception)
    assert list(tmp_path.iterdir()) == []
