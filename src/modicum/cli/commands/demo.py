"""`modicum demo`: the whole path on the embedded data."""

from pathlib import Path
from typing import Annotated

import typer

from modicum.cli.options import notes, out
from modicum.cli.output import show_description


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path("demo-output"),
) -> None:
    """Minimize the embedded Adult census data: who earns more than 50,000 dollars a year?"""
    from modicum.cli.judging import evidence_on, show_report, split_for, write_report
    from modicum.datasets import load_adult
    from modicum.minimizers import MergePath
    from modicum.reporting import report

    output.mkdir(parents=True, exist_ok=True)
    adult = load_adult()
    parts = split_for(adult.X, adult.y, None, seed=0)
    with notes.status("Learning what is needed …"):
        train, validation = ((adult.X.iloc[rows], adult.y.iloc[rows]) for rows in (parts.train, parts.validation))
        method = MergePath(schema=adult.schema, progress=False).fit(*train, X_val=validation[0], y_val=validation[1])
    g = method.generalization_
    path = [point.generalization for point in method.path_]
    found = evidence_on(g, adult.X, adult.y, parts, path=path, why=method.choice_.why, by=["sex", "race"])
    g.save(output / "generalization.json")
    made = report(
        found,
        "Who earns more than 50,000 dollars a year?",
        people="adults in the United States in 1994, as the census asked them",
        command="modicum demo",
    )
    write_report(made, output / "report.html")
    out.print("To predict who earns more than 50,000 dollars a year, a form would ask:\n", markup=False)
    show_description(found.judgement.description, out)
    out.print()
    show_report(made, out)
    out.print(f"\nWritten to {output}: generalization.json, report.html, report.md, report.json.", markup=False)
