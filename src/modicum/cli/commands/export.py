"""`modicum export`: turn an artifact into code that runs where data is collected or stored."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from modicum.cli import options
from modicum.cli.input_files import load_collected
from modicum.cli.options import out
from modicum.errors import DataError, ParameterError

Format = Literal["sql", "dbt", "javascript", "json-schema"]
Dialect = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake"]
Form = Literal["labels", "codes", "values"]


def export(
    artifact: options.ArtifactArgument,
    to: Annotated[
        Format,
        typer.Option(
            help="sql: a SELECT that gives the buckets; dbt: a model with tests; javascript: a module for a page; "
            "json-schema: a contract for an interface that takes generalized records only."
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write it; a folder for dbt. Printed by default."),
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="For sql and dbt: the table to read, such as staff.people.  [default: people]")
    ] = None,
    dialect: Annotated[
        Dialect | None, typer.Option(help="For sql and dbt: the database's SQL dialect.  [default: duckdb]")
    ] = None,
    keep_columns: Annotated[
        list[str] | None, typer.Option(help="For sql and dbt: a column to copy unchanged, such as an ID.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="For dbt: the model's name.  [default: minimized]")] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--as", help="For sql: buckets as labels, as codes, or as one representative value each.  [default: labels]"
        ),
    ] = None,
    representatives: Annotated[
        bool,
        typer.Option("--representatives", help="For cells to javascript: include representative values, for a model."),
    ] = False,
    questionnaire: Annotated[
        bool, typer.Option("--questionnaire", help="For cells to javascript or json-schema: ask step by step.")
    ] = False,
) -> None:
    """Turn an artifact into SQL, a dbt model, a JavaScript module or a JSON schema."""
    from modicum.generalization import Generalization

    given = {"table": table, "dialect": dialect, "keep-columns": keep_columns, "name": name, "as": form}
    named = {option for option, value in given.items() if value is not None}
    _check_options(to, named | ({"representatives"} if representatives else set()), questionnaire)
    if to == "dbt":
        _check_folder(output)
    else:
        options.check_places([artifact], output)
    collected: Any = load_collected(artifact, questionnaire)
    source, language, keep = "people" if table is None else table, dialect or "duckdb", keep_columns or []
    if to == "dbt":
        if not isinstance(collected, Generalization):
            raise ParameterError("The file holds cells, which combine attributes; dbt needs a generalization.")
        model = "minimized" if name is None else name
        _write_folder(output or Path(), collected.to_dbt(source, model, language, keep=keep))
    elif to == "javascript":
        _javascript(collected, output, representatives)
    elif to == "sql":
        _write(output, collected.to_sql(source, language, output=form or "labels", keep=keep))
    else:
        _write(output, json.dumps(collected.to_json_schema(), indent=2, ensure_ascii=False))
    if output is not None:
        out.print(f"Written to {output}.", markup=False)


def _check_options(to: Format, given: set[str], questionnaire: bool) -> None:
    """Refuse options that the format does not use."""
    table = {"table", "dialect", "keep-columns"}
    allowed = {"sql": table | {"as"}, "dbt": table | {"name"}, "javascript": {"representatives"}}
    idle = sorted(given - allowed.get(to, set()))
    if idle:
        raise ParameterError(f"The option --{idle[0]} has no meaning for {to}.")
    if questionnaire and to in ("sql", "dbt"):
        raise ParameterError(f"A questionnaire cannot be exported to {to}; leave out --questionnaire.")


def _check_folder(output: Path | None) -> None:
    if output is None:
        raise ParameterError("A dbt model is several files; name the project's folder with -o.")
    if output.exists() and not output.is_dir():
        raise DataError(f"The folder {str(output)!r} cannot be written: it is a file.")
    if not output.exists() and not output.parent.is_dir():
        raise DataError(f"The folder {str(output)!r} cannot be made: its parent folder does not exist.")
    models = output / "models"
    if models.exists() and not models.is_dir():
        raise DataError(
            f"The folder {str(models)!r} cannot be made: a file has that name; rename it, or name another folder "
            "with -o."
        )


def _javascript(artifact: Any, output: Path | None, representatives: bool) -> None:
    from modicum.export.javascript import to_javascript  # deferred: only this format needs it
    from modicum.generalization import Generalization

    if representatives and isinstance(artifact, Generalization):
        raise ParameterError("The option --representatives is for cells; this file holds a generalization.")
    found = to_javascript(artifact, representatives=representatives)
    if output is None:
        typer.echo(found.module)
    else:
        found.save(output)


def _write(output: Path | None, text: str) -> None:
    from modicum.table.atomic_writing import replacing

    if output is None:
        typer.echo(text)
        return
    with replacing(output) as temporary:
        Path(temporary).write_text(f"{text}\n", encoding="utf-8", newline="")


def _write_folder(folder: Path, files: dict[str, str]) -> None:
    """Write all files or none; make missing folders."""
    from modicum.table.atomic_writing import replacing_together

    contents: dict[str | os.PathLike[str], bytes] = {folder / file: text.encode() for file, text in files.items()}
    for target in contents:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    replacing_together(contents)
