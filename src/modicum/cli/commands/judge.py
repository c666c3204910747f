"""`modicum judge` and `modicum report`: measure any artifact, even an edited one, on full records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modicum.cli import options
from modicum.cli.input_files import drop_unlabelled_at, label_of, load_generalization, parse_groups, read_judged
from modicum.cli.options import notes, out
from modicum.cli.output import describe_report_files, printable, show_report, write_report
from modicum.errors import ParameterError

if TYPE_CHECKING:
    from modicum.evaluation import Evidence
    from modicum.generalization import Generalization

ConfidenceOption = Annotated[float, typer.Option(help="The certificate's confidence.")]


def judge(
    artifact: options.ArtifactArgument,
    file: Annotated[
        str,
        typer.Argument(
            help="A CSV or Parquet file; with --engine also a folder of Parquet files.", callback=options.check_file
        ),
    ],
    label: options.ArtifactLabelOption = None,
    by: options.ByOption = None,
    weight: options.WeightOption = None,
    label_bins: options.LabelBinsOption = None,
    confidence: ConfidenceOption = 0.99,
    seed: options.SeedOption = 0,
    missing: options.MissingOption = None,
    engine: options.EngineOption = None,
    known: Annotated[
        str | None,
        typer.Option(help="With --engine: separate files with the records to learn from; all of FILE is judged."),
    ] = None,
    as_json: options.JsonOption = False,
) -> None:
    """Measure what a generalization costs the prediction and what an adversary could still guess.

    FILE holds full records. The classifier and the adversary learn from 60% of them; 30% are judged. With the seed of
    `minimize`, the generalization was not made from these. With --engine everything is counted in the engine; only the
    model learns from a sample in memory.
    """
    from modicum.reporting import report

    if engine is None and known is not None:
        raise ParameterError("The option --known needs --engine; without it FILE itself is split.")
    if engine is not None and known is None:
        raise ParameterError("With --engine, name separate files with the records to learn from: --known.")
    settings = {
        "weights": options.pairs(weight),
        "label_bins": label_bins,
        "confidence": confidence,
        "random_state": seed,
    }
    g = load_generalization(artifact)
    if engine is None or known is None:
        found = _gather(g, Path(file), label, missing, by, depth="quick", **settings)
    else:
        found = _gather_in_engine(g, file, known, engine, label, missing, by, **settings)
    made = report(found)
    if as_json:
        typer.echo(json.dumps(made.to_dict(), allow_nan=False))
    else:
        show_report(made.content, out)


def report(
    artifact: options.ArtifactArgument,
    file: options.FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write it (.html; .md and .json versions go next to it).")
    ],
    purpose: options.PurposeOption = None,
    people: options.PeopleOption = None,
    population: options.PopulationOption = None,
    model: Annotated[
        Path | None, typer.Option(help="File of the model that will use the data; its hash is in the report.")
    ] = None,
    label: options.ArtifactLabelOption = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Show the error for each value of these columns.", show_default="the personal attributes"),
    ] = None,
    weight: options.WeightOption = None,
    label_bins: options.LabelBinsOption = None,
    confidence: ConfidenceOption = 0.99,
    seed: options.SeedOption = 0,
    missing: options.MissingOption = None,
    date: Annotated[
        str | None, typer.Option(help="The day of the report, as YYYY-MM-DD.", show_default="today")
    ] = None,
) -> None:
    """Write the evidence about a generalization: why each attribute is needed, and what remains at risk.

    A document for an impact assessment: the decision, what one step coarser would cost, the alternatives, all
    adversaries with their baselines, the certificate in words to quote, the limits, and fields to sign. FILE holds
    full records: 60% to learn from and 30% to judge, which had no part in the decision if the seed is that of
    `minimize`. The page opens offline and prints well; Markdown and JSON hold the same numbers.
    """
    from modicum import reporting
    from modicum.reporting.parts import Heading

    options.check_places([artifact, file, model], report=output)
    options.check_report_options(output, purpose=purpose, people=people)
    Heading(date=date)  # refuses a wrong date before the work
    found = _gather(
        load_generalization(artifact),
        file,
        label,
        missing,
        by,
        weights=options.pairs(weight),
        label_bins=label_bins,
        confidence=confidence,
        random_state=seed,
        population=population,
        model=model,
    )
    made = reporting.report(found, purpose, people=people, date=date, command=options.command_line())
    write_report(made, output)
    out.print(printable(made.content.decision))
    out.print()
    out.print(describe_report_files(output))


def _gather(
    g: Generalization,
    file: Path,
    label: str | None,
    missing: Sequence[str] | None,
    by: Sequence[str] | None,
    **settings: Any,
) -> Evidence:
    """Gather evidence from one file of full records, which is split."""
    from modicum.reporting.disclosure import check_people
    from modicum.workflow import gather_evidence, split_task

    X, y = read_judged(file, g, label, missing)
    split = split_task(X, y, g.schema.person, settings["random_state"])
    groups = parse_groups(by, list(X.columns), str(y.name))
    check_people(g.schema, X.iloc[split.test])
    with notes.status("Judging what is lost and what could leak …"):
        return gather_evidence(g, X, y, split, by=groups, n_jobs=-1, progress=False, **settings)


def _gather_in_engine(
    g: Generalization,
    file: str,
    known: str,
    engine: str,
    label: str | None,
    missing: Sequence[str] | None,
    by: Sequence[str] | None,
    **settings: Any,
) -> Evidence:
    """Gather evidence from files in an engine: learn from some, count on others."""
    from modicum.engines.counting import people_at
    from modicum.engines.file_tables import open_table
    from modicum.evaluation._evidence import evidence
    from modicum.reporting.disclosure import check_size

    name, texts = label_of(g, label), missing or ()
    with open_table(known, engine, g.schema, texts) as train, open_table(file, engine, g.schema, texts) as test:
        train, test = (drop_unlabelled_at(table, name) for table in (train, test))
        groups = parse_groups(by, test.columns, name)
        people = people_at(test, g.schema)
        check_size(people, "test records" if people == test.rows() else "people in the test records")
        with notes.status("Judging what is lost and what could leak …"):
            found = evidence(g, train, name, test, name, depth="quick", by=groups, n_jobs=-1, **settings)
    return found
