"""`modicum demo`: the whole path on the embedded data."""

from pathlib import Path
from typing import Annotated

import typer

from modicum.cli.options import notes, out
from modicum.cli.tables import show_description
from modicum.datasets import load_adult
from modicum.table.splits import split_rows


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the results.")] = Path("demo-output"),
) -> None:
    """Minimize the embedded Adult census data: who earns more than 50,000 dollars a year?"""
    from modicum.minimizers import PrivacyTree

    adult = load_adult()
    parts = split_rows(adult.y)
    with notes.status("Learning what is needed …"):
        method = PrivacyTree(schema=adult.schema).fit(adult.X.iloc[parts.train], adult.y.iloc[parts.train])
    g = method.generalization_
    output.mkdir(parents=True, exist_ok=True)
    g.save(output / "generalization.json")
    out.print("To predict who earns more than 50,000 dollars a year, a form would ask:\n", markup=False)
    show_description(g.describe(adult.X.iloc[parts.test]), out)
    out.print(f"\nWritten to {output / 'generalization.json'}.", markup=False)
