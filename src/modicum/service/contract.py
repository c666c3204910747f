"""What the service promises, for the OpenAPI document: only buckets are admitted."""

from collections.abc import Mapping

from modicum.export.model_bundle import Bundle
from modicum.service.reading import RANDOM_ID, SentOutcomes

Responses = dict[int | str, dict[str, object]]  # status → its description and schema

ERROR: dict[str, object] = {
    "type": "object",
    "properties": {"detail": {"type": "string"}},
    "required": ["detail"],
    "additionalProperties": False,
}
_WHY = {
    400: "It is not valid JSON.",
    404: "There is no model.",
    405: "The address takes another method.",
    408: "It took too long to arrive.",
    409: "It belongs to another version of the generalization, or its id to another record.",
    413: "It is larger than any record need be.",
    415: "It is not JSON by its content type.",
    422: "It is not a generalized record: something is absent, not known, or finer than it may be.",
    429: "There were too many requests.",
    500: "Something failed.",
    503: "The store cannot be reached, or holds records of another version.",
}
_REFUSALS = (400, 405, 408, 409, 413, 415, 422, 429, 500, 503)


def responses(*statuses: int) -> Responses:
    """The refusals that an address may answer with."""
    return {
        status: {"description": _WHY[status], "content": {"application/json": {"schema": ERROR}}} for status in statuses
    }


def answer(status: int, what: str, schema: Mapping[str, object]) -> Responses:
    """The answer where all is well."""
    return {status: {"description": what, "content": {"application/json": {"schema": schema}}}}


_ID: dict[str, object] = {
    "type": "string",
    "format": "uuid",
    "pattern": RANDOM_ID,
    "description": "Made at random by the sender: sent again under the same id, a record is kept once.",
}


def describe_sent_record(
    bundle: Bundle, record: Mapping[str, object], outcomes: SentOutcomes | None = None
) -> dict[str, object]:
    """The body of a request with a record; where it is to be kept, with an id and an outcome where one may be sent."""
    properties: dict[str, object] = {
        "generalization": {"const": bundle.identity, "description": "Which version the record belongs to."},
        "record": record,
    }
    if outcomes is not None:
        properties["id"] = _ID
    if outcomes is not None and outcomes.taken:
        properties["label"] = outcome_schema(outcomes)
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["generalization", "record"],
        "additionalProperties": False,
    }
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def outcome_schema(outcomes: SentOutcomes) -> dict[str, object]:
    """What may be sent as an outcome."""
    if outcomes.numbers:
        return {"type": ["number", "null"], "description": "What came of it."}
    return {"enum": [*(outcomes.classes or []), None], "description": "What came of it."}


def describe_kept_answer() -> Responses:
    """Answers of POST /records."""
    schema = {
        "type": "object",
        "properties": {"id": {"type": "string", "format": "uuid"}},
        "required": ["id"],
        "additionalProperties": False,
    }
    return answer(201, "The record is kept, on disk, under this random name.", schema) | responses(*_REFUSALS)


def prediction_answer(bundle: Bundle) -> Responses:
    """Answers of POST /predict."""
    chances = {"type": ["object", "null"], "additionalProperties": {"type": "number"}}
    properties = {"prediction": {"type": ["string", "number", "boolean", "null"]}, "probabilities": chances}
    schema = {
        "type": "object",
        "properties": properties,
        "required": ["prediction", "probabilities"],
        "additionalProperties": False,
    }
    told = answer(200, "What the model says of such records.", schema) if bundle.can_predict else {}
    return told | responses(404, *_REFUSALS)


def artifact_answer() -> Responses:
    """Answers of GET /generalization."""
    properties = {
        "generalization": {"type": "string"},
        "kind": {"enum": ["generalization", "cells", "questionnaire"]},
        "artifact": {"type": "object"},
        "record_schema": {"type": "object"},
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return answer(200, "What is collected.", schema) | responses(405, 429, 500)
