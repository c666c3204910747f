"""`modicum attack`: every adversary against a saved generalization."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from modicum.cli.options import (
    ArtifactArgument,
    FileArgument,
    JsonOption,
    MissingOption,
    PeopleOption,
    PurposeOption,
    ReportOption,
    SeedOption,
    WeightOption,
    check_places,
    given_to,
    loaded,
    names,
    numbers,
    out,
    pairs,
)
from modicum.cli.told_command import command_line

Names = list[str] | None


def attack(
    artifact: ArtifactArgument,
    file: FileArgument,
    known: Annotated[
        Path | None,
        typer.Option(help="Full records of other people to learn from; then all of FILE is attacked, else 30% of it."),
    ] = None,
    personal: Annotated[Names, typer.Option(help="Attributes to guess; the artifact's where none is named.")] = None,
    weight: WeightOption = None,
    also: Annotated[
        list[Path] | None, typer.Option(help="Another generalization under which the same people were breached (A6).")
    ] = None,
    link_a: Annotated[Names, typer.Option(help="Attributes of one half to be linked (A7).")] = None,
    link_b: Annotated[Names, typer.Option(help="Attributes of the other half (A7).")] = None,
    link_k: Annotated[
        int | None, typer.Option(help="How many people are linked at once.", show_default="a tenth, at most 1000")
    ] = None,
    population: Annotated[int | None, typer.Option(help="How many people there are in all (A8).")] = None,
    percent: Annotated[
        Names, typer.Option(help="On how many percent of the guesses, the surest first, A2 is judged, such as 1,5,10.")
    ] = None,
    orders: Annotated[int, typer.Option(min=1, help="In how many orders personal attributes become known to A5.")] = 2,
    confidence: Annotated[float, typer.Option(help="The certificates' confidence.")] = 0.99,
    neural: Annotated[bool, typer.Option("--neural", help="Add the larger networks (needs PyTorch).")] = False,
    report: ReportOption = None,
    purpose: PurposeOption = None,
    people: PeopleOption = None,
    seed: SeedOption = 0,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let eight adversaries try what could still leak, each beside what it would get without the record.

    FILE holds full records. The adversaries learn from 60% of them and attack 30%, with the seed of `minimize` the same
    as there; or they learn from the records of --known and attack all of FILE.
    """
    from modicum.attacks import OverlapWarning, suite
    from modicum.attacks.result import PERCENT
    from modicum.cli.attacking import known_and_breached, show_attacks
    from modicum.cli.judging import told_places, write_report
    from modicum.errors import ParameterError
    from modicum.learners.portfolio import MEMBERS, NEURAL
    from modicum.reporting import report as made_report

    check_places([artifact, file, known, *(also or [])], report=report)
    given_to(report, purpose=purpose, people=people)
    g = loaded(artifact)
    others = [loaded(path) for path in also or []]
    learned, breached = known_and_breached(g, file, known, missing, seed)
    if (link_a is None) != (link_b is None):
        raise ParameterError("Linking needs both halves: --link-a and --link-b.")
    halves: Any = [names(half, g.names, "the artifact") for half in (link_a, link_b)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # it is in the report
        found = suite(
            g,
            learned,
            breached,
            personal=names(personal, g.names, "the artifact"),
            weights=pairs(weight),
            others=others,
            link=None if link_a is None else (halves[0], halves[1]),
            k=link_k,
            population=population,
            percent=PERCENT if percent is None else numbers(percent),
            confidence=confidence,
            orders=orders,
            members=(*MEMBERS, *NEURAL) if neural else MEMBERS,
            random_state=seed,
        )
    made = made_report(found, purpose, people=people, command=command_line())
    if report is not None:
        write_report(made, report)
    if as_json:
        typer.echo(json.dumps(made.to_dict(), allow_nan=False))
        return
    show_attacks(made.to_dict(), out)
    if report is not None:
        out.print()
        out.print(told_places(report))
