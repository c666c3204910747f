"""Render a document: as one HTML page that loads nothing and prints well, or as Markdown."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from modicum.reporting.charts import readable
from modicum.reporting.document import Blanks, Block, Bullets, Cards, Document, Picture, Table, TableCell, Text

FOLDER = Path(__file__).parent


def to_html(document: Document) -> str:
    """The page.

    Examples
    --------
    >>> from modicum.reporting.document import Document, Text
    >>> from modicum.reporting.render import to_html
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


# A document as Markdown: for repositories, wikis and diffs. Names and categories stay text.

_MEANING = re.compile(r"([\\`*_{}\[\]<>#|~$&^])")
_AT_START = re.compile(r"^(\d+)([.)])(\s)|^([-+=:])")
_LINK = re.compile(r"(?i)(https?|ftp|mailto|www)(?=[:.])|@")


def to_markdown(document: Document) -> str:
    """The document as GitHub's Markdown; pictures are left out, their tables are here.

    Examples
    --------
    >>> from modicum.reporting.document import Document, Text
    >>> from modicum.reporting.render import to_markdown
    >>> print(to_markdown(Document("Of <b>age</b>", [Text("So it is.", "decision")], [], "End.")).splitlines()[:3])
    ['# Of \\\\<b\\\\>age\\\\</b\\\\>', '', '> **So it is.**']
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
    """Text in which nothing is markup, nor a link, nor a line of its own."""
    flat = " ".join(readable(text).split())
    safe = _MEANING.sub(r"\\\1", flat)
    safe = _LINK.sub(lambda m: m.group() + "\u200b", safe)  # a link is made of no name
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
        f"{escape_markdown(piece)} ({escape_markdown(beside)})" if beside else escape_markdown(piece)
        for piece, beside in cell.pieces
    )
    below = " ".join(f"({escape_markdown(line)})" for line in cell.below)
    return " ".join(part for part in (escape_markdown(cell.text), pieces, below) if part) or "–"
