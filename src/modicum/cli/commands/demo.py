"""`modicum demo`: minimize, judge and report on the embedded data."""

from pathlib import Path
from typing import Annotated

import typer

from modicum.cli.options import notes, out
from modicum.cli.output import show_description, show_report, write_report


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path("demo-output"),
) -> None:
    """Minimize the embedded Adult census data: who earns more than 50,000 dollars a year?"""
    import modicum as md

    output.mkdir(parents=True, exist_ok=True)
    adult = md.datasets.load_adult()
    with notes.status("Learning what is needed …"):
        made = md.minimize(adult.X, adult.y, schema=adult.schema, progress=False)
    with notes.status("Judging what is lost and what could leak …"):
        report = made.report(
            "Who earns more than 50,000 dollars a year?",
            people="adults in the United States in 1994, from the census",
            command="modicum demo",
            by=["sex", "race"],
            n_jobs=-1,
            progress=False,
        )
    made.generalization.save(output / "generalization.json")
    write_report(report, output / "report.html")
    out.print("To predict who earns more than 50,000 dollars a year, a form would ask:\n", markup=False)
    show_description(made.description, out)
    out.print()
    show_report(report.content, out)
    out.print(f"\nWritten to {output}: generalization.json, report.html, report.md, report.json.", markup=False)
