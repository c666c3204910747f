"""The service: it serves the form, keeps generalized records and predicts from them; nothing finer gets in.

Bodies are read as they are, without a model in between, so that `/predict` costs hardly more than an empty address.
"""

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

import modicum
from modicum.export.json_schema import to_json_schema
from modicum.export.model_bundle import Bundle
from modicum.export.web_form import content_security_policy, form_page
from modicum.generalization.loading import content_of
from modicum.service import contract
from modicum.service.guard import check_alone
from modicum.service.limits import Limited, Limits
from modicum.service.predicting import Predictions
from modicum.service.quiet import Quiet
from modicum.service.reading import Outcomes, Records, largest_body, read_fields, sent_id
from modicum.service.store import PATIENCE, Store, new_entry
from modicum.service.writing import Taken, Writer

TAKEN = "Another record was sent under this id, so that this one was not kept."
NO_MODEL = "This service has no model, so that it predicts nothing."
_SENTENCES = {404: "There is nothing at this address.", 405: "This address does not take that method."}


def create_app(
    bundle: Bundle,
    store: Store,
    limits: Limits | None = None,
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
    app.add_middleware(Limited, limits=limits or Limits(), body=largest_body(bundle))
    app.add_middleware(Quiet)
    service.add_routes(app)
    return app


class _Service:
    """What the addresses share: all that does not change is made once."""

    def __init__(self, bundle: Bundle, store: Store, accept_others: Collection[str], patience: float) -> None:
        self.bundle = bundle
        self.outcomes = Outcomes(bundle)
        self._records = Records(bundle)
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
        self._predictions = Predictions(bundle) if bundle.can_predict else None
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
            responses=contract.kept_answer(),
            openapi_extra=contract.sent_record(self.bundle, self.schema, self.outcomes),
        )
        add(
            "/predict",
            self.predict,
            methods=["POST"],
            summary="Predict from a generalized record, which is not kept.",
            response_class=Response,
            responses=contract.prediction_answer(self.bundle),
            openapi_extra=contract.sent_record(self.bundle, self.schema),
        )
        add(
            "/generalization",
            self.generalization,
            methods=["GET"],
            summary="What is collected.",
            response_class=Response,
            responses=contract.artifact_answer(),
        )
        alive: dict[str, Any] = {"type": "object", "properties": {"status": {"const": "ok"}}, "required": ["status"]}
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
        told = self._records.told(fields)
        label = self.outcomes.check(fields.get("label"))
        entry = new_entry(self.bundle.identity, self.bundle.format.record(told), label, sent_id(fields))
        try:
            await self._writer.keep(entry)
        except Taken:
            raise HTTPException(409, TAKEN) from None
        return _json(json.dumps({"id": entry.id}).encode(), 201)

    async def predict(self, request: Request) -> Response:
        if self._predictions is None:
            raise HTTPException(404, NO_MODEL)
        fields = await read_fields(request, ("generalization", "record"))
        return _json(await self._predictions(self._records.told(fields)))

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
