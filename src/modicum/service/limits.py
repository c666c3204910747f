"""How much one client may ask: the size of a request, and how many in a second."""

import json
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_network

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modicum.errors import check_number

TOO_LARGE = "The request is larger than any record need be."
TOO_OFTEN = "There were too many requests in a short time; wait a little."
_BODY = 64 * 1024


@dataclass(frozen=True)
class RequestLimits:
    """What one client may ask.

    Attributes
    ----------
    rate : requests a second and client on average; 0 for no limit
    body : bytes of a request; more where the largest record of the artifact needs it
    clients : how many clients' rates are remembered; those seen least recently are forgotten
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
        """How many requests may come at once."""
        return max(1.0, 2 * self.rate)


class Rates:
    """A bucket of tokens per client, in memory: each request takes one, and they come back at the rate.

    Examples
    --------
    >>> from modicum.service.limits import RequestLimits, Rates
    >>> rates = Rates(RequestLimits(rate=1), clock=lambda: 0.0)
    >>> [rates.wait("10.0.0.1") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, limits: RequestLimits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """0 where the client may go on, else the seconds until it may."""
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
    """The address; of IPv6 the network of 2⁶⁴ that one client usually has."""
    if ":" not in address:
        return address
    try:
        return str(ip_network((address.split("%")[0], 64), strict=False))
    except ValueError:
        return address


class Limited:
    """Refuses what is too large or comes too often, before anything of it is read."""

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
        """The same messages, until they are more than they may be: a length may be wrong, or not be told."""
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
    """An answer from outside the application, in the form of all others."""
    content = json.dumps({"detail": sentence}).encode()
    own = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": [*own, *headers]})
    await send({"type": "http.response.body", "body": content})
