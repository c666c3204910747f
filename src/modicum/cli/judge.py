"""`modicum judge` and `modicum report`: any artifact, also an edited one, on a file of full records."""

import json
from pathlib import Path
from typing import Annotated

import typer

from modicum.cli.options import (
    ArtifactArgument,
    ByOption,
    FileArgument,
    JsonOption,
    LabelBinsOption,
    MissingOption,
    SeedOption,
    check_place,
    out,
    read_judged,
)
from modicum.generalization import load

LabelOption = Annotated[
    str | None, typer.Option(help="The column to predict; the one in the artifact where it is not given.")
]
ConfidenceOption = Annotated[float, typer.Option(help="The certificate's confidence.")]


def judge(
    artifact: ArtifactArgument,
    file: FileArgument,
    label: LabelOption = None,
    by: ByOption = None,
    label_bins: LabelBinsOption = None,
    confidence: ConfidenceOption = 0.99,
    seed: SeedOption = 0,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure what a generalization costs the prediction and what an adversary could still guess.

    FILE holds full records. 60% of them are learned from, by the classifier and by the adversary; 30% are judged. With
    the seed of `minimize` these are records that the generalization was not made from.
    """
    from modicum.cli.judging import judged_on, show_judgement, split_for
    from modicum.reporting import report

    g = load(artifact)
    X, y = read_judged(file, g, label, missing)
    parts = split_for(X, y, g.schema.person, seed)
    judged = judged_on(g, X, y, parts, by=by, label_bins=label_bins, confidence=confidence, seed=seed)
    if as_json:
        typer.echo(json.dumps(report(judged).to_dict(), allow_nan=False))
    else:
        show_judgement(judged, out)


def report(
    artifact: ArtifactArgument,
    file: FileArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the report (.html; the same as .json beside it).")
    ],
    label: LabelOption = None,
    by: ByOption = None,
    label_bins: LabelBinsOption = None,
    confidence: ConfidenceOption = 0.99,
    purpose: Annotated[str | None, typer.Option(help="What the prediction is for, in your words.")] = None,
    seed: SeedOption = 0,
    missing: MissingOption = None,
) -> None:
    """Judge a generalization and write the report: one page that opens offline, and the same numbers as JSON."""
    from modicum.cli.judging import judged_on, split_for, write_report

    check_place(output, ".html")
    g = load(artifact)
    X, y = read_judged(file, g, label, missing)
    parts = split_for(X, y, g.schema.person, seed)
    judged = judged_on(g, X, y, parts, by=by, label_bins=label_bins, confidence=confidence, seed=seed)
    made = write_report(judged, output, purpose)
    out.print(made.to_dict()["decision"], markup=False)
    out.print(f"\nWritten to {output} and {output.with_suffix('.json')}.", markup=False)
