"""Limit and parse what clients send to the service. No error message repeats any of it."""

import asyncio
import json
import math
import re
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from ipaddress import ip_network
from typing import Any

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modicum.errors import DataError, check_number
from modicum.export.model_bundle import Bundle
from modicum.generalization import CellPartition, Questionnaire
from modicum.generalization.record_format import RecordKey

# Limits for one client: size and rate of requests

TOO_LARGE = "The request is larger than any valid record."
TOO_OFTEN = "There were too many requests in a short time; wait a little."
_BODY = 64 * 1024


@dataclass(frozen=True)
class RequestLimits:
    """Limits for one client.

    Attributes
    ----------
    rate : requests per second, on average; 0 for no limit
    body : bytes of a request; raised if the artifact's largest record needs more
    clients : number of clients whose rates are remembered; the least recently seen are forgotten
    """

    rate: float = 50.0
    body: int = _BODY
    clients: int = 10_000

    def __post_init__(self) -> None:
        check_number(self, "rate", 0, whole=False)
        check_number(self, "body", 1)
        check_number(self, "clients", 1)

    @property
    def burst(self) -> float:
        """The number of requests that may come at once."""
        return max(1.0, 2 * self.rate)


class Rates:
    """A token bucket per client, in memory: each request takes a token, and tokens return at the rate.

    Examples
    --------
    >>> from modicum.service.reading import RequestLimits, Rates
    >>> rates = Rates(RequestLimits(rate=1), clock=lambda: 0.0)
    >>> [rates.wait("10.0.0.1") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, limits: RequestLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """Return 0 if the client may go on, else the seconds until it may."""
        rate, burst = self._limits.rate, self._limits.burst
        if not rate:
            return 0.0
        client = _client(address)
        now = self._clock()
        tokens, then = self._left.pop(client, (burst, now))
        tokens = min(burst, tokens + (now - then) * rate)
        self._left[client] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._left) > self._limits.clients:
            self._left.popitem(last=False)
        return 0.0 if tokens >= 1 else (1 - tokens) / rate


def _client(address: str) -> str:
    """Return the address; for IPv6 its /64 network, which one client usually has."""
    if ":" not in address:
        return address
    try:
        return str(ip_network((address.split("%")[0], 64), strict=False))
    except ValueError:
        return address


class Limited:
    """Middleware that refuses requests which are too large or too frequent, before reading them."""

    def __init__(self, app: ASGIApp, limits: RequestLimits, body: int) -> None:
        self._app = app
        self._rates = Rates(limits)
        self._most = max(limits.body, body)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        wait = self._rates.wait(scope["client"][0] if scope.get("client") else "")
        declared = Headers(scope=scope).get("content-length", "0")
        if wait:
            await refuse(send, 429, TOO_OFTEN, [(b"retry-after", str(int(wait) + 1).encode())])
        elif declared.isdecimal() and int(declared[:20]) > self._most:
            await refuse(send, 413, TOO_LARGE, [(b"connection", b"close")])
        else:
            await self._app(scope, self._limit_body(receive), send)

    def _limit_body(self, receive: Receive) -> Receive:
        """Pass messages on up to the size limit: a declared length may be wrong or missing."""
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > self._most:
                raise HTTPException(413, TOO_LARGE)
            return message

        return counted


async def refuse(send: Send, status: int, sentence: str, headers: list[tuple[bytes, bytes]]) -> None:
    """Send an error from outside the application, in the form of all others."""
    content = json.dumps({"detail": sentence}).encode()
    own = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": content})


# Bodies: their fields, a record and an outcome

OTHER_VERSION = "This form belongs to another version; reload it."
RANDOM_ID = "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
_PATIENCE = 30.0  # seconds for a request to arrive
_REMEMBERED = 10_000  # records; the least recently sent are forgotten
_REMEMBERED_BYTES = 4096
_SLACK = 4096  # bytes for the other fields and spaces


async def read_fields(request: Request, allowed: Collection[str]) -> dict[str, object]:
    """Return the fields of a request's body; `generalization` and `record` are required."""
    if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "The request must be JSON, and its content type application/json.")
    try:
        async with asyncio.timeout(_PATIENCE):
            body = await request.body()
    except TimeoutError:
        raise HTTPException(408, "The request took too long to arrive.") from None
    fields = parse_json(body)
    if not isinstance(fields, dict):
        raise HTTPException(422, "The request must be a JSON object.")
    if "generalization" not in fields or "record" not in fields:
        raise HTTPException(422, "The request must have the fields 'generalization' and 'record'.")
    if any(name not in allowed for name in fields):
        raise HTTPException(422, "The request has an unknown field.")
    return fields


def read_id(fields: Mapping[str, object]) -> str | None:
    """Return the random id, if there is one, under which a client may send a record again until it is confirmed.

    Examples
    --------
    >>> from modicum.service.reading import read_id
    >>> read_id({"id": "1b4e28ba-2fa1-4d2e-883f-0016d3cca427"})
    '1b4e28ba-2fa1-4d2e-883f-0016d3cca427'
    >>> read_id({})
    """
    if "id" not in fields:
        return None
    found = fields["id"]
    if not isinstance(found, str) or not re.fullmatch(RANDOM_ID, found):
        raise HTTPException(422, "The field 'id' must be a random UUID (version 4) in lower case.")
    return found


def parse_json(body: bytes) -> Any:
    """Parse unambiguous JSON: UTF-8, no repeated name, no NaN.

    Examples
    --------
    >>> from modicum.service.reading import parse_json
    >>> parse_json(b'{"age": "20 to 30"}')
    {'age': '20 to 30'}
    >>> parse_json(b'{"age": 1, "age": 2}')
    Traceback (most recent call last):
    ...
    starlette.exceptions.HTTPException: 400: The request is not valid JSON, or names a field twice.
    """
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_refuse_repeats, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise HTTPException(400, "The request is not valid JSON, or names a field twice.") from None


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise ValueError("not a number")


class SentRecords:
    """Check records against a bundle's artifact.

    To check a questionnaire's answers takes milliseconds, so recent valid records are remembered.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._identity, self._format = bundle.identity, bundle.format
        self._remembers = isinstance(bundle.artifact, Questionnaire)
        self._known: OrderedDict[str, RecordKey] = OrderedDict()

    def read_record(self, fields: Mapping[str, object]) -> RecordKey:
        """Return the record if it belongs to the artifact and is no finer."""
        if not isinstance(fields["generalization"], str):
            raise HTTPException(422, "The field 'generalization' must be a text.")
        if fields["generalization"] != self._identity:
            raise HTTPException(409, OTHER_VERSION)
        try:
            return self._check_cached(fields["record"]) if self._remembers else self._format.check(fields["record"])
        except DataError as error:
            raise HTTPException(422, str(error)) from None
        except RecursionError:
            raise HTTPException(422, "The field 'record' is nested too deeply.") from None

    def _check_cached(self, record: Any) -> RecordKey:
        text = json.dumps(record)
        found = self._known.pop(text, None)
        if found is None:
            found = self._format.check(record)
        if len(text) <= _REMEMBERED_BYTES:
            self._known[text] = found
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return found


class SentOutcomes:
    """Check outcomes: one of the classes, a finite number if numbers are predicted, or none at all.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.model_bundle import Bundle
    >>> from modicum.service.reading import SentOutcomes
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> SentOutcomes(Bundle(g, label="bought", classes=["no", "yes"])).check("yes")
    'yes'
    """

    def __init__(self, bundle: Bundle) -> None:
        self.classes = bundle.classes if bundle.classes is not None else _list_classes(bundle)
        self.numbers = self.classes is None and bundle.can_predict
        self._known = {_key(each): each for each in self.classes or []}

    @property
    def taken(self) -> bool:
        """Whether an outcome may be sent."""
        return self.classes is not None or self.numbers

    def check(self, sent: Any) -> Any:
        """Return the outcome; None if none was sent."""
        if sent is None:
            return None
        if self.numbers:
            if isinstance(sent, bool) or not isinstance(sent, int | float) or not _is_finite(sent):
                raise HTTPException(422, "The field 'label' must be a number.")
            return float(sent)
        found = self._known.get(_key(sent)) if isinstance(sent, str | int | float) else None
        if found is None:
            raise HTTPException(422, "The field 'label' is not one of the predicted classes.")
        return found


def _list_classes(bundle: Bundle) -> list[Any] | None:
    """Return the classes that the artifact's cells predict; None for numbers, or if a model predicts."""
    if bundle.model is not None or not bundle.can_predict:
        return None
    cells = bundle.artifact.cells if isinstance(bundle.artifact, Questionnaire) else bundle.artifact
    assert isinstance(cells, CellPartition)
    found = {_key(cell.prediction): cell.prediction for cell in cells.tree.cells}
    return None if any(isinstance(each, float) for each in found.values()) else list(found.values())


def _key(value: Any) -> tuple[str, Any]:
    """Return a key that is equal for equal JSON values; true is not 1."""
    kind = "boolean" if isinstance(value, bool) else "number" if isinstance(value, int | float) else "text"
    return kind, value


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def largest_body(bundle: Bundle) -> int:
    """Return the bytes of the largest valid request, with every letter escaped."""
    artifact = bundle.artifact
    if isinstance(artifact, Questionnaire):
        record: Mapping[str, object] = {
            name: [*artifact.cells.code_buckets(name)[0].labels] for name in bundle.format.names
        }
    else:
        every = {
            n: artifact.labels(n) if isinstance(artifact, CellPartition) else artifact[n].labels
            for n in bundle.format.names
        }
        record = {name: max(own, key=_bytes, default="") for name, own in every.items()}
    classes = max(map(_bytes, bundle.classes or []), default=0)
    return _SLACK + classes + _bytes(record) * 3 // 2 + 400 * len(record)


def _bytes(value: Any) -> int:
    return len(json.dumps(value))
