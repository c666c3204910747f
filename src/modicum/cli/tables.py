"""A description as a table on the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modicum.generalization.description import Description, buckets_text, summary_text
from modicum.table.schema import Schema, Suggestion

_COLOURS = {"not collected": "green", "coarsened": "yellow", "kept": "red"}


def printable(text: str) -> Text:
    """Text as it is, with what would steer the terminal shown as a question mark."""
    return Text("".join(character if character.isprintable() else "?" for character in text))


def show_description(description: Description, console: Console) -> None:
    """Attributes, what becomes of them, and their buckets with shares."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("attribute", max_width=28, overflow="fold")
    table.add_column("personal")
    table.add_column("decision", no_wrap=True)
    table.add_column("what is collected (share of records)", overflow="fold")
    for line in description.attributes:
        table.add_row(
            printable(line.name),
            "yes" if line.personal else "",
            Text(line.action, style=_COLOURS[line.action]),
            printable(buckets_text(line)),
        )
    console.print(table)
    console.print()
    console.print(Text(summary_text(description)))


def facts(lines: Sequence[tuple[str, str]], console: Console) -> None:
    """What was found, one fact a line."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in lines:
        table.add_row(printable(name), printable(value))
    console.print(table)


def show_suggestions(suggestions: tuple[Suggestion, ...], console: Console) -> None:
    """What `infer` noticed, for a person to decide."""
    if not suggestions:
        return
    console.print(Text("Worth a look before you decide:", style="bold"))
    together: dict[str, list[str]] = {}
    for suggestion in suggestions:
        together.setdefault(suggestion.reason, []).append(suggestion.attribute)
    for reason, attributes in together.items():
        console.print(printable(f"  {', '.join(attributes)}: {reason}"))
    console.print()


def likely_identifiers(schema: Schema, written: Sequence[str]) -> tuple[Suggestion, ...]:
    """What was noticed of columns that are written and look like names or numbers of people."""
    return tuple(each for each in schema.suggestions if each.topic == "identifier" and each.attribute in written)
