"""`modicum anatomize`: split a file into two tables that do not say who has which sensitive value."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from modicum.cli import options
from modicum.cli.options import notes, out
from modicum.cli.output import describe_report_files, facts, likely_identifiers, printable, write_report
from modicum.errors import DataError, ParameterError, PrivacyWarning, format_names

if TYPE_CHECKING:
    import pandas as pd

    from modicum.attacks import MatchingResult
    from modicum.releases import AnatomyRelease
    from modicum.releases.anatomy_files import WrittenAnatomy
    from modicum.table.schema import Schema


def anatomize(
    file: options.FileArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="A new folder for the tables.")],
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="The columns to protect, separated by commas or repeated. By default the schema's."),
    ] = None,
    l: Annotated[int, typer.Option("--l", min=2, help="No value is more than 1/l of its group.")] = 3,
    label: Annotated[
        str | None, typer.Option(help="The class. It goes into the identifying table; rows without it are left out.")
    ] = None,
    grouping: Annotated[
        Literal["bucketize", "random", "dealt"] | None,
        typer.Option(
            help="How groups are made: most frequent values first (bucketize, the default), at random, or in turn "
            "(dealt, the only one with --engine)."
        ),
    ] = None,
    max_suppressed: options.MaxSuppressedOption = 0.0,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows without a sensitive value instead of refusing them.")
    ] = False,
    identifier: options.IdentifierOption = None,
    person: options.PersonOption = None,
    category: options.CategoryOption = None,
    schema: options.SchemaOption = None,
    missing: options.MissingOption = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=2**32 - 1,
            help="Make the same tables each time; by default groups differ. With the seed, others could reconstruct "
            "part of who has what: keep it as secret as the data.",
        ),
    ] = None,
    format: Annotated[
        Literal["csv", "parquet"] | None, typer.Option(help="Format of the tables: by default csv, with Spark parquet.")
    ] = None,
    attack: Annotated[
        bool, typer.Option("--attack", help="Also match people to values as an adversary with the release would.")
    ] = False,
    engine: options.EngineOption = None,
    report: options.ReportOption = None,
    purpose: options.PurposeOption = None,
    people: options.PeopleOption = None,
    by: options.ByOption = None,
    population: options.PopulationOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Split FILE into an identifying table and a sensitive one, linked by groups of l or more people.

    Every value stays exact, but nothing says who in a group has which sensitive value. The columns of --identifier and
    --person are left out. The groups are checked again, and nothing that breaks l is written. --report writes what was
    promised, counted and lost, and what could still leak, for people (.html, .md) and for programs (.json).
    """
    import modicum as md
    from modicum.cli.input_files import Roles, drop_unlabelled
    from modicum.cli.release_files import anatomize_in_engine, check_release_options, parse_sensitive, read_records

    _check_folder(output)
    options.check_report_options(report, engine=engine, purpose=purpose, people=people, by=by, population=population)
    options.check_places([file, schema], report=report)
    roles = Roles(label, schema, missing, person, identifiers=identifier, categories=category)
    if engine is not None:
        if attack or grouping not in (None, "dealt"):
            raise ParameterError("With --engine, groups are dealt in turn and --attack is not available.")
        made = md.Anatomy(l, None, grouping="dealt", max_suppressed=max_suppressed, random_state=seed)
        written = format or ("parquet" if engine == "spark" else "csv")
        with notes.status("Making groups in the engine …"):
            unknown, noticed = anatomize_in_engine(file, output, engine, roles, made, sensitive, written, drop_missing)
        _show_release(made.release_, l, output, as_json, noticed, {"without_sensitive_value": unknown})
        return
    table, found = read_records(file, roles)
    if found.label is not None:
        table = drop_unlabelled(table, found.label)
    protected = parse_sensitive(sensitive, found, list(table.columns))
    table, unknown = _with_values(table, protected, drop_missing)
    groups = None if report is None else check_release_options(table, found, by, population)
    warned = _warn_of_identifiers(found, protected)
    _print_notes(warned)
    grouping = grouping or "bucketize"
    anatomy = md.Anatomy(
        l, protected, grouping=grouping, max_suppressed=max_suppressed, schema=found, random_state=seed
    )
    with notes.status("Making groups …"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PrivacyWarning)
        anatomy.fit(table)
    release = anatomy.release_
    attacked = _run_matching(anatomy, table, seed) if attack else {}
    page = None
    if report is not None:  # made before anything is written; the seed of the groups must stay secret
        with notes.status("Measuring what is lost and what could leak … (the first time on a machine it compiles)"):
            evidence = md.evidence(anatomy, table, without_value=unknown, by=groups, population=population)
            page = md.report(evidence, purpose, people=people, command=options.command_line(without="--seed"))
    release.save(output, format=format or "csv")
    if report is not None and page is not None:
        write_report(page, report)
        notes.print(describe_report_files(report))
    noticed = [str(each.message) for each in caught]
    more: dict[str, object] = {"without_sensitive_value": unknown}
    if attack:
        more["attack"] = {name: result.to_dict() for name, result in attacked.items()}
    lines = [line for each in attacked.values() for line in _attack_lines(each)]
    _show_release(release, l, output, as_json, noticed, more, warned, lines)


def _show_release(
    release: AnatomyRelease | WrittenAnatomy,
    l: int,
    output: Path,
    as_json: bool,
    noticed: list[str],
    more: Mapping[str, object],
    shown: Sequence[str] = (),
    lines: Sequence[tuple[str, str]] = (),
) -> None:
    """Show what was released, for programs or for people; the notes `shown` are already printed."""
    if as_json:
        content = {**release.to_dict(), "asked_l": l, "folder": str(output), "warnings": [*shown, *noticed], **more}
        out.print_json(json.dumps(content), ensure_ascii=True)
    else:
        facts([*_lines(release, l, output), *lines], out)
        notes.print(printable(f"Written to {output}."))
    _print_notes(noticed)


def _print_notes(messages: list[str]) -> None:
    for message in messages:
        notes.print(printable(f"Note: {message}"))


def _check_folder(output: Path) -> None:
    """Refuse a path that cannot become a new folder."""
    why = _unusable(output)
    if why is not None:
        raise DataError(f"The folder {str(output)!r} cannot be written: {why}.")


def _unusable(output: Path) -> str | None:
    try:
        if output.exists() or output.is_symlink():
            if not output.is_dir():
                return "something else has that name; name a new folder"
            if output.absolute() == Path.cwd() or any(output.iterdir()):
                return "it is the current folder or has files already; name a new one"
        parent = output.absolute().parent
        if not parent.is_dir():
            return "its parent folder does not exist"
        with tempfile.TemporaryDirectory(prefix=".modicum-", dir=parent):
            return None
    except OSError:
        return "nothing can be written there"


def _with_values(table: pd.DataFrame, sensitive: list[str], drop: bool) -> tuple[pd.DataFrame, int]:
    """Return the rows with all sensitive values, and how many rows lack one."""
    without = table[sensitive].isna().any(axis=1)
    many = int(without.sum())
    if not many:
        return table, 0
    named = (
        "the sensitive column " + format_names(sensitive)
        if len(sensitive) == 1
        else f"one of {format_names(sensitive)}"
    )
    if not drop:
        raise DataError(f"{many:,} rows have no value of {named}; leave them out with --drop-missing.")
    notes.print(printable(f"{many:,} rows without a value of {named} are left out."))
    return table[~without], many


def _warn_of_identifiers(schema: Schema, sensitive: list[str]) -> list[str]:
    """Warn of columns that will be written and look like names or numbers of people."""
    written = [each.name for each in schema if each.name not in sensitive]
    unmarked = [name for name in written if not schema[name].is_identifying and not schema[name].forbidden]
    columns = list(dict.fromkeys(each.attribute for each in likely_identifiers(schema, unmarked)))
    if not columns:
        return []
    looks = "looks like an identifier" if len(columns) == 1 else "look like identifiers"
    return [
        f"{format_names(columns)} {looks} and will be written unchanged; leave out what names a person with "
        f"--identifier {','.join(columns)}."
    ]


def _run_matching(anatomy: Any, table: pd.DataFrame, seed: int | None) -> dict[str, MatchingResult]:
    from modicum.attacks import Matching

    matching = Matching(random_state=seed or 0, progress=False)
    with notes.status("Matching people to values … (the first time on a machine it compiles for a while)"):
        return {
            name: matching.run(anatomy.release_, table[name].iloc[anatomy.rows_], name)
            for name in anatomy.release_.sensitive_names
        }


def _lines(release: AnatomyRelease | WrittenAnatomy, l: int, output: Path) -> list[tuple[str, str]]:
    """Describe the release, one fact per line."""
    left_out = f" ({release.suppressed:,} left out)" if release.suppressed else ""  # as exact as release.json
    lines = [("records", f"{release.rows:,}{left_out}")]
    for name, each in release.to_dict()["sensitive"].items():
        sizes = f"{each['smallest_group']:,} to {each['largest_group']:,} people"
        if each["smallest_group"] == each["largest_group"]:
            sizes = f"{each['smallest_group']:,} people each"
        lines.append((f"groups of {name}", f"{each['groups']:,}, of {sizes} ({release.grouping})"))
        lines.append((f"l of {name}", f"{each['l']:,} (asked for {l:,})"))
    for name, columns in release.columns.items():
        lines.append((name, ", ".join(columns)))
    return [*lines, ("class", release.label or "none"), ("folder", str(output))]


def _attack_lines(result: MatchingResult) -> list[tuple[str, str]]:
    low, high = result.interval
    shares = (
        f"{result.accuracy:.1%} ({low:.1%} to {high:.1%}) by an adversary who learns from the release alone; "
        f"{result.baseline:.1%} without learning, by the most frequent value of the person's group; "
        f"{result.naive:.1%} by the most frequent value overall"
    )
    lines = [(f"matched to the right {result.sensitive}", shares)]
    return lines if result.note is None else [*lines, ("but", result.note)]
