"""`modicum minimize`: from a file to an artifact."""

import json
from pathlib import Path
from typing import Annotated

import typer

from modicum.cli.options import FileArgument, JsonOption, MissingOption, notes, out, read_task
from modicum.cli.tables import show_description, show_suggestions
from modicum.table.splits import split_rows

Names = list[str] | None


def minimize(
    file: FileArgument,
    label: Annotated[str, typer.Option(help="The column to predict.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the generalization (JSON).")],
    personal: Annotated[
        Names, typer.Option(help="Personal attributes, with commas or repeated; all where none is named.")
    ] = None,
    identifier: Annotated[Names, typer.Option(help="Columns that identify a person: never collected.")] = None,
    person: Annotated[str | None, typer.Option(help="A column that the rows of one person or household share.")] = None,
    category: Annotated[Names, typer.Option(help="Columns of numbers that are codes, not amounts.")] = None,
    schema: Annotated[Path | None, typer.Option(help="Kinds and roles from a YAML file.")] = None,
    max_leaves: Annotated[int, typer.Option(help="Leaves of the tree: more leaves, more detail.")] = 20,
    privacy: Annotated[float, typer.Option(help="0 looks at the prediction only, 1 collects nothing.")] = 0.5,
    min_leaf: Annotated[int, typer.Option(help="The fewest records in a leaf of the tree.")] = 100,
    label_bins: Annotated[int | None, typer.Option(help="For a numeric label: how many ranges to predict.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the split into parts to learn from and to report on.")] = 0,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn what to collect, and in what detail, to predict LABEL; write it as JSON.

    Learns from 60% of the rows; the shares shown are those of 30% that were not learned from.
    """
    from modicum.minimizers import PrivacyTree

    X, y, found = read_task(
        file, label, schema, missing, person, personal=personal, identifiers=identifier, categories=category
    )
    parts = split_rows(y, persons=X[found.person] if found.person else None, random_state=seed)
    method = PrivacyTree(max_leaves=max_leaves, privacy=privacy, min_leaf=min_leaf, label_bins=label_bins, schema=found)
    with notes.status("Learning what is needed …"):
        g = method.fit(X.iloc[parts.train], y.iloc[parts.train]).generalization_
    description = g.describe(X.iloc[parts.test])
    g.save(output)
    if as_json:
        suggestions = [suggestion.model_dump() for suggestion in found.suggestions]
        typer.echo(json.dumps({"output": str(output), **description.to_dict(), "suggestions": suggestions}))
        return
    show_suggestions(found.suggestions, out)
    show_description(description, out)
    out.print(f"\nWritten to {output}. Apply it with: modicum apply {output} FILE -o OUT", markup=False)
