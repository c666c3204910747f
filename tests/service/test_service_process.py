"""The service as a process: acknowledged records survive a kill."""

import json
import signal
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection

import httpx
import pytest
from postgres import empty_store
from serving import Process, body, bundle_of, records_of, until

from modicum.export.model_bundle import save_bundle
from modicum.service.stores.store import open_store

pytestmark = pytest.mark.services


@pytest.fixture
def folder(tmp_path):
    bundle = bundle_of("generalization")
    save_bundle(tmp_path / "bundle", bundle.artifact, bundle.model, label="bought")
    return tmp_path / "bundle"


@pytest.fixture(params=["duckdb", "postgresql"])
def place(request, tmp_path):
    return empty_store(request, tmp_path)


def test_a_kill_under_load_loses_no_acknowledged_record(folder, place):
    bundle = bundle_of("generalization")
    texts = [body(bundle, record) for record in records_of(bundle)]
    service = Process(folder, place, "--rate", "0")
    port = int(service.url.rsplit(":", 1)[1])
    answered: list[str] = []
    killed = threading.Event()

    def load(number):
        connection = HTTPConnection("127.0.0.1", port, timeout=10)
        own = []
        for i in range(5000):
            try:
                connection.request("POST", "/records", texts[(i + number) % 40], {"content-type": "application/json"})
                answer = connection.getresponse()
                own.append((answer.status, json.loads(answer.read())))
            except (OSError, ValueError, Exception):
                assert killed.is_set(), "the service stopped by itself"
                break
            answered.append(own[-1][1]["id"])
        connection.close()
        return {status for status, _ in own}

    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(load, number) for number in range(8)]
        until(lambda: len(answered) >= 400, seconds=90)
        killed.set()
        service.kill()
        statuses = set.union(*(each.result(timeout=60) for each in work))
    assert statuses == {201}
    assert 400 <= len(answered) < 40_000
    store = open_store(place)
    kept = [entry.id for entry in store.entries(bundle.identity)]
    store.close()
    assert len(set(answered)) == len(answered)
    assert len(set(kept)) == len(kept)
    assert set(answered) <= set(kept)
    again = Process(folder, place, "--rate", "0")  # it starts again and continues
    request = urllib.request.Request(f"{again.url}/records", texts[0], {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        one_more = json.loads(answer.read())["id"]
    again.stop()
    store = open_store(place)
    assert {entry.id for entry in store.entries(bundle.identity)} == {*kept, one_more}
    store.close()


def test_the_service_names_its_store_stops_cleanly_and_prints_no_personal_data(folder, tmp_path):
    bundle = bundle_of("generalization")
    place = str(tmp_path / "data.duckdb")
    service = Process(folder, place)
    with httpx.Client(base_url=service.url) as client:
        fields = {"generalization": bundle.identity, "record": records_of(bundle)[0]}
        headers = {"x-secret": "Zanzibar"}
        assert client.post("/records", json=fields, headers=headers).status_code == 201
        assert client.post("/records", json=fields | {"record": {"age": "Zanzibar"}}).status_code == 422
        assert client.get("/Zanzibar?Zanzibar").status_code == 404
        assert client.get("/").text.startswith("<!DOCTYPE html>") or "<html" in client.get("/").text
        upgrade = {
            "connection": "upgrade",
            "upgrade": "websocket",
            "sec-websocket-key": "x",
            "sec-websocket-version": "13",
        }
        assert client.get("/", headers=upgrade).status_code == 200
        assert client.head("/").headers["content-length"] == str(len(client.get("/").content))
        answers = [client.get("/healthz").status_code for _ in range(150)]
        assert answers.count(429) > 0
        assert "server" not in client.get("/healthz").headers
    errors = service.read_errors()
    output = service.stop()
    assert "Collects by generalization" in output
    assert "data.duckdb" in output
    assert output.rstrip().endswith("every confirmed record is stored.")
    assert "Zanzibar" not in output + errors
    assert "127.0.0.1" not in errors
    assert "WebSocket" not in errors
    assert "upgrade" not in errors
    store = open_store(place)
    assert len(store.entries(bundle.identity)) == 1
    store.close()


def test_ctrl_c_lets_running_requests_finish(folder, tmp_path):
    bundle = bundle_of("generalization")
    service = Process(folder, str(tmp_path / "data.duckdb"), "--rate", "0")
    text = body(bundle, records_of(bundle)[0])

    def send(_):
        request = urllib.request.Request(f"{service.url}/records", text, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return json.loads(answer.read())["id"]
        except (urllib.error.URLError, ConnectionError):
            return None

    with ThreadPoolExecutor(8) as pool:
        work = [pool.submit(send, i) for i in range(200)]
        until(lambda: sum(each.done() for each in work) > 40)
        service.process.send_signal(signal.SIGINT)
        answered = {each.result(timeout=60) for each in work} - {None}
    service.process.communicate(timeout=30)
    assert service.process.returncode == 0
    store = open_store(str(tmp_path / "data.duckdb"))
    assert {entry.id for entry in store.entries(bundle.identity)} >= answered
    store.close()


def test_an_address_that_others_can_reach_is_warned_about(folder, tmp_path):
    service = Process(folder, str(tmp_path / "data.duckdb"), "--host", "0.0.0.0")
    assert "no TLS" in service.stop()
