"""What `--min-group` does in `minimize` and `study`: coarsen, and say what that changes."""

from typing import Any

from rich.console import Console
from rich.table import Table

from modicum.cli.options import notes
from modicum.evaluation import Effect, effect
from modicum.generalization import Generalization
from modicum.measures.certificate import confidence_text
from modicum.reporting.disclosure import at_least, few
from modicum.table.splits import Split


def coarsened(
    g: Generalization,
    X: Any,
    y: Any,
    parts: Split,
    min_group: int,
    *,
    weights: dict[str, float] | None = None,
    label_bins: int | None = None,
) -> tuple[Generalization, Effect]:
    """The generalization coarsened on the training part, and what that changes on the test part."""
    train, test = X.iloc[parts.train], X.iloc[parts.test]
    with notes.status("Making groups larger …"):
        coarser = g.coarsen(train, y.iloc[parts.train], min_group=min_group, label_bins=label_bins)
        return coarser, effect(g, coarser, train, test, weights=weights)


def summary(found: Effect) -> dict[str, Any]:
    """The same numbers as the table, for programs; small counts are hidden."""
    return {
        "buckets": {"before": found.buckets_before, "after": found.buckets_after},
        "smallest_group": {"before": few(found.smallest_before), "after": few(found.smallest_after)},
        "not_alone": {"before": found.singling_out_before.error, "after": found.singling_out_after.error},
        "not_alone_interval": {
            "before": list(found.singling_out_before.interval),
            "after": list(found.singling_out_after.interval),
        },
        "certified_error": {"before": 1 - found.certificate_before.mean, "after": 1 - found.certificate_after.mean},
    }


def show_effect(found: Effect, min_group: int, console: Console) -> None:
    """Before and after: groups, A8 and the certificate."""
    content = summary(found)
    console.print(f"Coarsened until every group of training records has at least {min_group:,}:", markup=False)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for title in ("before", "after"):
        table.add_column(title, justify="right")
    confidence = confidence_text(found.certificate_before.confidence)
    lines: list[tuple[str, str, Any]] = [
        ("buckets", "buckets", str),
        ("smallest group of training records", "smallest_group", str),
        ("test people not alone with their answers (A8)", "not_alone", lambda share: f"{share:.2%}"),
        (f"certified mean error of any adversary, {confidence} confidence", "certified_error", at_least),
    ]
    for title, key, shown in lines:
        table.add_row(title, *(shown(content[key][when]) for when in ("before", "after")))
    console.print(table)
    console.print()
