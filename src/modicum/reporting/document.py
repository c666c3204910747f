"""A report as a document: sections of text, figures, tables and pictures, written once and rendered twice.

The page and the Markdown come from the same blocks, so that neither can tell a number that the other leaves out. Blocks
hold plain text; each renderer escapes it for its own format, since names and categories are hostile input. A picture is
drawn in the page alone: what it shows stands in a table beside it.
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
    """One figure with what it is, and a few words below it."""

    title: str
    figure: str
    note: str


@dataclass(frozen=True)
class Cards:
    """Figures side by side."""

    cards: Sequence[Card]


@dataclass(frozen=True)
class Column:
    """The head of a column; numbers stand to the right."""

    title: str
    is_number: bool = True


@dataclass(frozen=True)
class TableCell:
    """What a table holds: text, softer lines below it, short pieces side by side, or a coloured word.

    `pieces` are buckets: the text of each, and softer words beside it.
    """

    text: str = ""
    below: Sequence[str] = ()
    tag: Tag = ""
    pieces: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class Table:
    """Rows under heads; a cell may be plain text."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[TableCell | str]]


@dataclass(frozen=True)
class Sign:
    """One entry of a picture's legend: a colour and its shape, or a sign of its own in the words."""

    text: str
    colour: str | None = None
    shape: Literal["square", "dot", "mark"] = "square"


@dataclass(frozen=True)
class Picture:
    """A drawing with its legend; the table that holds its numbers stands beside it."""

    drawing: Markup
    signs: Sequence[Sign] = ()


@dataclass(frozen=True)
class Blanks:
    """Fields to fill in by hand, such as those of a signature."""

    names: Sequence[str]


Block = Text | Bullets | Cards | Table | Picture | Blanks


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; deeper ones are of level 3."""

    title: str
    blocks: Sequence[Block]
    level: Literal[2, 3] = 2


@dataclass(frozen=True)
class Document:
    """A title, what is told first, sections, and a last line.

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
        """Every block in order, whatever its section."""
        return [*self.lead, *(block for section in self.sections for block in section.blocks)]
