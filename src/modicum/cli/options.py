"""Options that several commands share, and checks of what they name."""

from __future__ import annotations

import errno
import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from modicum.errors import ArtifactError, DataError, ParameterError, check_words, format_names


def check_file(ctx: typer.Context, path: Any) -> Any:
    """Refuse a file that is not there before anything heavy is loaded; leave patterns, addresses and Spark's paths."""
    if path is None or ctx.params.get("engine") == "spark" or "://" in str(path) or set("*?[") & set(str(path)):
        return path
    if not Path(path).exists():
        raise DataError(f"The file {str(path)!r} does not exist.")
    return path


def check_artifact(path: Path) -> Path:
    """Refuse an artifact that is not there, as `load` would."""
    if not path.exists():
        raise ArtifactError(f"The file {str(path)!r} cannot be read: {os.strerror(errno.ENOENT)}.")
    return path


FileArgument = Annotated[
    Path,
    typer.Argument(help="A CSV or Parquet file (.csv, .tsv, .parquet; .gz is fine).", callback=check_file),
]
ArtifactArgument = Annotated[Path, typer.Argument(help="A saved generalization (JSON).", callback=check_artifact)]
MissingOption = Annotated[
    list[str] | None, typer.Option("--missing", help="A text that means missing, such as ?. May be repeated.")
]
LabelBinsOption = Annotated[int | None, typer.Option(help="For a numeric label: how many ranges to predict.")]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Seed of the split into parts to learn from and to report on.")
]
LabelOption = Annotated[str, typer.Option(help="The column to predict.")]
ArtifactLabelOption = Annotated[
    str | None, typer.Option(help="The column to predict; the one in the artifact where it is not given.")
]
QuestionnaireOption = Annotated[
    bool, typer.Option("--questionnaire", help="Of cells: ask in any order, and no more than the answers so far need.")
]
PersonalOption = Annotated[
    list[str] | None, typer.Option(help="Personal attributes, with commas or repeated; all where none is named.")
]
IdentifierOption = Annotated[list[str] | None, typer.Option(help="Columns that identify a person: never collected.")]
PersonOption = Annotated[str | None, typer.Option(help="A column that the rows of one person or household share.")]
LeaveOutOption = Annotated[
    list[str] | None,
    typer.Option(help="Columns not to look at, such as what is known only after the prediction; commas or repeated."),
]
CategoryOption = Annotated[list[str] | None, typer.Option(help="Columns of numbers that are codes, not amounts.")]
SchemaOption = Annotated[Path | None, typer.Option(help="Kinds and roles from a YAML file.")]
MinGroupOption = Annotated[
    int | None,
    typer.Option(help="The fewest people who may share a combination of answers, among training records."),
]
MaxSuppressedOption = Annotated[
    float,
    typer.Option(min=0, max=1, help="The largest share of records that may be left out."),
]
ByOption = Annotated[
    list[str] | None, typer.Option(help="Columns by whose values the error is also shown, such as sex.")
]
WeightOption = Annotated[
    list[str] | None, typer.Option(help="How much an attribute counts in a mean: NAME=NUMBER. May be repeated.")
]
ReportOption = Annotated[
    Path | None, typer.Option(help="Where to write the report (.html; the same as .md and .json beside it).")
]
PurposeOption = Annotated[str | None, typer.Option(help="Of the report: what the prediction is for, in your words.")]
PeopleOption = Annotated[
    str | None,
    typer.Option(help="Of the report: whom the records are of, such as: customers in 2026. It is quoted there."),
]
PopulationOption = Annotated[
    int | None, typer.Option(help="How many people there are in all; then it is estimated how many are unique.")
]
EngineOption = Annotated[
    Literal["duckdb", "spark"] | None,
    typer.Option(
        help="Work where the data is, without reading all of it into memory: DuckDB here, or Spark.",
        is_eager=True,  # known when the file is checked
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]

out = Console(soft_wrap=False, highlight=False)
notes = Console(stderr=True, highlight=False)


def check_places(inputs: Sequence[Path | None], artifact: Path | None = None, report: Path | None = None) -> None:
    """Refuse places that cannot be written, or that would overwrite each other or an input, before any work is done."""
    if report is not None and report.suffix.lower() != ".html":
        raise ParameterError(f"The report {str(report)!r} must end in .html; a .md and a .json go beside it.")
    outputs = [] if artifact is None else [artifact]
    outputs += [] if report is None else [report, *beside(report)]
    for path in outputs:
        if path.is_dir() or not path.parent.is_dir():
            reason = "it is a folder" if path.is_dir() else "its folder does not exist"
            raise DataError(f"The file {str(path)!r} cannot be written: {reason}.")
    taken = [os.path.realpath(path) for path in [*inputs, *outputs] if path is not None]
    for path in outputs:
        if taken.count(os.path.realpath(path)) > 1:
            why = " (a .md and a .json go beside the report)" if report is not None else ""
            raise ParameterError(
                f"The file {str(path)!r} would be written twice, or over an input{why}; give another name."
            )


def beside(report: Path) -> list[Path]:
    """Where the same report goes as Markdown and as data."""
    return [report.with_suffix(ending) for ending in (".md", ".json")]


def check_report_options(report: Path | None, **options: Any) -> None:
    """Refuse what belongs to a report where none is asked for, and words that no file could hold."""
    check_words(**{name: value for name, value in options.items() if isinstance(value, str)})
    unused = [name for name, value in options.items() if value is not None and report is None]
    if unused:
        raise ParameterError(
            f"The option --{unused[0].replace('_', '-')} is part of the report: give --report as well."
        )


def names(given: Sequence[str] | None, columns: Sequence[str], where: str = "the file") -> list[str] | None:
    """Column names from repeated options or lists with commas; a name that holds a comma is found whole."""
    if given is None:
        return None
    result: list[str] = []
    for entry in given:
        result += [entry] if entry in columns else [part.strip() for part in entry.split(",") if part.strip()]
    unknown = [name for name in result if name not in columns]
    if unknown:
        raise DataError(f"The column {unknown[0]!r} is not in {where}; it has {format_names(columns, limit=8)}.")
    return result


def pairs(given: Sequence[str] | None) -> dict[str, float] | None:
    """NAME=NUMBER options as a dict; a name may hold an equals sign."""
    if given is None:
        return None
    found = {}
    for entry in given:
        name, sign, number = entry.rpartition("=")
        if not sign or not name:
            raise ParameterError(f"A weight is written NAME=NUMBER, such as age=2. Got {entry!r} instead.")
        found[name] = _number(number, "weight")
    return found


def numbers(given: Sequence[str], option: str = "percent") -> list[float]:
    """Numbers from repeated options or lists with commas."""
    return [_number(part, option) for entry in given for part in entry.split(",") if part.strip()]


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"The option --{option} needs a number. Got {text!r} instead.") from None


# The command as a report tells it, so that the report can be made again.


def command_line(*, without: str | None = None, words: Sequence[str] | None = None) -> str | None:
    """The command as it was typed, with the names of files but not their folders; None where it was no command.

    Parameters
    ----------
    without : an option that must stay secret, such as the seed that made groups; it is left out with its value
    words : the program and its arguments, those of this process by default

    Examples
    --------
    >>> from modicum.cli.options import command_line
    >>> command_line(words=["/usr/bin/modicum", "anatomize", "people.csv", "--seed", "7", "--l", "3"], without="--seed")
    'modicum anatomize people.csv --l 3'
    """
    program, *given = list(sys.argv if words is None else words)
    if Path(program).stem != "modicum":
        return None
    kept = []
    while given:
        word = given.pop(0)
        if without is not None and word == without:
            del given[:1]
        elif without is None or not word.startswith(f"{without}="):
            kept.append(_shorten_path(word))
    return shlex.join(["modicum", *kept]).encode(errors="replace").decode()  # names of files may be no text


def _shorten_path(word: str) -> str:
    option, sign, value = word.partition("=")
    if word.startswith("--") and sign:
        return f"{option}={_shorten_path(value)}"
    is_place = os.sep in word and (Path(word).exists() or Path(word).parent.is_dir())
    return Path(word).name if is_place else word
