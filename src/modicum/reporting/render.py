"""Render a document as one HTML page, which loads nothing and prints well, or as Markdown."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from modicum.reporting.charts import readable
from modicum.reporting.document import Blanks, Block, Bullets, Cards, Document, Picture, Table, TableCell, Text

FOLDER = Path(__file__).parent


def to_html(document: Document) -> str:
    """Render a document as an HTML page.

    Examples
    --------
    >>> from modicum.reporting.document import Document, Text
    >>> from modicum.reporting.render import to_html
    >>> page = to_html(Document("About <b>age</b>", [Text("In short.")], [], "End."))
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
    """Make text displayable; markup stays unchanged."""
    return value if not isinstance(value, str) or isinstance(value, Markup) else readable(value)


# Markdown, for repositories, wikis and diffs. Names and categories stay plain text.

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~$&^])")
_AT_START = re.compile(r"^(\d+)([.)])(\s)|^([-+=:])")
_LINK = re.compile(r"(?i)(https?|ftp|mailto|www)(?=[:.])|@")


def to_markdown(document: Document) -> str:
    """Render a document as GitHub Markdown, without its pictures; their numbers are in tables.

    Examples
    --------
    >>> from modicum.reporting.document import Document, Text
    >>> from modicum.reporting.render import to_markdown
    >>> print(to_markdown(Document("About <b>age</b>", [Text("In short.", "decision")], [], "End.")).splitlines()[:3])
    ['# About \\\\<b\\\\>age\\\\</b\\\\>', '', '> **In short.**']
    """
    parts = [f"# {escape_markdown(document.title)}", *(_block(block) for block in document.lead)]
    for section in document.sections:
        parts += [
            f"{'#' * section.level} {escape_markdown(section.title)}",
            *(_block(block) for block in section.blocks),
        ]
    parts += ["---", escape_markdown(document.footer)]
    return "\n\n".join(part for part in parts if part) + "\n"


def escape_markdown(text: str) -> str:
    """Escape text so that nothing in it becomes markup, a link or a new line."""
    flat = " ".join(readable(text).split())
    safe = _SPECIAL.sub(r"\\\1", flat)
    safe = _LINK.sub(lambda m: m.group() + "\u200b", safe)  # breaks automatic links
    return _AT_START.sub(lambda m: f"\\{m.group(4)}" if m.group(4) else f"{m.group(1)}\\{m.group(2)}{m.group(3)}", safe)


def _block(block: Block) -> str:
    match block:
        case Text():
            return _text(block)
        case Bullets():
            return "\n".join(f"- {escape_markdown(item)}" for item in block.items)
        case Cards():
            return "\n".join(
                f"- **{escape_markdown(card.title)}: {escape_markdown(card.figure)}** ({escape_markdown(card.note)})"
                for card in block.cards
            )
        case Table():
            return _table(block)
        case Blanks():
            return "\n".join(f"- {escape_markdown(name)}: ______________________" for name in block.names)
        case Picture():
            return ""


def _text(block: Text) -> str:
    words = escape_markdown(block.text)
    match block.tone:
        case "decision":
            return f"> **{words}**"
        case "warning":
            return f"> **Note:** {words}"
        case "quote":
            return f"> “{words}”"
        case _:
            return words


def _table(table: Table) -> str:
    heads = [escape_markdown(column.title) for column in table.columns]
    lines = [heads, ["---:" if column.is_number else "---" for column in table.columns]]
    lines += [[_cell(cell) for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: TableCell | str) -> str:
    if isinstance(cell, str):
        return escape_markdown(cell)
    pieces = " · ".join(
        f"{escape_markdown(piece)} ({escape_markdown(note)})" if note else escape_markdown(piece)
        for piece, note in cell.pieces
    )
    below = " ".join(f"({escape_markdown(line)})" for line in cell.below)
    return " ".join(part for part in (escape_markdown(cell.text), pieces, below) if part) or "–"
