"""The report: the same numbers as page and data, safe to open, and no counts of few people."""

import dataclasses
import errno
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError
from report_numbers import leaves

import modicum as md
from modicum.evaluation import Evidence
from modicum.measures.uniqueness import Uniqueness
from modicum.reporting.attack.data import AttackCertificate
from modicum.reporting.disclosure import (
    at_most,
    compute_weighted_mean,
    highest,
    ranking_of,
    round_certificate,
    select_comparable_groups,
)
from modicum.reporting.generalization.data import CertificateContent
from modicum.reporting.generalization.page import build_certificate_section
from modicum.reporting.parts import (
    ContentPart,
    Count,
    Ends,
    ExpectedUniques,
    Few,
    Share,
    Tens,
    TensEnds,
    TensUp,
)
from modicum.reporting.study.data import ChosenCertificate

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & 'quoted' \"twice\""


@pytest.fixture(scope="module")
def judged() -> Evidence:
    random = np.random.default_rng(0)
    n = 3_000
    X = pd.DataFrame(
        {
            HOSTILE: random.choice([HOSTILE, "b", "\x1b[31mc"], n),
            "age": random.integers(18, 80, n),
            "income": random.lognormal(10, 1, n).round(),
            "rare": np.where(np.arange(n) % 700 == 3, "rare", "usual"),
        }
    )
    y = pd.Series(np.where((X["age"] > 50) ^ (random.random(n) < 0.2) ^ (X[HOSTILE] == "b"), HOSTILE, "no"))
    schema = md.Schema.infer(X.assign(**{HOSTILE + "y": y}), label=HOSTILE + "y", personal=[HOSTILE, "age", "rare"])
    for name in ("rare", "income"):
        schema = schema.replace(name, locked=True)
    g = md.PrivacyTree(max_leaves=6, min_leaf=50, schema=schema).fit(X[:1500], y[:1500]).generalization_
    assert HOSTILE in g.needed
    return md.evidence(g, X[:1500], y[:1500], X[1500:], y[1500:], by=[HOSTILE, "rare"], depth="quick")


@pytest.fixture(scope="module")
def page(judged) -> str:
    return md.report(judged, purpose=HOSTILE).to_html()


def test_the_annex_says_what_other_and_missing_hold():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"job": random.choice(["nurse", "clerk"], 1_200), "age": random.uniform(18, 80, 1_200)})
    y = np.where(X["age"] > 50, "yes", "no")
    g = md.Uniform(buckets=2).fit(X).generalization_
    test = X.assign(job=np.where(X.index % 3 == 0, "pilot", X["job"]), age=X["age"].where(X.index % 3 > 0))[600:]
    report = md.report(md.evidence(g, X[:600], y[:600], test, y[600:], depth="quick")).to_markdown()
    annex = [line for line in report.split("## Annex: every bucket")[1].splitlines() if line.startswith("| ")]
    assert "| job | (other) | values not seen before | 33.3% |" in annex
    assert "| age | (missing) | missing values | 33.3% |" in annex
    assert sum("a range" in line for line in annex) == 2


class Reader(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.text.append(data)


def test_hostile_names_stay_text(page):
    reader = Reader(page)
    assert "script" not in reader.tags
    assert "img" not in reader.tags
    assert not [name for name, _ in reader.attributes if name.startswith("on")]
    assert any(HOSTILE in text for text in reader.text)
    assert "\x1b" not in page


def test_names_cannot_turn_text_steer_a_terminal_or_become_links(judged):
    turning = "\u061cabc\u202e _https://evil.example 9https://evil.example xwww.evil.example \x9b31m"
    report = md.report(judged, purpose=turning)
    for text in (report.to_html(), report.to_markdown(), report.to_json()):
        assert not set("\u061c\u202e\x9b") & set(text)
    assert not re.search(r"https?[:.]|www[:.]", report.to_markdown())
    assert report.to_json().isascii()
    assert json.loads(report.to_json())["purpose"] == turning


def test_names_with_invalid_bytes_can_be_written(judged, tmp_path):
    report = md.report(dataclasses.replace(judged, label="caf\udce9"))
    for ending in ("html", "md", "json"):
        report.save(tmp_path / f"r.{ending}")
    assert "caf\ufffd" in (tmp_path / "r.md").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["label"] == "caf\udce9"


def test_it_opens_offline(page):
    reader = Reader(page)
    loading = [value for name, value in reader.attributes if name in ("src", "href", "srcset", "data", "action")]
    assert loading == []
    assert not re.search(r"@import|url\(", page)
    assert "Content-Security-Policy" in page


def test_every_number_of_the_page_is_in_the_data(judged, page):
    """Each percentage shown is one of the JSON's numbers, rounded as shown."""
    content = md.report(judged).to_dict()
    numbers = list(_numbers(content))
    shares = {f"{value:.{digits}%}" for value in numbers for digits in (0, 1, 2)}
    relative = {f"{a['n_buckets'] / a['values']:.0%}" for a in content["attributes"]}
    axis = {f"{20 * i}%" for i in range(6)}
    body = " ".join(Reader(page.split("<body>")[1]).text)
    shown = set(re.findall(r"\d+(?:\.\d+)?%", body)) - axis - relative - {"95%", "1%"}
    assert shown
    assert shown <= shares, shown - shares


def _numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _numbers(item)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield value


def test_few_people_are_not_counted(judged):
    assert judged.utility.by_group["rare: rare"].records < 10
    content = md.report(judged).to_dict()
    assert "rare: rare" not in content["utility"]["by_group"]
    assert content["utility"]["small_groups"] == 1
    rare = next(a for a in content["attributes"] if a["name"] == "rare")
    assert {b["label"]: b["share"] for b in rare["buckets"]}["rare"] == "< 10"
    assert content["collected"]["smallest_group"] == "< 10"
    assert any("fewer than ten" in warning for warning in content["warnings"])


def test_no_share_can_be_turned_back_into_a_few_people(judged):
    """Shares and intervals of the whole, of attributes, buckets and groups represent whole tens of people."""
    content = md.report(judged).to_dict()
    n = content["collected"]["records"]
    attack, utility, certificate = content["attack"], content["utility"], content["certificate"]
    shares = [r[key] for r in attack["by_attribute"].values() for key in ("error", "naive")]
    shares += [end for r in attack["by_attribute"].values() for end in r["interval"]]
    shares += [b["share"] for a in content["attributes"] for b in a["buckets"] if isinstance(b["share"], float)]
    shares += list(certificate["observed"].values()) + list(certificate["naive"].values())
    shares += [utility["error"], utility["raw_error"], utility["majority_error"], *utility["interval"]]
    assert len(shares) > 20
    for share in shares:
        assert share * n / 10 == pytest.approx(round(share * n / 10)) or share == 1
    for group in utility["by_group"].values():
        for share in (group["error"], *group["interval"]):
            assert share * group["records"] / 10 == pytest.approx(round(share * group["records"] / 10)) or share == 1


def test_a_rare_class_cannot_be_counted_from_the_scores():
    """The majority guess's log-loss depends only on the counts of the classes and would reveal them."""
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.choice(["x", "y", "z"], 1_000), "b": random.integers(0, 9, 1_000)})
    y = pd.Series(np.where(np.isin(np.arange(1_000), [1, 2, 3, 4, 5, 700, 701, 702]), "yes", "no"), name="label")
    g = md.Uniform(buckets=2).fit(X[:600]).generalization_
    judged = md.evidence(g, X[:600], y[:600], X[600:], y[600:], depth="quick")
    content = md.report(judged).to_dict()["utility"]
    assert set(content["scores"]) == {"error", "auc"}
    assert judged.utility.rarest == 3
    loss = judged.utility.scores["log_loss"]
    hidden = [loss.minimized, loss.raw, loss.majority]
    assert not [path for path, shown in leaves(content) if any(abs(shown - value) < 1e-4 for value in hidden)]
    for auc in (content["scores"]["auc"][key] for key in ("minimized", "raw")):
        for many in range(1, 10):  # every count of the class fits what is shown
            pairs = 2 * many * (400 - many)
            assert any(round(k / pairs, 2) == auc for k in range(pairs + 1))


def test_the_log_loss_is_shown_if_no_class_is_rare(judged):
    report = md.report(judged)
    assert judged.utility.rarest >= 10
    shown, loss = report.to_dict()["utility"]["scores"]["log_loss"], judged.utility.scores["log_loss"]
    assert [shown["minimized"], shown["raw"], shown["majority"]] == pytest.approx(
        [loss.minimized, loss.raw, loss.majority], abs=0.006
    )
    assert "No log-loss is shown" not in report.to_html()


def test_every_shown_ranking_score_fits_a_class_of_one():
    for n in (100, 999, 1_000, 12_345):
        shown = {ranking_of(value, n) for value in np.linspace(0, 1, 100_001)}
        assert shown == {ranking_of(k / (2 * (n - 1)), n) for k in range(2 * n - 1)}


def test_a_weighted_mean_of_shares_is_one_at_most():
    names = [str(i) for i in range(9)]
    assert sum([1 / 9] * 9) > 1
    assert compute_weighted_mean(dict.fromkeys(names, 1.0), dict.fromkeys(names, 1 / 9)) == 1.0


def test_bounds_are_rounded_up(judged):
    certificate = md.report(judged).content.certificate
    names = list(certificate.bounds)
    bounds = {"bounds": dict.fromkeys(names, 0.7121), "observed": dict.fromkeys(names, 0.6021), "mean": 0.7121}
    table = build_certificate_section(certificate.model_copy(update=bounds | {"confidence": 0.999})).blocks[-1]
    assert [row[2:4] for row in table.rows] == [["71.3%", "60.3%"]] * len(names) + [["71.3%", ""]]
    assert at_most(0.712) == "71.2%"


def test_the_worst_group_is_the_worst_of_the_comparable_ones():
    assert select_comparable_groups({"a": 99, "b": 100}) == ["b"]
    assert highest({"a": 1.0, "b": 0.3, "c": 0.2}, select_comparable_groups({"a": 30, "b": 500, "c": 900})) == "b"
    assert highest({"a": 0.1}, select_comparable_groups({"a": 30})) == "a"
    assert highest({}, []) is None


def test_names_have_the_same_quotes_everywhere(judged):
    label = judged.label
    decision = md.report(judged).to_dict()["decision"]
    assert f"To predict “{label}”" in decision
    assert repr(label) not in decision


def test_rounding_keeps_claims_true(judged):
    """A bound stays a bound, a point lies in its interval, a mean is the mean of its rows."""
    content = md.report(judged).to_dict()
    attack, certificate = content["attack"], content["certificate"]
    for name, bound in certificate["bounds"].items():
        assert bound >= judged.certificate.bounds[name]
    for result in [*attack["by_attribute"].values(), attack, *content["utility"]["by_group"].values()]:
        assert result["interval"][0] <= result["error"] <= result["interval"][1]
    assert attack["error"] == pytest.approx(np.mean([r["error"] for r in attack["by_attribute"].values()]))
    assert certificate["mean"] == pytest.approx(np.mean(list(certificate["bounds"].values())))


def test_a_report_of_few_people_is_refused(judged):
    few = dataclasses.replace(judged, description=dataclasses.replace(judged.description, persons=99))
    with pytest.raises(md.errors.DataError, match="at least 100"):
        md.report(few)


def test_persons_are_counted_if_rows_are_not_people():
    """A group of one person with 25 rows is not a group of 25."""
    random = np.random.default_rng(0)
    who = np.repeat(np.arange(200), 25)
    X = pd.DataFrame({"site": np.where(who == 199, "rare", "usual"), "age": random.integers(18, 80, 5_000), "who": who})
    y = pd.Series(X["age"] > 40)
    schema = md.Schema.infer(X, person="who").replace("site", locked=True)
    g = md.PrivacyTree(max_leaves=4, schema=schema).fit(X, y).generalization_
    assert g.describe(X).smallest_group == 1
    assert g.describe(X).persons == 200
    judged = md.evidence(g, X[:2000], y[:2000], X[2000:], y[2000:], by="site", depth="quick")
    content = md.report(judged).to_dict()
    assert "site: rare" not in content["utility"]["by_group"]
    assert content["collected"]["smallest_group"] == "< 10"
    assert {b["label"]: b["share"] for b in content["attributes"][0]["buckets"]}["rare"] == "< 10"
    assert content["unit"] == "records"
    assert "of records (" in content["decision"]


def test_means_are_weighted_if_weights_are_given():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"a": random.choice(["x", "y"], 900), "b": random.choice(["p", "q", "r"], 900)})
    y = pd.Series(np.where(random.random(900) < 0.8, X["a"], X["b"]), name="y")
    g = md.PrivacyTree(max_leaves=2, min_leaf=50).fit(X[:450], y[:450]).generalization_
    content = md.report(md.evidence(g, X[:450], y[:450], X[450:], y[450:], weights={"b": 3}, depth="quick")).to_dict()
    attack, certificate = content["attack"], content["certificate"]
    assert attack["weights"] == {"a": 0.25, "b": 0.75}
    for key in ("error", "naive"):
        each = [attack["by_attribute"][name][key] for name in ("a", "b")]
        assert attack[key] == pytest.approx(0.25 * each[0] + 0.75 * each[1])
    bounds = certificate["bounds"]
    assert certificate["mean"] == pytest.approx(0.25 * bounds["a"] + 0.75 * bounds["b"])


def test_each_attribute_has_its_decision_risk_and_certificate(judged):
    content = md.report(judged).to_dict()
    decisions = {a["name"]: a["decision"] for a in content["attributes"]}
    assert decisions["rare"] == decisions["income"] == "kept"
    for attribute in content["attributes"]:
        if attribute["personal"]:
            assert attribute["certified_error"] <= attribute["adversary_error"] + 0.05
            assert attribute["adversary_interval"][0] <= attribute["adversary_error"]
            assert attribute["naive_error"] is not None
        else:
            assert attribute["adversary_error"] is None
    assert content["decision"].startswith("To predict")
    assert "in full detail" in content["decision"]


def test_a_report_is_saved_completely_or_not_at_all(judged, tmp_path):
    report = md.report(judged)
    report.save(tmp_path / "r.html")
    report.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text(encoding="utf-8")) == report.to_dict()
    with pytest.raises(md.errors.ParameterError, match=r"\.html, \.md or \.json"):
        report.save(tmp_path / "r.pdf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["r.html", "r.json"]


@pytest.fixture
def folder(tmp_path):
    """A folder that holds an older page and its data."""
    for name in ("r.html", "r.json"):
        (tmp_path / name).write_text("old")
    return tmp_path


def is_unchanged(folder):
    return {path.name: path.read_text() for path in folder.iterdir()} == {"r.html": "old", "r.json": "old"}


@pytest.mark.parametrize("ending", ["html", "md", "json"])
@pytest.mark.parametrize("has_links", [True, False])
def test_page_markdown_and_data_are_written_together_or_not_at_all(judged, folder, monkeypatch, ending, has_links):
    report, places = md.report(judged), [folder / f"r.{each}" for each in ("html", "md", "json")]
    replace, calls = os.replace, []

    def fail_to_replace(source, target):
        calls.append(target)
        if Path(target).suffix == f".{ending}" and len(calls) <= 3:
            raise PermissionError(errno.EPERM, "Operation not permitted", str(source), None, str(target))
        replace(source, target)

    def fail_to_link(source, target):
        raise OSError(errno.EPERM, "Operation not permitted")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail_to_replace)
        if not has_links:
            patch.setattr(os, "link", fail_to_link)
        with pytest.raises(md.errors.DataError, match=rf"r\.{ending}' cannot be written: Operation not permitted"):
            report.save(*places)
    assert is_unchanged(folder)
    report.save(*places)
    assert [path.read_text(encoding="utf-8") for path in places] == [
        report.to_html(),
        report.to_markdown(),
        report.to_json(),
    ]
    assert len(list(folder.iterdir())) == 3


def test_an_unwritable_path_is_named_and_nothing_is_written(judged, folder):
    (folder / "r.md").symlink_to(folder / "nowhere" / "r.md")
    with pytest.raises(md.errors.DataError, match=r"r\.md' cannot be written: No such file or directory"):
        md.report(judged).save(folder / "r.html", folder / "r.md", folder / "r.json")
    (folder / "r.md").unlink()
    assert is_unchanged(folder)


def test_a_failure_to_render_leaves_nothing(judged, folder, monkeypatch):
    def broken(document):
        raise RuntimeError("no Markdown")

    monkeypatch.setattr("modicum.reporting._report.to_markdown", broken)
    with pytest.raises(RuntimeError, match="no Markdown"):
        md.report(judged).save(folder / "r.html", folder / "r.md", folder / "r.json")
    assert is_unchanged(folder)


def test_an_unpredictable_label_and_nothing_collected():
    random = np.random.default_rng(1)
    X = pd.DataFrame({"a": random.choice(["x", "y"], 2000), "b": random.choice(["x", "y"], 2000)})
    y = pd.Series(random.choice([0, 1], 2000))
    g = md.Uniform(buckets=1).fit(X).generalization_
    content = md.report(md.evidence(g, X[:1000], y[:1000], X[1000:], y[1000:], depth="quick")).to_dict()
    assert "nothing is collected" in content["decision"]
    assert any("barely predicts" in warning for warning in content["warnings"])
    json.dumps(content, allow_nan=False)


@pytest.mark.services
def test_a_browser_shows_it(page, tmp_path):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    (tmp_path / "report.html").write_text(page, encoding="utf-8")
    common = [chromium, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
    address = (tmp_path / "report.html").as_uri()
    dom = subprocess.run([*common, *quiet, "--dump-dom", address], capture_output=True, text=True, timeout=120)
    assert "What could still leak" in dom.stdout
    assert dom.stdout.count("<svg") == 3
    picture = tmp_path / "page.png"
    subprocess.run(
        [*common, *quiet, "--window-size=1000,2000", f"--screenshot={picture}", address],
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert picture.stat().st_size > 20_000


@pytest.mark.parametrize(
    ("interval", "widened"), [((14.6, 84.9), [10, 90]), ((20.0, 80.0), [20, 80]), ((3.2, 9.5), ["< 10", 10])]
)
def test_the_interval_of_expected_uniques_is_never_narrower(interval, widened):
    found = ExpectedUniques.of(Uniqueness(1_000, 0.1, 42.4, interval, 7.0))
    assert (found.population, found.unique, found.interval) == (1_000, 40, widened)


def test_a_bound_that_rounds_to_one_says_nothing_in_every_report(judged):
    bounds = dict.fromkeys(judged.certificate.bounds, 0.963)
    exact = dataclasses.replace(judged.certificate, bounds=bounds, persons=100, records=100)
    assert exact.vacuous == []
    whole = CertificateContent.of(exact)
    parts = [whole, AttackCertificate.of(round_certificate(exact)), ChosenCertificate.of(exact)]
    for part in parts:
        assert set(part.bounds.values()) == {1.0}
        assert part.vacuous == list(bounds)
        assert "says nothing about" in part.note
        assert part.mean_error == 0


class Shares(ContentPart):
    """All kinds of types that evidence fills, with or without a rule."""

    made: Share
    listed: dict[str, Share]
    many: Count
    ends: Ends
    rounded: Tens
    above: TensUp | None
    few: Few
    between: TensEnds


def test_an_exact_number_is_not_taken_from_evidence_unless_its_type_has_a_rule():
    exact = {"made": 0.1234, "listed": {"a": 0.1234}, "many": 7, "ends": (0.1, 0.2)}
    ruled = {"rounded": 0.1234, "above": 0.1201, "few": 7, "between": (0.1234, 0.1291)}
    with pytest.raises(ValidationError) as refused:
        Shares.fill(SimpleNamespace(**exact, **ruled), 1_000)
    assert {error["loc"][0] for error in refused.value.errors()} == set(exact)

    found = Shares.fill(SimpleNamespace(**ruled), 1_000, **exact)
    assert (found.rounded, found.above, found.few, found.between) == (0.12, 0.13, "< 10", [0.12, 0.13])
    assert Shares.model_validate(found.model_dump()) == found
    assert Shares.fill(found) == found
