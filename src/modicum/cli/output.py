"""Show results on the terminal: descriptions, facts, suggestions and what a minimum group size changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modicum.errors import ParameterError

if TYPE_CHECKING:
    from modicum.evaluation import Effect
    from modicum.generalization import Generalization
    from modicum.generalization.description import Description
    from modicum.table.schema import Schema, Suggestion
    from modicum.table.splits import Split

_COLOURS = {"not collected": "green", "coarsened": "yellow", "kept": "red"}


def printable(text: str) -> Text:
    """Text as it is, with what would steer the terminal shown as a question mark."""
    return Text("".join(character if character.isprintable() else "?" for character in text))


def show_description(description: Description, console: Console) -> None:
    """Attributes, what becomes of them, and their buckets with shares."""
    from modicum.generalization.description import buckets_text, summary_text

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


# What `--min-group` does in `minimize` and `study`: coarsen, and say what that changes.


def check_min_group(min_group: int | None, X: Any, person: str | None) -> None:
    """Refuse, before any work, a group size that the training part cannot have."""
    from modicum.table.splits import TRAIN

    if min_group is None:
        return
    if min_group < 1:
        raise ParameterError(f"The option --min-group must be at least 1. Got {min_group}.")
    people = len(X) if person is None else X[person].nunique(dropna=False)
    if min_group > TRAIN * people:
        raise ParameterError(
            f"The option --min-group is {min_group:,}, more than the {int(TRAIN * people):,} "
            f"{'records' if person is None else 'people'} that are learned from."
        )


def measure_effect(
    before: Generalization,
    after: Generalization,
    X: Any,
    parts: Split,
    weights: dict[str, float] | None = None,
    confidence: float = 0.99,
) -> Effect:
    """What coarsening on the training part changes on the test part."""
    from modicum.evaluation import effect

    train, test = X.iloc[parts.train], X.iloc[parts.test]
    return effect(before, after, train, test, weights=weights, confidence=confidence)


def summary(found: Effect) -> dict[str, Any]:
    """The same numbers as the table, for programs; small counts are hidden, shares told in tens of people."""
    from modicum.reporting.disclosure import few, outward, tens

    attacks = {"before": found.singling_out_before, "after": found.singling_out_after}
    return {
        "buckets": {"before": found.buckets_before, "after": found.buckets_after},
        "smallest_group": {"before": few(found.smallest_before), "after": few(found.smallest_after)},
        "not_alone": {when: tens(attack.error, attack.people) for when, attack in attacks.items()},
        "not_alone_interval": {when: outward(attack.interval, attack.people) for when, attack in attacks.items()},
        "certified_error": {"before": 1 - found.certificate_before.mean, "after": 1 - found.certificate_after.mean},
    }


def show_effect(found: Effect, min_group: int, console: Console) -> None:
    """Before and after: groups, A8 and the certificate."""
    from modicum.measures.certificate import confidence_text
    from modicum.reporting.disclosure import at_least

    content = summary(found)
    console.print(f"Coarsened until every group of training records has at least {min_group:,}:", markup=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for title in ("before", "after"):
        table.add_column(title, justify="right")
    confidence = confidence_text(found.certificate_before.confidence)
    lines: list[tuple[str, str, Any]] = [
        ("buckets", "buckets", str),
        ("smallest group of training records", "smallest_group", str),
        ("test people not alone with their answers (A8)", "not_alone", lambda share: f"{share:.2%}"),
        (f"certified mean error of any adversary, {confidence} confidence", "certified_error", at_least),
    ]
    for title, key, shown in lines:
        table.add_row(title, *(shown(content[key][when]) for when in ("before", "after")))
    console.print(table)
    console.print()
