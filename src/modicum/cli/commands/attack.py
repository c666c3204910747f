"""`modicum attack`: run every adversary against a saved generalization."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Column

from modicum.cli import options
from modicum.cli.input_files import drop_unlabelled, load_generalization
from modicum.cli.options import out
from modicum.cli.output import build_table, describe_report_files, printable, write_report
from modicum.errors import DataError, ParameterError

if TYPE_CHECKING:
    from modicum.generalization import Generalization
    from modicum.reporting.attack.data import (
        AttackContent,
        Guesser,
        LinkabilityContent,
        SinglingOutContent,
        SurestGuesses,
    )

Names = list[str] | None


def attack(
    artifact: options.ArtifactArgument,
    file: options.FileArgument,
    known: Annotated[
        Path | None,
        typer.Option(help="Full records of other people to learn from; all of FILE is then attacked, else 30%."),
    ] = None,
    personal: Annotated[Names, typer.Option(help="Attributes to guess; by default the artifact's.")] = None,
    weight: options.WeightOption = None,
    also: Annotated[
        list[Path] | None, typer.Option(help="Another generalization of the same people that was also breached (A6).")
    ] = None,
    link_a: Annotated[Names, typer.Option(help="Attributes of one half to link (A7).")] = None,
    link_b: Annotated[Names, typer.Option(help="Attributes of the other half to link (A7).")] = None,
    link_k: Annotated[
        int | None, typer.Option(help="How many people are linked at once.", show_default="a tenth, at most 1000")
    ] = None,
    population: Annotated[int | None, typer.Option(help="Size of the whole population (A8).")] = None,
    percent: Annotated[
        Names, typer.Option(help="Percentages of the surest guesses on which A2 is measured, such as 1,5,10.")
    ] = None,
    orders: Annotated[int, typer.Option(min=1, help="Number of orders in which A5 learns personal attributes.")] = 2,
    confidence: Annotated[float, typer.Option(help="The certificates' confidence.")] = 0.99,
    neural: Annotated[bool, typer.Option("--neural", help="Add the larger networks (needs PyTorch).")] = False,
    report: options.ReportOption = None,
    purpose: options.PurposeOption = None,
    people: options.PeopleOption = None,
    seed: options.SeedOption = 0,
    missing: options.MissingOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Let eight adversaries find what could still leak, compared with guessing without the record.

    FILE holds full records. The adversaries learn from 60% of them and attack 30%: the test records of `minimize`, if
    the seed is the same. With --known they learn from its records and attack all of FILE.
    """
    from modicum.attacks import OverlapWarning, suite
    from modicum.attacks.result import PERCENT
    from modicum.learners.portfolio import MEMBERS, NEURAL
    from modicum.reporting import report as made_report

    options.check_places([artifact, file, known, *(also or [])], report=report)
    options.check_report_options(report, purpose=purpose, people=people)
    g = load_generalization(artifact)
    others = [load_generalization(path) for path in also or []]
    learned, breached = read_attack_records(g, file, known, missing, seed)
    if (link_a is None) != (link_b is None):
        raise ParameterError("Linking needs both halves: --link-a and --link-b.")
    halves: Any = [options.names(half, g.names, "the artifact") for half in (link_a, link_b)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # the report says so
        found = suite(
            g,
            learned,
            breached,
            personal=options.names(personal, g.names, "the artifact"),
            weights=options.pairs(weight),
            others=others,
            link=None if link_a is None else (halves[0], halves[1]),
            k=link_k,
            population=population,
            percent=PERCENT if percent is None else options.numbers(percent),
            confidence=confidence,
            orders=orders,
            members=(*MEMBERS, *NEURAL) if neural else MEMBERS,
            n_jobs=-1,
            random_state=seed,
        )
    made = made_report(found, purpose, people=people, command=options.command_line())
    if report is not None:
        write_report(made, report)
    if as_json:
        typer.echo(json.dumps(made.to_dict(), allow_nan=False))
        return
    show_attacks(made.content, out)
    if report is not None:
        out.print()
        out.print(describe_report_files(report))


def read_attack_records(
    g: Generalization, file: Path, known: Path | None, missing: Sequence[str] | None, seed: int
) -> tuple[Any, Any]:
    """Return the records to learn from and those to attack: two files, or two parts of one."""
    import numpy as np

    from modicum.reporting.disclosure import check_people
    from modicum.workflow import split_task

    table = _read(g, file, missing)
    if known is not None:
        check_people(g.schema, table, "breached records")
        return _read(g, known, missing), table
    label = g.schema.label
    if label is not None and label in table.columns:
        table = drop_unlabelled(table, label)  # as for `minimize` and `judge`, so that the parts are the same
    y = table[label] if label is not None and label in table.columns else np.zeros(len(table))
    parts = split_task(table, y, g.schema.person, seed)
    check_people(g.schema, table.iloc[parts.test], "breached records (30% of the rows)")
    return table.iloc[parts.train], table.iloc[parts.test]


def _read(g: Generalization, file: Path, missing: Sequence[str] | None) -> Any:
    from modicum.table.files import read_table

    table = read_table(file, missing=missing or (), schema=g.schema)
    absent = [name for name in [*g.names, g.schema.person] if name is not None and name not in table.columns]
    if absent:
        raise DataError(
            f"The column {absent[0]!r} is not in {file.name!r}; attacks need every attribute in full detail."
        )
    return table


def show_attacks(content: AttackContent, console: Console) -> None:
    """Show the findings in words, and a table of each adversary with its baselines."""
    from modicum.reporting.formats import format_levels, number

    for sentence in content.sentences:
        console.print(printable(sentence))
    console.print()
    titles = ("error", "95% interval", "naive", "raw", "certified")
    table = build_table(Column("adversary", no_wrap=True), numbers=titles)
    for each in content.adversaries:
        table.add_row(*_row(each.short, each, each.certified_error))
        if each.id == "A1":
            for level in content.confident:
                if level.percent < 100:
                    table.add_row(*_row(f"{content.names['A2'].short} {level.percent:g}%", level))
    if content.linkability is not None:
        table.add_row(*_row(content.names["A7"].short, content.linkability))
    table.add_row(*_row(content.names["A8"].short, content.singling_out))
    console.print(table)
    console.print()
    gains = [f"{each.id} about {each.worst!r}" for each in content.adversaries if each.worst]
    console.print(printable(f"Largest gains: {', '.join(gains)}." if gains else "No adversary gains anything."))
    single = content.singling_out
    console.print(
        f"The rarest combination of answers is shared by {number(single.least)} people; "
        f"{number(single.rarest)} of {number(single.groups)} combinations "
        f"{'is' if single.rarest == 1 else 'are'} that rare.",
        markup=False,
    )
    if single.population is not None:
        everyone = single.population
        low, high = (number(end) for end in everyone.interval)
        console.print(
            f"In a population of {number(everyone.population)}, {number(everyone.unique)} people are expected to be "
            f"unique ({low} to {high}).",
            markup=False,
        )
    for warning in content.warnings:
        console.print(printable(f"Note: {warning}"))
    if content.too_few_for_confident and content.a2_most_exposed is None:
        left_out = format_levels(content.too_few_for_confident)
        console.print(f"Too few people to report on the most confident {left_out}.", markup=False)
    for name, certificate in content.certificates.items():
        if certificate.note:
            console.print(printable(f"Note on {name}: {certificate.note}"))
    for skipped in content.skipped:
        console.print(printable(f"Not run: {skipped.id} {skipped.name}, {skipped.why}."))
    console.print(f"An error is the share of {content.unit} guessed wrong: higher is safer.")


def _row(
    name: str, found: Guesser | SurestGuesses | LinkabilityContent | SinglingOutContent, certified: float | None = None
) -> list[Any]:
    from modicum.reporting.disclosure import at_least
    from modicum.reporting.formats import NONE, interval, percent

    between = interval(found.interval) or NONE
    floor = "" if certified is None else at_least(certified)
    return [printable(name), percent(found.error), between, percent(found.naive), percent(found.raw), floor]
