"""What every answer carries, and what a failure says: its kind, and nothing of the request that caused it."""

import logging

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modicum.service.limits import refuse
from modicum.service.store import StoreUnavailable
from modicum.service.together import Busy

FAILED = "Something failed here; it is not known whether the request was carried out."
UNAVAILABLE = "What was sent could not be kept now, so that it must be sent again later."
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
            await send(message)

        try:
            await self._app(scope, receive, careful)
        except ClientDisconnect:
            return
        except Exception as error:
            expected = isinstance(error, StoreUnavailable | Busy)
            log.error("A request failed: %s.", type(error).__name__)
            if not started:
                answer = (503, UNAVAILABLE, [(b"retry-after", b"5")]) if expected else (500, FAILED, [])
                await refuse(careful, *answer)
