"""Records are read back unchanged from DuckDB and PostgreSQL, whatever their names; errors are one sentence."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from threading import Barrier

import duckdb
import pandas as pd
import pytest
from postgres import empty_store, new_place, silent
from serving import Service, bundle_of, records_of, until

import modicum as md
from modicum.errors import DataError, ParameterError
from modicum.export.model_bundle import Bundle
from modicum.generalization.loading import content_of, kind_of
from modicum.provenance import identity
from modicum.service.stores import postgres_store
from modicum.service.stores.store import (
    Entry,
    OtherVersions,
    StoreRefused,
    StoreUnavailable,
    artifact_of,
    new_entry,
    open_store,
    read_records,
)
from modicum.service.versions import check_alone, other_versions

HOSTILE = [
    "</script>",
    "'; DROP TABLE modicum_records; --",
    '"',
    "\\",
    "😀",
    "שלום",
    "\x00",
    "__proto__",
    "é\n",
    "%s $1 ?",
]


@pytest.fixture(params=["duckdb", pytest.param("postgresql", marks=pytest.mark.services)])
def place(request, tmp_path):
    return empty_store(request, tmp_path)


@pytest.fixture
def store(place):
    opened = open_store(place)
    yield opened
    opened.close()


def hostile_generalization():
    values = [f"{word}{i}" for i, word in enumerate(HOSTILE)]
    X = pd.DataFrame(dict.fromkeys(HOSTILE, values * 2))
    schema = md.Schema(attributes=tuple(md.Attribute(name=name, kind="category") for name in HOSTILE))
    return X, md.Uniform(buckets=10, schema=schema).fit(X).generalization_


def test_hostile_names_and_categories_are_stored_and_read_unchanged(place):
    X, g = hostile_generalization()
    service = Service(Bundle(g, label="</script>", classes=HOSTILE), place)
    sent = g.transform(X[: len(HOSTILE)]).astype(object).to_dict("records")
    answers = [service.send("/records", r, label=word) for r, word in zip(sent, HOSTILE, strict=True)]
    assert {answer.status_code for answer in answers} == {201}
    Z, y = read_records(service.store, g)
    for answer, record, word in zip(answers, sent, HOSTILE, strict=True):
        name = answer.json()["id"]
        assert Z.loc[name].to_dict() == record
        assert y[name] == word
    assert artifact_of(service.store.artifacts()[0]) == g
    service.close()


def test_ten_thousand_categories_are_checked_one_by_one(tmp_path):
    X = pd.DataFrame({"city": [f"ünï-{i}" for i in range(10_000)]})
    g = md.Generalization(md.Schema.infer(X), [_one_bucket_each(X)])
    service = Service(Bundle(g), tmp_path / "data.duckdb")
    for city in ("ünï-0", "ünï-9999", "(other)"):
        assert service.send("/records", {"city": city}).status_code == 201
    assert service.send("/records", {"city": "ünï-10000"}).status_code == 422
    assert sorted(read_records(service.store, g)[0]["city"]) == ["(other)", "ünï-0", "ünï-9999"]
    service.close()


def _one_bucket_each(X):
    from modicum.generalization.build import groups

    return groups(md.Schema.infer(X)["city"], [[city] for city in X["city"]])


def test_a_questionnaire_with_long_lists_of_buckets_fits_into_a_request():
    from modicum.service.reading import largest_body

    bundle = bundle_of("questionnaire")
    longest = {name: list(bundle.artifact.cells.detail[name].labels) for name in bundle.format.names}
    sent = json.dumps({"generalization": bundle.identity, "record": longest, "label": "yes"}, indent=2)
    assert len(sent.encode()) <= largest_body(bundle)


def test_names_that_differ_only_by_case_stay_apart(place):
    frames = [pd.DataFrame({name: [18, 35, 70], "x": [1, 2, 3]}) for name in ("age", "AGE")]
    fitted = [md.Uniform(buckets=2).fit(X).generalization_ for X in frames]
    for X, g in zip(frames, fitted, strict=True):
        service = Service(Bundle(g), place, accept_others=[identity(each) for each in fitted])
        record = g.transform(X[:1]).astype(object).to_dict("records")[0]
        assert service.send("/records", record).status_code == 201
        service.close()
    store = open_store(place)
    assert len(store.artifacts()) == 2
    for X in frames:
        Z, y = read_records(store, md.Uniform(buckets=2).fit(X).generalization_)
        assert (list(Z.columns), len(Z), y.tolist()) == (list(X.columns), 1, [None])
    store.close()


def test_two_attributes_of_one_artifact_may_differ_only_by_case(place):
    X = pd.DataFrame({"age": [18, 35, 70], "Age": [1, 2, 3]})
    g = md.Uniform(buckets=2).fit(X).generalization_
    service = Service(Bundle(g), place)
    record = g.transform(X[2:]).astype(object).to_dict("records")[0]
    assert service.send("/records", record).status_code == 201
    assert read_records(service.store, g)[0].iloc[0].to_dict() == record
    service.close()


@pytest.mark.parametrize("kind", ["generalization", "cells", "questionnaire", "full detail"])
def test_records_of_every_kind_are_read_for_training(place, kind):
    service = Service(bundle_of(kind), place)
    sent = records_of(service.bundle, 20)
    for record in sent:
        assert service.send("/records", record).status_code == 201
    Z, y = read_records(service.store, service.bundle.artifact)
    checked = [service.bundle.format.check(record) for record in sent]
    expected = service.bundle.format.inputs(checked, "values" if kind == "questionnaire" else "labels")
    assert len(y) == 20
    assert list(Z.columns) == list(expected.columns)
    assert sorted(Z.astype(str).agg("|".join, axis=1)) == sorted(expected.astype(str).agg("|".join, axis=1))
    service.close()


def test_a_store_without_records_gives_an_empty_frame(store):
    bundle = bundle_of("generalization")
    Z, y = read_records(store, bundle.artifact)
    assert (list(Z.columns), len(Z), len(y)) == (bundle.format.names, 0, 0)


def test_a_batch_is_stored_whole_or_not_at_all(store):
    good = new_entry("a" * 64, {"x": 1})
    with pytest.raises(StoreRefused, match="a record is malformed"):
        store.write([good, Entry("no uuid", "a" * 64, date(2026, 1, 1), None, "{}")])
    assert store.entries("a" * 64) == []
    assert store.write([good]) == [True]
    assert store.entries("a" * 64) == [good]


def test_a_stored_record_is_neither_duplicated_nor_replaced(store):
    good, new = new_entry("a" * 64, {"x": 1}, "yes"), new_entry("a" * 64, {"x": 2})
    store.write([good])
    others = [replace(good, record="{}"), replace(good, label=None), replace(good, artifact="b" * 64)]
    sent = [new, good, *others, replace(good, received=date(2026, 1, 1))]
    assert store.write(sent, other_versions=["a" * 64]) == [True] * 2 + [False] * 3 + [True]
    assert sorted(store.entries("a" * 64), key=lambda e: e.record) == [good, new]
    assert store.entries("b" * 64) == []


def test_a_reopened_store_holds_its_records_and_artifacts(place):
    entries = [new_entry("b" * 64, {"x": i}, i) for i in range(50)]
    first = open_store(place)
    first.register("b" * 64, "generalization", "{}")
    first.write(entries)
    first.close()
    again = open_store(place)
    assert sorted(again.entries("b" * 64), key=lambda e: e.id) == sorted(entries, key=lambda e: e.id)
    assert again.artifacts()[0].records == 50
    again.register("b" * 64, "generalization", '{"other": 1}')
    assert again.artifacts()[0].content == "{}"
    again.close()


def test_another_version_than_the_stored_one_is_refused_with_advice(store):
    old, new = bundle_of("generalization"), bundle_of("cells")
    store.register(old.identity, kind_of(old.artifact), json.dumps(content_of(old.artifact)))
    check_alone(store, new.identity)  # known, but nothing was collected under it
    store.write([new_entry(old.identity, records_of(old)[0])])
    check_alone(store, old.identity)
    with pytest.raises(DataError, match=r"1 records of 1 other version .* intersect .* --accept-multi-breach"):
        check_alone(store, new.identity)
    assert [artifact_of(each) for each in other_versions(store, new.identity)] == [old.artifact]


@pytest.mark.parametrize("kind", ["generalization", "cells", "questionnaire"])
def test_an_artifact_in_the_store_keeps_its_identity(store, kind):
    artifact = bundle_of(kind).artifact
    store.register(identity(artifact), kind_of(artifact), json.dumps(content_of(artifact)))
    store.write([new_entry(identity(artifact), {})])
    assert identity(artifact_of(store.artifacts()[0])) == identity(artifact)


def test_a_place_that_is_not_a_store_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "text.duckdb").write_text("some text " * 1000)
    (tmp_path / "short.duckdb").write_text("x")
    (tmp_path / "records.json").write_text('{"a": 1}')
    with duckdb.connect(str(tmp_path / "other.duckdb")) as connection:
        connection.execute("CREATE TABLE modicum_records (something INTEGER)")
    reasons = {
        "text.duckdb": "not a DuckDB file",
        "short.duckdb": "not a DuckDB file",
        "records.json": "not a DuckDB file",
        "other.duckdb": "that modicum did not make",
        "": "it is a folder",
        "nowhere/data.duckdb": "its folder does not exist",
    }
    for name, reason in reasons.items():
        with pytest.raises(DataError, match=reason):
            open_store(str(tmp_path / name))
    for wrong in ("mysql://host/x", ""):
        with pytest.raises(ParameterError, match="DuckDB file or a URL"):
            open_store(wrong)


def test_a_file_that_another_program_has_open_is_refused(tmp_path):
    path = str(tmp_path / "data.duckdb")
    code = f"import duckdb; c = duckdb.connect({path!r}); print('open', flush=True); input()"
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "open\n"
    with pytest.raises(DataError, match="another program has it open"):
        open_store(path)
    other.communicate("\n", timeout=30)
    open_store(path).close()


def test_a_special_name_of_duckdb_is_an_ordinary_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    open_store(":memory:").close()
    assert (tmp_path / ":memory:").exists()


def test_a_wrong_postgresql_url_is_refused_without_its_password():
    for url in ("postgresql://u:hidden@127.0.0.1:1/x", "postgresql://u:hidden@host:port/x?nothing=1"):
        with pytest.raises((DataError, ParameterError)) as caught:
            open_store(url)
        assert "hidden" not in str(caught.value)
        assert str(caught.value).endswith(".")


@pytest.mark.parametrize("threshold", ["16MB", "1KB"], ids=["the log cannot grow", "the log cannot be moved"])
def test_a_full_disk_is_reported_loses_nothing_and_later_writes_work(tmp_path, threshold):
    resource, signal = pytest.importorskip("resource"), __import__("signal")
    store, name = open_store(str(tmp_path / "data.duckdb")), "d" * 64
    store._connection.execute(f"SET checkpoint_threshold = '{threshold}'")
    kept = [new_entry(name, {"x": "a"})]
    store.write(kept)
    (soft, hard), before = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
        with pytest.raises(StoreUnavailable):
            store.write([new_entry(name, {"x": "b" * 20_000})])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    later = new_entry(name, {"x": "c"})
    store.write([later])
    assert sorted(each.id for each in store.entries(name)) == sorted([kept[0].id, later.id])
    store.close()
    again = open_store(str(tmp_path / "data.duckdb"))
    assert len(again.entries(name)) == 2
    again.close()


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_read_only_database_is_reported_and_tried_again(place):
    store = open_store(place)
    store._connection.execute("SET default_transaction_read_only = on")
    store._connection.commit()
    with pytest.raises(StoreUnavailable):
        store.write([new_entry("e" * 64, {})])
    store.write([new_entry("e" * 64, {})])  # through a new connection, perhaps to another server
    assert len(store.entries("e" * 64)) == 1
    store.close()


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_lost_connection_is_reported_and_restored(place):
    import psycopg

    store = open_store(place)
    store.write([new_entry("c" * 64, {})])
    with psycopg.connect(place, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'modicum'")
    with pytest.raises(StoreUnavailable):
        store.write([new_entry("c" * 64, {})])
    store.write([new_entry("c" * 64, {})])
    assert len(store.entries("c" * 64)) == 2
    store.close()


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_commit_waits_for_the_disk_even_if_the_server_would_not(place):
    store = open_store(place)  # its server has synchronous_commit off
    assert store._all("SHOW synchronous_commit") == [("on",)]
    store.close()


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_silent_server_is_answered_with_503_until_it_returns(place):
    service = Service(versions(1)[0], place, patience=1.0)
    kept = [send_record(service)]
    begin = time.monotonic()
    with silent(place):
        away = [send_record(service), service.client.get("/healthz"), send_record(service)]
        assert time.monotonic() - begin < 20
    assert [answer.status_code for answer in away] == [503] * 3
    assert all("retry-after" in answer.headers for answer in away)
    until(lambda: service.client.get("/healthz").status_code == 200)
    kept.append(send_record(service))
    assert [answer.status_code for answer in kept] == [201, 201]
    found = {entry.id for entry in service.store.entries(service.bundle.identity)}
    assert found == {answer.json()["id"] for answer in kept}
    service.close()


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_service_stops_even_if_its_server_is_silent(place):
    service = Service(versions(1)[0], place, patience=1.0)
    begin = time.monotonic()
    with silent(place):
        assert send_record(service).status_code == 503
        service.close()
        assert time.monotonic() - begin < 20


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_locked_table_is_waited_for_a_limited_time(place):
    import psycopg

    service = Service(versions(1)[0], place, patience=1.0)
    with psycopg.connect(place) as other:
        other.execute("LOCK TABLE modicum_records")
        assert send_record(service).status_code == 503
    until(lambda: send_record(service).status_code == 201)
    service.close()


# One version at a time


def versions(n):
    frames = [pd.DataFrame({"age": [18, 35, 70 + 20 * i]}) for i in range(n)]
    return [Bundle(md.Uniform(buckets=2).fit(X).generalization_) for X in frames]


def send_record(service):
    X = pd.DataFrame({"age": [18]})
    return service.send("/records", service.bundle.artifact.transform(X).astype(object).to_dict("records")[0])


def test_only_one_of_two_simultaneous_versions_collects(place):
    one, two = (Service(bundle, place) for bundle in versions(2))
    assert [send_record(one).status_code, send_record(two).status_code, send_record(one).status_code] == [201, 503, 201]
    assert "another version" in send_record(two).json()["detail"]
    assert (one.client.get("/healthz").status_code, two.client.get("/healthz").status_code) == (200, 503)
    assert [len(one.store.entries(each.bundle.identity)) for each in (one, two)] == [2, 0]
    for service in (one, two):
        service.close()


def test_a_service_does_not_start_with_another_stored_version_unless_accepted(place):
    old, new = versions(2)
    service = Service(old, place)
    send_record(service)
    service.close()
    with pytest.raises(DataError, match="1 records of 1 other version"):
        Service(new, place)
    service = Service(new, place, accept_others=[old.identity])
    assert send_record(service).status_code == 201
    service.close()


def test_acceptance_covers_only_the_named_versions_and_lets_the_older_continue(place):
    bundles = versions(3)
    names = [bundle.identity for bundle in bundles]
    first = Service(bundles[0], place)
    send_record(first)
    second, third = (Service(bundle, place, accept_others=names[:1]) for bundle in bundles[1:])
    assert [send_record(each).status_code for each in (second, third, first, second)] == [201, 503, 201, 201]
    assert sorted(stored.records for stored in first.store.artifacts()) == [2, 2]
    for service in (first, second, third):
        service.close()


def test_a_version_stays_known_after_its_records_were_deleted(place):
    old, new = versions(2)
    service = Service(old, place)
    send_record(service)
    service.store._connection.execute("DELETE FROM modicum_records")
    service.store._connection.commit()
    service.close()
    with pytest.raises(DataError, match="0 records of 1 other version"):
        Service(new, place)


def test_versions_of_a_store_without_a_list_of_versions_are_known(place):
    old, new = versions(2)
    service = Service(old, place)
    send_record(service)
    service.store._connection.execute("DROP TABLE modicum_versions")
    service.store._connection.commit()
    service.close()
    with pytest.raises(DataError, match="1 records of 1 other version"):
        Service(new, place)


def write_at_once(place, writers, names="abcd"):
    """Open one new store many times at once, then write to it at once; return the answers and the stored counts."""
    opened, barrier = [], Barrier(writers)

    def open_and_write(number):
        barrier.wait(60)
        store = open_store(place)
        opened.append(store)
        barrier.wait(60)
        try:
            return store.write([new_entry(names[number % len(names)] * 64, {})])
        except OtherVersions:
            return "another version"

    try:
        with ThreadPoolExecutor(writers) as pool:
            answers = list(pool.map(open_and_write, range(writers)))
        kept = {name: len(opened[0].entries(name * 64)) for name in names}
    finally:
        for store in opened:
            store.close()
    return answers, kept


def check_one_version(answers, kept):
    """Check that each writer of one version stored its record, and that all others were refused."""
    (first,) = [name for name, count in kept.items() if count]
    names = list(kept)
    is_first = [names[number % len(names)] == first for number in range(len(answers))]
    assert answers == [[True] if own else "another version" for own in is_first]
    assert kept[first] == sum(is_first)


def test_of_many_simultaneous_writers_only_one_version_is_stored(place):
    check_one_version(*write_at_once(place, 64))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["duckdb", "postgresql"])
def test_of_many_simultaneous_writers_on_busy_cores_only_one_version_is_stored(request, tmp_path, kind):
    with busy_cores(2):
        for number in range(200):
            (folder := tmp_path / str(number)).mkdir()
            check_one_version(*write_at_once(new_place(kind, request, folder), 64))


@contextmanager
def busy_cores(count):
    """Keep cores busy with a process each, which ends by itself after ten minutes."""
    code = "import time\nend = time.monotonic() + 600\nwhile time.monotonic() < end: pass"
    others = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait(30)


def test_accepted_versions_that_join_at_once_all_store_their_records(place):
    names = "abcdefgh"
    accepted = [name * 64 for name in names]
    stores = [open_store(place) for _ in names]
    barrier = Barrier(len(names))

    def join(number):
        barrier.wait(60)
        return stores[number].write([new_entry(accepted[number], {})], accepted)

    with ThreadPoolExecutor(len(names)) as pool:
        assert list(pool.map(join, range(len(names)))) == [[True]] * len(names)
    assert [len(stores[0].entries(name)) for name in accepted] == [1] * len(names)
    for store in stores:
        store.close()


def test_a_record_written_many_times_at_once_is_stored_once(place):
    entry = new_entry("a" * 64, {"x": 1})
    stores = [open_store(place) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda store: store.write([entry]), stores))
    assert answers == [[True]] * 8
    assert stores[0].entries("a" * 64) == [entry]
    for store in stores:
        store.close()


def test_two_names_of_one_file_are_one_store(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "data.duckdb")
    stores = [open_store(str(tmp_path / name)) for name in ("data.duckdb", "link")]
    entry = new_entry("a" * 64, {})
    assert stores[0].write([entry]) == [True]
    assert stores[1].entries("a" * 64) == [entry]
    with pytest.raises(OtherVersions):
        stores[1].write([new_entry("b" * 64, {})])
    for store in stores:
        store.close()


def test_a_store_without_its_tables_is_refused_in_our_own_words(place):
    store = open_store(place)
    store._connection.execute("DROP TABLE modicum_records")
    store._connection.commit()
    for work in (lambda: store.write([new_entry("a" * 64, {})]), lambda: store.entries("a" * 64)):
        with pytest.raises(StoreRefused, match="its tables are not as modicum made them"):
            work()
    store.close()


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_record_is_stored_even_if_its_version_has_just_joined_the_list(place, monkeypatch):
    one, two = open_store(place), open_store(place)
    join = postgres_store._join

    def join_second(*arguments):
        monkeypatch.undo()
        assert two.write([new_entry("a" * 64, {})]) == [True]
        join(*arguments)

    monkeypatch.setattr(postgres_store, "_join", join_second)
    assert one.write([new_entry("a" * 64, {})]) == [True]
    assert len(one.entries("a" * 64)) == 2
    for store in (one, two):
        store.close()


@pytest.mark.services
@pytest.mark.parametrize("place", ["postgresql"], indirect=True)
def test_a_record_of_a_known_version_does_not_wait_for_versions_that_join(place):
    import psycopg

    store = open_store(place, patience=1.0)
    entry = new_entry("a" * 64, {"x": 1})
    assert store.write([entry]) == [True]
    with psycopg.connect(place) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s)", [postgres_store._JOINING])
        assert store.write([entry, new_entry("a" * 64, {"x": 2})]) == [True, True]
        with pytest.raises(StoreUnavailable):
            store.write([new_entry("b" * 64, {})], other_versions=["a" * 64])
    assert store.write([new_entry("b" * 64, {})], other_versions=["a" * 64]) == [True]
    store.close()
