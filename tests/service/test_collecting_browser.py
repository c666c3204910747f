"""From a person's browser to the store: the real service, and every request watched."""

import json

import pandas as pd
import pytest
from browser import Watched, chromium
from serving import Process, bundle_of

from modicum.export.model_bundle import save_bundle
from modicum.service.stores.store import open_store

pytestmark = pytest.mark.services

AGE, HOURS = "73.4142", "57.3183"  # typed values that occur nowhere else


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def collecting(browser, tmp_path):
    """Serve a bundle's form and open it; the returned function stops both and returns the stored records."""
    started = []

    def start(kind):
        bundle = bundle_of(kind)
        save_bundle(tmp_path / kind, bundle.artifact, bundle.model, label="bought")
        service = Process(tmp_path / kind, str(tmp_path / f"{kind}.duckdb"))
        context = browser.new_context()
        watched = Watched(context)
        started.append((service, context))
        watched.page.goto(service.url)
        watched.page.locator("h1").wait_for()

        def stored():
            context.close()
            output = service.stop()
            started.clear()
            store = open_store(str(tmp_path / f"{kind}.duckdb"))
            kept = store.entries(bundle.identity)
            store.close()
            return kept, output

        return bundle, watched, stored

    yield start
    for service, context in started:
        context.close()
        service.kill()


def fieldset(page, name):
    return page.locator("fieldset:visible").filter(has=page.get_by_text(name, exact=True)).first


def type_exactly(page, name, value):
    question = fieldset(page, name)
    question.locator("summary").first.click()
    question.locator("input:not([type=radio])").first.fill(value)
    question.locator("input:not([type=radio])").first.press("Tab")


def test_the_shown_record_is_sent_and_stored_without_exact_values(collecting):
    bundle, watched, stored = collecting("generalization")
    page = watched.page
    type_exactly(page, "Age", AGE)
    type_exactly(page, "Hours", HOURS)
    fieldset(page, "Job").locator("input[type=radio]").first.check()
    page.locator(".actions .primary").click()
    shown = json.loads(page.locator("pre").text_content())
    page.get_by_role("button", name="Send").click()
    page.get_by_role("heading", name="Thank you").wait_for()
    receipt = page.locator("main").inner_text()
    kept, output = stored()
    assert [json.loads(entry.record) for entry in kept] == [shown["record"]]
    assert kept[0].id in receipt
    checked = bundle.format.check(shown["record"])
    exact = pd.DataFrame({"age": [float(AGE)], "hours": [float(HOURS)], "job": ["clerk"]})
    expected = bundle.artifact.transform(exact).astype(object).iloc[0].to_dict()
    found = bundle.format.record(checked)
    assert {name: found[name] for name in ("age", "hours")} == {name: expected[name] for name in ("age", "hours")}
    assert [request.split()[0] for request in watched.requests] == ["GET", "POST"]
    for text in (*watched.requests, output, *(entry.record for entry in kept)):
        assert AGE not in text
        assert HOURS not in text
    assert watched.complaints == []


@pytest.mark.parametrize("order", [["age", "hours"], ["hours", "age"], ["hours"]])
def test_a_questionnaire_is_answered_to_its_end_and_stored(collecting, order):
    bundle, watched, stored = collecting("questionnaire")
    form = bundle.artifact
    record = {"age": 30, "hours": 20}
    answers: dict = {}
    for name in order:
        state = form.state(answers)
        if all(question.name != name for question in state.questions):
            continue
        choice = form.answer_of(state, name, record)
        place = next(q for q in state.questions if q.name == name).choices.index(choice)
        fieldset(watched.page, name.capitalize()).locator("input[type=radio]").nth(place).check()
        answers[name] = choice.codes
    assert form.state(answers).decided
    watched.page.get_by_text("nothing more is needed").first.wait_for()
    watched.page.locator(".actions .primary").click()
    watched.page.get_by_role("button", name="Send").click()
    watched.page.get_by_role("heading", name="Thank you").wait_for()
    kept, _ = stored()
    labels = {name: form.cells.detail[name].labels for name in form.cells.needed}
    least = {name: [labels[name][code] for code in codes] for name, codes in form.least(answers).items()}
    assert [json.loads(entry.record) for entry in kept] == [least]
    assert watched.complaints == []
