"""`modicum prism`: find what reveals a sensitive attribute, train a classifier without it, show the cost."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Column, Table

from modicum.cli import options
from modicum.cli.options import notes, out
from modicum.cli.output import build_table, describe_report_files, facts, printable, write_report
from modicum.errors import ParameterError, format_names

if TYPE_CHECKING:
    import pandas as pd

    from modicum.evaluation import ModelCost, PrismCost, PrismEvidence
    from modicum.evaluation._evidence import Depth
    from modicum.prism import Correlation, Correlations, PrismClassifier
    from modicum.table.schema import Schema


def prism(
    file: options.FileArgument,
    label: options.LabelOption,
    sensitive: Annotated[
        list[str] | None,
        typer.Option(help="Columns that must be neither used nor revealed, separated by commas or repeated."),
    ] = None,
    critical: Annotated[
        list[str] | None,
        typer.Option(
            help="A sensitive value that must not be guessed (with several columns: COLUMN=VALUE). May be repeated; "
            "all by default."
        ),
    ] = None,
    max_predictors: Annotated[int, typer.Option(min=1, help="The most attributes a prediction may need.")] = 8,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="The strength at which attributes reveal the sensitive one.")
    ] = 0.02,
    p_value: Annotated[
        float, typer.Option(min=0, max=1, help="The largest p-value at which attributes reveal it.")
    ] = 0.05,
    max_size: Annotated[int, typer.Option(min=1, help="The most attributes in a tested set.")] = 5,
    encoding: Annotated[
        Literal["both", "single", "multiple", "whole"],
        typer.Option(help="Critical values taken together (single), one by one (multiple), or both."),
    ] = "both",
    measure: Annotated[
        Literal["cramers_v", "bias_corrected", "pearson", "classifier"], typer.Option(help="Measure of the strength.")
    ] = "cramers_v",
    correction: Annotated[
        Literal["bonferroni", "fdr"] | None,
        typer.Option(help="Correct p-values for the number of tests; fewer sets are then forbidden."),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(help="Columns known to reveal it together, separated by commas. May be repeated."),
    ] = None,
    by_column: Annotated[
        bool, typer.Option("--by-column", help="Choose one-hot columns one by one, not whole attributes.")
    ] = False,
    C: Annotated[
        float,
        typer.Option("--C", min=1e-9, max=1e12, help="Cost of an error of 1, relative to the size of coefficients."),
    ] = 1.0,
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Give all labels the same weight, however rare they are.")
    ] = False,
    time_limit: Annotated[
        float | None, typer.Option(min=0, help="Seconds after which training stops with the best found.")
    ] = None,
    adversary: Annotated[
        bool, typer.Option(help="Also train an adversary who guesses the sensitive column from the answers.")
    ] = True,
    report: options.ReportOption = None,
    purpose: options.PurposeOption = None,
    people: options.PeopleOption = None,
    identifier: options.IdentifierOption = None,
    person: options.PersonOption = None,
    category: options.CategoryOption = None,
    schema: options.SchemaOption = None,
    missing: options.MissingOption = None,
    seed: options.SeedOption = 0,
    as_json: options.JsonOption = False,
) -> None:
    """Find the attributes that reveal a sensitive one, and the best classifier of --label without them.

    Learns from 70% of the rows and reports on the others. The classifier is a linear support vector machine on the
    attributes that provably predict best among all choices that contain no revealing set. --report says for every
    attribute why it is asked for or left out, what that costs, and what can still be inferred.
    """
    import modicum as md
    from modicum.cli.input_files import Roles
    from modicum.evaluation import prism_cost
    from modicum.prism import PrismClassifier

    options.check_places([file, schema], report=report)
    options.check_report_options(report, purpose=purpose, people=people)
    roles = Roles(label, schema, missing, person, identifiers=identifier, categories=category)
    X, y, found = roles.read_task(file)
    columns = list(X.columns)
    protected = _sensitive(sensitive, label, columns)
    model = PrismClassifier(
        protected,
        critical_values=_critical(critical, protected or []),
        max_predictors=max_predictors,
        threshold=threshold,
        encoding=encoding,
        measure=measure,
        p_value=p_value,
        max_size=max_size,
        known=[options.names([each], columns) or [] for each in known or []],
        correction=correction,
        groups="column" if by_column else "attribute",
        C=C,
        class_weight="balanced" if balanced else None,
        time_limit=time_limit,
        schema=found,
        random_state=seed,
    )
    with notes.status("Searching for what reveals it, and training …"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="At most|Training ended|All .* together")  # shown below
        if report is not None:
            evidence = _gather_evidence(model, found, X, y, adversary, seed)
            write_report(md.report(evidence, purpose, people=people, command=options.command_line()), report)
            cost = evidence.cost
        else:
            cost = prism_cost(X, y, model, adversary=adversary, n_jobs=-1, random_state=seed, progress=False)
    if as_json:
        out.print_json(json.dumps(cost.to_dict() | {"classifier": describe_rule(cost.prism)}), ensure_ascii=True)
    else:
        show_cost(cost, label, out)
        if report is not None:
            out.print()
            out.print(describe_report_files(report))


def _gather_evidence(
    model: PrismClassifier, schema: Schema, X: pd.DataFrame, y: pd.Series, adversary: bool, seed: int
) -> PrismEvidence:
    """Gather the evidence on the same split as without a report."""
    from modicum.evaluation.evidence.prism_cost import split_of
    from modicum.evaluation.evidence.prism_evidence import prism_evidence
    from modicum.reporting.disclosure import check_people
    from modicum.table.frames import as_frame

    parts = split_of(model, as_frame(X), y, random_state=seed)[0]
    check_people(schema, X.iloc[parts.test])
    train, test = ((X.iloc[rows], y.iloc[rows]) for rows in (parts.train, parts.test))
    depth: Depth = "full" if adversary else "quick"
    return prism_evidence(model, *train, *test, depth=depth, n_jobs=-1, random_state=seed, progress=False)


def _sensitive(given: list[str] | None, label: str, columns: list[str]) -> list[str] | None:
    """Split --sensitive into columns, or attributes that the file has as one-hot columns."""
    if given is None:
        return None
    found = [part for entry in given for part in ([entry] if entry in columns else entry.split(","))]
    if label in found:
        raise ParameterError(f"The column {label!r} cannot be both --label and --sensitive.")
    return [part.strip() if part not in columns else part for part in found]


def _critical(given: list[str] | None, sensitive: list[str]) -> Any:
    """Parse --critical; with several sensitive columns, into the values of each."""
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


def describe_rule(model: PrismClassifier) -> dict[str, object]:
    """Return the classifier for programs: what is asked, and the weight of each answer.

    Without predictors, the objective would reveal how many people have the rarer labels; it is then left out.
    """
    return {
        "classes": [str(each) for each in model.classes_],
        "predictors": model.predictors_,
        "columns": model.columns_,
        "coefficients": model.coef_.tolist(),
        "intercepts": model.intercept_.tolist(),
        "objective": model.objective_ if model.predictors_ else None,
        "bound": model.bound_ if model.predictors_ else None,
    }


# What the command shows

_MOST = 15  # sets that are shown
_KINDS = {
    "SVM": "all attributes (SVM)",
    "Parsimony": "the best few (Parsimony)",
    "PriSM": "the best allowed (PriSM)",
}


def show_cost(cost: PrismCost, label: str, console: Console) -> None:
    """Show the correlated sets, the choice, and all classifiers side by side."""
    from modicum.evaluation.evidence.prism_cost import PRISM

    chosen = cost.of(PRISM)
    _show_sets(cost, console)
    facts(_choice(cost, chosen), console)
    console.print()
    console.print(_build_cost_table(cost, list(chosen.adversaries)))
    console.print()
    on = f"of {label!r}, on {cost.tested_on:,} test records"
    if _is_balanced(cost):
        measure = f"balanced accuracy: {on}, the mean over labels; guessing at random"
    else:
        measure = f"accuracy: {on}; always guessing the most frequent label"
    console.print(printable(f"{measure}: {_score(cost, chosen).naive:.1%}."))
    for name, attack in chosen.adversaries.items():
        console.print(
            printable(
                f"guessed: how often an adversary who learns from the {cost.trained_on:,} training records (held out "
                f"in turn) guesses {name!r} correctly from the answers; always guessing the most frequent value: "
                f"{attack.class_frequency:.1%}. MCC: the correlation of guess and truth; 0 is chance."
            )
        )


def _show_sets(cost: PrismCost, console: Console) -> None:
    found, sensitive = cost.correlations, format_names(cost.prism.sensitive_)
    many = {0: "No set of attributes reveals", 1: "1 smallest set of attributes reveals"}
    sets = many.get(len(found), f"{len(found):,} smallest sets of attributes reveal")
    console.print(printable(f"{sets} {sensitive}: {_rule_text(found)}. {sum(found.tested):,} sets were tested."))
    words = (Column(title, overflow="fold") for title in ("attributes", "about"))
    table = build_table(*words, numbers=("strength", "by chance", "p-value"))
    for each in sorted(found, key=lambda one: (len(one.attributes), -one.strength))[:_MOST]:
        table.add_row(printable(" + ".join(each.attributes)), printable(each.about), *_numbers(each))
    if len(found):
        console.print(table)
        console.print("by chance: the strength that independent attributes with as many values would have.")
    if len(found) > _MOST:
        console.print(f"… and {len(found) - _MOST:,} more; --json lists all.", markup=False)
    console.print()


def _rule_text(found: Correlations) -> str:
    """State what counts as revealing in this search."""
    corrected = "" if found.correction is None else f", {found.correction} corrected"
    return f"{found.measure} at least {found.threshold:g} with a p-value of at most {found.p_value:g}{corrected}"


def _choice(cost: PrismCost, chosen: ModelCost) -> list[tuple[str, str]]:
    model = cost.prism
    proven = chosen.gap <= model.tol
    nothing = "nothing: no attribute helps" if proven else "nothing: time ran out"
    proof = f"no allowed choice has an objective lower by more than {chosen.gap:.1g} of it"
    return [
        ("asked for", ", ".join(model.predictors_) or nothing),
        (
            "promise",
            f"no set of up to {model.max_size} of them reveals {format_names(model.sensitive_)} in the sense above, "
            f"among {cost.trained_on:,} training records with numbers in {model.bins} bins",
        ),
        ("all of them together", f"{_strength(chosen.association)}{_verdict(cost.correlations, chosen.association)}"),
        ("most possible", f"{cost.max_feasible} attributes contain no revealing set"),
        ("proof", proof if proven else f"time ran out: a better choice may lower the objective by {chosen.gap:.1%}"),
    ]


def _verdict(found: Correlations, all_: Correlation) -> str:
    """Warn if all predictors together reveal the attribute: sets larger than --max-size are not tested."""
    if all_.strength < found.threshold or (all_.p_value or 0.0) > found.p_value:
        return ""
    return "; that reveals it: search larger sets with --max-size, or allow fewer --max-predictors"


def _numbers(each: Correlation) -> list[str]:
    if each.encoding == "given":
        return ["known", "", ""]
    shown = "–" if each.p_value is None else "< 1e-300" if each.p_value == 0 else f"{each.p_value:.2g}"
    return [f"{each.strength:.3f}", "–" if each.by_chance is None else f"{each.by_chance:.3f}", shown]


def _strength(each: Correlation) -> str:
    strength, by_chance, p_value = _numbers(each)
    return f"strength {strength} ({by_chance} by chance, p-value {p_value})"


def _build_cost_table(cost: PrismCost, names: list[str]) -> Table:
    table = build_table(Column("classifier", no_wrap=True), numbers=["asks"])
    table.add_column("balanced accuracy" if _is_balanced(cost) else "accuracy", justify="right")
    for name in names:
        title = "guessed" if len(names) == 1 else f"guessed {name}"
        table.add_column(printable(title), justify="right", no_wrap=len(names) == 1)
        table.add_column("MCC", justify="right", no_wrap=True)
    for each in cost.models:
        score = _within(_score(cost, each), ".1%")
        table.add_row(_KINDS[each.model], str(len(each.predictors)), score, *_format_adversaries(each))
    return table


def _is_balanced(cost: PrismCost) -> bool:
    from modicum.evaluation.evidence.prism_reasons import is_balanced

    return is_balanced(cost.prism)


def _score(cost: PrismCost, each: ModelCost) -> Any:
    """Return the accuracy, or the balanced one if all classes have the same weight."""
    return each.balanced_accuracy if _is_balanced(cost) else each.accuracy


def _format_adversaries(each: ModelCost) -> list[str]:
    found = each.adversaries.values()
    return [text for one in found for text in (_within(one.accuracy, ".1%"), _within(one.mcc, ".3f"))]


def _within(estimate: Any, form: str) -> str:
    """Format a value with the half-width of its interval."""
    half = max(estimate.interval[1] - estimate.value, estimate.value - estimate.interval[0])
    return f"{estimate.value:{form}} ± {half:{form}}"
