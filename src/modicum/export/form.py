"""A form as one HTML page: asks no more than an artifact needs, and shows what is sent before it is sent.

Everything happens on the person's device: the page holds the artifact as JavaScript, its style and its words, and its
content-security policy lets it reach nothing but the endpoint that answers are sent to (papers/0 Figure 3, papers/1
§3.2).
"""

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from modicum.errors import ParameterError
from modicum.export.form_endpoint import check_endpoint, origin
from modicum.export.form_strings import page_strings
from modicum.export.form_words import told_codes, wording
from modicum.export.javascript import to_javascript
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.loading import Collected
from modicum.generalization.questionnaire import Questionnaire

_PARTS = Path(__file__).parent / "form_page"
_SCRIPTS = ("elements.js", "words.js", "model.js", "choices.js", "exact.js", "question.js", "preview.js", "steps.js")


def form_page(
    artifact: Collected,
    *,
    endpoint: str | None = None,
    strings: str | os.PathLike[str] | Mapping[str, str] = "en",
    title: str | None = None,
    exact: bool = True,
) -> str:
    """A page that asks for what the artifact needs and sends its buckets.

    Of a `CellPartition` every attribute is asked in the buckets of its detail, and what the record's cell tells is
    sent; of a `Questionnaire` questions come in any order and vanish as they become needless.

    Parameters
    ----------
    artifact : Generalization, CellPartition or Questionnaire
    endpoint : str, optional
        Where `{"generalization": identity, "id": random, "record": {...}}` is posted: a path such as "/records" of the
        server the page comes from, or an https address. Without one the page saves answers as a file.
    strings : "en", "de", a JSON file or a mapping
        The page's own words.
    title : str, optional
    exact : bool
        Whether a person may type an exact number or date of which only the range is sent.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.form import form_page
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> page = form_page(g, title="About you")
    >>> "<title>About you</title>" in page, "http" in page.split("</head>")[1]
    (True, False)
    """
    if not isinstance(artifact, Generalization | CellPartition | Questionnaire):
        raise ParameterError(
            f"A form is made of a Generalization, a CellPartition or a Questionnaire. Got {type(artifact).__name__} "
            "instead."
        )
    if not isinstance(exact, bool):
        raise ParameterError(f"The 'exact' parameter must be True or False. Got {exact!r} instead.")
    if title is not None and not isinstance(title, str):
        raise ParameterError(f"The 'title' parameter must be text. Got {type(title).__name__} instead.")
    check_endpoint(endpoint)
    words = page_strings(strings)
    title = (title or words["title"]).encode("utf-8", "replace").decode()
    data = {"endpoint": endpoint, "exact": exact, "title": title, "strings": words}
    script, style = _script(artifact, data), (_PARTS / "page.css").read_text(encoding="utf-8")
    return _rendered(
        language=words["language"],
        direction=words["direction"],
        title=title,
        needs_script=words["needsScript"],
        policy=_policy(script, style, endpoint),
        style=style,
        script=script,
    )


def content_security_policy(page: str, endpoint: str | None = None) -> str:
    """What a server should send as the `Content-Security-Policy` header of a page that `form_page` made.

    The page holds the same as a meta element, except that only a header can say that no other page may frame it.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.form import content_security_policy, form_page
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> policy = content_security_policy(form_page(g, endpoint="/records"), "/records")
    >>> "connect-src 'self'" in policy, policy.endswith("frame-ancestors 'none'")
    (True, True)
    """
    check_endpoint(endpoint)
    script = re.search(r'<script type="module">(.*?)</script>', page, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    if script is None or style is None:
        raise ParameterError("The 'page' parameter must be a page that form_page made.")
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


def _script(artifact: Collected, data: dict[str, Any]) -> str:
    """The artifact's module, then the page's own code in a block of its own, so that no two names meet."""
    data = data | {"wording": wording(artifact), "told": told_codes(artifact)}
    own = "\n".join((_PARTS / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    return f"\n{to_javascript(artifact).module}\n{{\nconst page = {_literal(data)};\n{own}}}\n"


def _literal(data: Any) -> str:
    """Plain data as JavaScript that holds no character that ends or opens anything in HTML."""
    text = json.dumps(data, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _rendered(script: str, style: str, **texts: str) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # deferred: only forms and reports need it
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(_PARTS), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("page.html.j2").render(script=Markup(script), style=Markup(style), **texts)
