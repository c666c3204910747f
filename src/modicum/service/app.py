"""The service: serve the form, store generalized records and predict from them; refuse anything finer.

Bodies are parsed directly, without pydantic models, so that `/predict` costs hardly more than an empty endpoint. The
OpenAPI descriptions of requests and responses are therefore written here.
"""

import json
import logging
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import modicum
from modicum.export.json_schema import to_json_schema
from modicum.export.model_bundle import Bundle
from modicum.export.web_form import content_security_policy, form_page
from modicum.generalization.loading import content_of
from modicum.service.batching import Busy, RememberedPredictions, Taken, Writer
from modicum.service.reading import (
    RANDOM_ID,
    Limited,
    RequestLimits,
    SentOutcomes,
    SentRecords,
    largest_body,
    read_fields,
    read_id,
    refuse,
)
from modicum.service.stores.store import PATIENCE, OtherVersions, Store, StoreUnavailable, new_entry
from modicum.service.versions import check_alone

# Headers and errors of all responses; an error repeats nothing of the request

FAILED = "The service failed; it is not known whether the request was carried out."
UNAVAILABLE = "The request could not be carried out now; send it again later."
OTHER = "Nothing can be stored here: the store holds records of another version of the generalization."
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}

log = logging.getLogger("modicum.service")


class Quiet:
    """Middleware that adds headers which keep responses private, and logs only the type of a failure."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            elif scope["method"] == "HEAD":
                message = {**message, "body": b""}
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            return
        except Exception as error:
            log.error("A request failed: %s.", type(error).__name__)
            if not started:
                await refuse(send_with_headers, *_answer(error))


def _answer(error: Exception) -> tuple[int, str, list[tuple[bytes, bytes]]]:
    """Return status, sentence and headers for a failure; a passing one says when to try again."""
    if isinstance(error, OtherVersions):
        return 503, OTHER, []
    if isinstance(error, StoreUnavailable | Busy):
        return 503, UNAVAILABLE, [(b"retry-after", b"5")]
    return 500, FAILED, []


# Descriptions for the OpenAPI document

Responses = dict[int | str, dict[str, object]]  # status → its description and schema


def describe_object(properties: Mapping[str, object], required: Sequence[str] | None = None) -> dict[str, object]:
    """Describe a JSON object with these fields and no others; all are required unless `required` names some."""
    needed = list(properties if required is None else required)
    return {"type": "object", "properties": properties, "required": needed, "additionalProperties": False}


def describe_json(schema: Mapping[str, object]) -> dict[str, object]:
    """Describe a JSON body with this schema."""
    return {"application/json": {"schema": schema}}


_WHY = {
    400: "It is not valid JSON.",
    404: "There is no model.",
    405: "The address accepts another method.",
    408: "It took too long to arrive.",
    409: "It belongs to another version of the generalization, or its id to another record.",
    413: "It is larger than any valid record.",
    415: "Its content type is not JSON.",
    422: "It is not a generalized record: something is missing, unknown, or too fine.",
    429: "There were too many requests.",
    500: "Something failed.",
    503: "The store cannot be reached, or holds records of another version.",
}
_REFUSALS = (400, 405, 408, 409, 413, 415, 422, 429, 500, 503)


def list_refusals(*statuses: int) -> Responses:
    """Describe the errors that an endpoint may return."""
    error = describe_json(describe_object({"detail": {"type": "string"}}))
    return {status: {"description": _WHY[status], "content": error} for status in statuses}


def describe_answer(status: int, what: str, schema: Mapping[str, object]) -> Responses:
    """Describe the response on success."""
    return {status: {"description": what, "content": describe_json(schema)}}


_ID: dict[str, object] = {
    "type": "string",
    "format": "uuid",
    "pattern": RANDOM_ID,
    "description": "A random id from the sender; a record that is sent again under the same id is stored once.",
}


def describe_sent_record(
    bundle: Bundle, record: Mapping[str, object], outcomes: SentOutcomes | None = None
) -> dict[str, object]:
    """Describe a request with a record; with `outcomes`, a record to store, also with an id and an outcome."""
    properties: dict[str, object] = {
        "generalization": {"const": bundle.identity, "description": "The version that the record belongs to."},
        "record": record,
    }
    if outcomes is not None:
        properties["id"] = _ID
    if outcomes is not None and outcomes.taken:
        own = {"type": ["number", "null"]} if outcomes.numbers else {"enum": [*(outcomes.classes or []), None]}
        properties["label"] = {**own, "description": "The outcome."}
    schema = describe_object(properties, ["generalization", "record"])
    return {"requestBody": {"required": True, "content": describe_json(schema)}}


def describe_stored_answer() -> Responses:
    """Describe the responses of POST /records."""
    schema = describe_object({"id": {"type": "string", "format": "uuid"}})
    stored = describe_answer(201, "The record is stored on disk under this random name.", schema)
    return stored | list_refusals(*_REFUSALS)


def describe_prediction(bundle: Bundle) -> Responses:
    """Describe the responses of POST /predict."""
    chances = {"type": ["object", "null"], "additionalProperties": {"type": "number"}}
    predicted = {"type": ["string", "number", "boolean", "null"]}
    schema = describe_object({"prediction": predicted, "probabilities": chances})
    answer = describe_answer(200, "The model's prediction for such records.", schema) if bundle.can_predict else {}
    return answer | list_refusals(404, *_REFUSALS)


def describe_artifact() -> Responses:
    """Describe the responses of GET /generalization."""
    properties = {
        "generalization": {"type": "string"},
        "kind": {"enum": ["generalization", "cells", "questionnaire"]},
        "artifact": {"type": "object"},
        "record_schema": {"type": "object"},
    }
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return describe_answer(200, "What is collected.", schema) | list_refusals(405, 429, 500)


def describe_health() -> Responses:
    """Describe the responses of GET /healthz."""
    schema = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}
    return describe_answer(200, "Records can be stored.", schema) | list_refusals(405, 429, 500, 503)


# The service

TAKEN = "Another record was sent under this id, so this one was not stored."
NO_MODEL = "This service has no model and predicts nothing."
_SENTENCES = {404: "There is nothing at this address.", 405: "This address does not accept that method."}


def create_app(
    bundle: Bundle,
    store: Store,
    limits: RequestLimits | None = None,
    *,
    accept_others: Collection[str] = (),
    patience: float = PATIENCE,
) -> FastAPI:
    """Return the service of a bundle as an ASGI application; the caller closes the store.

    Parameters
    ----------
    bundle : the artifact, and what predicts from its records
    store : where records are stored
    limits : limits for one client
    accept_others : identities of other versions whose records the store may hold (see `check_alone`); if records of any
        other version come first, this service stores nothing
    patience : seconds after which a store that does not answer counts as unavailable
    """
    check_alone(store, bundle.identity, accept_others)
    service = _Service(bundle, store, accept_others, patience)
    app = FastAPI(
        title="modicum",
        summary="Takes generalized records only.",
        version=modicum.__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would repeat the query
        lifespan=service.lifespan,
    )
    app.state.service = service
    app.add_exception_handler(HTTPException, _sentence)
    app.add_middleware(Limited, limits=limits or RequestLimits(), body=largest_body(bundle))
    app.add_middleware(Quiet)
    service.add_routes(app)
    return app


class _Service:
    """The endpoints and what they share; responses that never change are built once."""

    def __init__(self, bundle: Bundle, store: Store, accept_others: Collection[str], patience: float) -> None:
        self.bundle = bundle
        self.outcomes = SentOutcomes(bundle)
        self._records = SentRecords(bundle)
        schema = to_json_schema(bundle.artifact)
        self.schema = {key: value for key, value in schema.items() if key != "$schema"}  # as a part of a document
        page = form_page(bundle.artifact, endpoint="/records")
        self._page = page.encode()
        self._policy = content_security_policy(page, "/records")
        self._description = json.dumps(
            {
                "generalization": bundle.identity,
                "kind": bundle.kind,
                "artifact": content_of(bundle.artifact),
                "record_schema": schema,
            }
        ).encode()
        store.register(bundle.identity, bundle.kind, json.dumps(content_of(bundle.artifact)))
        self._writer = Writer(store, bundle.identity, accept_others, patience)
        self._predictions = RememberedPredictions(bundle) if bundle.can_predict else None
        self._fields = {"generalization", "id", "record", *(["label"] if self.outcomes.taken else [])}

    @asynccontextmanager
    async def lifespan(self, app: FastAPI) -> AsyncIterator[None]:
        """Run until the service stops, then store what waits."""
        yield
        self.close()

    def close(self) -> None:
        """Store what waits, then stop."""
        self._writer.close()
        if self._predictions is not None:
            self._predictions.close()

    def add_routes(self, app: FastAPI) -> None:
        """Add all endpoints with their descriptions."""
        add = partial(app.add_api_route, response_class=Response)
        add("/", self.form, methods=["GET", "HEAD"], include_in_schema=False)
        add(
            "/records",
            self.records,
            methods=["POST"],
            status_code=201,
            summary="Store a generalized record.",
            responses=describe_stored_answer(),
            openapi_extra=describe_sent_record(self.bundle, self.schema, self.outcomes),
        )
        add(
            "/predict",
            self.predict,
            methods=["POST"],
            summary="Predict from a generalized record without storing it.",
            responses=describe_prediction(self.bundle),
            openapi_extra=describe_sent_record(self.bundle, self.schema),
        )
        add(
            "/generalization",
            self.generalization,
            methods=["GET"],
            summary="What is collected.",
            responses=describe_artifact(),
        )
        add(
            "/healthz",
            self.health,
            methods=["GET"],
            summary="Whether records can be stored.",
            responses=describe_health(),
        )
        add("/healthz", self.health, methods=["HEAD"], include_in_schema=False)  # some monitors use it

    async def form(self, request: Request) -> Response:
        return HTMLResponse(self._page, headers={"content-security-policy": self._policy})

    async def records(self, request: Request) -> Response:
        fields = await read_fields(request, self._fields)
        record = self._records.read_record(fields)
        label = self.outcomes.check(fields.get("label"))
        entry = new_entry(self.bundle.identity, self.bundle.format.record(record), label, read_id(fields))
        try:
            await self._writer.keep(entry)
        except Taken:
            raise HTTPException(409, TAKEN) from None
        return _json(json.dumps({"id": entry.id}).encode(), 201)

    async def predict(self, request: Request) -> Response:
        if self._predictions is None:
            raise HTTPException(404, NO_MODEL)
        fields = await read_fields(request, ("generalization", "record"))
        return _json(await self._predictions(self._records.read_record(fields)))

    async def generalization(self, request: Request) -> Response:
        return _json(self._description)

    async def health(self, request: Request) -> Response:
        await self._writer.check()
        return _json(b'{"status": "ok"}')


def _json(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json")


async def _sentence(request: Request, error: Exception) -> Response:
    """Return an error response with one sentence."""
    assert isinstance(error, HTTPException)
    own = error.detail.endswith(".")
    sentence = error.detail if own else _SENTENCES.get(error.status_code, "The request was refused.")
    return Response(
        json.dumps({"detail": sentence}), error.status_code, headers=error.headers, media_type="application/json"
    )
