"""`modicum anonymize`: write a file in which everybody shares their quasi-identifiers with others."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from modicum.cli import options
from modicum.cli.options import notes, out
from modicum.cli.output import (
    describe_report_files,
    facts,
    likely_identifiers,
    printable,
    show_suggestions,
    write_report,
)
from modicum.errors import ParameterError

if TYPE_CHECKING:
    from modicum.anonymizers.base import Anonymizer
    from modicum.releases import Release
    from modicum.table.schema import Schema


class AnonymizationMethod(StrEnum):
    """How groups are made."""

    guided = "accuracy-guided"
    mondrian = "mondrian"
    hilbert = "hilbert"
    rplus_tree = "rplus-tree"


def anonymize(
    file: options.FileArgument,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="Where to write the result: .csv or .parquet, with --engine also a folder.",
        ),
    ],
    k: Annotated[int, typer.Option("--k", min=2, help="The fewest people who share their quasi-identifiers.")] = 10,
    quasi_identifiers: Annotated[
        list[str] | None,
        typer.Option(
            help="Columns by which people could be recognised, separated by commas or repeated. All others by default."
        ),
    ] = None,
    method: Annotated[
        AnonymizationMethod | None,
        typer.Option(help="How groups are made; by default accuracy-guided with --label, else mondrian."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column to predict; written unchanged.")] = None,
    sensitive: Annotated[
        str | None, typer.Option(help="The column that --l and --t protect; written unchanged.")
    ] = None,
    l: Annotated[float | None, typer.Option("--l", help="l-diversity of the sensitive column in every group.")] = None,
    diversity: Annotated[
        Literal["distinct", "entropy", "recursive"] | None,
        typer.Option(help="The kind of l-diversity: distinct values (missing counts as one), entropy, or recursive."),
    ] = None,
    c: Annotated[float, typer.Option("--c", help="The constant of recursive diversity.")] = 4.0,
    t: Annotated[
        float | None, typer.Option("--t", help="t-closeness of the sensitive column in every group, from 0 to 1.")
    ] = None,
    distance: Annotated[
        Literal["equal", "ordered", "hierarchical"] | None,
        typer.Option(help="The distance of --t; by default the one that fits the column."),
    ] = None,
    form: Annotated[
        Literal["values", "ranges"],
        typer.Option("--as", help="Values to train a model on, or intervals and lists of values for people."),
    ] = "values",
    max_suppressed: options.MaxSuppressedOption = 0.0,
    identifier: options.IdentifierOption = None,
    person: options.PersonOption = None,
    category: options.CategoryOption = None,
    schema: options.SchemaOption = None,
    missing: options.MissingOption = None,
    engine: options.EngineOption = None,
    rows_at_once: Annotated[
        int | None, typer.Option(help="With --engine: how many records a worker holds in memory at once.")
    ] = None,
    report: options.ReportOption = None,
    purpose: options.PurposeOption = None,
    people: options.PeopleOption = None,
    by: options.ByOption = None,
    population: options.PopulationOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Write FILE so that everybody shares their quasi-identifiers with at least k - 1 others.

    All other columns are written unchanged, and rows keep their order; the columns of --identifier and --person are
    left out. The result is measured again, and nothing that breaks k, --l or --t is written. CSV fields are separated
    by commas, in .tsv by tabs. With --engine, the records are the same but in any order, and FILE may be a folder of
    Parquet files. --report writes what was promised, counted and lost, and what could still leak, for people
    (.html, .md) and for programs (.json).
    """
    import modicum as md
    from modicum.cli.input_files import Roles
    from modicum.cli.release_files import (
        anonymize_in_engine,
        check_release_options,
        parse_quasi_identifiers,
        read_records,
        write_records,
    )
    from modicum.table.files import file_format

    options.check_report_options(report, engine=engine, purpose=purpose, people=people, by=by, population=population)
    if engine is None:
        file_format(output)
        options.check_places([file, schema], output, report)
    elif output.resolve() in (file.resolve(), schema and schema.resolve()):
        raise ParameterError(f"The file {str(output)!r} would overwrite an input; give another name.")
    chosen = _method(method, label)
    if sensitive is not None and l is None and t is None:
        raise ParameterError("With --sensitive, give --l or --t; alone it protects nothing.")
    if (diversity is not None and l is None) or (distance is not None and t is None):
        raise ParameterError("The option --diversity belongs to --l, and --distance to --t.")
    anonymizer = _find_kind(chosen)(
        k=k,
        l=int(l) if l is not None and l.is_integer() else l,
        t=t,
        sensitive=sensitive,
        diversity=diversity or "distinct",
        c=c,
        distance=distance,
        output=form,
    )
    roles = Roles(label, schema, missing, person, identifiers=identifier, categories=category)
    if engine is not None:
        if max_suppressed:
            raise ParameterError("The option --max-suppressed does not work with --engine; leave one of them out.")
        with notes.status("Making groups in the engine …"):
            release, share = anonymize_in_engine(
                file, output, engine, roles, anonymizer, rows_at_once, quasi_identifiers
            )
        _show(release, output, as_json, majority=share)
        return
    if rows_at_once is not None:
        raise ParameterError("The option --rows-at-once belongs to --engine.")
    table, found = read_records(file, roles)
    groups = None if report is None else check_release_options(table, found, by, population)
    named = parse_quasi_identifiers(quasi_identifiers, list(table.columns), found)
    anonymizer.set_params(quasi_identifiers=named, schema=found, max_suppressed=max_suppressed)
    y = None if label is None else table[label]
    with notes.status("Making groups …"):
        if max_suppressed:
            anonymizer.fit_resample(table, y)
        else:
            anonymizer.fit(table, y)
    rows = anonymizer.sample_indices_ if max_suppressed else None
    made = None
    if report is not None:  # before anything is written, so that an error leaves no files
        with notes.status("Measuring what is lost and what could leak …"):
            evidence = md.evidence(anonymizer, table, y, by=groups, population=population)
            made = md.report(evidence, purpose, people=people, command=options.command_line())
    write_records(file, output, anonymizer.release_, found, rows)
    majority = None if y is None else float(y.value_counts(normalize=True).max())
    if report is not None and made is not None:
        write_report(made, report)
        notes.print(describe_report_files(report))
    _show(anonymizer.release_, output, as_json, found, majority)
    show_suggestions(likely_identifiers(found, list(anonymizer.release_.frame.columns)), notes)


def _method(method: AnonymizationMethod | None, label: str | None) -> AnonymizationMethod:
    if method is AnonymizationMethod.guided and label is None:
        raise ParameterError("The method accuracy-guided needs the column to predict; name it with --label.")
    return method or (AnonymizationMethod.guided if label is not None else AnonymizationMethod.mondrian)


def _find_kind(method: AnonymizationMethod) -> type[Anonymizer]:
    import modicum as md

    kinds: dict[AnonymizationMethod, type[Anonymizer]] = {
        AnonymizationMethod.guided: md.AccuracyGuided,
        AnonymizationMethod.mondrian: md.Mondrian,
        AnonymizationMethod.hilbert: md.Hilbert,
        AnonymizationMethod.rplus_tree: md.RPlusTree,
    }
    return kinds[method]


def _show(
    release: Release, output: Path, as_json: bool, schema: Schema | None = None, majority: float | None = None
) -> None:
    from modicum.reporting.disclosure import few

    if as_json:
        out.print_json(json.dumps(release.to_dict()), ensure_ascii=True)
        return
    asked, persons = release.asked, schema is not None and schema.person is not None
    left_out = f" ({few(release.suppressed)} left out)" if release.suppressed else ""
    lines = [
        ("method", release.method),
        ("quasi-identifiers", ", ".join(release.quasi_identifiers)),
        ("records", f"{release.rows:,}{left_out}"),
        ("groups", f"{release.n_classes:,}"),
        (f"smallest group{', in persons' if persons else ''}", f"{release.k:,} (asked for {asked['k']:,})"),
    ]
    if release.l is not None:
        constant = f" with c = {asked['c']:g}" if "c" in asked else ""
        lines.append((f"{asked['diversity']} l-diversity", f"{release.l:g} (asked for {asked['l']:g}{constant})"))
    if release.t is not None:
        lines.append((f"t-closeness, {asked['distance']} distance", f"{release.t:.3f} (asked for {asked['t']:g})"))
    lines.append(("information loss (NCP)", f"{release.ncp:.1%}; 0% is full detail, 100% is nothing"))
    worst = sorted(release.ncp_by_attribute.items(), key=lambda pair: -pair[1])[:3]
    lines.append(("largest losses", ", ".join(f"{name} ({loss:.0%})" for name, loss in worst)))
    if release.classification_metric is not None and majority is not None:
        shares = f"{release.classification_metric:.1%} of records; {1 - majority:.1%} if all were one group"
        lines.append(("label differs from the group's most frequent", shares))
    if release.frame is not None:
        others = [name for name in release.frame.columns if name not in release.quasi_identifiers]
        lines.append(("written unchanged", ", ".join(map(str, others)) or "no other column"))
    facts(lines, out)
    notes.print(printable(f"Written to {output}."))
