"""Where a form may send answers: an address that fits into a content-security policy."""

import re
from typing import Any
from urllib.parse import urlsplit

from modicum.errors import ParameterError

_PATH = re.compile(r"/(?!/)[A-Za-z0-9._~!$&()*+=:@%/?-]*\Z")
_HOST = re.compile(r"([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?\Z")
_LOCAL = ("localhost", "127.0.0.1", "::1")


def check_endpoint(endpoint: Any) -> None:
    """Refuse anything but a path of the same server, an https address, or http on this machine.

    Examples
    --------
    >>> from modicum.export.form_endpoint import check_endpoint
    >>> check_endpoint("/records")
    >>> check_endpoint("http://example.org/records")
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The 'endpoint' parameter must use https: answers would travel readable by others.
    """
    if endpoint is None or (isinstance(endpoint, str) and _PATH.match(endpoint)):
        return
    try:
        parts = urlsplit(endpoint) if isinstance(endpoint, str) else None
        host = parts.hostname if parts else None
    except ValueError:
        parts = host = None
    right = parts is not None and parts.scheme in ("https", "http") and _HOST.match(parts.netloc)
    if parts is None or not right or not (parts.path == "" or _PATH.match(parts.path)) or parts.fragment or _odd(parts):
        raise ParameterError(
            f"The 'endpoint' parameter must be a path such as /records or an https address. Got {endpoint!r} instead."
        )
    if parts.scheme == "http" and host not in _LOCAL:
        raise ParameterError("The 'endpoint' parameter must use https: answers would travel readable by others.")


def _odd(parts: Any) -> bool:
    """Whether a query holds what an address does not, or a port is none."""
    try:
        port = parts.port
    except ValueError:
        return True
    return port == 0 or (parts.query != "" and not _PATH.match(f"/{parts.query}"))


def origin(endpoint: str | None) -> str:
    """What `connect-src` names: nothing, the page's own server, or the endpoint's.

    Examples
    --------
    >>> from modicum.export.form_endpoint import origin
    >>> origin(None), origin("/records"), origin("https://forms.example.org/a/records")
    ("'none'", "'self'", 'https://forms.example.org')
    """
    if endpoint is None:
        return "'none'"
    if endpoint.startswith("/"):
        return "'self'"
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc}"
