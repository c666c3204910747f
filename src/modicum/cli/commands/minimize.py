"""`modicum minimize`: from a file to an artifact."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from modicum.cli.options import (
    ByOption,
    CategoryOption,
    EngineOption,
    FileArgument,
    IdentifierOption,
    JsonOption,
    LabelBinsOption,
    LabelOption,
    LeaveOutOption,
    MinGroupOption,
    MissingOption,
    PeopleOption,
    PersonalOption,
    PersonOption,
    PurposeOption,
    ReportOption,
    SchemaOption,
    SeedOption,
    check_places,
    check_report_options,
    command_line,
    names,
    notes,
    out,
    read_task,
)
from modicum.cli.output import check_min_group, measure_effect, show_description, show_effect, show_suggestions, summary
from modicum.errors import DataError, ParameterError, format_names

if TYPE_CHECKING:
    from modicum.engines.table import EngineTable
    from modicum.generalization import Generalization
    from modicum.table.schema import Schema
    from modicum.table.splits import Split


class MinimizationMethod(StrEnum):
    """How the buckets are found."""

    merge = "merge"
    pat = "pat"


class Risk(StrEnum):
    """What merging lowers: a counting adversary's accuracy, or the certificate's own U."""

    adversary = "adversary"
    certificate = "certificate"


def minimize(
    file: FileArgument,
    label: LabelOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to write the generalization (JSON).")],
    personal: PersonalOption = None,
    identifier: IdentifierOption = None,
    person: PersonOption = None,
    category: CategoryOption = None,
    leave_out: LeaveOutOption = None,
    schema: SchemaOption = None,
    keep: Annotated[
        float | None, typer.Option(help="Choose the most private result that keeps this share of the skill.")
    ] = None,
    max_error: Annotated[
        float | None, typer.Option(help="Or: the most private result with at most this error.")
    ] = None,
    method: Annotated[
        MinimizationMethod | None,
        typer.Option(help="Merge buckets, or grow PAT's tree.", show_default="merge; pat with an option of the tree"),
    ] = None,
    risk: Annotated[
        Risk | None, typer.Option(help="Of merge: what it lowers.", show_default=Risk.adversary.value)
    ] = None,
    max_leaves: Annotated[
        int | None, typer.Option(help="Of pat: leaves of the tree; more leaves, more detail.", show_default="20")
    ] = None,
    privacy: Annotated[
        float | None,
        typer.Option(help="Of pat: 0 looks at the prediction only, 1 collects nothing.", show_default="0.5"),
    ] = None,
    min_leaf: Annotated[
        int | None, typer.Option(help="Of pat: the fewest records in a leaf of the tree.", show_default="100")
    ] = None,
    min_group: MinGroupOption = None,
    label_bins: LabelBinsOption = None,
    report: ReportOption = None,
    purpose: PurposeOption = None,
    people: PeopleOption = None,
    by: ByOption = None,
    seed: SeedOption = 0,
    missing: MissingOption = None,
    engine: EngineOption = None,
    sample: Annotated[
        int | None,
        typer.Option(help="Learn from this many records, and check on as many others that they are enough."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Learn what to collect, and in what detail, to predict LABEL; write it as JSON.

    Learns from 60% of the rows, chooses on 10%, and reports on 30% that had no part in either. By default buckets are
    merged, from much detail to none; of all these points --keep or --max-error take the most private one within the
    target, otherwise it is the inflection point, after which a little more utility costs much privacy. Skill is what a
    model on raw data gains over guessing by the classes' shares. --method pat grows the privacy-aware tree of the
    literature instead; with --keep or --max-error the options of the tree narrow its search.

    With --engine the file may be larger than memory, or a folder of Parquet files: the tree is grown from counts of all
    its records. With --sample that many records take the place of the file.
    """
    from modicum.cli.judging import (
        check_people,
        describe_report_files,
        evidence_on,
        groups_by,
        show_report,
        split_for,
        write_report,
    )
    from modicum.reporting import report as make_report
    from modicum.reporting.disclosure import disclose_description

    check_places([file, schema], output, report)
    check_report_options(report, by=by, purpose=purpose, people=people)
    if leave_out and (engine is not None or sample is not None):
        raise ParameterError("The option --leave-out needs a file in memory; with --engine or --sample use a schema.")
    given = {"max_leaves": max_leaves, "privacy": privacy, "min_leaf": min_leaf}
    settings = {name: value for name, value in given.items() if value is not None}
    roles = Roles(label, schema, missing or (), person, personal, identifier, category)
    other = None
    if sample is not None:
        X, y, found, other = draw_in_engine(file, engine or "duckdb", roles, sample, seed)
    elif engine is not None:
        _method(method or MinimizationMethod.pat, risk, settings)
        unwanted = {"--keep": keep, "--max-error": max_error, "--min-group": min_group, "--report": report}
        check_options(unwanted | {"--method merge": None if method is not MinimizationMethod.merge else method})
        g = fit_in_engine(file, engine, roles, label_bins, settings)
        g.save(output)
        _show(g.describe(), output, as_json)
        return
    else:
        X, y, found = read_task(
            file,
            label,
            schema,
            missing,
            person,
            leave_out,
            personal=personal,
            identifiers=identifier,
            categories=category,
        )
    check_min_group(min_group, X, found.person)
    groups = groups_by(by, X, y)
    parts = split_for(X, y, found.person, seed)
    if report is not None:
        check_people(found, X.iloc[parts.test])
    larger, path = None, None
    if _method(method, risk, settings) is MinimizationMethod.merge:
        g, chosen, path = _fit_merge_path(X, y, found, parts, label_bins, keep, max_error, risk, min_group, seed)
    else:
        if keep is None and max_error is None:
            g, chosen = _fit_privacy_tree(X, y, found, parts, label_bins, settings), None
        else:
            g, chosen = _search_privacy_trees(X, y, found, parts, label_bins, settings, keep, max_error, seed)
        if min_group is not None:
            with notes.status("Making groups larger …"):
                train = X.iloc[parts.train], y.iloc[parts.train]
                coarser = g.coarsen(*train, min_group=min_group, label_bins=label_bins)
                larger = measure_effect(g, coarser, X, parts)
            g = coarser
    enough = None if other is None else check_on_others(g, X, y, other, label_bins)
    description = g.describe(X.iloc[parts.test])
    made = None
    if report is not None:
        why = None if chosen is None else _describe_choice(chosen)
        evidence = evidence_on(g, X, y, parts, path=path, why=why, by=groups, label_bins=label_bins, seed=seed)
        made = make_report(evidence, purpose, people=people, command=command_line())
    g.save(output)
    if report is not None and made is not None:
        write_report(made, report)
    open_questions = tuple(
        s for s in found.suggestions if not found[s.attribute].is_identifying and s.attribute != label
    )
    if as_json:
        suggestions = [suggestion.model_dump() for suggestion in open_questions]
        content = {
            "output": str(output),
            **disclose_description(description),
            "suggestions": suggestions,
            "search": chosen,
        }
        content |= {} if larger is None else {"coarsened": summary(larger)}
        content |= {} if enough is None else {"sample": enough.to_dict()}
        typer.echo(json.dumps(content))
        return
    show_suggestions(open_questions, out)
    if larger is not None and min_group is not None:
        show_effect(larger, min_group, out)
    show_description(description, out)
    if chosen is not None:
        more = " --report tells what it does on test records, which chose nothing." if report is None else ""
        out.print(f"\n{_describe_choice(chosen)}{more}", markup=False)
        if min_group is not None and larger is None:
            out.print(
                f"Every combination of answers among the rows it learned from is shared by at least {min_group:,} "
                "people; other rows may have rarer ones.",
                markup=False,
            )
    if enough is not None:
        from modicum.minimizers.sample_check import describe_check

        out.print(f"\n{describe_check(enough)}", markup=False)
    if report is not None and made is not None:
        out.print()
        show_report(made, out)
        out.print()
        out.print(describe_report_files(report))
    _show_next(output)


def _show_next(output: Path) -> None:
    out.print(f"\nWritten to {output}. Apply it with: modicum apply {output} FILE -o OUT", markup=False)
    out.print(f"Ask people for no more than that with: modicum form {output} -o form.html", markup=False)


def _show(description: Any, output: Path, as_json: bool) -> None:
    """What was learned in an engine."""
    from modicum.reporting.disclosure import disclose_description

    if as_json:
        typer.echo(
            json.dumps({"output": str(output), **disclose_description(description), "suggestions": [], "search": None})
        )
        return
    show_description(description, out)
    _show_next(output)


def _method(method: MinimizationMethod | None, risk: Risk | None, of_tree: dict[str, Any]) -> MinimizationMethod:
    """The method asked for; options of the other one are refused."""
    chosen = method or (MinimizationMethod.pat if of_tree else MinimizationMethod.merge)
    if chosen is MinimizationMethod.merge and of_tree:
        option = next(iter(of_tree)).replace("_", "-")
        raise ParameterError(f"--{option} is an option of the tree: leave it out, or say --method pat.")
    if chosen is MinimizationMethod.pat and risk is not None:
        raise ParameterError("--risk is an option of merging: leave it out, or say --method merge.")
    return chosen


def _describe_choice(chosen: dict[str, Any]) -> str:
    """The choice in a sentence."""
    if chosen["method"] == MinimizationMethod.merge.value:
        many = "the one point" if chosen["considered"] == 1 else f"{chosen['considered']} points"
        how = f"Chosen among {many} of the path on validation records: {chosen['why']}"
    else:
        how = (
            f"Chosen among {chosen['considered']} candidates on validation records: privacy {chosen['privacy']:g}, "
            f"{chosen['max_leaves']} leaves of at least {chosen['min_leaf']} records"
        )
    kept = "none" if chosen["skill_kept"] is None else f"{round(chosen['skill_kept'], 2) + 0.0:.0%}"
    return (
        f"{how}; on these it keeps {kept} of the skill, with an error of {chosen['error']:.1%} "
        f"(raw data {chosen['raw_error']:.1%})."
    )


def _fit_merge_path(
    X: Any,
    y: Any,
    schema: Any,
    parts: Split,
    label_bins: int | None,
    keep: float | None,
    max_error: float | None,
    risk: Risk | None,
    min_group: int | None,
    seed: int,
) -> tuple[Generalization, dict[str, Any], list[Generalization]]:
    from modicum.minimizers import MergePath
    from modicum.table.values import plain

    method = MergePath(
        keep=keep,
        max_error=max_error,
        risk=(risk or Risk.adversary).value,
        min_group=min_group or 1,
        label_bins=label_bins,
        schema=schema,
        random_state=seed,
    )
    validation = {"X_val": X.iloc[parts.validation], "y_val": y.iloc[parts.validation]}
    method.fit(X.iloc[parts.train], y.iloc[parts.train], **validation)
    choice = {name: plain(value) for name, value in asdict(method.choice_).items()}
    path = [point.generalization for point in method.path_]
    return method.generalization_, {"method": MinimizationMethod.merge.value, "considered": len(path), **choice}, path


def _fit_privacy_tree(
    X: Any, y: Any, schema: Any, parts: Split, label_bins: int | None, settings: dict[str, Any]
) -> Generalization:
    from modicum.minimizers import PrivacyTree

    method = PrivacyTree(label_bins=label_bins, schema=schema, **settings)
    with notes.status("Learning what is needed …"):
        fitted: Generalization = method.fit(X.iloc[parts.train], y.iloc[parts.train]).generalization_
    return fitted


def _search_privacy_trees(
    X: Any,
    y: Any,
    schema: Any,
    parts: Split,
    label_bins: int | None,
    settings: dict[str, Any],
    keep: float | None,
    max_error: float | None,
    seed: int,
) -> tuple[Generalization, dict[str, Any]]:
    from modicum.evaluation.search import SIZES, most_private
    from modicum.table.values import plain

    narrowed: dict[str, Any] = {}
    if "max_leaves" in settings:
        most = settings["max_leaves"]
        narrowed["sizes"] = [*(size for size in SIZES if size < most), most]
    if "privacy" in settings:
        narrowed["privacy"] = [settings["privacy"]]
    if "min_leaf" in settings:
        narrowed["min_leaf"] = [settings["min_leaf"]]
    found = most_private(
        X.iloc[parts.train],
        y.iloc[parts.train],
        X.iloc[parts.validation],
        y.iloc[parts.validation],
        schema=schema,
        keep=keep,
        max_error=max_error,
        label_bins=label_bins,
        random_state=seed,
        progress=_progress,
        **narrowed,
    )
    best = found.chosen
    return best.generalization, {
        "method": MinimizationMethod.pat.value,
        "privacy": best.privacy,
        "max_leaves": best.max_leaves,
        "min_leaf": best.min_leaf,
        "considered": found.considered,
        "error": best.error,
        "skill_kept": plain(best.skill_kept),
        "adversary_error": best.adversary_error,
        "raw_error": found.raw_error,
        "majority_error": found.majority_error,
    }


def _progress(items: Iterable[Any], what: str) -> Iterable[Any]:
    from rich.progress import track

    return track(list(items), description=what, console=notes, transient=True, disable=not notes.is_terminal)


# The task of `modicum minimize` where its file is too large to be read: counted in an engine, or on a sample of it.


@dataclass(frozen=True)
class Roles:
    """What the command line says of the columns."""

    label: str
    schema_file: Path | None
    missing: Sequence[str]
    person: str | None
    personal: Sequence[str] | None
    identifiers: Sequence[str] | None
    categories: Sequence[str] | None

    @property
    def given(self) -> Schema | None:
        from modicum.table.schema import Schema

        return None if self.schema_file is None else Schema.from_yaml(self.schema_file)

    def apply_to(self, schema: Schema, columns: list[str]) -> Schema:
        """The schema with the roles that were given."""
        schema = schema.with_missing(self.missing)
        for name in names(self.categories, columns) or []:
            schema = schema.replace(name, kind="category")
        return schema.with_roles(
            label=self.label,
            person=self.person,
            personal=names(self.personal, columns),
            identifiers=names(self.identifiers, columns),
        )


def check_options(unwanted: dict[str, Any]) -> None:
    """Refuse options that need the records themselves, where they stay in the engine."""
    given = [option for option, value in unwanted.items() if value is not None]
    if given:
        raise ParameterError(
            f"{given[0]} needs the records in memory: leave it out, or draw some of them with --sample."
        )


def fit_in_engine(
    file: Path, engine: str, roles: Roles, label_bins: int | None, settings: dict[str, Any]
) -> Generalization:
    """PAT's generalization of all records of a file, from counts."""
    from modicum.engines.coding import schema_at
    from modicum.minimizers import PrivacyTree

    with open_labelled(file, engine, roles) as table:
        given = roles.given
        schema = roles.apply_to(schema_at(table, table.columns) if given is None else given, table.columns)
        with notes.status("Learning what is needed …"):
            method = PrivacyTree(label_bins=label_bins, schema=schema, **settings).fit(table, roles.label)
    found: Generalization = method.generalization_
    return found


def draw_in_engine(file: Path, engine: str, roles: Roles, sample: int, seed: int) -> Any:
    """Records drawn by an engine, as features, label and schema; and others to check with."""
    from modicum.minimizers.sample_check import draw_samples
    from modicum.table.schema import Schema

    with open_labelled(file, engine, roles) as table, notes.status("Drawing records …"):
        learning, other = draw_samples(table, roles.label, sample, seed)
    X, given = learning.X.to_pandas(), roles.given
    found = Schema.infer(X.assign(**{roles.label: learning.y.to_numpy()})) if given is None else given
    return X, learning.y, roles.apply_to(found, [*X.columns, roles.label]), other


def check_on_others(g: Generalization, X: Any, y: Any, other: Any, label_bins: int | None) -> Any:
    """Whether what was learned from the records drawn holds on the others."""
    from modicum.minimizers.sample_check import answers_to, compare_samples
    from modicum.table.targets import Labels

    answers = answers_to(g, X, other.X.to_pandas())
    return compare_samples(*answers, Labels.fit(y, label_bins), y, other.y)


@contextmanager
def open_labelled(file: Path, engine: str, roles: Roles) -> Iterator[EngineTable]:
    """The file's records that have a label; how many have none is said."""
    import narwhals.stable.v2 as nw

    from modicum.engines.file_tables import open_table, table_at

    with open_table(file, engine, roles.given, roles.missing) as table:
        if roles.label not in table.columns:
            raise DataError(
                f"The label {roles.label!r} is not in the file; it has {format_names(table.columns, limit=8)}."
            )
        known = table_at(table.lazy.filter(~nw.col(roles.label).is_null()).to_native())
        rows = known.rows()
        unlabelled = table.rows() - rows
        if unlabelled:
            notes.print(f"{unlabelled:,} rows without a value of {roles.label!r} are left out.", markup=False)
        if not rows:
            raise DataError(f"The file has no row with a value of the label {roles.label!r}.")
        yield known
