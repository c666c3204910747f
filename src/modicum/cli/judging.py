"""What `demo`, `minimize`, `judge` and `report` share: judging on a split, showing it, writing the report."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from modicum.cli.options import names, notes, read_judged
from modicum.cli.tables import printable
from modicum.errors import DataError
from modicum.evaluation import Judgement, judge
from modicum.generalization import Generalization, load
from modicum.reporting import Report, report
from modicum.reporting.summary import decision
from modicum.table.splits import Split, split_rows


def split_for(X: Any, y: Any, person: str | None, seed: int) -> Split:
    """60/10/30 with a person's rows together."""
    if person is not None and person not in X.columns:
        raise DataError(f"The column {person!r}, which says whose a row is, is not in the file.")
    return split_rows(y, persons=X[person] if person else None, random_state=seed)


def judged_file(
    artifact: Path,
    file: Path,
    label: str | None,
    missing: list[str] | None,
    by: list[str] | None,
    label_bins: int | None,
    confidence: float,
    seed: int,
) -> Judgement:
    """A saved artifact, judged on a file of full records."""
    g = load(artifact)
    X, y = read_judged(file, g, label, missing)
    parts = split_for(X, y, g.schema.person, seed)
    return judged_on(g, X, y, parts, by=by, label_bins=label_bins, confidence=confidence, seed=seed)


def judged_on(
    g: Generalization,
    X: Any,
    y: Any,
    parts: Split,
    *,
    by: list[str] | None = None,
    label_bins: int | None = None,
    confidence: float = 0.99,
    seed: int = 0,
) -> Judgement:
    """The judgement on the test part, after learning from the training part."""
    with notes.status("Judging what is lost and what could leak …"):
        return judge(
            g,
            X.iloc[parts.train],
            y.iloc[parts.train],
            X.iloc[parts.test],
            y.iloc[parts.test],
            by=names(by, list(X.columns)),
            label_bins=label_bins,
            confidence=confidence,
            random_state=seed,
        )


def write_report(judged: Judgement, path: Path, purpose: str | None = None) -> Report:
    """The report as HTML, and the same numbers as JSON beside it."""
    made = report(judged, purpose)
    made.save(path)
    made.save(path.with_suffix(".json"))
    return made


def show_judgement(judged: Judgement, console: Console) -> None:
    """The decision in one sentence and the risk of each personal attribute."""
    utility, attack, certificate = judged.utility, judged.attack, judged.certificate
    console.print(printable(decision(judged)))
    console.print()
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("personal attribute", max_width=28, min_width=18, overflow="fold")
    for title in ("adversary's error", "95% interval", "naive", "certified"):
        table.add_column(title, justify="right", no_wrap=True)
    for name, risk in attack.by_attribute.items():
        interval = f"{risk.interval[0]:.1%} to {risk.interval[1]:.1%}"
        floor = f"{1 - certificate.bounds[name]:.1%}"
        table.add_row(printable(name), f"{risk.error:.1%}", interval, f"{risk.naive:.1%}", floor)
    low, high = attack.interval
    table.add_row(
        Text("mean", style="bold"),
        f"{attack.error:.1%}",
        f"{low:.1%} to {high:.1%}",
        f"{attack.naive:.1%}",
        f"{1 - certificate.mean:.1%}",
    )
    console.print(table)
    console.print()
    low, high = utility.skill_interval
    skill = "–" if utility.skill_kept != utility.skill_kept else f"{utility.skill_kept:.0%}"
    skill += f" ({low:.0%} to {high:.0%})" if low == low else ""
    console.print(
        f"Model: error {utility.error:.1%} ({utility.interval[0]:.1%} to {utility.interval[1]:.1%}), raw data "
        f"{utility.raw_error:.1%}, majority guess {utility.majority_error:.1%}; skill kept {skill}.",
        markup=False,
    )
    if utility.is_weak:
        console.print("Even the raw data barely predicts this label.", markup=False)
    if utility.worst_group is not None:
        worst = utility.by_group[utility.worst_group]
        console.print(
            printable(f"Highest error: {utility.worst_group}, {worst.error:.1%} of {worst.records:,} records.")
        )
    console.print(
        "An error is the share of people guessed wrong: higher is safer. No adversary is below the certified one, on "
        f"average over {certificate.unit} like these, with {certificate.confidence:.0%} confidence.",
        markup=False,
    )
