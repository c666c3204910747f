"""The evidence and the reports of k-anonymous and of anatomized releases."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from conftest import shared_file
from report_numbers import markdown_text, missing, noticed, noticed_counts, page_text
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.cli.options import command_line
from modicum.errors import DataError, ParameterError
from modicum.evaluation import GroupScore
from modicum.evaluation.evidence.anatomy_evidence import GroupErrors, LearnedError
from modicum.reporting.anatomy.data import AnatomyContent, warnings
from modicum.reporting.disclosure import few
from modicum.reporting.release.data import ReleaseContent
from modicum.reporting.release_parts import ErrorContent

QUASI = ["age", "sex", "race"]
pytestmark = pytest.mark.usefixtures("no_forests")
DATE = "2026-01-02"


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[[*QUASI, "education", "hours-per-week"]][:1_200].reset_index(drop=True), y[:1_200].reset_index(drop=True)


@pytest.fixture(scope="module")
def found(adult):
    X, y = adult
    anonymizer = md.Mondrian(k=15, quasi_identifiers=QUASI, sensitive="education", l=2)
    anonymizer.fit_resample(X, y)
    return md.evidence(anonymizer, X, y, by="race", population=20_000)


@pytest.fixture(scope="module")
def parted(adult):
    X, y = adult
    return md.evidence(md.Anatomy(l=3, sensitive="education", random_state=4711).fit(X, y), X, y, by="sex")


def make_report(evidence, purpose="What it is for"):
    return md.report(evidence, purpose, date=DATE)


def test_k_and_groups_agree_with_a_count_by_hand(found):
    sizes = found.release.frame.groupby(QUASI).size()
    assert found.measured.k == sizes.min() >= 15
    assert found.crowds["quasi-identifiers"]["release"].groups == len(sizes)
    raw = found.crowds["quasi-identifiers"]["raw"]
    assert raw.smallest == 1
    assert 0 < raw.alone < 1
    assert found.records == 1_200
    assert found.release.suppressed > 0


def test_l_t_and_unique_records_are_counted_on_the_release(found, adult):
    frame = found.release.frame
    assert found.measured.distinct_l == frame.groupby(QUASI)["education"].nunique().min()
    again = md.Mondrian(k=15, quasi_identifiers=QUASI, sensitive="education", l=2)
    released, label = again.fit_resample(*adult)
    alone = (~released.assign(income=label.to_numpy()).duplicated(keep=False)).mean()  # the label is published as well
    assert found.crowds["every published column"]["release"].alone == pytest.approx(alone)


def test_a_group_with_one_value_shows_up_in_the_inference_risk():
    n = 400
    X = pd.DataFrame(
        {"age": np.repeat([20, 40, 60, 80], n // 4), "ill": ["gout"] * 100 + ["flu", "cold", "mumps"] * 100}
    )
    anonymizer = md.Mondrian(k=100, quasi_identifiers=["age"]).fit(X)
    guess = md.evidence(anonymizer, X, sensitive="ill").inference[0]
    assert guess.release.certain == 0.25
    assert guess.release.right == pytest.approx((100 + 3 * 34) / n)
    assert guess.naive == 0.25
    content = make_report(md.evidence(anonymizer, X, sensitive="ill")).to_dict()
    assert any("for certain" in text for text in content["warnings"])


def test_the_share_promised_by_anatomy_agrees_with_a_count_by_hand(parted):
    table = parted.release.sensitive
    shares = table.groupby("GID")["education"].agg(lambda own: own.value_counts().max() / len(own))
    assert parted.measured[0].highest == pytest.approx(shares.max())
    assert parted.measured[0].highest <= 1 / 3 + 1e-12
    alone = ~parted.release.identifying[[*QUASI, "hours-per-week"]].duplicated(keep=False)
    assert parted.crowds["identifying attributes"].alone == pytest.approx(alone.mean())
    assert parted.matching[0].interval[0] <= parted.matching[0].accuracy


@pytest.mark.parametrize(("kind", "content"), [("found", ReleaseContent), ("parted", AnatomyContent)])
def test_page_and_markdown_show_every_number_of_the_json(kind, content, request):
    report = make_report(request.getfixturevalue(kind))
    data = report.to_dict()
    content.model_validate(data)
    for text in (page_text(report.to_html()), markdown_text(report.to_markdown())):
        assert missing(data, text) == []
        assert noticed(data, text) > 0.5
        assert noticed_counts(data, text) > 0.8


@pytest.mark.parametrize("kind", ["found", "parted"])
def test_counts_under_ten_are_hidden(kind, request):
    evidence = request.getfixturevalue(kind)
    data = make_report(evidence).to_dict()
    if kind == "found":
        assert data["measured"]["left_out"] == few(evidence.release.suppressed)
        assert data["crowds"]["quasi_identifiers"]["raw"]["smallest"] == "< 10"
        small = [name for name, each in evidence.utility.by_group.items() if each.persons < 10]
        assert small
        assert data["utility"]["small_groups"] == len(small)
        assert not set(small) & set(data["utility"]["by_group"])
        assert small[0] not in make_report(evidence).to_markdown()
    else:
        assert all(each["smallest"] == "< 10" for each in data["crowds"].values())


def test_the_worst_group_is_the_worst_of_the_comparable_ones(found, parted):
    """For 16 people an error of 45% is shown as 50%, and for 24 people 30% as 50%: too coarse to compare."""
    few_people, many = GroupScore(16, 16, 0.45, (0.2, 0.7), 0.4, 0.5), GroupScore(500, 500, 0.4, (0.3, 0.5), 0.4, 0.5)
    groups = {"few": few_people, "many": many, "others": replace(many, error=0.3)}
    report = make_report(replace(found, utility=replace(found.utility, by_group=groups)))
    assert report.to_dict()["utility"]["worst_group"] == "many"
    assert "highest for “many”" in report.to_markdown()
    errors = [{name: LearnedError(error, (0.0, 1.0)) for name in parted.utility.errors} for error in (0.45, 0.4, 0.3)]
    sizes = {"few": 16, "many": 500, "others": 500}
    own = {name: GroupErrors(n, n, each) for (name, n), each in zip(sizes.items(), errors, strict=True)}
    report = make_report(replace(parted, utility=replace(parted.utility, by_group=own)))
    assert report.to_dict()["utility"]["worst_group"] == "many"


def test_tables_that_predict_no_better_than_the_majority_cause_a_warning(parted):
    content = make_report(parted).content
    majority = ErrorContent(error=0.222, interval=None)

    def warnings_for(pruned):
        errors = content.utility.errors | {"pruned": ErrorContent(error=pruned, interval=None), "majority": majority}
        return warnings(content.model_copy(update={"utility": content.utility.model_copy(update={"errors": errors})}))

    sentences = warnings_for(0.222)
    assert any("at least as often (22.2%) as always guessing the majority (22.2%)" in text for text in sentences)
    assert not any("at least as often" in text for text in warnings_for(0.2))


@pytest.mark.parametrize("kind", ["found", "parted"])
def test_a_report_has_what_an_assessment_needs(kind, request):
    markdown = make_report(request.getfixturevalue(kind), "Lend <money> wisely").to_markdown()
    for text in (
        "Lend \\<money\\> wisely",
        "2 January 2026",
        "Singling out",
        "Linkability",
        "Inference",
        "Sign-off",
        "SHA-256",
    ):
        assert text in markdown
    page = make_report(request.getfixturevalue(kind)).to_html()
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


def test_neither_the_seed_of_the_groups_nor_a_hash_of_full_records_is_printed(parted, adult):
    text = json.dumps(make_report(parted).to_dict())
    assert "4711" not in text
    assert set(parted.provenance["hashes"]) == {"identifying table", "schema", "table of education"}
    words = ["modicum", "anatomize", "f.csv"]
    assert command_line(words=[*words, "--seed", "4711"], without="--seed") == "modicum anatomize f.csv"
    assert command_line(words=[*words, "--seed=4711", "--l", "2"], without="--seed") == "modicum anatomize f.csv --l 2"


def test_the_same_seed_makes_the_same_report(adult):
    X, y = adult
    pages = []
    for _ in range(2):
        anonymizer = md.Mondrian(k=15, quasi_identifiers=QUASI).fit(X[:500], y[:500])
        pages.append(make_report(md.evidence(anonymizer, X[:500], y[:500])).to_html())
    assert pages[0] == pages[1]


def test_hostile_names_and_values_stay_text(adult):
    X, _ = adult
    bad = "<script>alert(1)</script>|`x`"
    X = X.rename(columns={"race": bad, "education": "](http://x) | b"})[:600]
    anonymizer = md.Mondrian(k=20, quasi_identifiers=["age", bad]).fit(X)
    report = make_report(md.evidence(anonymizer, X, sensitive="](http://x) | b"), bad)
    assert "<script" not in report.to_html()
    assert not re.search(r"(?<!\\)<script", report.to_markdown())
    heads = [line.count("|") - line.count("\\|") for line in report.to_markdown().splitlines() if line.startswith("| ")]
    assert min(heads) >= 3


@pytest.mark.slow
def test_with_test_records_the_model_learns_from_the_release_itself(adult):
    X, y = adult
    anonymizer = md.Mondrian(k=15, quasi_identifiers=QUASI, output="ranges").fit(X[:800], y[:800])
    evidence = md.evidence(anonymizer, X[:800], y[:800], X[800:], y[800:])
    assert not evidence.held_out
    assert (evidence.utility.records, evidence.utility.trained_on) == (400, 800)
    assert "test records" in evidence.provenance["hashes"]
    assert evidence.release.output == "ranges"


@pytest.fixture(scope="module")
def visits(adult):
    """Return three records each of 300 people, with missing values, a sensitive category and a sensitive number."""
    X, y = adult
    X = X[:900].assign(who=np.arange(900) // 3, pay=np.arange(900) % 97 + 0.5)
    X.loc[::50, "education"] = None
    schema = md.Schema.infer(X).with_roles(person="who", sensitive=["education", "pay"])
    return X, y[:900], schema


@pytest.fixture(scope="module")
def visited(visits):
    X, y, schema = visits
    return md.evidence(md.Mondrian(k=12, quasi_identifiers=QUASI, schema=schema).fit(X, y), X, y)


def test_k_and_crowds_count_people_if_a_column_identifies_them(visits, visited):
    X, evidence = visits[0], visited
    people = evidence.release.frame.assign(who=X["who"].to_numpy()).groupby(QUASI)["who"]
    assert evidence.measured.k == people.nunique().min() >= 12
    crowd = evidence.crowds["quasi-identifiers"]["release"]
    assert crowd.linked == pytest.approx((1 / people.transform("nunique")).mean())
    assert (evidence.people, evidence.records) == (300, 900)
    assert [each.attribute for each in evidence.inference] == ["education", "pay"]
    content = make_report(evidence).to_dict()
    assert content["unit"] == "people"
    assert content["measured"]["largest_group"] % 10 == 0
    assert {e["name"]: e["published"] for e in content["attributes"]}["who"] == "left out"


def test_the_guess_from_a_group_agrees_with_a_count_by_hand(visits, visited):
    X, evidence = visits[0], visited
    table = evidence.release.frame.fillna({"education": "none"})
    most = table.groupby(QUASI)["education"].agg(lambda own: own.value_counts().max())
    education = evidence.inference[0]
    assert education.release.right == pytest.approx(most.sum() / 900)
    assert education.naive == pytest.approx(X["education"].value_counts(dropna=False).max() / 900)
    raw = X.fillna({"education": "none"}).groupby(QUASI)["education"].agg(lambda own: own.value_counts().max())
    assert education.raw.right == pytest.approx(raw.sum() / 900)
    assert education.release.interval[0] <= education.release.right <= education.release.interval[1]


@pytest.mark.parametrize(
    "requested", [{"l": 2.5, "diversity": "entropy"}, {"l": 2, "diversity": "recursive", "c": 3.0}, {"t": 0.6}]
)
def test_entropy_recursive_diversity_and_t_agree_with_a_count_by_hand(adult, requested):
    X, _ = adult
    anonymizer = md.Mondrian(k=15, quasi_identifiers=QUASI, sensitive="education", **requested).fit(X)
    evidence = md.evidence(anonymizer, X)
    shares = [g.value_counts(normalize=True) for _, g in evidence.release.frame.groupby(QUASI)["education"]]
    if "t" in requested:
        overall = X["education"].value_counts(normalize=True)
        far = max((own.reindex(overall.index).fillna(0) - overall).abs().sum() / 2 for own in shares)
        assert evidence.measured.t == pytest.approx(far)
    elif requested["diversity"] == "entropy":
        assert evidence.measured.l == pytest.approx(min(np.exp(-(own * np.log(own)).sum()) for own in shares))
    else:
        assert all(own.iloc[0] < requested["c"] * own.iloc[1:].sum() for own in shares)
    assert evidence.measured.kept
    markdown = make_report(evidence).to_markdown()
    assert requested.get("diversity", "distinct") in markdown


def test_left_out_records_are_neither_members_nor_counted_values(adult):
    X, y = adult
    X = X.assign(code=np.arange(len(X)))
    anonymizer = md.Mondrian(k=15, quasi_identifiers=QUASI, sensitive="education", l=2)
    anonymizer.fit_resample(X, y)
    evidence = md.evidence(anonymizer, X, y)
    assert evidence.release.suppressed > 0
    columns = {each.name: each for each in evidence.attributes}
    assert columns["code"].values_before == columns["code"].values_after == evidence.release.rows
    assert columns["code"].published == columns["education"].published == "unchanged"
    assert (
        evidence.membership["release"].records + evidence.membership["release"].known <= 2 * evidence.utility.trained_on
    )


def test_a_few_unique_people_are_rounded_up():
    X = pd.DataFrame({"age": np.repeat([30, 40], 200), "job": ["clerk"] * 397 + ["a", "b", "c"]})
    content = make_report(
        md.evidence(md.Mondrian(k=50, quasi_identifiers=["age"]).fit(X), X, sensitive="job")
    ).to_dict()
    alone = content["crowds"]["all_columns"]["release"]
    assert alone["alone"] == alone["sizes"]["1"] == 10 / 400
    assert any("unique when every published column is known" in text for text in content["warnings"])


def test_polars_frames_give_the_same_report_as_pandas(adult):
    pl = pytest.importorskip("polars")
    X, y = adult
    reports = []
    for frame, label in ((X[:400], y[:400]), (pl.from_pandas(X[:400]), pl.Series("income", y[:400].tolist()))):
        anonymizer = md.Mondrian(k=15, quasi_identifiers=QUASI).fit(frame, label)
        one = make_report(md.evidence(anonymizer, frame, label)).to_dict()
        anatomy = md.Anatomy(l=2, sensitive="sex", random_state=1, max_suppressed=1.0).fit(frame, label)
        other = make_report(md.evidence(anatomy, frame, label)).to_dict()
        reports.append([{k: v for k, v in each.items() if k != "provenance"} for each in (one, other)])
    assert reports[0] == reports[1]


def test_a_constant_sensitive_attribute_is_reported_and_the_others_measured(adult):
    X = adult[0].assign(flat="x")
    evidence = md.evidence(md.Mondrian(k=15, quasi_identifiers=QUASI).fit(X), X, sensitive=["flat", "education"])
    assert [each.attribute for each in evidence.inference] == ["education"]
    assert "same value of 'flat'" in make_report(evidence).to_markdown()


def test_anatomy_is_tested_on_given_records_known_to_an_adversary(adult):
    X, y = adult
    anatomy = md.Anatomy(l=2, sensitive=["education", "race"], max_suppressed=1.0, random_state=7).fit(X[:500], y[:500])
    evidence = md.evidence(anatomy, X[:500], y[:500], X[800:], y[800:], without_value=7)
    assert not evidence.held_out
    assert evidence.utility.records == 400
    assert [each.sensitive for each in evidence.matching] == ["education", "race"]
    assert all({"informed", "without the release"} <= set(each.by_adversary) for each in evidence.matching)
    train = y.iloc[anatomy.rows_]
    wrong = (y[800:] != train.mode()[0]).mean()
    assert evidence.utility.errors["majority"].error == pytest.approx(wrong)
    assert evidence.left_out == evidence.release.suppressed + 7
    content = make_report(evidence).to_dict()
    assert content["left_out"] == few(evidence.left_out)
    assert "also knows other people" in make_report(evidence).to_markdown()


def test_a_share_that_just_suffices_does_not_prevent_the_test(adult):
    X, y = adult
    X = X.assign(race=np.where(np.arange(len(X)) % 5 < 3, "White", X["race"]))
    share = md.Anatomy(l=2, sensitive="race", max_suppressed=1.0, random_state=0).fit(X).release_.suppressed / len(X)
    assert share > 0
    for seed in range(4):
        anatomy = md.Anatomy(l=2, sensitive="race", max_suppressed=share, random_state=seed).fit(X, y)
        assert md.evidence(anatomy, X, y, random_state=seed).utility is not None


def test_one_persons_records_are_never_learned_from_and_tested_on(visits, monkeypatch):
    X, y, schema = visits
    X = X.dropna()
    schema = schema.with_roles(person="who", sensitive=["education"])
    seen = []
    real = md.anatomy.Anatomy.fit

    def record_fit(self, frame, labels=None):
        seen.append(set(frame["who"]))
        return real(self, frame, labels)

    anatomy = md.Anatomy(l=2, sensitive="education", schema=schema, random_state=1, max_suppressed=1.0)
    with pytest.warns(md.errors.PrivacyWarning):
        anatomy.fit(X, y[X.index])
    monkeypatch.setattr(md.anatomy.Anatomy, "fit", record_fit)
    evidence = md.evidence(anatomy, X, y[X.index])
    assert evidence.repeated
    assert evidence.utility.people == len(set(X["who"]) - seen[0])
    content = make_report(evidence).to_dict()
    assert content["has_repeated"]
    assert content["utility"] is None  # fewer than 100 of 300 people remain for testing
    assert "fewer than 100 people" in content["skipped"]["utility"]
    assert any("several records" in text for text in content["warnings"])


def test_skipped_measures_are_reported_with_the_reason(adult):
    X, _ = adult
    anonymizer = md.Mondrian(k=15, quasi_identifiers=QUASI).fit(X)
    evidence = md.evidence(anonymizer, X)
    assert set(evidence.skipped) == {"utility", "membership", "inference"}
    markdown = make_report(evidence).to_markdown()
    for why in evidence.skipped.values():
        assert why in markdown


def test_the_rest_is_reported_if_70_percent_cannot_be_released():
    X = pd.DataFrame({"age": np.arange(120) % 60, "sex": ["f", "m"] * 60})
    y = pd.Series(["no", "yes", "no"] * 40, name="bought")
    evidence = md.evidence(md.Mondrian(k=100).fit(X, y), X, y)
    assert evidence.utility is None
    assert "part of the records, for testing, cannot be made" in make_report(evidence).to_markdown()
    assert evidence.measured.k >= 100


def test_bad_input_is_refused_in_one_sentence(adult):
    X, y = adult
    fitted = md.Mondrian(k=15, quasi_identifiers=QUASI).fit(X, y)
    with pytest.raises(ParameterError, match=r"needs a fitted anonymizer or its release. Got Mondrian, .*not fitted"):
        md.evidence(md.Mondrian(), X)
    with pytest.raises(DataError, match="X has 100 records, but the release was made of 1,200"):
        md.evidence(fitted, X[:100])
    with pytest.raises(ParameterError, match="'sensitive' parameter names 'age', which is a quasi-identifier"):
        md.evidence(fitted, X, y, sensitive="age")
    with pytest.raises(ParameterError, match="both 'X_test' and 'y_test'"):
        md.evidence(fitted, X, y, X_test=X)
    with pytest.raises(ParameterError, match="'population' parameter must be an int"):
        md.evidence(fitted, X, y, population=5)
    with pytest.raises(ParameterError, match="The 'random_state' parameter of evidence must be an int ≥ 0"):
        md.evidence(fitted, X, y, random_state=-1)
    with pytest.raises(DataError, match="'age', a quasi-identifier of the release, is not in X"):
        md.evidence(fitted, X.drop(columns="age"), y)
    message = "anatomized release needs a fitted Anatomy that keeps its tables, or an AnatomyRelease"
    with pytest.raises(ParameterError, match=message):
        md.evidence(md.Anatomy(), X)
    few_rows = md.Mondrian(k=5, quasi_identifiers=QUASI).fit(X[:50])
    with pytest.raises(DataError, match="There are 50 records; a report needs at least 100"):
        make_report(md.evidence(few_rows, X[:50]))


@pytest.fixture
def people(adult, tmp_path):
    X, y = adult
    X.assign(id=range(len(X)), bought=np.where(y == ">50K", "yes", "no")).to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


COMMANDS = {
    "anonymize": ["--k", 20, "--quasi-identifiers", ",".join(QUASI), "-o", "out.csv"],
    "anatomize": ["--l", 2, "--sensitive", "education", "-o", "out", "--seed", 4711],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_writes_page_markdown_and_json(command, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = [
        *COMMANDS[command],
        "--label",
        "bought",
        "--identifier",
        "id",
        "--report",
        "r.html",
        "--purpose",
        "To lend",
    ]
    result = run(command, people, *options)
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert (data["purpose"], data["label"]) == ("To lend", "bought")
    assert data["utility"]["held_out"]
    assert "4711" not in json.dumps(data)
    for ending in ("html", "md"):
        assert "To lend" in (tmp_path / f"r.{ending}").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_fails_leaves_nothing(command, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.read_csv(people)[:60].to_csv(people, index=False)
    before = sorted(tmp_path.iterdir())
    for report, why in (
        ("r.txt", "must end in .html"),
        ("nowhere/r.html", "its folder does not exist"),
        ("r.html", "a report needs at least 100"),
    ):
        result = run(command, people, *COMMANDS[command], "--label", "bought", "--report", report)
        assert result.exit_code != 0
        assert why in str(result.exception)
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("command", "work"), [("anonymize", "modicum.Mondrian.fit"), ("anatomize", "modicum.anatomy.Anatomy.fit")]
)
def test_records_of_too_few_people_are_refused_before_the_work(command, work, people, tmp_path, monkeypatch):
    def fail(*given, **options):
        raise AssertionError("the work was begun")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work, fail)
    pd.concat([pd.read_csv(people)[:60]] * 10).to_csv(people, index=False)
    result = run(command, people, *COMMANDS[command], "--person", "id", "--report", "r.html")
    assert "There are 60 people in the records; a report needs at least 100" in str(result.exception)


@pytest.mark.parametrize("kind", ["found", "parted"])
def test_the_report_names_the_people_of_the_records(kind, request):
    report = md.report(request.getfixturevalue(kind), people="customers of the shop")
    assert report.to_dict()["people"] == "customers of the shop"
    for text in (report.to_html(), report.to_markdown()):
        assert "Records: customers of the shop." in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_accepts_groups_a_population_and_people(command, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    options = [*COMMANDS[command], "--identifier", "id", "--label", "bought", "--report", "r.html"]
    extra = ["--by", "sex", "--population", 50_000, "--people", "customers"]
    result = run(command, people, *options, *extra)
    assert result.exit_code == 0, result.output
    data = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert data["people"] == "customers"
    assert {name.split(":")[0] for name in data["utility"]["by_group"]} == {"sex"}
    assert (data["provenance"]["settings"]["by"], data["provenance"]["settings"]["population"]) == (["sex"], 50_000)
    assert "50,000" in (tmp_path / "r.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--label", "bought", "--by", "id"], "'id' is not in the model's features"),
        (["--label", "bought", "--by", "shoe size"], "'shoe size' is not in the model's features"),
        (["--by", "sex"], "name what it predicts with --label"),
        (["--population", 3], "'population' parameter"),
    ],
)
def test_bad_report_options_are_refused_before_the_work(command, options, complaint, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    result = run(command, people, *COMMANDS[command], "--identifier", "id", "--report", "r.html", *options)
    assert complaint in str(result.exception)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_report_is_not_written_over_the_schema(command, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "roles.json").write_text("attributes: []\n")
    result = run(command, people, *COMMANDS[command], "--schema", "roles.json", "--report", "roles.html")
    assert "'roles.json' would overwrite an input or another output" in str(result.exception)
    assert (tmp_path / "roles.json").read_text() == "attributes: []\n"


def test_nothing_is_written_over_the_schema_in_an_engine_either(people, tmp_path):
    schema = tmp_path / "roles.parquet"
    schema.write_text("attributes: []\n")
    options = ["--k", 20, "--quasi-identifiers", "age", "--engine", "duckdb"]
    result = run("anonymize", people, *options, "--schema", schema, "-o", schema)
    assert "would overwrite an input" in str(result.exception)


def test_a_purpose_needs_a_report_and_an_engine_has_none(people, tmp_path):
    options = ["--k", 20, "--quasi-identifiers", "age", "-o", tmp_path / "o.csv"]
    assert "--purpose is part of the report" in str(run("anonymize", people, *options, "--purpose", "x").exception)
    engine = ["--engine", "duckdb", "--report", tmp_path / "r.html"]
    assert "measured in memory" in str(run("anonymize", people, *options, *engine).exception)


@pytest.mark.slow
def test_bank_is_reported(tmp_path):
    source = pd.read_csv(shared_file("bank/bank-full.csv.gz"), sep=None, engine="python")[:6_000]
    X, y = source.drop(columns="y"), source["y"]
    anonymizer = md.AccuracyGuided(k=25, quasi_identifiers=["age", "job", "marital", "education"]).fit(X, y)
    data = make_report(md.evidence(anonymizer, X, y)).to_dict()
    ReleaseContent.model_validate(data)
    assert data["measured"]["k"] >= 25
    assert data["crowds"]["quasi_identifiers"]["release"]["alone"] == 0.0
