"""`modicum apply`: apply an artifact to a file or a folder of files, streamed through DuckDB or Spark."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from modicum.cli import options
from modicum.cli.options import out
from modicum.errors import DataError

if TYPE_CHECKING:
    from modicum.engines.table import EngineTable
    from modicum.generalization import CellPartition, Generalization
    from modicum.table.schema import Attribute


def apply(
    artifact: options.ArtifactArgument,
    file: Annotated[
        str,
        typer.Argument(
            help="A CSV or Parquet file, a folder of Parquet files, or a pattern such as 'a/*.parquet'.",
            callback=options.check_file,
        ),
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write: .csv, .parquet, or a folder of Parquet files.")
    ],
    keep_columns: Annotated[
        list[str] | None, typer.Option(help="Columns to copy unchanged, such as an ID and the label.")
    ] = None,
    form: Annotated[
        Literal["labels", "codes", "values"],
        typer.Option("--as", help="Buckets as labels, as codes, or as one representative value each."),
    ] = "labels",
    missing: options.MissingOption = None,
    engine: options.EngineOption = None,
    partition_by: Annotated[
        list[str] | None,
        typer.Option(help="Columns by which the result is split into folders, such as year=2020."),
    ] = None,
) -> None:
    """Write FILE with no more detail than the generalization collects. Rows are streamed, so memory use stays low."""
    from modicum.engines.file_tables import open_table
    from modicum.generalization import load

    g = load(artifact)
    used = engine or "duckdb"
    _check_places(artifact, file, output, used, bool(partition_by))
    with open_table(file, used, g.schema, missing or (), only=g.needed, ordered=True) as table:
        unchanged = options.names(keep_columns, table.columns) or []
        _refuse_detail(g, unchanged)
        chosen = list(g.names if form == "values" else g.needed)
        if not chosen and not unchanged:
            raise DataError("This generalization collects nothing, so there is nothing to write; see --keep-columns.")
        result = _apply_in_engine(g, table, form, chosen, unchanged)
        parts = options.names(partition_by, [*unchanged, *chosen], "the result") or []
        _write(table, file, result, [g.schema[name] for name in g.needed], output, parts)
    out.print(f"Written to {output}.", markup=False)


def _apply_in_engine(
    g: Generalization | CellPartition, table: EngineTable, form: str, chosen: list[str], unchanged: list[str]
) -> Any:
    from modicum.generalization import CellPartition
    from modicum.generalization.lazy import cells_in_engine, in_engine

    if isinstance(g, CellPartition):
        return cells_in_engine(table.native, g, form, unchanged=unchanged, one_pass=True)
    return in_engine(table.native, [g[name] for name in chosen], form, unchanged=unchanged, one_pass=True)


def _write(
    table: EngineTable, file: str, result: Any, read: list[Attribute], output: str, partition_by: list[str]
) -> None:
    from modicum.engines.partitioned_writing import put, write
    from modicum.table.files import file_format, read_typed

    if os.path.isfile(file) and file_format(file) == "csv":  # its text is parsed only now, and may be invalid
        read_typed(file, table.native, read, lambda: put(result, output, partition_by))
    else:
        write(result, output, partition_by)


def _check_places(artifact: Path, file: str, output: str, engine: str, parted: bool) -> None:
    """Refuse an output that cannot be written or that lies in its input."""
    from modicum.engines.partitioned_writing import check_output, is_folder

    if not is_folder(output, engine, parted):
        options.check_places([artifact], Path(output))
    else:
        check_output(output)
    made = Path(os.path.realpath(output))
    given = [Path(os.path.realpath(each)) for each in (file, *glob.glob(file, recursive=True))]
    apart = not (os.path.isdir(output) or os.path.isdir(file) or glob.has_magic(file))
    if not apart and any(each.is_relative_to(made) or made.is_relative_to(each) for each in given):
        raise DataError(f"The output {output!r} would overwrite its input {file!r} or lie in it; give another name.")


def _refuse_detail(g: Generalization | CellPartition, unchanged: list[str]) -> None:
    collected = [name for name in unchanged if name in g.names]
    if collected:
        raise DataError(
            f"The column {collected[0]!r} is an attribute of this generalization; copying it would keep its full "
            "detail."
        )
