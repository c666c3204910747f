"""Run the service as a process: listen, and on Ctrl-C or SIGTERM store what it accepted before it stops."""

import ipaddress
import logging
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from modicum.errors import DataError, ParameterError, require

_GRACE = 10  # seconds for requests under way when the service is stopped
_CONNECTIONS = 2000


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens already, so that clients can connect at once; port 0 takes a free one.

    Examples
    --------
    >>> from modicum.service.running import listening
    >>> with listening("127.0.0.1", 0) as found:
    ...     found.getsockname()[0]
    '127.0.0.1'
    """
    if not 0 <= port <= 65535:
        raise ParameterError(f"The port must be a number from 0 to 65535. Got {port} instead.")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.create_server(address[:2], family=family, backlog=_CONNECTIONS)
        # Answers leave in two pieces; without this the second one waits 40 ms for the first to be acknowledged.
        found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except (OSError, UnicodeError) as error:
        known = isinstance(error, OSError) and not isinstance(error, socket.gaierror) and error.errno
        reason = os.strerror(known) if known else "it is not an address of this machine"
        raise DataError(f"The service cannot listen on {host!r}, port {port}: {reason}.") from None
    found.set_inheritable(False)
    return found


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def run(app: Any, at: socket.socket) -> None:
    """Serve until Ctrl-C or SIGTERM; log nothing that was sent and no client's address."""
    uvicorn = require("uvicorn", extra="serve")
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS,
        timeout_graceful_shutdown=_GRACE,
        ws="none",
    )
    logging.getLogger("uvicorn.error").addFilter(_filter_log_record)
    uvicorn.Server(config).run(sockets=[at])


@contextmanager
def stoppable() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM end only the block inside; the server passes them on when it has stopped."""
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _filter_log_record(record: logging.LogRecord) -> bool:
    """Drop messages about WebSocket requests, and all traces: they could repeat what was sent."""
    record.exc_info = record.exc_text = None
    return not record.getMessage().startswith(("Unsupported upgrade request", "No supported WebSocket library"))
