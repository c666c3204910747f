"""Show results on the terminal: descriptions, facts, suggestions, effects of a minimum group size, reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from modicum.cli.options import markdown_and_json

if TYPE_CHECKING:
    from modicum.evaluation import Effect
    from modicum.generalization.description import Description
    from modicum.reporting import Report
    from modicum.reporting.generalization.data import FirstAdversary, GeneralizationContent, GuessedContent
    from modicum.table.schema import Schema, Suggestion

_COLOURS = {"not collected": "green", "coarsened": "yellow", "kept": "red"}


def printable(text: str) -> Text:
    """Replace characters that would control the terminal by question marks."""
    return Text("".join(character if character.isprintable() else "?" for character in text))


def build_table(*words: Column, numbers: Iterable[str] = ()) -> Table:
    """Build an empty table: columns of words, then right-aligned columns of numbers that do not wrap."""
    right = (Column(title, justify="right", no_wrap=True) for title in numbers)
    return Table(*words, *right, box=None, pad_edge=False, header_style="bold")


def show_description(description: Description, console: Console) -> None:
    """Show attributes, the decision on each, and its buckets with shares."""
    from modicum.generalization.description import buckets_text, summary_text

    table = build_table(
        Column("attribute", max_width=28, overflow="fold"),
        Column("personal"),
        Column("decision", no_wrap=True),
        Column("what is collected (share of records)", overflow="fold"),
    )
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
    """Show facts, one per line."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in lines:
        table.add_row(printable(name), printable(value))
    console.print(table)


def show_suggestions(suggestions: tuple[Suggestion, ...], console: Console) -> None:
    """Show what `Schema.infer` noticed, for a person to decide."""
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
    """Return the suggestions about written columns that look like names or numbers of people."""
    return tuple(each for each in schema.suggestions if each.topic == "identifier" and each.attribute in written)


def open_questions(schema: Schema, label: str) -> tuple[Suggestion, ...]:
    """Return the suggestions about columns that may be collected."""
    return tuple(s for s in schema.suggestions if not schema[s.attribute].is_identifying and s.attribute != label)


# Effects of --min-group


def summarize_effect(found: Effect) -> dict[str, dict[str, object]]:
    """Return the table's numbers for programs; small counts are hidden, shares are in tens of people."""
    from modicum.reporting.disclosure import few, lowest_error, outward, round_certificate, tens

    attacks = {"before": found.singling_out_before, "after": found.singling_out_after}
    certificates = {"before": found.certificate_before, "after": found.certificate_after}
    return {
        "buckets": {"before": found.buckets_before, "after": found.buckets_after},
        "smallest_group": {"before": few(found.smallest_before), "after": few(found.smallest_after)},
        "not_alone": {when: tens(attack.error, attack.people) for when, attack in attacks.items()},
        "not_alone_interval": {when: outward(attack.interval, attack.people) for when, attack in attacks.items()},
        "certified_error": {when: lowest_error(round_certificate(each)) for when, each in certificates.items()},
    }


def show_effect(found: Effect, min_group: int, console: Console) -> None:
    """Show groups, A8 and the certificate before and after."""
    from modicum.measures.certificate import confidence_text
    from modicum.reporting.disclosure import at_least

    content = summarize_effect(found)
    console.print(f"Coarsened until every group of training records has at least {min_group:,}:", markup=False)
    table = build_table(Column(), *(Column(title, justify="right") for title in ("before", "after")))
    confidence = confidence_text(found.certificate_before.confidence)
    lines: list[tuple[str, str, Callable[[Any], str]]] = [
        ("buckets", "buckets", str),
        ("smallest group of training records", "smallest_group", str),
        ("test people not alone with their answers (A8)", "not_alone", lambda share: f"{share:.2%}"),
        (f"certified mean error of any adversary, {confidence} confidence", "certified_error", at_least),
    ]
    for title, key, shown in lines:
        table.add_row(title, *(shown(content[key][when]) for when in ("before", "after")))
    console.print(table)
    console.print()


# Reports


def write_report(report: Report[Any], path: Path) -> None:
    """Write the report as HTML, Markdown and JSON: all three files, or none."""
    report.save(path, *markdown_and_json(path))


def describe_report_files(path: Path) -> Text:
    """Say where the report was written."""
    return printable(f"Report: {path}, with .md and .json versions next to it.")


def show_report(content: GeneralizationContent, console: Console) -> None:
    """Show the decision and the risk of each personal attribute."""
    from modicum.measures.certificate import confidence_text
    from modicum.reporting.disclosure import at_least
    from modicum.reporting.formats import NONE, interval, number, percent

    utility, attack, certificate = content.utility, content.attack, content.certificate
    console.print(printable(content.decision))
    console.print()
    first = Column("personal attribute", max_width=28, min_width=18, overflow="fold")
    table = build_table(first, numbers=("adversary's error", "95% interval", "naive", "certified"))
    risks: list[tuple[Text, GuessedContent | FirstAdversary, float]] = [
        (printable(name), risk, 1 - certificate.bounds[name]) for name, risk in attack.by_attribute.items()
    ]
    risks.append((Text("mean", style="bold"), attack, certificate.mean_error))
    for name, risk, certified in risks:
        between = interval(risk.interval) or NONE
        table.add_row(name, percent(risk.error), between, percent(risk.naive), at_least(certified))
    console.print(table)
    console.print()
    between = interval(utility.skill_interval, 0)
    skill = percent(utility.skill_kept, 0) + (f" ({between})" if between else "")
    console.print(
        f"Model: error {percent(utility.error)} ({interval(utility.interval) or NONE}), raw data "
        f"{percent(utility.raw_error)}, majority guess {percent(utility.majority_error)}; skill kept {skill}.",
        markup=False,
    )
    if utility.worst_group is not None:
        worst = utility.by_group[utility.worst_group]
        where = f"{utility.worst_group}, {percent(worst.error)} of {number(worst.records)} records"
        console.print(printable(f"Highest error: {where}."))
    console.print(
        f"An error is the share of {content.unit} guessed wrong: higher is safer. With "
        f"{confidence_text(certificate.confidence)} confidence no adversary who sees only the collected record has "
        f"an error below the certified one, on average over {certificate.unit} like these.",
        markup=False,
    )
    for warning in content.warnings:
        console.print(printable(f"Note: {warning}"))
