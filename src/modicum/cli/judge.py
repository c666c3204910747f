"""`modicum judge` and `modicum report`: any artifact, also an edited one, on a file of full records."""

import json
from pathlib import Path
from typing import Annotated

import typer

from modicum.cli.options import (
    ArtifactArgument,
    ByOption,
    EngineOption,
    FileArgument,
    JsonOption,
    LabelBinsOption,
    MissingOption,
    SeedOption,
    WeightOption,
    check_places,
    out,
    pairs,
)
from modicum.cli.tables import printable

LabelOption = Annotated[
    str | None, typer.Option(help="The column to predict; the one in the artifact where it is not given.")
]
ConfidenceOption = Annotated[float, typer.Option(help="The certificate's confidence.")]


def judge(
    artifact: ArtifactArgument,
    file: Annotated[str, typer.Argument(help="A CSV or Parquet file; with --engine also a folder of Parquet files.")],
    label: LabelOption = None,
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
    from modicum.cli.judging import check_known, judged_file, judged_in_engine, show_report
    from modicum.reporting import report

    options = (label, missing, by, pairs(weight), label_bins, confidence, seed)
    if engine is None:
        check_known(known)
        made = report(judged_file(artifact, Path(file), *options))
    else:
        made = report(judged_in_engine(artifact, file, known, engine, *options))
    if as_json:
        typer.echo(json.dumps(made.to_dict(), allow_nan=False))
    else:
        show_report(made, out)


def report(
    artifact: ArtifactArgument,
    file: FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the report (.html; the same as .json beside it).")
    ],
    label: LabelOption = None,
    by: ByOption = None,
    weight: WeightOption = None,
    label_bins: LabelBinsOption = None,
    confidence: ConfidenceOption = 0.99,
    purpose: Annotated[str | None, typer.Option(help="What the prediction is for, in your words.")] = None,
    seed: SeedOption = 0,
    missing: MissingOption = None,
) -> None:
    """Judge a generalization and write the report: one page that opens offline, and the same numbers as JSON."""
    from modicum import reporting
    from modicum.cli.judging import judged_file, write_report

    check_places([artifact, file], report=output)
    judged = judged_file(artifact, file, label, missing, by, pairs(weight), label_bins, confidence, seed)
    made = reporting.report(judged, purpose)
    write_report(made, output)
    out.print(printable(made.to_dict()["decision"]))
    out.print(f"\nWritten to {output} and {output.with_suffix('.json')}.", markup=False)
