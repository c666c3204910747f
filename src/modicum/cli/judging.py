"""What `demo`, `minimize`, `judge` and `report` share: judging on a split, showing it, writing the report."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modicum.cli.options import beside, label_of, load_generalization, names, notes, read_judged
from modicum.cli.output import printable
from modicum.engines import table_at
from modicum.engines.counting import people_at
from modicum.engines.file_tables import open_table
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError
from modicum.evaluation import Evidence, Judgement, alternatives
from modicum.evaluation._judge import judge
from modicum.evaluation.evidence.generalization_evidence import evidence
from modicum.generalization import Generalization
from modicum.measures.certificate import confidence_text
from modicum.measures.uniqueness import check_population
from modicum.reporting import Report
from modicum.reporting.disclosure import at_least, check_size
from modicum.table.estimator_input import person_codes
from modicum.table.schema import Schema
from modicum.table.splits import Split, split_rows


def split_for(X: Any, y: Any, person: str | None, seed: int) -> Split:
    """60/10/30 with a person's rows together."""
    if person is not None and person not in X.columns:
        raise DataError(f"The column {person!r}, which says whose a row is, is not in the file.")
    return split_rows(y, persons=X[person] if person else None, random_state=seed)


def check_people(schema: Schema, X: Any, what: str = "test records (30% of the rows)") -> int:
    """Refuse a report on too few people before any work is done; a person's rows count once, as in the report."""
    persons = person_codes(schema, X)
    people = len(X) if persons is None or not len(persons) else int(persons.max()) + 1
    check_size(people, what if people == len(X) else f"people in the {what}")
    return people


def release_options(table: Any, schema: Schema, by: list[str] | None, population: int | None) -> dict[str, Any]:
    """What the report of a release is asked for, as its evidence takes it; checked before any work is done."""
    people = check_people(schema, table, "records")
    if population is not None:
        check_population(population, people)
    if by and schema.label is None:
        raise ParameterError("The option --by shows a model's error by group: name what it predicts with --label.")
    return {"by": names(by, schema.features, "what a model may learn from"), "population": population}


def groups_by(by: list[str] | None, X: Any, y: Any) -> list[str] | None:
    """The columns by which scores are shown, checked before any work is done."""
    found = names(by, [*X.columns, str(y.name)])
    if found and str(y.name) in found:
        raise ParameterError(f"The column {str(y.name)!r} is the label; scores by it would only repeat the error.")
    return found


@dataclass(frozen=True)
class ReportOptions:
    """What is asked of `judge` and `report`: the label, the groups, the weights, and what the numbers depend on."""

    label: str | None
    missing: list[str] | None
    by: list[str] | None
    weights: dict[str, float] | None
    label_bins: int | None
    confidence: float
    seed: int

    @property
    def options(self) -> dict[str, Any]:
        """As `judge` and `evidence` take them."""
        return {"weights": self.weights, "label_bins": self.label_bins, "confidence": self.confidence}


def judge_file(artifact: Path, file: Path, asked: ReportOptions) -> Judgement:
    """A saved artifact, judged on a file of full records."""
    g, X, y, parts = _split_file(artifact, file, asked)
    return judge_split(g, X, y, parts, seed=asked.seed, by=groups_by(asked.by, X, y), **asked.options)


def evidence_of_file(artifact: Path, file: Path, asked: ReportOptions, **options: Any) -> Evidence:
    """All evidence about a saved artifact, from a file of full records; more options as for `evidence`."""
    g, X, y, parts = _split_file(artifact, file, asked)
    groups = groups_by(asked.by, X, y)
    return evidence_on(g, X, y, parts, seed=asked.seed, by=groups, **asked.options, **options)


def _split_file(artifact: Path, file: Path, asked: ReportOptions) -> tuple[Generalization, Any, Any, Split]:
    g = load_generalization(artifact)
    X, y = read_judged(file, g, asked.label, asked.missing)
    return g, X, y, split_for(X, y, g.schema.person, asked.seed)


def check_known(known: str | None) -> None:
    """Other records to learn from are of use in an engine alone."""
    if known is not None:
        raise ParameterError("The option --known needs --engine; without it FILE itself is split.")


def judge_in_engine(artifact: Path, file: str, known: str | None, engine: str, asked: ReportOptions) -> Judgement:
    """A saved artifact, judged on files in an engine: learned from some, judged on others."""
    if known is None:
        raise ParameterError("With --engine the records to learn from are in files of their own; name them by --known.")
    g, missing = load_generalization(artifact), asked.missing or ()
    name = label_of(g, asked.label)
    with open_table(known, engine, g.schema, missing) as train, open_table(file, engine, g.schema, missing) as test:
        train, test = (_with_label(table, name) for table in (train, test))
        groups = names(asked.by, [column for column in test.columns if column != name])
        people = people_at(test, g.schema)
        check_size(people, "test records" if people == test.rows() else "people in the test records")
        with notes.status("Judging what is lost and what could leak …"):
            return judge(g, train, name, test, name, by=groups, random_state=asked.seed, **asked.options)


def _with_label(table: EngineTable, label: str) -> EngineTable:
    """The records that have a label."""
    table.check([label])
    value = table.col(label)
    absent = value.is_null() | value.is_nan() if table.types[label].is_float() else value.is_null()
    return table_at(table.lazy.filter(~absent).to_native())


def judge_split(g: Generalization, X: Any, y: Any, parts: Split, *, seed: int = 0, **options: Any) -> Judgement:
    """The judgement on the test part, after learning from the training part; options as for `judge`."""
    check_people(g.schema, X.iloc[parts.test])
    train, test = ((X.iloc[rows], y.iloc[rows]) for rows in (parts.train, parts.test))
    with notes.status("Judging what is lost and what could leak …"):
        return judge(g, *train, *test, random_state=seed, **options)


def evidence_on(
    g: Generalization,
    X: Any,
    y: Any,
    parts: Split,
    *,
    path: Sequence[Generalization] | None = None,
    why: str | None = None,
    seed: int = 0,
    **options: Any,
) -> Evidence:
    """All evidence on the test part, after learning from the training part; options as for `evidence`.

    `path` are the generalizations that were considered, and `why` the rule by which `g` was taken.
    """
    check_people(g.schema, X.iloc[parts.test])
    train, test = ((X.iloc[rows], y.iloc[rows]) for rows in (parts.train, parts.test))
    shared = {name: options.get(name) for name in ("weights", "label_bins")}
    with notes.status("Judging what is lost and what could leak …") as status:
        found = evidence(g, *train, *test, random_state=seed, progress=False, **options)
        status.update("Comparing with what else could be collected …")
        others = alternatives(g, *train, *test, path=path, why=why, random_state=seed, **shared)
    return replace(found, alternatives=others)


def write_report(content: Report, path: Path) -> None:
    """The report as HTML, and the same as Markdown and JSON beside it: all three, or none."""
    content.save(path, *beside(path))


def describe_report_files(path: Path) -> Text:
    """Where the report was written."""
    return printable(f"Report: {path}, and the same as .md and .json beside it.")


def show_report(made: Report, console: Console) -> None:
    """The decision in one sentence and the risk of each personal attribute: the report's numbers on the terminal."""
    content = made.to_dict()
    utility, attack, certificate = content["utility"], content["attack"], content["certificate"]
    console.print(printable(content["decision"]))
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("personal attribute", max_width=28, min_width=18, overflow="fold")
    for title in ("adversary's error", "95% interval", "naive", "certified"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, risk in attack["by_attribute"].items():
        table.add_row(printable(name), *_row(risk, 1 - certificate["bounds"][name]))
    table.add_row(Text("mean", style="bold"), *_row(attack, certificate["mean_error"]))
    console.print(table)
    console.print()
    console.print(
        f"Model: error {utility['error']:.1%} ({_ends(utility['interval'])}), raw data {utility['raw_error']:.1%}, "
        f"majority guess {utility['majority_error']:.1%}; skill kept {_skill(utility)}.",
        markup=False,
    )
    if utility["worst_group"] is not None:
        worst = utility["by_group"][utility["worst_group"]]
        where = f"{utility['worst_group']}, {worst['error']:.1%} of {worst['records']:,} records"
        console.print(printable(f"Highest error: {where}."))
    console.print(
        f"An error is the share of {content['unit']} guessed wrong: higher is safer. With "
        f"{confidence_text(certificate['confidence'])} confidence no adversary who sees only the collected record is "
        f"below the certified one, on average over {certificate['unit']} like these.",
        markup=False,
    )
    for warning in content["warnings"]:
        console.print(printable(f"Note: {warning}"))


def _row(risk: dict[str, Any], certified: float) -> tuple[str, str, str, str]:
    return f"{risk['error']:.1%}", _ends(risk["interval"]), f"{risk['naive']:.1%}", at_least(certified)


def _ends(interval: list[float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:.1%} to {interval[1]:.1%}"


def _skill(utility: dict[str, Any]) -> str:
    if utility["skill_kept"] is None:
        return "–"
    low, high = utility["skill_interval"]
    return f"{utility['skill_kept']:.0%}" + ("" if low is None else f" ({low:.0%} to {high:.0%})")
