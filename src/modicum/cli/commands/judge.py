"""`modicum judge` and `modicum report`: any artifact, also an edited one, on a file of full records."""

import json
from pathlib import Path
from typing import Annotated

import typer

from modicum.cli.options import (
    ArtifactArgument,
    ArtifactLabelOption,
    ByOption,
    EngineOption,
    FileArgument,
    JsonOption,
    LabelBinsOption,
    MissingOption,
    PeopleOption,
    PopulationOption,
    PurposeOption,
    SeedOption,
    WeightOption,
    check_file,
    check_places,
    check_report_options,
    command_line,
    out,
    pairs,
)
from modicum.cli.output import printable

ConfidenceOption = Annotated[float, typer.Option(help="The certificate's confidence.")]


def judge(
    artifact: ArtifactArgument,
    file: Annotated[
        str,
        typer.Argument(
            help="A CSV or Parquet file; with --engine also a folder of Parquet files.", callback=check_file
        ),
    ],
    label: ArtifactLabelOption = None,
    by: ByOption = None,
    weight: WeightOption = None,
    label_bins: LabelBinsOption = None,
    confidence: ConfidenceOption = 0.99,
    seed: SeedOption = 0,
    missing: MissingOption = None,
    engine: EngineOption = None,
    known: Annotated[
        str | None,
        typer.Option(help="With --engine: the records to learn from, in files of their own; all of FILE is judged."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what a generalization costs the prediction and what an adversary could still guess.

    FILE holds full records. 60% of them are learned from, by the classifier and by the adversary; 30% are judged. With
    the seed of `minimize` these are records that the generalization was not made from. With --engine everything is
    counted where the data is, but for the model, which sees records drawn from it.
    """
    from modicum.cli.judging import ReportOptions, check_known, judge_file, judge_in_engine, show_report
    from modicum.reporting import report

    asked = ReportOptions(label, missing, by, pairs(weight), label_bins, confidence, seed)
    if engine is None:
        check_known(known)
        made = report(judge_file(artifact, Path(file), asked))
    else:
        made = report(judge_in_engine(artifact, file, known, engine, asked))
    if as_json:
        typer.echo(json.dumps(made.to_dict(), allow_nan=False))
    else:
        show_report(made, out)


def report(
    artifact: ArtifactArgument,
    file: FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write it (.html; the same as .md and .json beside it).")
    ],
    purpose: PurposeOption = None,
    people: PeopleOption = None,
    population: PopulationOption = None,
    model: Annotated[
        Path | None, typer.Option(help="The file of the model that will use the data; its hash stands in the report.")
    ] = None,
    label: ArtifactLabelOption = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Columns by whose values the error is shown.", show_default="the personal attributes"),
    ] = None,
    weight: WeightOption = None,
    label_bins: LabelBinsOption = None,
    confidence: ConfidenceOption = 0.99,
    seed: SeedOption = 0,
    missing: MissingOption = None,
    date: Annotated[
        str | None, typer.Option(help="The day of the report, as YYYY-MM-DD.", show_default="today")
    ] = None,
) -> None:
    """Write the evidence about a generalization: why each attribute is needed, and what remains at risk.

    A document for an impact assessment: the decision, what one step coarser would cost, what else was considered, all
    adversaries beside their baselines, the certificate in words to quote, the limits, and fields to sign. FILE holds
    full records: 60% are learned from and 30% are judged; with the seed of `minimize` these had no part in the
    decision. The page opens offline and prints well; Markdown and JSON hold the same numbers.
    """
    from modicum import reporting
    from modicum.cli.judging import ReportOptions, describe_report_files, evidence_of_file, write_report
    from modicum.reporting.sources import check_date

    check_places([artifact, file, model], report=output)
    check_report_options(output, purpose=purpose, people=people)
    check_date(date)
    asked = ReportOptions(label, missing, by, pairs(weight), label_bins, confidence, seed)
    found = evidence_of_file(artifact, file, asked, population=population, model=model)
    made = reporting.report(found, purpose, people=people, date=date, command=command_line())
    write_report(made, output)
    out.print(printable(made.to_dict()["decision"]))
    out.print()
    out.print(describe_report_files(output))
