"""The service accepts only generalized records, and repeats nothing that it refuses."""

import json
import logging

import pytest
from serving import Service, bundle_of, records_of

from modicum.service.reading import Rates, RequestLimits
from modicum.service.stores.store import StoreUnavailable, read_records

KINDS = ["generalization", "cells", "questionnaire", "number", "full detail"]
SECRET, SECRET_NUMBER = "Zanzibar-4711", 90210.4711


@pytest.fixture(scope="module")
def bundles():
    return {kind: bundle_of(kind) for kind in KINDS}


@pytest.fixture
def serve(bundles, tmp_path):
    opened = []

    def start(kind="generalization", limits=None):
        opened.append(Service(bundles[kind], tmp_path / "data.duckdb", limits))
        return opened[-1]

    yield start
    for service in opened:
        service.close()


@pytest.mark.parametrize("kind", KINDS)
def test_records_are_stored_with_their_version_and_day(serve, kind):
    service = serve(kind)
    sent = records_of(service.bundle)
    answers = [service.send("/records", record) for record in sent]
    assert {answer.status_code for answer in answers} == {201}
    kept = {entry.id: entry for entry in service.store.entries(service.bundle.identity)}
    assert [json.loads(kept[answer.json()["id"]].record) for answer in answers] == sent
    assert len(kept) == len(sent)
    assert {str(entry.received).count(":") for entry in kept.values()} == {0}
    assert {entry.artifact for entry in kept.values()} == {service.bundle.identity}


@pytest.mark.parametrize("kind", ["generalization", "cells", "questionnaire", "number"])
def test_new_and_remembered_predictions_are_those_of_the_bundle(serve, kind):
    service = serve(kind)
    for record in [*records_of(service.bundle, 15), *records_of(service.bundle, 15)]:
        answer = service.send("/predict", record)
        assert answer.status_code == 200
        assert answer.json() == service.bundle.predict([service.bundle.format.check(record)])[0]
    assert service.store.entries(service.bundle.identity) == []


def test_a_limited_number_of_predictions_is_remembered(bundles):
    import asyncio

    from modicum.service.batching import RememberedPredictions

    bundle = bundles["generalization"]
    checked = list(dict.fromkeys(bundle.format.check(record) for record in records_of(bundle)))
    predictions = RememberedPredictions(bundle, remembered=3)

    async def ask():
        return [json.loads(await predictions(each)) for each in checked]

    assert asyncio.run(ask()) == bundle.predict(checked)
    assert len(checked) > 3
    assert len(predictions._known) == 3
    predictions.close()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", ["/records", "/predict"])
def test_refused_content_is_neither_repeated_nor_stored(serve, kind, path, caplog, capfd):
    service = serve(kind)
    caplog.set_level(logging.DEBUG)
    good = records_of(service.bundle)[0]
    answers = []
    for secret in (SECRET, SECRET_NUMBER, [SECRET], {SECRET: SECRET}):
        names = [n for n in good if not (kind == "full detail" and n == "age" and secret == SECRET_NUMBER)]
        answers += [
            *(service.send(path, good | {name: secret}) for name in names),
            service.send(path, secret),
            service.send(path, good | {SECRET: secret}),
            service.send(path, good, label=secret) if kind != "number" or secret != SECRET_NUMBER else None,
            service.send(path, good, **{SECRET: secret}),
            service.client.post(path, json={"generalization": secret, "record": good}),
            service.client.post(path, content=json.dumps(secret)),
            service.client.post(path, content=f'{{"record": {secret}', headers={"content-type": "application/json"}),
            service.client.post(f"{path}/{SECRET}?{SECRET}={SECRET_NUMBER}", json=good),
            service.client.post(f"{path}/?{SECRET}={SECRET_NUMBER}", json=good, headers={"host": SECRET}),
            service.client.put(path, json=good | {"age": secret}),
        ]
    answers = [answer for answer in answers if answer is not None]
    assert {answer.status_code for answer in answers} <= {400, 404, 405, 409, 415, 422}
    seen = "".join([*(a.text + str(a.headers) for a in answers), "".join(capfd.readouterr())])
    seen += "".join(record.getMessage() for record in caplog.records if record.name != "httpx")
    for word in ("Zanzibar", "4711", "90210"):
        assert word not in seen
    assert all(list(answer.json()) == ["detail"] and answer.json()["detail"].endswith(".") for answer in answers)
    assert service.store.entries(service.bundle.identity) == []


def test_a_failure_is_logged_by_its_type_alone(serve, caplog, capfd, monkeypatch):
    service = serve()

    def failing(inputs):
        raise KeyError(SECRET)

    monkeypatch.setattr(service.app.state.service._predictions._bundle.model, "predict", failing)
    answer = service.send("/predict", records_of(service.bundle)[0])
    assert answer.status_code == 500
    assert answer.json()["detail"].endswith(".")
    assert [record.getMessage() for record in caplog.records if record.name.startswith("modicum")] == [
        "A request failed: KeyError."
    ]
    assert SECRET not in caplog.text + answer.text + "".join(capfd.readouterr())


def test_an_unavailable_store_is_answered_with_503_and_tried_again(serve, monkeypatch):
    service = serve()
    record = records_of(service.bundle)[0]
    write = service.store.write
    assert service.send("/records", record).status_code == 201  # it has just answered

    def away(*arguments):
        raise StoreUnavailable("away")

    monkeypatch.setattr(service.store, "write", away)
    answers = [service.send("/records", record), service.client.get("/healthz")]
    assert [answer.status_code for answer in answers] == [503, 503]
    assert all("retry-after" in answer.headers for answer in answers)
    monkeypatch.setattr(service.store, "write", write)
    assert service.send("/records", record).status_code == 201
    assert service.client.get("/healthz").json() == {"status": "ok"}
    assert len(service.store.entries(service.bundle.identity)) == 2


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"\xef\xbb\xbf{}", 400),
        (b"[" * 60_000, 400),
        (b'{"record": NaN}', 400),
        (b'{"record": {"age": 1, "age": 2}}', 400),
        (b"1" * 5000, 400),
        (b"null", 422),
        (b"[]", 422),
        (b"{}", 422),
        (b'{"generalization": 3, "record": {}}', 422),
        (b'{"generalization": "\\ud800", "record": {}}', 409),
        (b'{"generalization": "", "record": null, "more": 1}', 422),
    ],
)
def test_malformed_requests_are_refused_in_one_sentence(serve, content, status):
    service = serve()
    for path in ("/records", "/predict"):
        answer = service.client.post(path, content=content, headers={"content-type": "application/json"})
        assert answer.status_code == status
        assert answer.json()["detail"].endswith(".")


def test_a_form_of_another_version_is_asked_to_reload(serve):
    service = serve()
    answer = service.client.post("/records", json={"generalization": "0" * 64, "record": {}})
    assert (answer.status_code, answer.json()) == (409, {"detail": "This form belongs to another version; reload it."})


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
def test_only_json_is_read(serve, content_type):
    service = serve()
    headers = {} if content_type is None else {"content-type": content_type}
    content = json.dumps({"generalization": service.bundle.identity, "record": records_of(service.bundle)[0]})
    assert service.client.post("/records", content=content, headers=headers).status_code == 415
    right = {"content-type": "Application/JSON; charset=utf-8"}
    assert service.client.post("/records", content=content, headers=right).status_code == 201


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        ("generalization", ["yes", "no", None], ["maybe", 1, True, ["yes"], {}]),
        ("cells", ["yes", None], ["maybe", 0]),
        ("questionnaire", ["no"], ["maybe", 2.5]),
        ("number", [3, -2.5, None], ["3", True, [3]]),
        ("full detail", [True, 1, 1.0], [False, 0, "true", "1"]),
    ],
)
def test_an_outcome_is_one_of_the_classes_or_a_number(serve, kind, taken, refused):
    service = serve(kind)
    record = records_of(service.bundle)[0]
    kept = [service.send("/records", record, label=label) for label in taken]
    assert [answer.status_code for answer in kept] == [201] * len(taken)
    assert {service.send("/records", record, label=label).status_code for label in refused} == {422}
    labels = {entry.id: json.loads(entry.label or "null") for entry in service.store.entries(service.bundle.identity)}
    assert [labels[answer.json()["id"]] for answer in kept] == taken
    assert service.send("/predict", record, label=taken[0]).status_code in (404, 422)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400])
def test_a_number_that_is_not_finite_is_refused_as_outcome_and_value(serve, number):
    for kind, field in (("number", "label"), ("full detail", "age")):
        service = serve(kind)
        fields = {"generalization": service.bundle.identity, "record": records_of(service.bundle)[0]}
        (fields if field == "label" else fields["record"])[field] = "@"
        content = json.dumps(fields).replace('"@"', number)
        answer = service.client.post("/records", content=content, headers={"content-type": "application/json"})
        assert answer.status_code == 422


def test_a_bundle_without_classes_takes_no_outcome_and_predicts_nothing(tmp_path, bundles):
    from modicum.export.model_bundle import Bundle

    service = Service(Bundle(bundles["generalization"].artifact), tmp_path / "data.duckdb")
    record = records_of(service.bundle)[0]
    assert service.send("/records", record).status_code == 201
    assert service.send("/records", record, label="yes").status_code == 422
    answer = service.send("/predict", record)
    assert (answer.status_code, "no model" in answer.json()["detail"]) == (404, True)
    service.close()


def test_stored_records_are_read_as_transform_returns_them(serve):
    from serving import people

    service = serve()
    for record in records_of(service.bundle):
        service.send("/records", record, label="yes")
    Z, y = read_records(service.store, service.bundle.artifact)
    expected = service.bundle.artifact.transform(people(40)[0])
    assert set(y) == {"yes"}
    assert list(Z.columns) == list(expected.columns)
    assert (Z.dtypes == expected.dtypes).all()
    assert sorted(Z.astype(str).agg("|".join, axis=1)) == sorted(expected.astype(str).agg("|".join, axis=1))


def test_the_form_comes_with_its_policy_and_nothing_is_cached(serve):
    service = serve()
    page = service.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    for path in ("/", "/healthz", "/generalization", "/openapi.json", "/nowhere"):
        headers = service.client.get(path, headers={"origin": "https://elsewhere.example"}).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


@pytest.mark.parametrize("path", ["/", "/healthz"])
def test_a_head_request_gets_only_the_head_of_the_answer(serve, path, monkeypatch):
    service = serve()
    whole, head = service.client.get(path), service.client.head(path)
    assert (head.status_code, head.content, dict(head.headers)) == (200, b"", dict(whole.headers))
    assert "head" not in service.client.get("/openapi.json").json()["paths"].get(path, {})
    assert service.client.put(path).status_code == 405

    def away(*arguments):
        raise StoreUnavailable("away")

    monkeypatch.setattr(service.store, "check", away)
    service.app.state.service._writer._answered = -10.0
    failed = service.client.head("/healthz")
    assert (failed.status_code, failed.content) == (503, b"")


def test_the_artifact_can_be_requested(serve):
    service = serve("questionnaire")
    content = service.client.get("/generalization").json()
    assert content["generalization"] == service.bundle.identity
    assert content["kind"] == "questionnaire"
    assert content["artifact"] == service.bundle.artifact.cells.to_dict()
    assert content["record_schema"]["type"] == "object"


def test_a_too_large_request_is_refused_with_and_without_its_length(serve):
    service = serve(limits=RequestLimits(rate=0, body=10_000))
    assert service.client.post("/records", content=b"x" * 20_000).status_code == 413
    headers = {"content-type": "application/json"}

    async def pieces():
        for _ in range(20):
            yield b" " * 1000

    answer = service.client.post("/records", content=pieces(), headers=headers)
    assert (answer.status_code, list(answer.json())) == (413, ["detail"])
    lying = {**headers, "content-length": "9" * 5000}
    assert service.client.post("/records", content=b"{}", headers=lying).status_code == 413


def test_too_many_requests_of_one_client_are_refused_with_the_time_to_wait(serve):
    service = serve(limits=RequestLimits(rate=0.01))
    answers = [service.client.get("/healthz") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 429, 429]
    assert int(answers[1].headers["retry-after"]) >= 90
    assert answers[1].json()["detail"].endswith(".")


def test_tokens_refill_per_client_and_a_limited_number_of_clients_is_remembered():
    now = [0.0]
    rates = Rates(RequestLimits(rate=2, clients=3), clock=lambda: now[0])
    assert [rates.wait("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert rates.wait("b") == 0
    now[0] = 0.5
    assert rates.wait("a") == 0
    assert rates.wait("a") > 0
    for other in "cdef":
        rates.wait(other)
    assert len(rates._left) == 3
    assert [rates.wait("2001:db8::1") for _ in range(4)] == [0] * 4
    assert rates.wait("2001:db8::2") > 0  # the same network
    assert all(Rates(RequestLimits(rate=0)).wait("a") == 0 for _ in range(1000))


ID = "1b4e28ba-2fa1-4d2e-883f-0016d3cca427"


@pytest.mark.parametrize("kind", KINDS)
def test_a_record_sent_again_under_its_id_is_stored_once(serve, kind):
    service = serve(kind)
    one, *others = records_of(service.bundle)
    other = next(record for record in others if record != one)
    first, again = (service.send("/records", one, id=ID) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    assert service.send("/records", other, id=ID).status_code == 409
    assert service.send("/records", one, id=first.json()["id"]).status_code == 201  # a receipt is not an id
    assert service.send("/records", one).status_code == 201
    kept = service.store.entries(service.bundle.identity)
    assert [json.loads(entry.record) for entry in kept] == [one] * 3
    assert ID not in {entry.id for entry in kept}


def test_an_id_is_a_random_uuid_and_nothing_else(serve):
    service = serve()
    record = records_of(service.bundle)[0]
    wrong = [None, 7, SECRET, "", ID.upper(), ID + "\n", ID.replace("4d2e", "1d2e"), [ID], "{" + ID + "}"]
    answers = [service.send("/records", record, id=each) for each in wrong]
    assert {answer.status_code for answer in answers} == {422}
    assert not [answer for answer in answers if SECRET in answer.text]
    assert service.send("/predict", record, id=ID).status_code == 422
    assert service.store.entries(service.bundle.identity) == []


def test_simultaneous_records_under_one_id_are_stored_once(serve):
    import asyncio

    from modicum.service.batching import Taken, Writer
    from modicum.service.stores.store import new_entry

    store = serve().store
    writer = Writer(store, "a" * 64)
    entries = [new_entry("a" * 64, {"x": i % 2}, sent=ID) for i in range(6)]

    async def keep():
        return await asyncio.gather(*map(writer.keep, entries), return_exceptions=True)

    found = asyncio.run(keep())
    writer.close()
    kept = store.entries("a" * 64)
    assert len(kept) == 1
    assert [each is None for each in found] == [entry.content == kept[0].content for entry in entries]
    assert {type(each) for each in found} == {type(None), Taken}


def test_one_answer_that_fails_fails_only_itself():
    import asyncio

    from modicum.service.batching import Batcher

    def work(items):
        if 3 in items:
            raise ValueError("three")
        return [10 * item for item in items]

    batcher = Batcher(work, "trying")

    async def ask():
        return await asyncio.gather(*map(batcher, range(6)), return_exceptions=True)

    found = asyncio.run(ask())
    batcher.close()
    assert [each for each in found if not isinstance(each, Exception)] == [0, 10, 20, 40, 50]
    assert isinstance(found[3], ValueError)
