"""`modicum describe`, `form` and `export`: an artifact in words, as a page, and as what runs where data is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from modicum.cli import options
from modicum.cli.options import out
from modicum.cli.output import printable, show_description
from modicum.errors import ArtifactError, DataError, ParameterError

Format = Literal["sql", "dbt", "javascript", "json-schema"]
Dialect = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake"]
Form = Literal["labels", "codes", "values"]


def describe(
    artifact: options.ArtifactArgument,
    file: Annotated[
        Path | None,
        typer.Argument(help="Records to show shares and the smallest group for.", callback=options.check_file),
    ] = None,
    missing: options.MissingOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Say in words what a generalization collects; with a FILE, also the share of each bucket."""
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
        from modicum.reporting.disclosure import disclose_description  # deferred: it brings scikit-learn

        typer.echo(json.dumps(disclose_description(description)))
    else:
        show_description(description, out)


def form(
    artifact: options.ArtifactArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page (.html).")],
    questionnaire: Annotated[
        bool, typer.Option(help="Of cells: ask in any order, and no more than the answers so far leave open.")
    ] = False,
    endpoint: Annotated[
        str | None,
        typer.Option(help="Where answers go: a path such as /records, or an https address; else a file is saved."),
    ] = None,
    language: Annotated[str | None, typer.Option(help="The language of the page's own words: en or de.")] = None,
    strings: Annotated[
        Path | None, typer.Option(help="The page's own words from a JSON file, as translated from en.json.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="What stands at the top of the page.")] = None,
    exact: Annotated[
        bool, typer.Option(help="Let people type an exact number or date, of which only the range is sent.")
    ] = True,
) -> None:
    """Write one self-contained HTML page that asks for what ARTIFACT needs, and shows what is sent before it is."""
    from modicum.export.web_form import form_page  # deferred: only this command needs the exports
    from modicum.generalization import CellPartition, load
    from modicum.generalization.questionnaire import Questionnaire
    from modicum.table.atomic_writing import replacing

    if output.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"The page {str(output)!r} must end in .html.")
    options.check_places([artifact, *([] if strings is None else [strings])], output)
    words = _form_words(language, strings)
    found = load(artifact)
    if questionnaire and not isinstance(found, CellPartition):
        raise ArtifactError(
            f"The file {os.fspath(artifact)!r} holds no cells, of which a questionnaire is made; leave out "
            "--questionnaire."
        )
    asked = Questionnaire(found) if questionnaire and isinstance(found, CellPartition) else found
    page = form_page(asked, endpoint=endpoint, strings=words, title=title, exact=exact)
    with replacing(output) as temporary:
        Path(temporary).write_text(page, encoding="utf-8")
    out.print(f"Written to {output}.", markup=False)


def _form_words(language: str | None, strings: Path | None) -> str | Path:
    from modicum.export.web_form import languages

    if language is not None and strings is not None:
        raise ParameterError("The words come from --language or from --strings, not from both.")
    if language is not None and language not in languages():
        raise ParameterError(f"The option --language must be 'de' or 'en'. Got {language!r} instead.")
    return strings or language or "en"


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
        typer.Option("--output", "-o", help="Where to write it; a folder for dbt. Printed where none is given."),
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="For sql and dbt: the table to read, such as staff.people.  [default: people]")
    ] = None,
    dialect: Annotated[
        Dialect | None, typer.Option(help="For sql and dbt: the database's language.  [default: duckdb]")
    ] = None,
    keep_columns: Annotated[
        list[str] | None, typer.Option(help="For sql and dbt: a column to pass through as it is, such as an id.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="For dbt: what the model is called.  [default: minimized]")] = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--as", help="For sql: buckets as labels, as codes, or as one representative value each.  [default: labels]"
        ),
    ] = None,
    representatives: Annotated[
        bool,
        typer.Option("--representatives", help="For cells, to javascript: bring their values along, for a model."),
    ] = False,
    questionnaire: Annotated[
        bool, typer.Option("--questionnaire", help="For cells, to javascript or json-schema: ask step by step.")
    ] = False,
) -> None:
    """Turn an artifact into SQL, a dbt model, a JavaScript module or a JSON schema."""
    from modicum.cli.commands.bundle import load_artifact
    from modicum.generalization import Generalization

    given = {"table": table, "dialect": dialect, "keep-columns": keep_columns, "name": name, "as": form}
    named = {option for option, value in given.items() if value is not None}
    _check_options(to, named | ({"representatives"} if representatives else set()), questionnaire)
    if to == "dbt":
        _check_folder(output)
    else:
        options.check_places([artifact], output)
    collected: Any = load_artifact(artifact, questionnaire)
    source, language, keep = "people" if table is None else table, dialect or "duckdb", keep_columns or []
    if to == "dbt":
        if not isinstance(collected, Generalization):
            raise ParameterError("The file holds cells, which tell attributes together; dbt is given a generalization.")
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
    """Refuse options that the format has no use for."""
    table = {"table", "dialect", "keep-columns"}
    allowed = {"sql": table | {"as"}, "dbt": table | {"name"}, "javascript": {"representatives"}}
    idle = sorted(given - allowed.get(to, set()))
    if idle:
        raise ParameterError(f"The option --{idle[0]} has no meaning for {to}.")
    if questionnaire and to in ("sql", "dbt"):
        raise ParameterError(f"A questionnaire asks a person; {to} has no such thing.")


def _check_folder(output: Path | None) -> None:
    if output is None:
        raise ParameterError("A dbt model is several files; say with -o in which folder the project lies.")
    if output.exists() and not output.is_dir():
        raise DataError(f"The folder {str(output)!r} cannot be written: it is a file.")
    if not output.exists() and not output.parent.is_dir():
        raise DataError(f"The folder {str(output)!r} cannot be made: the folder above does not exist.")
    models = output / "models"
    if models.exists() and not models.is_dir():
        raise DataError(
            f"The folder {str(models)!r} cannot be made: there is a file of that name; rename it, or name another "
            "folder with -o."
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
    """Write all files or none; folders are made where they are not there."""
    from modicum.table.atomic_writing import replacing_together

    contents: dict[str | os.PathLike[str], bytes] = {folder / file: text.encode() for file, text in files.items()}
    for target in contents:
        os.makedirs(os.path.dirname(target), exist_ok=True)
    replacing_together(contents)
