"""What `prism` shows: what leaks, what was chosen, and what it costs."""

from typing import Any

from rich.console import Console
from rich.table import Table

from modicum.cli.tables import facts, printable
from modicum.errors import quoted
from modicum.evaluation import ModelCost, PrismCost
from modicum.evaluation.evidence.prism_cost import PARSIMONY, PRISM, SVM
from modicum.evaluation.evidence.prism_reasons import is_balanced
from modicum.prism import Correlation, Correlations

_MOST = 15  # sets that are shown
_KINDS = {SVM: "all attributes (SVM)", PARSIMONY: "the best few (Parsimony)", PRISM: "the best that may be (PriSM)"}


def show_cost(cost: PrismCost, label: str, console: Console) -> None:
    """Three parts: the correlated sets, the choice, and all classifiers side by side."""
    _show_sets(cost, console)
    facts(_choice(cost), console)
    console.print()
    console.print(_compared(cost))
    console.print()
    chosen = cost.of(PRISM)
    on = f"of {label!r}, on {cost.tested_on:,} records that trained nothing"
    if _is_balanced(cost):
        told = f"balanced accuracy: {on}, the mean of each label's own; guessing blindly"
    else:
        told = f"accuracy: {on}; always the most frequent label"
    console.print(printable(f"{told}: {_score(cost, chosen).naive:.1%}."))
    for name, attack in chosen.adversaries.items():
        console.print(
            printable(
                f"guessed: how often an adversary is right about {name!r} who learns from the {cost.trained_on:,} "
                f"training records (held out in turn) what the answers tell; always the most frequent value: "
                f"{attack.class_frequency:.1%}. MCC: the correlation of guess and truth; 0 is chance."
            )
        )


def _show_sets(cost: PrismCost, console: Console) -> None:
    found, sensitive = cost.correlations, quoted(cost.prism.sensitive_)
    many = {0: "No set of attributes reveals", 1: "1 smallest set of attributes reveals"}
    sets = many.get(len(found), f"{len(found):,} smallest sets of attributes reveal")
    console.print(printable(f"{sets} {sensitive}: {_rule(found)}. {sum(found.tested):,} sets were tested."))
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("attributes", overflow="fold")
    table.add_column("about", overflow="fold")
    for title in ("strength", "by chance", "p-value"):
        table.add_column(title, justify="right", no_wrap=True)
    for each in sorted(found, key=lambda one: (len(one.attributes), -one.strength))[:_MOST]:
        table.add_row(printable(" + ".join(each.attributes)), printable(each.about), *_numbers(each))
    if len(found):
        console.print(table)
        console.print("by chance: the strength that independent attributes with as many values would have.")
    if len(found) > _MOST:
        console.print(f"… and {len(found) - _MOST:,} more; --json lists all.", markup=False)
    console.print()


def _rule(found: Correlations) -> str:
    """What it means to reveal, in the settings of the search."""
    corrected = "" if found.correction is None else f", {found.correction} corrected"
    return f"{found.measure} at least {found.threshold:g} with a p-value of at most {found.p_value:g}{corrected}"


def _choice(cost: PrismCost) -> list[tuple[str, str]]:
    model, chosen = cost.prism, cost.of(PRISM)
    proven = chosen.gap <= model.gap
    nothing = "nothing: no attribute helps" if proven else "nothing: time ran out"
    proof = f"no allowed choice has a lower objective, but for {chosen.gap:.1g} of it"
    return [
        ("asked for", ", ".join(model.predictors_) or nothing),
        (
            "promise",
            f"no set of up to {model.max_size} of them reveals {quoted(model.sensitive_)} in the sense above, among "
            f"{cost.trained_on:,} training records with numbers in {model.bins} bins",
        ),
        ("all of them together", f"{_strength(chosen.association)}{_verdict(cost)}"),
        ("most that could be", f"{cost.max_feasible} attributes hold no revealing set"),
        ("proof", proof if proven else f"time ran out: a better choice may lower the objective by {chosen.gap:.1%}"),
    ]


def _verdict(cost: PrismCost) -> str:
    """A word where all predictors together reveal, which sets above --max-size may."""
    found, all_ = cost.correlations, cost.of(PRISM).association
    if all_.strength < found.threshold or (all_.p_value or 0.0) > found.p_value:
        return ""
    return "; that reveals: larger sets are searched with --max-size, or allow fewer --max-predictors"


def _numbers(each: Correlation) -> list[str]:
    if each.encoding == "given":
        return ["known", "", ""]
    shown = "–" if each.p_value is None else "< 1e-300" if each.p_value == 0 else f"{each.p_value:.2g}"
    return [f"{each.strength:.3f}", "–" if each.by_chance is None else f"{each.by_chance:.3f}", shown]


def _strength(each: Correlation) -> str:
    strength, by_chance, p_value = _numbers(each)
    return f"strength {strength} ({by_chance} by chance, p-value {p_value})"


def _compared(cost: PrismCost) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("classifier", no_wrap=True)
    table.add_column("asks", justify="right", no_wrap=True)
    table.add_column("balanced accuracy" if _is_balanced(cost) else "accuracy", justify="right")
    names = list(cost.of(PRISM).adversaries)
    for name in names:
        title = "guessed" if len(names) == 1 else f"guessed {name}"
        table.add_column(printable(title), justify="right", no_wrap=len(names) == 1)
        table.add_column("MCC", justify="right", no_wrap=True)
    for each in cost.models:
        shown = [_KINDS[each.model], str(len(each.predictors)), _within(_score(cost, each), ".1%"), *_attacked(each)]
        table.add_row(*shown)
    return table


def _is_balanced(cost: PrismCost) -> bool:
    return is_balanced(cost.prism)


def _score(cost: PrismCost, each: ModelCost) -> Any:
    """What was asked for: accuracy, or where classes count the same the balanced one."""
    return each.balanced_accuracy if _is_balanced(cost) else each.accuracy


def _attacked(each: ModelCost) -> list[str]:
    found = each.adversaries.values()
    return [text for one in found for text in (_within(one.accuracy, ".1%"), _within(one.mcc, ".3f"))]


def _within(estimate: Any, form: str) -> str:
    """A value and by how much it may be off."""
    half = max(estimate.interval[1] - estimate.value, estimate.value - estimate.interval[0])
    return f"{estimate.value:{form}} ± {half:{form}}"
