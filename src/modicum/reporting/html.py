"""A document as one HTML page: no script, nothing loaded from elsewhere, and it prints well."""

from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from modicum.reporting.document import Document
from modicum.reporting.svg import readable

FOLDER = Path(__file__).parent


def to_html(document: Document) -> str:
    """The page.

    Examples
    --------
    >>> from modicum.reporting.document import Document, Text
    >>> from modicum.reporting.html import to_html
    >>> page = to_html(Document("Of <b>age</b>", [Text("So it is.")], [], "End."))
    >>> "&lt;b&gt;age" in page, "<script" in page
    (True, False)
    """
    return str(_environment().get_template("document.html.j2").render(document=document)).lstrip()


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # deferred: only reports need it

    environment = Environment(
        loader=FileSystemLoader(FOLDER, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_readable,
    )
    environment.tests["block"] = lambda block, name: type(block).__name__ == name
    return environment


def _readable(value: Any) -> Any:
    """Text that a page can show; what is drawn already is."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else readable(value)
