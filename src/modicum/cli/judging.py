"""What `demo`, `minimize`, `judge` and `report` share: judging on a split, showing it, writing the report."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modicum.cli.options import label_of, loaded, names, notes, read_judged
from modicum.cli.tables import printable
from modicum.engines import table_at
from modicum.engines.files import opened
from modicum.engines.table import EngineTable
from modicum.errors import DataError, ParameterError
from modicum.evaluation import Judgement, judge
from modicum.generalization import Generalization
from modicum.measures.certificate import confidence_text
from modicum.reporting import Report
from modicum.reporting.disclosure import at_least
from modicum.reporting.summary import check_size
from modicum.table.splits import Split, split_rows


def split_for(X: Any, y: Any, person: str | None, seed: int) -> Split:
    """60/10/30 with a person's rows together."""
    if person is not None and person not in X.columns:
        raise DataError(f"The column {person!r}, which says whose a row is, is not in the file.")
    return split_rows(y, persons=X[person] if person else None, random_state=seed)


def groups_by(by: list[str] | None, X: Any, y: Any) -> list[str] | None:
    """The columns by which scores are shown, checked before any work is done."""
    found = names(by, [*X.columns, str(y.name)])
    if found and str(y.name) in found:
        raise ParameterError(f"The column {str(y.name)!r} is the label; scores by it would only repeat the error.")
    return found


def judged_file(
    artifact: Path,
    file: Path,
    label: str | None,
    missing: list[str] | None,
    by: list[str] | None,
    weights: dict[str, float] | None,
    label_bins: int | None,
    confidence: float,
    seed: int,
) -> Judgement:
    """A saved artifact, judged on a file of full records."""
    g = loaded(artifact)
    X, y = read_judged(file, g, label, missing)
    groups = groups_by(by, X, y)
    parts = split_for(X, y, g.schema.person, seed)
    options = {"by": groups, "weights": weights, "label_bins": label_bins, "confidence": confidence}
    return judged_on(g, X, y, parts, seed=seed, **options)


def check_known(known: str | None) -> None:
    """Other records to learn from are of use in an engine alone."""
    if known is not None:
        raise ParameterError("The option --known needs --engine; without it FILE itself is split.")


def judged_in_engine(
    artifact: Path,
    file: str,
    known: str | None,
    engine: str,
    label: str | None,
    missing: list[str] | None,
    by: list[str] | None,
    weights: dict[str, float] | None,
    label_bins: int | None,
    confidence: float,
    seed: int,
) -> Judgement:
    """A saved artifact, judged on files in an engine: learned from some, judged on others."""
    if known is None:
        raise ParameterError("With --engine the records to learn from are in files of their own; name them by --known.")
    g = loaded(artifact)
    name = label_of(g, label)
    options: dict[str, Any] = {"weights": weights, "label_bins": label_bins, "confidence": confidence}
    with opened(known, engine, g.schema, missing or ()) as train, opened(file, engine, g.schema, missing or ()) as test:
        train, test = (_with_label(table, name) for table in (train, test))
        groups = names(by, [column for column in test.columns if column != name])
        check_size(test.rows())
        with notes.status("Judging what is lost and what could leak …"):
            return judge(g, train, name, test, name, by=groups, random_state=seed, **options)


def _with_label(table: EngineTable, label: str) -> EngineTable:
    """The records that have a label."""
    table.check([label])
    value = table.col(label)
    absent = value.is_null() | value.is_nan() if table.types[label].is_float() else value.is_null()
    return table_at(table.lazy.filter(~absent).to_native())


def judged_on(g: Generalization, X: Any, y: Any, parts: Split, *, seed: int = 0, **options: Any) -> Judgement:
    """The judgement on the test part, after learning from the training part; options as for `judge`."""
    check_size(len(parts.test))
    train, test = ((X.iloc[rows], y.iloc[rows]) for rows in (parts.train, parts.test))
    with notes.status("Judging what is lost and what could leak …"):
        return judge(g, *train, *test, random_state=seed, **options)


def write_report(content: Report, path: Path) -> None:
    """The report as HTML, and the same numbers as JSON beside it."""
    content.save(path)
    content.save(path.with_suffix(".json"))


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
