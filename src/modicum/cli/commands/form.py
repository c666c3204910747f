"""`modicum form`: write a web page that asks for the answers that an artifact needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from modicum.cli import options
from modicum.cli.input_files import load_collected
from modicum.cli.options import out
from modicum.errors import ParameterError


def form(
    artifact: options.ArtifactArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the page (.html).")],
    questionnaire: Annotated[
        bool, typer.Option(help="For cells: ask in any order, and skip what earlier answers make needless.")
    ] = False,
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Where to send answers: a path such as /records, or an https URL; by default a file is saved."
        ),
    ] = None,
    language: Annotated[str | None, typer.Option(help="The language of the page's own texts: en or de.")] = None,
    strings: Annotated[
        Path | None, typer.Option(help="JSON file with the page's own texts, translated from en.json.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    exact: Annotated[
        bool, typer.Option(help="Let people type an exact number or date; only its range is sent.")
    ] = True,
) -> None:
    """Write one self-contained HTML page that asks for what ARTIFACT needs and shows answers before sending them."""
    from modicum.export.web_form import form_page  # deferred: only this command needs the exports
    from modicum.table.atomic_writing import replacing

    if output.suffix.lower() not in (".html", ".htm"):
        raise ParameterError(f"The page {str(output)!r} must end in .html.")
    options.check_places([artifact, *([] if strings is None else [strings])], output)
    words = _form_words(language, strings)
    collected = load_collected(artifact, questionnaire)
    page = form_page(collected, endpoint=endpoint, strings=words, title=title, exact=exact)
    with replacing(output) as temporary:
        Path(temporary).write_text(page, encoding="utf-8")
    out.print(f"Written to {output}.", markup=False)


def _form_words(language: str | None, strings: Path | None) -> str | Path:
    from modicum.export.web_form import languages

    if language is not None and strings is not None:
        raise ParameterError("Give --language or --strings, not both.")
    if language is not None and language not in languages():
        raise ParameterError(f"The option --language must be 'de' or 'en'. Got {language!r} instead.")
    return strings or language or "en"
