"""`modicum apply`: an artifact on a file, streamed through DuckDB."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from modicum.cli.options import ArtifactArgument, FileArgument, MissingOption, check_places, loaded, names, out
from modicum.errors import DataError
from modicum.generalization import Generalization
from modicum.generalization.bins import Dropped
from modicum.generalization.lazy import in_engine
from modicum.table.files import connected, file_format, reading_typed, scan_table, write_table
from modicum.table.replacing import replacing


def apply(
    artifact: ArtifactArgument,
    file: FileArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the result (.csv or .parquet).")],
    keep_columns: Annotated[
        list[str] | None, typer.Option(help="Columns to pass through as they are, such as an id and the label.")
    ] = None,
    form: Annotated[
        Literal["labels", "codes", "values"],
        typer.Option("--as", help="Buckets as labels, as codes, or as one representative value each."),
    ] = "labels",
    missing: MissingOption = None,
) -> None:
    """Write FILE with no more detail than the generalization collects. Rows are streamed: memory stays flat."""
    g = loaded(artifact)
    file_format(output)
    check_places([artifact], output)
    with connected() as connection, replacing(output) as temporary:
        everything = scan_table(connection, file, g.schema, missing=missing or (), only=g.needed)
        kept = names(keep_columns, everything.columns) or []
        _refuse_detail(g, kept)
        chosen = [p for p in g.partitions if form == "values" or not isinstance(p, Dropped)]
        if not chosen and not kept:
            raise DataError("This generalization collects nothing, so there is nothing to write; see --keep-columns.")
        attributes = [p.attribute for p in chosen]
        reading_typed(
            file,
            everything,
            attributes,
            lambda: write_table(in_engine(everything, chosen, form, beside=kept), temporary),
        )
    out.print(f"Written to {output}.", markup=False)


def _refuse_detail(g: Generalization, kept: list[str]) -> None:
    collected = [name for name in kept if name in g.names]
    if collected:
        raise DataError(
            f"The column {collected[0]!r} is an attribute of this generalization; passing it through would keep its "
            "full detail."
        )
