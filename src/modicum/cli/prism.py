"""`modicum prism`: what reveals a sensitive attribute, a classifier that does without, and what that costs."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from modicum.cli.options import (
    CategoryOption,
    FileArgument,
    IdentifierOption,
    JsonOption,
    LabelOption,
    MissingOption,
    PeopleOption,
    PersonOption,
    PurposeOption,
    ReportOption,
    SchemaOption,
    SeedOption,
    check_places,
    given_to,
    names,
    notes,
    out,
    read_task,
)
from modicum.cli.told_command import command_line
from modicum.errors import DataError, ParameterError


def prism(
    file: FileArgument,
    label: LabelOption,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="The column that must not be used nor be revealed; with commas or repeated for several."),
    ] = None,
    critical: Annotated[
        list[str] | None,
        typer.Option(
            help="A value of it that must not be guessed (with several columns: COLUMN=VALUE); may be repeated. All "
            "where none is named."
        ),
    ] = None,
    max_predictors: Annotated[int, typer.Option(min=1, help="The most attributes a prediction may need.")] = 8,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="The strength from which attributes reveal the sensitive one.")
    ] = 0.02,
    p_value: Annotated[
        float, typer.Option(min=0, max=1, help="The largest chance of such a strength if there were no relation.")
    ] = 0.05,
    max_size: Annotated[int, typer.Option(min=1, help="How many attributes a tested set has at most.")] = 5,
    encoding: Annotated[
        Literal["both", "single", "multiple", "whole"],
        typer.Option(help="Critical values taken together (single), one by one (multiple), or both."),
    ] = "both",
    measure: Annotated[
        Literal["cramers_v", "bias_corrected", "pearson", "classifier"], typer.Option(help="Of the strength.")
    ] = "cramers_v",
    correction: Annotated[
        Literal["bonferroni", "fdr"] | None,
        typer.Option(help="Of p-values for the number of tests; fewer sets are then forbidden."),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(help="Columns that are known to reveal it together, with commas. May be repeated."),
    ] = None,
    by_column: Annotated[
        bool, typer.Option("--by-column", help="Choose one-hot columns one by one, not whole attributes.")
    ] = False,
    penalty: Annotated[
        float, typer.Option(min=1e-9, max=1e12, help="What an error of 1 costs, against the size of coefficients.")
    ] = 1.0,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Let all labels count the same, however rare they are.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which training stops with the best found.")
    ] = None,
    adversary: Annotated[
        bool, typer.Option(help="Also train an adversary who guesses the sensitive column from what is asked.")
    ] = True,
    report: ReportOption = None,
    purpose: PurposeOption = None,
    people: PeopleOption = None,
    identifier: IdentifierOption = None,
    person: PersonOption = None,
    category: CategoryOption = None,
    schema: SchemaOption = None,
    missing: MissingOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Find the attributes that reveal a sensitive one, and the best classifier of --label without them.

    Learns from 70% of the rows and reports on the others. The classifier is a linear support vector machine on the
    attributes that predict best among all choices that hold no revealing set whole, which is proven. --report says for
    every attribute why it is asked for or left out, what that costs, and what can still be inferred.
    """
    from modicum.cli.judging import told_places
    from modicum.cli.prism_tables import show_cost
    from modicum.evaluation import prism_cost
    from modicum.prism import PrismClassifier

    check_places([file, schema], report=report)
    given_to(report, purpose=purpose, people=people)
    X, y, found = read_task(
        file, label, schema, missing, person, identifiers=identifier, categories=category, sensitive=None
    )
    columns = list(X.columns)
    asked = _sensitive(sensitive, label, columns)
    if person is not None and person not in columns:
        raise DataError(f"The column {person!r}, which says whose a row is, is not in the file.")
    model = PrismClassifier(
        asked,
        critical_values=_critical(critical, asked or []),
        max_predictors=max_predictors,
        threshold=threshold,
        encoding=encoding,
        measure=measure,
        p_value=p_value,
        max_size=max_size,
        known=[names([each], columns) or [] for each in known or []],
        correction=correction,
        groups="column" if by_column else "attribute",
        penalty=penalty,
        class_weight="balanced" if balanced else None,
        time_limit=time_limit,
        schema=found,
        random_state=seed,
    )
    with notes.status("Searching what reveals it, and training …"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="At most|Training ended|All .* together")  # it is said below
        if report is not None:
            told: dict[str, Any] = {"purpose": purpose, "people": people, "command": command_line()}
            cost = _reported(model, X, y, report, told, adversary, seed)
        else:
            cost = prism_cost(X, y, model, adversary=adversary, random_state=seed, progress=False)
    if as_json:
        out.print_json(json.dumps(cost.to_dict() | {"classifier": _rule(cost.prism)}), ensure_ascii=True)
    else:
        show_cost(cost, label, out)
        if report is not None:
            out.print()
            out.print(told_places(report))


def _reported(model: Any, X: Any, y: Any, path: Path, told: dict[str, Any], adversary: bool, seed: int) -> Any:
    """The evidence on the split that is shown, written as a report; what it costs is shown as without one."""
    from modicum import reporting
    from modicum.cli.judging import check_people, write_report
    from modicum.evaluation import prism_evidence
    from modicum.evaluation.evidence.prism_cost import split_of
    from modicum.table.frames import as_frame

    parts = split_of(model, as_frame(X), y, random_state=seed)[0]
    check_people(model.schema, X.iloc[parts.test])
    train, test = ((X.iloc[rows], y.iloc[rows]) for rows in (parts.train, parts.test))
    found = prism_evidence(model, *train, *test, adversary=adversary, random_state=seed, progress=False)
    write_report(reporting.report(found, **told), path)
    return found.cost


def _sensitive(given: list[str] | None, label: str, columns: list[str]) -> list[str] | None:
    """The named columns, or attributes whose one-hot columns are there."""
    if given is None:
        return None
    found = [part for entry in given for part in ([entry] if entry in columns else entry.split(","))]
    if label in found:
        raise ParameterError(f"The column {label!r} cannot be both --label and --sensitive.")
    return [part.strip() if part not in columns else part for part in found]


def _critical(given: list[str] | None, sensitive: list[str]) -> Any:
    """Values of the sensitive column; with several columns, each one's values."""
    if given is None or len(sensitive) < 2:
        return given
    found: dict[str, list[str]] = {}
    for entry in given:
        name = next((each for each in sensitive if entry.startswith(f"{each}=")), None)
        if name is None:
            raise ParameterError(
                f"With several sensitive columns, write --critical COLUMN=VALUE. Got {entry!r} instead."
            )
        found.setdefault(name, []).append(entry[len(name) + 1 :])
    return found


def _rule(model: Any) -> dict[str, Any]:
    """The classifier itself: what is asked, and what each answer counts."""
    return {
        "classes": [str(each) for each in model.classes_],
        "predictors": model.predictors_,
        "columns": model.columns_,
        "coefficients": model.coef_.tolist(),
        "intercepts": model.intercept_.tolist(),
        "objective": model.objective_,
        "bound": model.bound_,
    }
