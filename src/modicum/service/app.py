"""The service: it serves the form, keeps generalized records and predicts from them; nothing finer gets in.

Bodies are read as they are, without a model in between, so that `/predict` costs hardly more than an empty address.
"""

import json
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager

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
from modicum.service import contract
from modicum.service.batching import Busy, RememberedPredictions, Taken, Writer
from modicum.service.limits import Limited, RequestLimits, refuse
from modicum.service.reading import SentOutcomes, SentRecords, largest_body, read_fields, read_id
from modicum.service.stores.store import PATIENCE, OtherVersions, Store, StoreUnavailable, new_entry
from modicum.service.versions import check_alone

# What every answer carries, and what a failure says: its kind, and nothing of the request that caused it.

FAILED = "Something failed here; it is not known whether the request was carried out."
UNAVAILABLE = "What was sent could not be kept now, so that it must be sent again later."
OTHER = "Nothing can be kept here: the store holds records of another version of what is collected."
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}

log = logging.getLogger("modicum.service")


class Quiet:
    """Adds the headers that keep an answer to itself; a failure is logged by its type alone."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def careful(message: Message) -> None:
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
            await self._app(scope, receive, careful)
        except ClientDisconnect:
            return
        except Exception as error:
            log.error("A request failed: %s.", type(error).__name__)
            if not started:
                await refuse(careful, *_answer(error))


def _answer(error: Exception) -> tuple[int, str, list[tuple[bytes, bytes]]]:
    """What a failure is answered with; where it may pass, with when to come again."""
    if isinstance(error, OtherVersions):
        return 503, OTHER, []
    if isinstance(error, StoreUnavailable | Busy):
        return 503, UNAVAILABLE, [(b"retry-after", b"5")]
    return 500, FAILED, []


# The service

TAKEN = "Another record was sent under this id, so that this one was not kept."
NO_MODEL = "This service has no model, so that it predicts nothing."
_SENTENCES = {404: "There is nothing at this address.", 405: "This address does not take that method."}


def create_app(
    bundle: Bundle,
    store: Store,
    limits: RequestLimits | None = None,
    *,
    accept_others: Collection[str] = (),
    patience: float = PATIENCE,
) -> FastAPI:
    """The service of a bundle as an ASGI application; the store stays the caller's to close.

    Parameters
    ----------
    bundle : what is collected, and what predicts from it
    store : where records are kept
    limits : what one client may ask
    accept_others : identities of other versions whose records the store may hold (see `check_alone`); where it comes to
        hold those of any other one first, this service keeps nothing
    patience : seconds after which a store that does not answer is said to be away
    """
    check_alone(store, bundle.identity, accept_others)
    service = _Service(bundle, store, accept_others, patience)
    app = FastAPI(
        title="modicum",
        summary="Takes generalized records only.",
        version=modicum.__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirection would repeat the query that was sent
        lifespan=service.lifespan,
    )
    app.state.service = service
    app.add_exception_handler(HTTPException, _sentence)
    app.add_middleware(Limited, limits=limits or RequestLimits(), body=largest_body(bundle))
    app.add_middleware(Quiet)
    service.add_routes(app)
    return app


class _Service:
    """What the addresses share: all that does not change is made once."""

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
        """Until the service stops; then what waits is kept first."""
        yield
        self.close()

    def close(self) -> None:
        """Keep what waits, then stop."""
        self._writer.close()
        if self._predictions is not None:
            self._predictions.close()

    def add_routes(self, app: FastAPI) -> None:
        """All addresses, each with what it promises."""
        add = app.add_api_route
        add("/", self.form, methods=["GET", "HEAD"], include_in_schema=False)
        add(
            "/records",
            self.records,
            methods=["POST"],
            status_code=201,
            summary="Keep a generalized record.",
            response_class=Response,
            responses=contract.describe_kept_answer(),
            openapi_extra=contract.describe_sent_record(self.bundle, self.schema, self.outcomes),
        )
        add(
            "/predict",
            self.predict,
            methods=["POST"],
            summary="Predict from a generalized record, which is not kept.",
            response_class=Response,
            responses=contract.prediction_answer(self.bundle),
            openapi_extra=contract.describe_sent_record(self.bundle, self.schema),
        )
        add(
            "/generalization",
            self.generalization,
            methods=["GET"],
            summary="What is collected.",
            response_class=Response,
            responses=contract.artifact_answer(),
        )
        alive = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}
        add(
            "/healthz",
            self.health,
            methods=["GET"],
            summary="Whether records can be kept.",
            response_class=Response,
            responses=contract.answer(200, "They can.", alive) | contract.responses(405, 429, 500, 503),
        )
        add("/healthz", self.health, methods=["HEAD"], include_in_schema=False)  # some monitors ask so

    async def form(self, request: Request) -> Response:
        return HTMLResponse(self._page, headers={"content-security-policy": self._policy})

    async def records(self, request: Request) -> Response:
        fields = await read_fields(request, self._fields)
        told = self._records.read_record(fields)
        label = self.outcomes.check(fields.get("label"))
        entry = new_entry(self.bundle.identity, self.bundle.format.record(told), label, read_id(fields))
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
    """Every refusal is one sentence."""
    assert isinstance(error, HTTPException)
    own = error.detail.endswith(".")
    sentence = error.detail if own else _SENTENCES.get(error.status_code, "The request was refused.")
    return Response(
        json.dumps({"detail": sentence}), error.status_code, headers=error.headers, media_type="application/json"
    )
