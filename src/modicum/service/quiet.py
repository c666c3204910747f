"""What every answer carries, and what a failure says: its kind, and nothing of the request that caused it."""

import logging

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from modicum.service.limits import refuse
from modicum.service.store import OtherVersions, StoreUnavailable
from modicum.service.together import Busy

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
