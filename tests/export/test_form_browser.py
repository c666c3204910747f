"""A form in a real browser: filled in, previewed, and watched while it sends."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from browser import Watched, chromium, serving

import modicum as md
from modicum.export.web_form import content_security_policy, form_page, page_strings
from modicum.generalization.record_format import record_format
from modicum.provenance import identity
from modicum.service.reading import RANDOM_ID

pytestmark = pytest.mark.services

SHOTS = Path(__file__).parents[2] / "build" / "shots"
DESKTOP = {"viewport": {"width": 1100, "height": 900}}
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
DARK = DESKTOP | {"color_scheme": "dark"}
HOSTILE = [
    "</script><script>window.hit=1;alert(1)</script>",
    '<img src=x onerror="window.hit=1;alert(1)">\'',
    "😀 \u202e عمر שלום",
    "__proto__",
    "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def site():
    with serving() as found:
        yield found


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[:4000], y[:4000]


def with_texts(artifact):
    texts = {
        "age": {"question": "How old are you?", "help": "In whole years."},
        "hours-per-week": {"question": "How many hours do you work in a usual week?"},
        "education": {"question": "What is the highest school or degree you finished?"},
    }
    schema = artifact.schema
    for name in texts:
        schema = schema.replace(name, **texts[name]) if name in schema else schema
    return type(artifact).from_dict(artifact.to_dict() | {"schema": schema.to_dict()})


@pytest.fixture(scope="module")
def pat(adult):
    return with_texts(md.PrivacyTree(max_leaves=10).fit(*adult).generalization_)


COLUMNS = ["age", "education", "marital-status", "hours-per-week", "capital-gain"]


def rule(X):
    studied = X["education"].isin(["Doctorate", "Masters", "Prof-school"]) & (
        X["marital-status"] == "Married-civ-spouse"
    )
    return (X["capital-gain"] > 5000) | (X["age"] > 40) & (X["hours-per-week"] > 45) | studied


@pytest.fixture(scope="module")
def cells(adult):
    return with_texts(md.ModelGuided(rule, random_state=0).fit(adult[0][COLUMNS]).cells_)


@pytest.fixture
def open_page(browser, site):
    """Open an artifact's page in a new window; an error or warning on the page fails the test."""
    contexts, windows = [], []

    def open_(artifact, window=DESKTOP, expected=(), **options):
        endpoint = options.pop("endpoint", "/records")
        site.page = form_page(artifact, endpoint=endpoint, title="About you", **options)
        site.policy = content_security_policy(site.page, endpoint)
        site.posted.clear()
        contexts.append(browser.new_context(**window))
        watched = Watched(contexts[-1])
        windows.append((watched, expected))
        watched.page.goto(site.address)
        watched.page.locator("h1").wait_for()
        return watched

    yield open_
    for watched, expected in windows:
        assert [text for text in watched.complaints if not any(each in text for each in expected)] == []
        assert watched.page.evaluate("window.hit") is None
    for context in contexts:
        context.close()


def check(page):
    page.locator(".actions .primary").click()


def send(page):
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Thank you").wait_for()


def choose(page, name, index):
    page.locator(f"#{name} input[type=radio]").nth(index).check()


def answer_all(page, index=0):
    """Answer open questions, the first one first, until none is left."""
    for _ in range(40):
        open_ = page.locator("fieldset:visible:has([type=radio]):not(:has(:checked))")
        if open_.count() == 0:
            return
        radios = open_.first.locator("input[type=radio]")
        radios.nth(min(index, radios.count() - 1)).check()


def shot(page, name):
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    page.wait_for_timeout(300)
    page.screenshot(path=SHOTS / f"{name}.png", full_page=True)


def answers_of(page):
    return json.loads(page.locator("pre").text_content())


EXACT = {"age": "7193", "capital-gain": "8675309", "hours-per-week": "5551"}


def test_exact_values_are_typed_but_only_the_shown_ranges_are_sent(open_page, site, pat):
    watched = open_page(pat)
    page = watched.page
    needed = pat.needed
    for name, value in EXACT.items():
        card = page.locator(f"#q{needed.index(name)}")
        card.locator("summary").click()
        card.locator("details input").type(value)
        assert "Only this can be sent" in card.locator(".found").text_content()
    answer_all(page)
    assert page.locator("#progress").text_content() == f"{len(needed)} of {len(needed)} answered"
    check(page)
    assert page.evaluate("document.activeElement.textContent") == "This is exactly what will be sent"
    shown = answers_of(page)
    assert "The exact values that you typed for: How old are you?" in page.locator(".stays").text_content()
    send(page)
    assert site.posted == [shown]
    assert shown["generalization"] == identity(pat)
    record_format(pat).check(shown["record"])
    for name, value in EXACT.items():
        alone = pd.DataFrame({each: [float(value) if each == name else None] for each in pat.names})
        assert shown["record"][name] == pat.transform(alone)[name][0]
    assert "receipt-7" in page.locator("main").text_content()
    assert len([request for request in watched.requests if request.startswith("POST")]) == 1
    assert len(watched.requests) == 2 + sum("data:," in request for request in watched.requests)
    for value in EXACT.values():
        assert not [request for request in watched.requests if value in request]
        assert value not in page.content()
    assert page.locator("input").count() == 0
    kept = page.evaluate(
        "[localStorage.length, sessionStorage.length, document.cookie, location.pathname, document.title]"
    )
    assert kept == [0, 0, "", "/", "About you"]
    assert page.evaluate("JSON.stringify(history.state)") in ("null", '{"step":"preview"}')
    page.go_back()
    assert "Thank you" in page.locator("main").text_content()


def test_the_whole_form_can_be_filled_in_by_keyboard_alone(open_page, site, pat):
    page = open_page(pat).page
    keys, seen = page.keyboard, set()
    for _ in range(200):
        keys.press("Tab")
        at = page.evaluate("(e => [e.tagName, e.type, e.name || e.textContent])(document.activeElement)")
        if at[1] == "radio" and at[2] not in seen:
            seen.add(at[2])
            keys.press("Space")
            keys.press("ArrowDown")
        if at[2] == "See what will be sent":
            break
    assert len(seen) == len(pat.needed)
    keys.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    for _ in range(10):
        keys.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "Send":
            break
    keys.press("Enter")
    page.get_by_role("heading", name="Thank you").wait_for()
    record_format(pat).check(site.posted[0]["record"])
    assert site.posted[0]["record"]["age"] == pat["age"].labels[1]


def test_typed_values_fall_into_the_same_range_as_in_python(open_page, pat):
    page = open_page(pat).page
    card = page.locator(f"#q{pat.needed.index('age')}")
    card.locator("summary").click()
    edges = pat["age"].edges
    for value in [*edges, *(edges + 1), *np.nextafter(edges, 1e9), -3.0, 1e6]:
        card.locator("details input").fill(repr(float(value)).replace("1000000.0", "1,000,000"))
        code = int(np.searchsorted(edges, value, side="left"))
        assert card.locator("input:checked").get_attribute("value") == str(code)
    for grouped in (
        "1 000 000",
        "1'000'000",
        "1,000,000",
        "+ 1\u202f000\u202f000",
        "\u0661\u0660\u0660\u0660\u0660\u0660\u0660",
    ):
        card.locator("details input").fill(grouped)
        assert card.locator("input:checked").get_attribute("value") == str(len(edges))
    for wrong in ("", "abc", "1,2,3", "4 5", "1 2 3", "12 34", "1 0000", "4 5 x", "--1"):
        card.locator("details input").fill(wrong)
        assert card.locator("input:checked").count() == 0
    assert "not a number" in card.locator(".found").text_content()


def test_numbers_are_read_as_the_language_writes_them(open_page, pat):
    page = open_page(pat, strings="de").page
    at = pat.needed.index("capital-gain")
    page.locator(f"#q{at} summary").click()
    edge = int(pat["capital-gain"].edges[0])
    box = page.locator(f"#q{at} details input")
    grouped = f"{edge:,}".replace(",", ".")
    for text, code in [(grouped, "0"), (f"{grouped},0", "0"), (f"{edge},5", "1")]:
        box.fill(text)
        assert page.locator(f"#q{at} input:checked").get_attribute("value") == code
    box.fill(f"{edge}.5")
    assert page.locator(f"#q{at} input:checked").count() == 0


def test_an_open_question_is_shown_at_its_field_and_in_a_summary(open_page, pat):
    page = open_page(pat).page
    choose(page, "q0", 0)
    check(page)
    assert page.evaluate("document.activeElement.textContent") == f"Questions still open: {len(pat.needed) - 1}"
    assert page.locator("#q0 .error").is_hidden()
    assert page.locator("#q1 .error").is_visible()
    assert "q1-error" in page.locator("#q1").get_attribute("aria-describedby")
    page.locator(".summary a").first.click()
    assert page.evaluate("document.activeElement.closest('fieldset').id") == "q1"
    choose(page, "q1", 0)
    assert page.locator("#q1 .error").is_hidden()


def test_a_failure_is_shown_plainly_and_loses_nothing(open_page, site, pat):
    page = open_page(pat, expected=["503", "400"]).page
    answer_all(page)
    check(page)
    shown = answers_of(page)
    site.answers[:] = [(503, {"detail": "The service is <b>busy</b>."}), (400, {})]
    page.get_by_role("button", name="Send").click()
    for text in ("It was not accepted. The service is <b>busy</b>.", "It was not accepted. 400"):
        page.get_by_text(text).wait_for()
        page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="Thank you").wait_for()
    assert site.posted == [shown]


def test_an_unreachable_service_is_reported_and_the_answers_stay(open_page, site, pat):
    page = open_page(pat, expected=["ERR_"]).page
    answer_all(page)
    check(page)
    page.route("**/records", lambda route: route.abort())
    page.get_by_role("button", name="Send").click()
    page.get_by_text("No answer came from the service").wait_for()
    page.get_by_role("button", name="Go back").click()
    assert page.locator("input:checked").count() == len(pat.needed)
    assert site.posted == []


def test_the_shown_bytes_are_sent_and_repeated_with_the_same_id_after_a_lost_reply(open_page, site, pat):
    page = open_page(pat, expected=["ERR_"]).page
    posted = []
    page.on("request", lambda request: posted.append(request.post_data) if request.method == "POST" else None)
    answer_all(page)
    check(page)
    page.route("**/records", lambda route: (route.fetch(), route.abort()))
    page.get_by_role("button", name="Send").click()
    page.get_by_text("No answer came from the service").wait_for()
    page.get_by_role("button", name="Go back").click()
    check(page)
    shown = page.locator("pre").text_content()
    page.unroute("**/records")
    send(page)
    assert posted == [shown, shown]
    assert [each["id"] for each in site.posted] == [json.loads(shown)["id"]] * 2


def test_other_answers_have_another_id_and_a_file_has_none(open_page, pat):
    page = open_page(pat).page
    ids = set()
    for index in (0, 1, 0):
        choose(page, "q0", index)
        answer_all(page)
        check(page)
        ids.add(answers_of(page)["id"])
        page.get_by_role("button", name="Go back").click()
    assert len(ids) == 3
    assert all(re.fullmatch(RANDOM_ID, each) for each in ids)
    page = open_page(pat, endpoint=None).page
    answer_all(page)
    check(page)
    assert list(answers_of(page)) == ["generalization", "record"]


def test_without_an_endpoint_answers_are_saved_and_nothing_is_sent(open_page, pat):
    watched = open_page(pat, endpoint=None)
    page = watched.page
    answer_all(page)
    check(page)
    assert page.get_by_role("button", name="Send").count() == 0
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as file").click()
    record_format(pat).check(json.loads(Path(saved.value.path()).read_text("utf-8"))["record"])
    assert not [request for request in watched.requests if not request.startswith("GET")]


def test_cells_send_the_labels_of_the_records_cell(open_page, site, cells, adult):
    people = adult[0][COLUMNS].sample(4, random_state=0)
    records = cells.transform(people).astype(object).to_dict("records")
    for i in range(len(people)):
        page = open_page(cells).page
        codes = cells.detail.codes(people[i : i + 1])[0]
        for j, name in enumerate(cells.needed):
            choose(page, f"q{j}", int(codes[cells.names.index(name)]))
        check(page)
        send(page)
        assert site.posted[-1]["record"] == records[i]


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_questionnaire_in_any_order_ends_with_pythons_prediction_and_its_least_record(
    open_page, site, cells, adult, order
):
    form = md.Questionnaire(cells)
    format = record_format(form)
    random = np.random.default_rng(order)
    names = list(random.permutation(cells.needed)) if order else list(cells.needed)
    for i in (3, 70):
        person = adult[0][COLUMNS].iloc[i]
        codes = dict(zip(cells.names, cells.detail.codes(adult[0][COLUMNS][i : i + 1])[0], strict=True))
        page = open_page(form).page
        answers = {}
        for name in names:
            state = form.state(answers)
            asked_names = {question.name for question in state.questions} | set(answers)
            shown = page.locator("fieldset:visible").evaluate_all("all => all.map(each => each.id)")
            assert shown == [f"q{j}" for j, each in enumerate(cells.needed) if each in asked_names]
            if name in asked_names:
                choice = form.answer_of(state, name, person)
                choices = next(question for question in state.questions if question.name == name).choices
                choose(page, f"q{cells.needed.index(name)}", choices.index(choice))
                assert codes[name] in choice.codes
                answers[name] = choice.codes
        assert "nothing more is needed" in page.locator("#progress").text_content()
        check(page)
        send(page)
        encoded = format.check(site.posted[-1]["record"])
        assert format.prediction(encoded) == form.state(answers).prediction == rule(adult[0][i : i + 1]).iloc[0]
        assert dict(encoded) == form.least(answers)


def test_answers_of_a_questionnaire_can_be_changed_and_withdrawn(open_page, site, cells):
    form = md.Questionnaire(cells)
    page = open_page(form).page
    gain = cells.needed.index("capital-gain")
    everything = page.locator("fieldset:visible").count()
    choose(page, f"q{gain}", 1)
    assert page.locator("fieldset:visible").count() == 1
    assert page.locator("#progress").text_content() == f"1 of {everything} answered, nothing more is needed"
    assert page.locator(".unasked summary").text_content() == f"What we do not ask ({everything - 1})"
    choose(page, f"q{gain}", 0)
    assert page.locator("fieldset:visible").count() == everything
    page.locator(f"#q{gain} .link").click()
    assert page.locator("#progress").text_content() == f"0 of {everything} answered"
    assert page.locator("input:checked").count() == 0
    choose(page, "q0", 0)
    choose(page, f"q{gain}", 1)
    assert "no longer needed" in page.locator("#q0 .note").text_content()
    check(page)
    assert list(answers_of(page)["record"]) == ["capital-gain"]
    assert "turned out not to be needed: How old are you?" in page.locator(".stays").text_content()
    page.get_by_role("button", name="Go back").click()
    page.locator(f"#q{gain} .link").click()
    check(page)
    assert page.locator(".summary").is_visible()


def test_a_question_that_needs_less_detail_now_says_so(open_page, cells):
    page = open_page(md.Questionnaire(cells)).page
    school = page.locator(f"#q{cells.needed.index('education')}")
    before = school.locator("input[type=radio]").count()
    choose(page, f"q{cells.needed.index('hours-per-week')}", 0)
    assert 1 < school.locator("input[type=radio]").count() < before
    assert school.locator(".note").text_content() == "Less detail is needed here now."
    shot(page, "coarser")
    page.locator(".link:visible").click()
    assert school.locator("input[type=radio]").count() == before
    assert school.locator(".note").is_hidden()


def test_exact_values_work_in_a_questionnaire_and_are_not_sent(open_page, site, cells):
    watched = open_page(md.Questionnaire(cells))
    page = watched.page
    gain = cells.needed.index("capital-gain")
    page.locator(f"#q{gain} summary").click()
    page.locator(f"#q{gain}-exact").type("8675309")
    check(page)
    send(page)
    record_format(md.Questionnaire(cells)).check(site.posted[0]["record"])
    assert not [request for request in watched.requests if "8675309" in request]


def hostile():
    words = [*HOSTILE, "constructor", "\u2028", "${window.hit=1}", "", '"]}; window.hit=1; //', "شارع"]
    frame = pd.DataFrame({name: (words * 2)[i : i + 12] for i, name in enumerate(HOSTILE)})
    g = md.Uniform(buckets=20).fit(frame).generalization_
    schema = g.schema.replace(HOSTILE[0], question=HOSTILE[1], help=HOSTILE[0])
    return md.Generalization.from_dict(g.to_dict() | {"schema": schema.to_dict()})


@pytest.mark.parametrize("window", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_hostile_names_and_categories_are_shown_as_text(open_page, site, window):
    g = hostile()
    page = open_page(g, window).page
    shot(page, f"hostile-{'phone' if window is PHONE else 'desktop'}")
    answer_all(page, index=3)
    fits(page)
    check(page)
    fits(page)
    send(page)
    assert list(site.posted[0]["record"]) == g.needed
    assert record_format(g).record(record_format(g).check(site.posted[0]["record"])) == site.posted[0]["record"]
    assert page.locator("script").count() == 1
    assert page.locator("img, svg").count() == 0


def test_one_of_ten_thousand_categories_is_found_by_its_name(open_page, site):
    places = [f"Place {i}" for i in range(9_999)] + ["São Tomé"]
    schema = md.Schema(attributes=(md.Attribute(name="place", kind="category", question="Where do you live?"),))
    g = md.Uniform(buckets=10_000, schema=schema).fit(pd.DataFrame({"place": places})).generalization_
    page = open_page(g).page
    assert page.locator("input[type=radio]").count() == 100 + 2
    assert page.locator(".special").all_text_contents() == ["Something else", "I would rather not say"]
    shot(page, "many-1")
    box = page.get_by_label("Find yours by name")
    box.type("place 77")
    assert page.locator("input[type=radio]").count() <= 100 + 3
    shot(page, "many-2")
    box.fill("no such place")
    assert "Something else" in page.locator(".search p").text_content()
    box.fill("sao tome")
    box.press("Enter")
    assert page.locator(".choice:has(:checked)").text_content() == "São Tomé"
    check(page)
    send(page)
    assert site.posted[0]["record"] == {"place": "São Tomé"}


def test_a_member_of_a_large_group_is_found_by_its_name(open_page, site):
    buckets = [{"values": [f"{letter}{i}" for i in range(3000)], "label": f"all {letter}"} for letter in "abc"]
    attribute = {"name": "code", "kind": "category"}
    g = md.Generalization.from_dict(
        {"modicum": "generalization", "version": 1, "schema": {"attributes": [attribute]}}
        | {"attributes": [{"name": "code", "buckets": buckets, "unseen": "refuse", "missing": "refuse"}]}
    )
    page = open_page(g).page
    assert page.locator(".choice").count() == 3  # what is refused is not offered
    page.get_by_label("Find yours by name").type("B2718")
    assert page.locator(".choice").all_text_contents() == ["all bb2718"]
    shot(page, "group-search")
    page.keyboard.press("Enter")
    check(page)
    assert answers_of(page)["record"] == {"code": "all b"}
    assert "The exact values that you typed for: Code" in page.locator(".stays").text_content()


def test_attributes_needed_exactly_say_so_and_are_sent(open_page, site):
    X = pd.DataFrame({"dose": [0.5, 1.25, 3.0] * 9, "born": pd.date_range("1950-01-01", periods=27, freq="YS")})
    schema = md.Schema.infer(X).replace("dose", locked=True).replace("born", locked=True)
    g = md.Uniform(buckets=2, schema=schema).fit(X).generalization_
    page = open_page(g).page
    assert page.get_by_text("what you type here will be sent").count() == 2
    page.locator("#q0-value").type("1.25")
    page.locator("#q1-value").fill("1961-04-12")
    shot(page, "full-detail")
    check(page)
    send(page)
    assert site.posted[-1]["record"] == {"dose": 1.25, "born": "1961-04-12"}
    page = open_page(g).page
    for card in ("#q0", "#q1"):
        page.locator(f"{card} input[type=checkbox]").check()
    check(page)
    send(page)
    assert record_format(g).check(site.posted[-1]["record"]) == (None, None)


@pytest.fixture(scope="module")
def keeping(adult):
    """Cells that keep the exact age, because the model needs it."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = adult[0][["age", "hours-per-week", "capital-gain"]], adult[1]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    schema = md.Schema.infer(X).replace("age", locked=True)
    return md.ModelGuided(model, random_state=0, schema=schema).fit(X).cells_


def test_attributes_that_cells_keep_are_asked_exactly_and_sent(open_page, site, keeping, adult):
    person = adult[0][keeping.names][11:12]
    age = int(person["age"].iloc[0])
    assert keeping.kept == keeping.names  # two of them in buckets
    codes = dict(zip(keeping.names, keeping.codes(person)[0], strict=True))
    for artifact in (keeping, md.Questionnaire(keeping)):
        page = open_page(artifact).page
        at = keeping.needed.index("age")
        page.locator(f"#q{at}-value").type(str(age))
        for j, name in enumerate(keeping.needed):
            if j != at:
                choose(page, f"q{j}", int(codes[name]))
        check(page)
        assert answers_of(page)["record"]["age"] == age
        send(page)
        record_format(artifact).check(site.posted[-1]["record"])
        assert site.posted[-1]["record"] == keeping.transform(person).astype(object).to_dict("records")[0]


def test_a_language_from_right_to_left_turns_the_page(open_page, pat):
    words = page_strings("en") | {"language": "ar", "direction": "rtl", "send": "أرسل"}
    page = open_page(pat, PHONE, strings=words).page
    assert page.evaluate("getComputedStyle(document.querySelector('.choice')).direction") == "rtl"
    fits(page)
    accessible(page)
    shot(page, "right-to-left")
    card = page.locator(f"#q{pat.needed.index('age')}")
    card.locator("summary").click()
    card.locator("details input").fill("٩٩")
    assert card.locator("input:checked").get_attribute("value") == str(len(pat["age"].buckets) - 1)


def fits(page):
    """Check that the page does not scroll horizontally."""
    assert page.evaluate("document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth")


def accessible(page):
    """Check that axe finds no violation."""
    from axe_playwright_python.sync_playwright import Axe

    response = Axe().run(page).response
    found = response["violations"]
    assert len(response["passes"]) > 10
    assert [(each["id"], each["impact"], [node["html"] for node in each["nodes"]][:2]) for each in found] == []


@pytest.mark.parametrize("window", [DESKTOP, PHONE, DARK], ids=["desktop", "phone", "dark"])
@pytest.mark.parametrize("kind", ["generalization", "cells", "questionnaire", "german"])
def test_every_step_is_accessible_and_fits(open_page, site, pat, cells, kind, window, request):
    artifact = {"cells": cells, "questionnaire": md.Questionnaire(cells)}.get(kind, pat)
    page = open_page(artifact, window, expected=["503"], strings="de" if kind == "german" else "en").page
    name = request.node.callspec.id
    step = iter(range(10))

    def look():
        accessible(page)
        fits(page)
        shot(page, f"{name}-{next(step)}")

    look()
    check(page)
    look()
    page.locator("#q0 summary").click()
    page.locator("#q0-exact").type("37")
    page.locator("fieldset:visible input[type=radio]").nth(5).check()
    look()
    answer_all(page)
    look()
    check(page)
    page.locator("summary").first.click()
    look()
    site.answers[:] = [(503, {"detail": "The service is busy."})]
    page.locator(".actions .primary").click()
    page.locator(".failed").wait_for()
    look()
    page.locator(".actions .primary").click()
    page.locator(".receipt").wait_for()
    look()


@pytest.mark.parametrize("kind", ["generalization", "cells", "questionnaire"])
def test_a_question_with_yes_and_no_offers_nothing_else(open_page, site, kind):
    X = pd.DataFrame({"smokes": [True, False] * 40, "age": range(18, 98)})
    artifact = md.Uniform(buckets=3).fit(X).generalization_
    if kind != "generalization":

        def rule(X):
            return (X["age"] > 40) & X["smokes"].astype(bool)

        artifact = md.ModelGuided(rule, random_state=0).fit(X).cells_
    form = md.Questionnaire(artifact) if kind == "questionnaire" else artifact
    page = open_page(form).page
    question = page.locator("fieldset", has=page.locator("legend", has_text="Smokes"))
    words = question.locator("label.choice").all_inner_texts()
    assert {"Yes", "No"} <= {part for text in words for part in re.split(" or |, ", text)}
    assert "else" not in " ".join(words)
    question.get_by_label("Yes").first.check()
    answer_all(page, 1)  # an age at which the answer matters
    check(page)
    shown = page.locator("table").inner_text()
    assert "Yes" in shown
    assert "else" not in shown
    assert "true" in answers_of(page)["record"]["smokes"]
    assert "false" not in answers_of(page)["record"]["smokes"]
    send(page)
