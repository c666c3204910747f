"""What `prism` shows: what leaks, what was chosen, and what it costs."""

from typing import Any

from rich.console import Console
from rich.table import Table

from modicum.cli.tables import facts, printable
from modicum.errors import quoted
from modicum.evaluation import ModelCost, PrismCost
from modicum.prism import Correlation, Correlations

_MOST = 15  # sets that are shown
_KINDS = {
    "SVM": "all attributes (SVM)",
    "Parsimony": "few attributes (Parsimony)",
    "PriSM": "few, none that reveal (PriSM)",
}


def show_cost(cost: PrismCost, label: str, console: Console) -> None:
    """Three parts: the correlated sets, the choice, and all classifiers side by side."""
    model = cost.prism
    _show_sets(cost.correlations, model.sensitive_, console)
    chosen = cost.of("PriSM")
    together = chosen.association
    facts(
        [
            ("asked for", ", ".join(model.predictors_) or "nothing: no attribute helps"),
            ("at most", f"{cost.max_feasible} attributes could be asked for without a revealing set"),
            ("promise", f"no set of up to {model.max_size} of them reveals {quoted(model.sensitive_)}"),
            ("all of them together", _strength(together)),
            ("proof", f"no allowed choice has an objective lower by more than {max(chosen.gap, 1e-9):.1g} of it"),
        ],
        console,
    )
    console.print()
    console.print(_compared(cost, label))
    naive = chosen.accuracy.naive
    console.print()
    console.print(
        f"Accuracy is of {cost.tested_on:,} records that trained nothing; the most frequent label alone: {naive:.1%}.",
        markup=False,
    )
    for name, attack in chosen.adversaries.items():
        console.print(
            printable(
                f"An adversary guesses {name!r} from what is asked; its most frequent value alone: "
                f"{attack.class_frequency:.1%}, and a correlation (MCC) of 0."
            )
        )


def _show_sets(found: Correlations, sensitive: list[str], console: Console) -> None:
    tested = sum(found.tested)
    many = f"{len(found):,} smallest sets" if len(found) != 1 else "1 smallest set"
    console.print(printable(f"{many} of attributes reveal {quoted(sensitive)} ({tested:,} sets tested):"))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("attributes", overflow="fold")
    table.add_column("about", overflow="fold")
    for title in ("strength", "by chance", "p-value"):
        table.add_column(title, justify="right", no_wrap=True)
    shown = sorted(found, key=lambda each: (len(each.attributes), -(each.strength or 0)))
    for each in shown[:_MOST]:
        table.add_row(printable(" + ".join(each.attributes)), printable(_about(each)), *_numbers(each))
    if len(found):
        console.print(table)
    if len(found) > _MOST:
        console.print(f"… and {len(found) - _MOST:,} more; --json lists all.", markup=False)
    console.print()


def _about(each: Correlation) -> str:
    return each.sensitive if each.value is None else f"{each.sensitive} = {each.value}"


def _numbers(each: Correlation) -> list[str]:
    if each.encoding == "given":
        return ["known", "", ""]
    return [
        f"{each.strength:.3f}",
        "–" if each.by_chance is None else f"{each.by_chance:.3f}",
        "–" if each.p_value is None else f"{each.p_value:.2g}",
    ]


def _strength(each: Correlation) -> str:
    strength, by_chance, p_value = _numbers(each)
    return f"strength {strength} ({by_chance} by chance, p-value {p_value})"


def _compared(cost: PrismCost, label: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("classifier", no_wrap=True)
    table.add_column("asks for", justify="right")
    table.add_column(printable(f"accuracy for {label}"), justify="right")
    adversary = bool(cost.of("PriSM").adversaries)
    for name in cost.of("PriSM").adversaries:
        table.add_column(printable(f"adversary's for {name}"), justify="right")
        table.add_column("and MCC", justify="right")
    for each in cost.models:
        table.add_row(
            _KINDS[each.model],
            f"{len(each.predictors)}",
            _ends(each.accuracy),
            *(_attacked(each) if adversary else []),
        )
    return table


def _attacked(each: ModelCost) -> list[str]:
    return [
        text
        for attack in each.adversaries.values()
        for text in (_ends(attack.accuracy), f"{attack.mcc.value:.3f} ({_span(attack.mcc, '.3f')})")
    ]


def _ends(estimate: Any) -> str:
    return f"{estimate.value:.1%} ({_span(estimate, '.1%')})"


def _span(estimate: Any, form: str) -> str:
    return " to ".join(format(end, form) for end in estimate.interval)
