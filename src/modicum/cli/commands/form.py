"""`modicum form`: an artifact as a page that asks for its answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from modicum.cli import options
from modicum.cli.options import out
from modicum.errors import ArtifactError, ParameterError


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
