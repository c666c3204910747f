"""`modicum minimize`: learn an artifact from a file."""

from __future__ import annotations

import json
import warnings
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from modicum.cli import options
from modicum.cli.options import notes, out
from modicum.cli.output import (
    describe_report_files,
    open_questions,
    show_description,
    show_effect,
    show_report,
    show_suggestions,
    summarize_effect,
    write_report,
)
from modicum.errors import ParameterError

if TYPE_CHECKING:
    from modicum.reporting import Report
    from modicum.reporting.generalization.data import GeneralizationContent
    from modicum.workflow import Minimization


def minimize(
    file: options.FileArgument,
    label: options.LabelOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the generalization (JSON).")],
    personal: options.PersonalOption = None,
    identifier: options.IdentifierOption = None,
    person: options.PersonOption = None,
    category: options.CategoryOption = None,
    leave_out: options.LeaveOutOption = None,
    schema: options.SchemaOption = None,
    keep: Annotated[
        float | None, typer.Option(help="Choose the most private result that keeps this share of the skill.")
    ] = None,
    max_error: Annotated[
        float | None, typer.Option(help="Or: the most private result with at most this error.")
    ] = None,
    method: Annotated[
        Literal["merge", "pat"] | None,
        typer.Option(help="Merge buckets, or grow PAT's tree.", show_default="merge; pat with an option of the tree"),
    ] = None,
    risk: Annotated[
        Literal["adversary", "certificate"] | None,
        typer.Option(help="For merge: the risk to lower.", show_default="adversary"),
    ] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="For pat: leaves of the tree; more leaves give more detail.", show_default="20")
    ] = None,
    privacy: Annotated[
        float | None,
        typer.Option(help="For pat: 0 considers the prediction only, 1 collects nothing.", show_default="0.5"),
    ] = None,
    min_leaf: Annotated[
        int | None, typer.Option(help="For pat: the fewest records in a leaf of the tree.", show_default="100")
    ] = None,
    min_group: options.MinGroupOption = None,
    label_bins: options.LabelBinsOption = None,
    report: options.ReportOption = None,
    purpose: options.PurposeOption = None,
    people: options.PeopleOption = None,
    by: options.ByOption = None,
    seed: options.SeedOption = 0,
    missing: options.MissingOption = None,
    engine: options.EngineOption = None,
    sample: Annotated[
        int | None,
        typer.Option(help="Learn from this many records, and check on as many others that they are enough."),
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Learn what to collect, and in what detail, to predict LABEL; write it as JSON.

    Learns from 60% of the rows, chooses on 10%, and reports on the other 30%. By default buckets are merged, from much
    detail to none. Of all these points, --keep or --max-error choose the most private one within the target; otherwise
    the inflection point is chosen, after which a little more utility costs much privacy. Skill is what a model on raw
    data gains over guessing by class shares. --method pat grows the privacy-aware tree of the literature instead; with
    --keep or --max-error, the options of the tree narrow its search.

    With --engine the file may be larger than memory, or a folder of Parquet files: the tree is grown from counts of all
    its records. With --sample that many records are used instead of the whole file.
    """
    import modicum as md
    from modicum.cli.input_files import Roles, drop_unlabelled_at, parse_groups
    from modicum.workflow import TreeSettings, check_settings

    options.check_places([file, schema], output, report)
    options.check_report_options(report, by=by, purpose=purpose, people=people)
    if leave_out and (engine is not None or sample is not None):
        raise ParameterError("The option --leave-out needs a file in memory; with --engine or --sample use a schema.")
    if report is not None and engine is not None and sample is None:
        raise ParameterError("The option --report needs the records in memory: leave it out, or use --sample.")
    tree = TreeSettings(max_leaves=max_leaves, privacy=privacy, min_leaf=min_leaf)
    in_engine = engine is not None and sample is None
    chosen = check_settings(
        method, risk, tree, in_engine=in_engine, keep=keep, max_error=max_error, min_group=min_group
    )
    run = partial(
        md.minimize,
        keep=keep,
        max_error=max_error,
        min_group=min_group,
        method=method,
        risk=risk,
        label_bins=label_bins,
        sample=sample,
        for_report=report is not None,
        random_state=seed,
        **tree,
    )
    roles = Roles(label, schema, missing, person, personal, identifier, category, leave_out)
    if engine is None and sample is None:
        X, y, found = roles.read_task(file)
        groups = parse_groups(by, list(X.columns), label)
        has_bar = chosen == "merge" or keep is not None or max_error is not None
        with nullcontext() if has_bar else notes.status("Learning what is needed …"):
            made = run(X, y, schema=found)
    else:
        with roles.open(file, engine or "duckdb") as whole, notes.status("Learning what is needed …"):
            table = drop_unlabelled_at(whole, label)
            groups, own = parse_groups(by, table.columns, label), roles.parse(table.columns)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="A sample of")  # shown below
                X, given = table.lazy.to_native(), roles.schema
                made = run(X, label, schema=given, missing=missing or (), progress=False, **own)
    page = None
    if report is not None:
        with notes.status("Judging what is lost and what could leak …"):
            head = {"people": people, "command": options.command_line()}
            page = made.report(purpose, **head, by=groups, n_jobs=-1, progress=False)
    made.generalization.save(output)
    if report is not None and page is not None:
        write_report(page, report)
    if as_json:
        typer.echo(json.dumps(_summarize(made, label, output)))
    else:
        _show(made, label, output, min_group, report, page)


def _summarize(made: Minimization, label: str, output: Path) -> dict[str, object]:
    """Return the result for programs."""
    from dataclasses import asdict

    from modicum.reporting.disclosure import disclose_description
    from modicum.table.values import plain

    search = None
    if made.choice is not None:
        choice = {name: plain(value) for name, value in asdict(made.choice).items() if name != "generalization"}
        search = {"method": "merge" if made.path else "pat", **choice}
    content: dict[str, object] = {
        "output": str(output),
        **disclose_description(made.description),
        "suggestions": [suggestion.model_dump() for suggestion in open_questions(made.schema, label)],
        "search": search,
    }
    content |= {} if made.coarsening is None else {"coarsened": summarize_effect(made.coarsening)}
    return content | ({} if made.sample_check is None else {"sample": made.sample_check.to_dict()})


def _show(
    made: Minimization,
    label: str,
    output: Path,
    min_group: int | None,
    report: Path | None,
    page: Report[GeneralizationContent] | None,
) -> None:
    """Show the result for people."""
    show_suggestions(open_questions(made.schema, label), out)
    if made.coarsening is not None and min_group is not None:
        show_effect(made.coarsening, min_group, out)
    show_description(made.description, out)
    if made.why is not None:
        more = " Use --report to measure it on test records, which had no part in the choice." if report is None else ""
        out.print(f"\n{made.why}{more}", markup=False)
        if min_group is not None and made.coarsening is None:
            out.print(
                f"Every combination of answers in the training rows is shared by at least {min_group:,} people; other "
                "rows may have rarer ones.",
                markup=False,
            )
    if made.sample_check is not None:
        from modicum.minimizers.sample_check import describe_check

        out.print(f"\n{describe_check(made.sample_check)}", markup=False)
    if report is not None and page is not None:
        out.print()
        show_report(page.content, out)
        out.print()
        out.print(describe_report_files(report))
    out.print(f"\nWritten to {output}. Apply it with: modicum apply {output} FILE -o OUT", markup=False)
    out.print(f"Ask people for no more than that with: modicum form {output} -o form.html", markup=False)
