"""`modicum study`: run every minimizer over its parameters, and choose from the trade-off."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Column, Table

from modicum.cli import options
from modicum.cli.options import notes, out
from modicum.cli.output import (
    build_table,
    describe_report_files,
    open_questions,
    printable,
    show_effect,
    show_suggestions,
    summarize_effect,
    write_report,
)
from modicum.errors import ParameterError, StoppedWarning

if TYPE_CHECKING:
    from modicum.reporting.study.data import JudgedRow, StudyContent

Names = list[str] | None


def study(
    file: options.FileArgument,
    label: options.LabelOption,
    folder: Annotated[
        Path,
        typer.Option("--folder", help="Where to keep results; repeat the command to continue a stopped study."),
    ],
    personal: options.PersonalOption = None,
    identifier: options.IdentifierOption = None,
    person: options.PersonOption = None,
    category: options.CategoryOption = None,
    leave_out: options.LeaveOutOption = None,
    schema: options.SchemaOption = None,
    weight: options.WeightOption = None,
    minimizers: Annotated[
        str, typer.Option(help="default, all (with the neural ones; needs PyTorch), or names separated by commas.")
    ] = "default",
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of random splits: the choice uses the first, the others show chance.")
    ] = 1,
    train_size: Annotated[
        Names, typer.Option(help="Also learn from these shares of the training part, such as 0.05,0.01.")
    ] = None,
    keep: Annotated[
        float | None, typer.Option(help="Choose the most private result that keeps this share of the skill.")
    ] = None,
    max_error: Annotated[float | None, typer.Option(help="Or: the most private with at most this error.")] = None,
    knee: Annotated[bool, typer.Option("--knee", help="Or: the front's inflection point (the default).")] = False,
    min_group: options.MinGroupOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write the chosen generalization (JSON).")
    ] = None,
    report: options.ReportOption = None,
    purpose: options.PurposeOption = None,
    people: options.PeopleOption = None,
    label_bins: options.LabelBinsOption = None,
    confidence: Annotated[float, typer.Option(help="The certificates' confidence.")] = 0.99,
    missing: options.MissingOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Try every minimizer over its parameters, and choose from what they offer.

    Learns from 60% of the rows, chooses on 10%, and reports on the other 30%. Finished results are kept in --folder,
    with all candidates in table.csv. Ctrl-C stops; the same command continues.
    """
    import modicum as md
    from modicum.cli.input_files import Roles
    from modicum.evaluation import coarsened_choice
    from modicum.evaluation.study.study_store import FILES
    from modicum.measures.front import check_target
    from modicum.workflow import check_min_group, split_task

    options.check_report_options(report, purpose=purpose, people=people)
    knee = knee or (keep is None and max_error is None)
    check_target(keep, max_error, knee)
    own = [folder / name for name in FILES]
    options.check_places([file, schema, *own], output, report)
    pieces = (folder / "pieces").resolve()
    if any(path is not None and path.resolve().is_relative_to(pieces) for path in (output, report)):
        raise ParameterError(f"The folder {str(folder / 'pieces')!r} belongs to the study; write elsewhere.")
    roles = Roles(label, schema, missing, person, personal, identifier, category, leave_out)
    X, y, found = roles.read_task(file)
    check_min_group(min_group, X, found.person, split_task(X, y, found.person))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StoppedWarning)  # shown below
        made = md.study(
            X,
            y,
            schema=found,
            weights=options.pairs(weight),
            minimizers=[name.strip() for name in minimizers.split(",")],
            seeds=seeds,
            train_sizes=[1.0] if train_size is None else options.numbers(train_size, "train-size"),
            folder=folder,
            confidence=confidence,
            label_bins=label_bins,
            n_jobs=-1,
        )
    if not made.is_whole:
        notes.print(f"Stopped after {len(made.candidates):,} candidates; repeat the command to continue.", markup=False)
        raise typer.Exit(130)
    choice = made.choose(keep=keep, max_error=max_error, knee=knee)
    if min_group is not None:
        with notes.status("Making groups larger …"):
            choice = coarsened_choice(choice, min_group)
    evidence = md.evidence(choice, depth="quick" if report is None else "full", n_jobs=-1)
    page = md.report(evidence, purpose, people=people, command=options.command_line())
    if output is not None:
        choice.generalization.save(output)
    if report is not None:
        write_report(page, report)
    if as_json:
        more = {} if choice.coarsening is None else {"coarsened": summarize_effect(choice.coarsening)}
        typer.echo(json.dumps(page.to_dict() | more, allow_nan=False))
        return
    show_suggestions(open_questions(found, label), out)
    show_study(page.content, out)
    out.print()
    if choice.coarsening is not None and min_group is not None:
        show_effect(choice.coarsening, min_group, out)
    if output is not None:
        out.print(f"Written to {output}. Apply it with: modicum apply {output} FILE -o OUT", markup=False)
    if report is not None:
        out.print(describe_report_files(report))


def show_study(content: StudyContent, console: Console) -> None:
    """Show the minimizers, the front and the choice as tables."""
    from modicum.reporting.disclosure import at_least
    from modicum.reporting.formats import percent

    raw, nothing, chosen = content.raw_data, content.nothing_collected, content.chosen
    over = "" if len(content.seeds) == 1 else f", mean over {len(content.seeds)} seeds"
    console.print(_tabulate_minimizers(content))
    console.print(
        f"\nHypervolume: the share reached of the trade-off between raw data (error {percent(raw.error)}, adversary "
        f"0%) and nothing collected ({percent(nothing.error)}, {percent(nothing.adversary_error)}), by counts"
        f"{over}. The last columns: the adversary's error where the classifier's is at most "
        "0.5, 1 or 2 percentage points above raw data's.\n",
        markup=False,
    )
    if content.is_weak:
        console.print("Even the raw data barely predicts this label: its error says little.\n", markup=False)
    console.print(_tabulate_front(content))
    console.print()
    if chosen is not None:
        console.print(
            printable(
                f"Chosen (*), {chosen.why}, on validation records: {chosen.name}. On test records: error "
                f"{percent(chosen.error)} (raw data {percent(raw.error)}), adversary's error "
                f"{percent(chosen.adversary_error)} (naive guess {percent(nothing.adversary_error)}; certified at "
                f"least {at_least(chosen.certificate.mean_error)}), skill kept {percent(chosen.skill_kept, 0)}."
            )
        )
    for text in content.skipped:
        console.print(printable(f"Not tried: {text}"))


def _tabulate_minimizers(content: StudyContent) -> Table:
    from modicum.reporting.formats import NONE, decimals, number, percent

    titles = ("candidates", "hypervolume", "95% interval", "+0.5%", "+1%", "+2%")
    table = build_table(Column("minimizer"), numbers=titles)
    for each in content.minimizers:
        volume, errors = each.hypervolume, [percent(reached.adversary_error) for reached in each.reached]
        table.add_row(each.name, str(each.candidates), number(volume.mean), decimals(volume.interval) or NONE, *errors)
    return table


def _tabulate_front(content: StudyContent) -> Table:
    from modicum.reporting.disclosure import at_least
    from modicum.reporting.formats import NONE, percent

    first = Column("on the front", overflow="fold", min_width=28)
    table = build_table(first, numbers=("buckets", "error", "adversary", "certified", "group"))
    rows: list[tuple[JudgedRow, str, bool]]
    rows = [(row, at_least(row.certified_error), row.chosen) for row in content.front]
    if content.chosen is not None and not any(is_chosen for *_, is_chosen in rows):
        rows.append((content.chosen, NONE, True))
    for row, certified, is_chosen in rows:
        table.add_row(
            printable(f"{'* ' if is_chosen else ''}{row.name}"),
            str(row.buckets),
            percent(row.error),
            percent(row.adversary_error),
            certified,
            str(row.smallest_group),
        )
    return table
