"""A report as a document: sections of text, figures, tables and pictures, written once and rendered twice.

Page and Markdown come from the same blocks, so both have every number. Blocks hold plain text; each renderer escapes it
for its own format, since names and categories are hostile input. Only the page draws pictures; a table next to each
picture holds its numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

Tone = Literal["plain", "soft", "decision", "warning", "quote"]
Tag = Literal["", "good", "middle", "bad"]


@dataclass(frozen=True)
class Text:
    """A paragraph: plain, soft (an explanation), the decision, a warning, or words to quote."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True)
class Card:
    """One figure with its title and a short note."""

    title: str
    figure: str
    note: str


@dataclass(frozen=True)
class Cards:
    """Cards side by side."""

    cards: Sequence[Card]


@dataclass(frozen=True)
class Column:
    """The header of a column; numbers are right-aligned."""

    title: str
    is_number: bool = True


@dataclass(frozen=True)
class TableCell:
    """A table cell: text, softer lines below it, buckets side by side, or a coloured word.

    `pieces` are the buckets: the text of each and a softer note after it.
    """

    text: str = ""
    below: Sequence[str] = ()
    tag: Tag = ""
    pieces: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Table:
    """Rows under column headers; a cell may be plain text."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[TableCell | str]]


@dataclass(frozen=True)
class Sign:
    """One entry of a picture's legend: text with a coloured shape, or text alone."""

    text: str
    colour: str | None = None
    shape: Literal["square", "dot", "mark"] = "square"


@dataclass(frozen=True)
class Picture:
    """A drawing with its legend; a table next to it holds its numbers."""

    drawing: Markup
    signs: Sequence[Sign] = ()


@dataclass(frozen=True)
class Blanks:
    """Fields to fill in by hand, such as those of a signature."""

    names: Sequence[str]


Block = Text | Bullets | Cards | Table | Picture | Blanks


@dataclass(frozen=True)
class Section:
    """A heading and the blocks under it; subsections have level 3."""

    title: str
    blocks: Sequence[Block]
    level: Literal[2, 3] = 2


@dataclass(frozen=True)
class Document:
    """A title, leading blocks, sections and a footer.

    Examples
    --------
    >>> from modicum.reporting.document import Column, Document, Section, Table, Text
    >>> from modicum.reporting.render import to_markdown
    >>> table = Table([Column("attribute", is_number=False), Column("error")], [["age", "12.0%"]])
    >>> print(to_markdown(Document("Report", [Text("In short.")], [Section("Risk", [table])], "The end.")))
    # Report
    <BLANKLINE>
    In short.
    <BLANKLINE>
    ## Risk
    <BLANKLINE>
    | attribute | error |
    | --- | ---: |
    | age | 12.0% |
    <BLANKLINE>
    ---
    <BLANKLINE>
    The end.
    <BLANKLINE>
    """

    title: str
    lead: Sequence[Block]
    sections: Sequence[Section]
    footer: str
    has_contents: bool = False

    @property
    def blocks(self) -> list[Block]:
        """All blocks in order."""
        return [*self.lead, *(block for section in self.sections for block in section.blocks)]
