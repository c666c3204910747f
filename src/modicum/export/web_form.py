"""Build a form as an HTML page that asks no more than an artifact needs, and shows what it will send.

Everything happens on the person's device. The page contains the artifact as JavaScript, its style and its texts, and
its content-security policy allows connections only to the endpoint that receives the answers ([Staab24 Figure 3],
[Goldsteen22 §3.2]).
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from modicum.errors import ParameterError
from modicum.export.javascript import literal, to_javascript
from modicum.generalization.bins import AnyPartition, Groups, Intervals, group_label
from modicum.generalization.cells import CellPartition
from modicum.generalization.loading import Collected, check_collected
from modicum.generalization.questionnaire import Questionnaire

# The endpoint of a form: an address that fits into a content-security policy.

_PATH = re.compile(r"/(?!/)[A-Za-z0-9._~!$&()*+=:@%/?-]*\Z")
_HOST = re.compile(r"([A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?\Z")
_LOCAL = ("localhost", "127.0.0.1", "::1")


def check_endpoint(endpoint: Any) -> None:
    """Refuse anything except a path of the same server, an https address, or http on this machine.

    Examples
    --------
    >>> from modicum.export.web_form import check_endpoint
    >>> check_endpoint("/records")
    >>> check_endpoint("http://example.org/records")
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The 'endpoint' parameter must use https; others could read answers sent over http.
    """
    if endpoint is None or (isinstance(endpoint, str) and _PATH.match(endpoint)):
        return
    try:
        parts = urlsplit(endpoint) if isinstance(endpoint, str) else None
        host = parts.hostname if parts else None
    except ValueError:
        parts = host = None
    right = parts is not None and parts.scheme in ("https", "http") and _HOST.match(parts.netloc)
    if (
        parts is None
        or not right
        or not (parts.path == "" or _PATH.match(parts.path))
        or parts.fragment
        or _is_odd(parts)
    ):
        raise ParameterError(
            f"The 'endpoint' parameter must be a path such as /records or an https address. Got {endpoint!r} instead."
        )
    if parts.scheme == "http" and host not in _LOCAL:
        raise ParameterError("The 'endpoint' parameter must use https; others could read answers sent over http.")


def _is_odd(parts: Any) -> bool:
    """Whether the query has a forbidden character, or the port is invalid."""
    try:
        port = parts.port
    except ValueError:
        return True
    return port == 0 or (parts.query != "" and not _PATH.match(f"/{parts.query}"))


def origin(endpoint: str | None) -> str:
    """Return the value of `connect-src`: none, the page's own server, or the endpoint's server.

    Examples
    --------
    >>> from modicum.export.web_form import origin
    >>> origin(None), origin("/records"), origin("https://forms.example.org/a/records")
    ("'none'", "'self'", 'https://forms.example.org')
    """
    if endpoint is None:
        return "'none'"
    if endpoint.startswith("/"):
        return "'self'"
    parts = urlsplit(endpoint)
    return f"{parts.scheme}://{parts.netloc}"


# The texts of a form's page, in one file per language.

_PARTS = Path(__file__).parent / "form_page"
_FOLDER = _PARTS / "strings"
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*\Z")


def languages() -> list[str]:
    """List the languages that come with modicum.

    Examples
    --------
    >>> from modicum.export.web_form import languages
    >>> languages()
    ['de', 'en']
    """
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


def page_strings(strings: str | os.PathLike[str] | Mapping[str, str]) -> dict[str, str]:
    """Return all texts by key, from a language, a JSON file or a mapping, without missing or unknown keys.

    Examples
    --------
    >>> from modicum.export.web_form import page_strings
    >>> page_strings("de")["send"]
    'Senden'
    >>> page_strings({"send": "Envoyer"})
    Traceback (most recent call last):
    ...
    modicum.errors.ParameterError: The strings lack 'language'.
    """
    if isinstance(strings, Mapping):
        return _check_strings(dict(strings), "strings")
    if isinstance(strings, str) and strings in languages():
        return _read(_FOLDER / f"{strings}.json")
    if not isinstance(strings, str | os.PathLike) or (isinstance(strings, str) and not strings.endswith(".json")):
        raise ParameterError(f"The 'strings' parameter must be 'de', 'en' or a .json file. Got {strings!r} instead.")
    return _check_strings(_read(Path(strings)), f"strings in {os.fspath(strings)!r}")


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ParameterError(f"The strings file {str(path)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raise ParameterError(f"The strings file {str(path)!r} is not readable as JSON.") from None


def _check_strings(found: Any, what: str) -> dict[str, str]:
    if not isinstance(found, dict):
        raise ParameterError(f"The {what} must map keys to texts.")
    known = _read(_FOLDER / "en.json")
    for key in known:
        if key not in found:
            raise ParameterError(f"The {what} lack {key!r}.")
    for key in found:
        if key not in known:
            raise ParameterError(f"The {what} have an unknown key {key!r}.")
    for key, text in found.items():
        _check_text(key, text, _places(known[key]), what)
    if not _LANGUAGE.match(found["language"]) or found["direction"] not in ("ltr", "rtl"):
        raise ParameterError(f"The {what} must have a 'language' such as en or pt-BR and a 'direction' ltr or rtl.")
    return {key: found[key] for key in known}


def _check_text(key: str, text: Any, places: set[str], what: str) -> None:
    if not isinstance(text, str) or not text.strip():
        raise ParameterError(f"The {what} must have a text for {key!r}.")
    if _places(text) != places:
        listed = ", ".join(sorted(f"{{{place}}}" for place in places)) or "no {placeholder}"
        raise ParameterError(f"The {what} must use {listed} in {key!r}, and nothing else in braces.")


def _places(text: str) -> set[str]:
    return set(re.findall(r"\{([^{}]*)\}", text))


# The words for buckets in a form: labels from the artifact; otherwise the page uses edges and members.


def wording(artifact: Collected) -> list[list[Any] | None]:
    """Return for each attribute and bucket its own name, True for an ordered range, or None if the page names it.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.web_form import wording
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> wording(g)
    [[None, None]]
    """
    asked = artifact.cells if isinstance(artifact, Questionnaire) else artifact
    return [_names(asked.code_buckets(name)[0]) for name in asked.names]


def _names(partition: AnyPartition) -> list[Any] | None:
    if isinstance(partition, Intervals):
        return [bucket.label for bucket in partition.buckets]
    if isinstance(partition, Groups):
        return [bucket.label or _group_name(bucket.values, partition) for bucket in partition.buckets]
    return None


def _group_name(values: tuple[str, ...], partition: Groups) -> str | bool | None:
    """Return the ancestor with exactly these values, True for an ordered range, or None."""
    attribute = partition.attribute
    plain = group_label(values, attribute.model_copy(update={"hierarchy": None}))
    named = group_label(values, attribute)
    if named != plain:
        return named
    unordered = group_label(values, attribute.model_copy(update={"hierarchy": None, "kind": "category"}))
    return True if plain != unordered else None


def list_code_labels(cells: CellPartition, name: str) -> list[list[Any]] | None:
    """List every label of an attribute in the cells, with its buckets; None for a kept attribute."""
    if name in cells.kept:
        return None
    return [[label, codes] for label, codes in zip(cells.labels(name), cells.code_buckets(name)[1], strict=True)]


# The page

_SCRIPTS = ("elements.js", "words.js", "model.js", "choices.js", "exact.js", "question.js", "preview.js", "steps.js")


def form_page(
    artifact: Collected,
    *,
    endpoint: str | None = None,
    strings: str | os.PathLike[str] | Mapping[str, str] = "en",
    title: str | None = None,
    exact: bool = True,
) -> str:
    """Build a page that asks for what the artifact needs and sends its buckets.

    For a `CellPartition`, the page asks every attribute in the buckets of its detail, and sends what the record's cell
    reveals. For a `Questionnaire`, people answer in any order, and questions disappear when they are not needed.

    Parameters
    ----------
    artifact : Generalization, CellPartition or Questionnaire
    endpoint : str, optional
        The address that receives `{"generalization": identity, "id": random, "record": {...}}`: a path such as
        "/records" of the page's own server, or an https address. Without it, the page saves answers as a file.
    strings : "en", "de", a JSON file or a mapping
        The page's own texts.
    title : str, optional
    exact : bool
        Whether people may type an exact number or date, of which the page sends only the range.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.web_form import form_page
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> page = form_page(g, title="About you")
    >>> "<title>About you</title>" in page, "http" in page.split("</head>")[1]
    (True, False)
    """
    check_collected(artifact)
    if not isinstance(exact, bool):
        raise ParameterError(f"The 'exact' parameter must be True or False. Got {exact!r} instead.")
    if title is not None and not isinstance(title, str):
        raise ParameterError(f"The 'title' parameter must be text. Got {type(title).__name__} instead.")
    check_endpoint(endpoint)
    words = page_strings(strings)
    title = (title or words["title"]).encode("utf-8", "replace").decode()
    data = {"endpoint": endpoint, "exact": exact, "title": title, "strings": words}
    script, style = _script(artifact, data), (_PARTS / "page.css").read_text(encoding="utf-8")
    return _render_page(
        language=words["language"],
        direction=words["direction"],
        title=title,
        needs_script=words["needsScript"],
        policy=_policy(script, style, endpoint),
        style=style,
        script=script,
    )


def content_security_policy(page: str, endpoint: str | None = None) -> str:
    """Return the `Content-Security-Policy` header that a server should send with a page of `form_page`.

    The page has the same policy as a meta element, but only a header can forbid other pages to frame it.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.web_form import content_security_policy, form_page
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> policy = content_security_policy(form_page(g, endpoint="/records"), "/records")
    >>> "connect-src 'self'" in policy, policy.endswith("frame-ancestors 'none'")
    (True, True)
    """
    check_endpoint(endpoint)
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    if script is None or style is None:
        raise ParameterError("The 'page' parameter must be a page made by form_page.")
    return f"{_policy(script[1], style[1], endpoint)}; frame-ancestors 'none'"


def _policy(script: str, style: str, endpoint: str | None) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            f"connect-src {origin(endpoint)}",
            "img-src data:",  # an empty icon, so that no browser asks the server for one
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _script(artifact: Collected, data: Mapping[str, object]) -> str:
    """Join the artifact's module and the page's code, in a block of its own to avoid name clashes."""
    told = [list_code_labels(artifact, n) for n in artifact.names] if isinstance(artifact, CellPartition) else None
    data = {**data, "wording": wording(artifact), "told": told}
    own = "\n".join((_PARTS / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return f"\n{to_javascript(artifact).module}\n{{\nconst page = {literal(data)};\n{own}}}\n"


def _render_page(script: str, style: str, **texts: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # deferred: only forms and reports need it
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(_PARTS), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("page.html.j2").render(script=Markup(script), style=Markup(style), **texts)
