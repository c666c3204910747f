"""The service answers every request, right or wrong, as the OpenAPI document says."""

from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from serving import Service, bundle_of, records_of

KINDS = ["generalization", "cells", "questionnaire", "number", "full detail"]
CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)


def send_requests(kind, place, requests):
    """Send right and wrong requests to each address; return counts of the answers, the receipts and the stored ids."""
    service = Service(bundle_of(kind), place)
    document = schemathesis.openapi.from_asgi("/openapi.json", service.app)
    found, answered = Counter(), set()
    for operation in (each.ok() for each in document.get_all_operations()):
        modes = schemathesis.GenerationMode
        strategies = [operation.as_strategy(generation_mode=mode) for mode in (modes.POSITIVE, modes.NEGATIVE)]
        if operation.method.upper() == "GET":
            strategies = strategies[:1]
        for strategy, count in zip(strategies, (requests // 2, requests), strict=False):  # few right ones exist
            _send(strategy, count, found, answered)
    kept = {entry.id for entry in service.store.entries(service.bundle.identity)}
    service.close()
    return found, answered, kept


def _send(strategy, count, found, answered):
    @given(strategy)
    @settings(
        max_examples=count, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    def send(case):
        answer = case.call()
        case.validate_response(answer, checks=CHECKS)
        found[case.method, case.path, answer.status_code] += 1
        if answer.status_code == 201:
            answered.add(answer.json()["id"])

    send()


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_in_the_document(kind, tmp_path):
    found, answered, kept = send_requests(kind, tmp_path / "data.duckdb", 24)
    assert not [status for _, _, status in found if status >= 500]
    assert kept == answered


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_request_of_two_thousand_makes_the_service_fail(kind, tmp_path):
    found, answered, kept = send_requests(kind, tmp_path / "data.duckdb", 1100)
    assert sum(found.values()) >= 2000
    assert not [status for _, _, status in found if status >= 500]
    assert kept == answered
    if kind != "questionnaire":  # random answers are rarely both sufficient and no finer than needed
        assert len(kept) > 100


def test_valid_records_match_the_document(tmp_path):
    import jsonschema

    for kind in KINDS:
        service = Service(bundle_of(kind), tmp_path / f"{kind}.duckdb")
        document = service.client.get("/openapi.json").json()
        posted = document["paths"]["/records"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        for record in records_of(service.bundle, 10):
            jsonschema.Draft202012Validator(posted).validate(
                {"generalization": service.bundle.identity, "record": record}
            )
        service.close()
