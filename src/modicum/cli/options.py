"""Options that several commands share, and their checks."""

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
    """Refuse a missing file before heavy imports; do not check patterns, URLs and Spark's paths."""
    if path is None or ctx.params.get("engine") == "spark" or "://" in str(path) or set("*?[") & set(str(path)):
        return path
    if not Path(path).exists():
        raise DataError(f"The file {str(path)!r} does not exist.")
    return path


def check_artifact(path: Path) -> Path:
    """Refuse a missing artifact with the error of `load`."""
    if not path.exists():
        raise ArtifactError(f"The file {str(path)!r} cannot be read: {os.strerror(errno.ENOENT)}.")
    return path


FileArgument = Annotated[
    Path,
    typer.Argument(help="A CSV or Parquet file (.csv, .tsv, .parquet; .gz is fine).", callback=check_file),
]
ArtifactArgument = Annotated[Path, typer.Argument(help="A saved generalization (JSON).", callback=check_artifact)]
MissingOption = Annotated[
    list[str] | None, typer.Option("--missing", help="Text that means a missing value, such as ?. May be repeated.")
]
LabelBinsOption = Annotated[int | None, typer.Option(help="For a numeric label: the number of ranges to predict.")]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Seed of the split into training and test records.")
]
LabelOption = Annotated[str, typer.Option(help="The column to predict.")]
ArtifactLabelOption = Annotated[
    str | None, typer.Option(help="The column to predict; by default the one in the artifact.")
]
QuestionnaireOption = Annotated[
    bool,
    typer.Option("--questionnaire", help="For cells: ask in any order, and skip what earlier answers make needless."),
]
PersonalOption = Annotated[
    list[str] | None, typer.Option(help="Personal attributes, separated by commas or repeated. All by default.")
]
IdentifierOption = Annotated[list[str] | None, typer.Option(help="Columns that identify a person: never collected.")]
PersonOption = Annotated[str | None, typer.Option(help="Column with one value for all rows of a person or household.")]
LeaveOutOption = Annotated[
    list[str] | None,
    typer.Option(help="Columns to ignore, such as what is known only after the prediction; with commas or repeated."),
]
CategoryOption = Annotated[list[str] | None, typer.Option(help="Numeric columns that hold codes, not amounts.")]
SchemaOption = Annotated[Path | None, typer.Option(help="YAML file with the kinds and roles of columns.")]
MinGroupOption = Annotated[
    int | None,
    typer.Option(help="The fewest people who may share a combination of answers in the training records."),
]
MaxSuppressedOption = Annotated[
    float,
    typer.Option(min=0, max=1, help="The largest share of records that may be left out."),
]
ByOption = Annotated[
    list[str] | None, typer.Option(help="Also show the error for each value of these columns, such as sex.")
]
WeightOption = Annotated[
    list[str] | None, typer.Option(help="Weight of an attribute in means: NAME=NUMBER. May be repeated.")
]
ReportOption = Annotated[
    Path | None, typer.Option(help="Where to write the report (.html; .md and .json versions go next to it).")
]
PurposeOption = Annotated[str | None, typer.Option(help="For the report: what the prediction is for, in your words.")]
PeopleOption = Annotated[
    str | None,
    typer.Option(help="For the report: whose records these are, such as: customers in 2026. Quoted as given."),
]
PopulationOption = Annotated[
    int | None, typer.Option(help="Size of the whole population, to estimate how many people in it are unique.")
]
EngineOption = Annotated[
    Literal["duckdb", "spark"] | None,
    typer.Option(
        help="Process the data in DuckDB or Spark, without reading all of it into memory.",
        is_eager=True,  # so that `check_file` knows it
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]

out = Console(soft_wrap=False, highlight=False)
notes = Console(stderr=True, highlight=False)


def check_places(inputs: Sequence[Path | None], artifact: Path | None = None, report: Path | None = None) -> None:
    """Refuse outputs that cannot be written, or that would overwrite each other or an input."""
    if report is not None and report.suffix.lower() != ".html":
        raise ParameterError(f"The report {str(report)!r} must end in .html; .md and .json versions go next to it.")
    outputs = [] if artifact is None else [artifact]
    outputs += [] if report is None else [report, *markdown_and_json(report)]
    for path in outputs:
        if path.is_dir() or not path.parent.is_dir():
            reason = "it is a folder" if path.is_dir() else "its folder does not exist"
            raise DataError(f"The file {str(path)!r} cannot be written: {reason}.")
    taken = [os.path.realpath(path) for path in [*inputs, *outputs] if path is not None]
    for path in outputs:
        if taken.count(os.path.realpath(path)) > 1:
            why = " (.md and .json versions go next to the report)" if report is not None else ""
            raise ParameterError(
                f"The file {str(path)!r} would overwrite an input or another output{why}; give another name."
            )


def markdown_and_json(report: Path) -> list[Path]:
    """Return the paths of the report's Markdown and JSON versions."""
    return [report.with_suffix(ending) for ending in (".md", ".json")]


def check_report_options(report: Path | None, *, engine: str | None = None, **options: Any) -> None:
    """Refuse a report on data in an engine, its options without --report, and texts that no file can hold."""
    check_words(**{name: value for name, value in options.items() if isinstance(value, str)})
    unused = [name for name, value in options.items() if value is not None and report is None]
    if unused:
        raise ParameterError(
            f"The option --{unused[0].replace('_', '-')} is part of the report: give --report as well."
        )
    if report is not None and engine is not None:
        raise ParameterError("The report is measured in memory: leave out --report or --engine.")


def names(given: Sequence[str] | None, columns: Sequence[str], where: str = "the file") -> list[str] | None:
    """Split repeated options and comma lists into column names; a column name may itself contain a comma."""
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
    """Parse NAME=NUMBER options into a dict; a name may contain an equals sign."""
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
    """Parse numbers from repeated options and comma lists."""
    return [_number(part, option) for entry in given for part in entry.split(",") if part.strip()]


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ParameterError(f"The option --{option} needs a number. Got {text!r} instead.") from None


# The command line that a report quotes, so that it can be reproduced


def command_line(*, without: str | None = None, words: Sequence[str] | None = None) -> str | None:
    """Return the command as typed, with file names but without folders; None outside the command line.

    Parameters
    ----------
    without : an option to omit with its value because it must stay secret, such as the seed of groups
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
    shown = []
    while given:
        word = given.pop(0)
        if without is not None and word == without:
            del given[:1]
        elif without is None or not word.startswith(f"{without}="):
            shown.append(_shorten_path(word))
    return shlex.join(["modicum", *shown]).encode(errors="replace").decode()  # file names may not be valid text


def _shorten_path(word: str) -> str:
    option, sign, value = word.partition("=")
    if word.startswith("--") and sign:
        return f"{option}={_shorten_path(value)}"
    is_place = os.sep in word and (Path(word).exists() or Path(word).parent.is_dir())
    return Path(word).name if is_place else word
