"""`modicum describe`: describe an artifact in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from modicum.cli import options
from modicum.cli.options import out
from modicum.cli.output import printable, show_description


def describe(
    artifact: options.ArtifactArgument,
    file: Annotated[
        Path | None,
        typer.Argument(help="Records to compute shares and the smallest group from.", callback=options.check_file),
    ] = None,
    missing: options.MissingOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Describe in words what a generalization collects; with FILE, also the share of each bucket."""
    from modicum.generalization import CellPartition, load
    from modicum.table.files import read_table

    g = load(artifact)
    X = None if file is None else read_table(file, missing=missing or (), schema=g.schema)
    if isinstance(g, CellPartition):
        cells = g.describe(X)
        if as_json:
            typer.echo(json.dumps(cells.to_dict()))
        else:
            for line in cells.lines:
                out.print(printable(line))
        return
    description = g.describe(X)
    if as_json:
        from modicum.reporting.disclosure import disclose_description

        typer.echo(json.dumps(disclose_description(description)))
    else:
        show_description(description, out)
