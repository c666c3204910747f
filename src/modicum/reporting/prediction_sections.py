"""What the prediction loses, what the adversary guesses, and what is certified: sections of a report."""

from typing import Any

from modicum.measures.certificate import confidence_text
from modicum.reporting import charts
from modicum.reporting.disclosure import COMPARED, at_most
from modicum.reporting.document import Block, Cell, Column, Picture, Section, Sign, Table, Text
from modicum.reporting.formats import decimals, interval, number, percent
from modicum.reporting.svg import DARK, GREY, RED

_SCORES = {"error": "wrong predictions", "log_loss": "log-loss", "auc": "AUC"}
_NO_LOSS = (
    " No log-loss is told here: a class has fewer than ten people, and the majority guess’s log-loss would give away "
    "how many."
)


def prediction_sections(utility: dict[str, Any]) -> list[Section]:
    """What the prediction loses, and for whom."""
    title = f"score on {number(utility['records'])} test records ({utility['estimator']})"
    columns = [Column(title, is_number=False), *map(Column, ("minimized", "95% interval", "raw data"))]
    columns += [Column("95% interval"), Column("majority guess")]
    rows: list[list[Cell | str]] = [
        [
            Cell(_SCORES.get(name, name.replace("_", " ")), [f"{'more' if s['more_is_better'] else 'less'} is better"]),
            number(s["minimized"]),
            decimals(s["interval"]) or "–",
            number(s["raw"]),
            decimals(s["raw_interval"]) or "–",
            number(s["majority"]),
        ]
        for name, s in utility["scores"].items()
    ]
    lost = Section(
        "What the prediction loses",
        [
            Text(
                f"A model trained on {number(utility['trained_on'])} minimized records, beside one trained on the raw "
                "ones and beside always guessing by the shares of the classes. AUC is the chance that a record of a "
                "class is ranked above one of another. Log-loss punishes confident wrong predictions. Raw data takes "
                f"away {percent(max(0.0, utility['raw_skill']))} of the majority guess’s log-loss: that is the model’s "
                f"skill, of which {percent(utility['skill_kept'])} is kept{_between(utility['skill_interval'])}."
                f"{'' if 'log_loss' in utility['scores'] else _NO_LOSS}",
                "soft",
            ),
            Picture(charts.error_chart(utility["scores"]["error"])),
            Table(columns, rows),
        ],
    )
    return [lost, *([_groups(utility)] if utility["by_group"] else [])]


def _between(ends: Any) -> str:
    return f" (95% interval {shown})" if (shown := interval(ends)) else ""


def _groups(utility: dict[str, Any]) -> Section:
    columns = [Column("group", is_number=False), Column("test records"), Column("error"), Column("95% interval")]
    columns += [Column("raw data"), Column("majority guess")]
    rows: list[list[Cell | str]] = [
        [
            Cell(name, ["highest error"] if name == utility["worst_group"] else []),
            number(group["records"]),
            percent(group["error"]),
            interval(group["interval"]),
            percent(group["raw_error"]),
            percent(group["majority_error"]),
        ]
        for name, group in utility["by_group"].items()
    ]
    told = _worst(utility)
    if utility["small_groups"]:
        told += f" Groups of fewer than ten people are not shown ({number(utility['small_groups'])})."
    return Section("For whom", [*([Text(told.strip())] if told else []), Table(columns, rows)])


def _worst(utility: dict[str, Any]) -> str:
    worst, loses = utility["worst_group"], utility["loses_most"]
    if worst is None:
        return ""
    group = utility["by_group"][worst]
    told = (
        f"The error is highest for “{worst}”: {percent(group['error'])} ({percent(group['raw_error'])} on raw data). "
        f"{COMPARED}"
    )
    if loses is None:
        return f"{told} Minimizing raises the error of none of these groups."
    before, after = (percent(utility["by_group"][loses][key]) for key in ("raw_error", "error"))
    return f"{told} Minimizing raises it most for “{loses}”: from {before} to {after}."


def risk_section(content: dict[str, Any]) -> Section:
    """What the adversary A1 still guesses, where no other was asked."""
    attack, certificate = content["attack"], content["certificate"]
    worst = attack["by_attribute"][attack["worst"]]
    gain = f" The largest gain over the naive guess is for “{attack['worst']}”."
    return Section(
        "What could still leak",
        [
            Text(
                f"Error when guessing each personal attribute of {number(attack['records'])} test records from their "
                f"answers, having learned from {number(attack['known'])} full records of others. On raw data every "
                f"error is zero.{gain if worst['naive'] > worst['error'] else ''}",
                "soft",
            ),
            Picture(
                charts.risk_chart(content["attributes"]),
                [
                    Sign("naive guess", GREY),
                    Sign("adversary, with 95% interval", RED),
                    Sign(f"certified: no adversary below this, {_sure(certificate)}", DARK, "mark"),
                ],
            ),
        ],
    )


def _sure(certificate: dict[str, Any]) -> str:
    return f"with {confidence_text(certificate['confidence'])} confidence"


def certified_section(certificate: dict[str, Any]) -> Section:
    """The certificate in words to quote, the most exposed people, and every bound."""
    blocks: list[Block] = [Text(sentence, "quote") for sentence in certificate["sentences"]]
    if not blocks:
        blocks.append(Text("Nothing can be certified about these attributes."))
    if certificate["exposed"]:
        blocks.append(Text(certificate["exposed"]))
    if certificate["note"]:
        blocks.append(Text(certificate["note"], "soft"))
    columns = [Column("personal attribute", is_number=False), Column("weight in the mean")]
    columns += [Column("right at most (certified)"), Column("right with hindsight"), Column("naive guess right")]
    rows = [
        [
            name,
            percent(certificate["weights"][name]),
            at_most(bound),
            at_most(certificate["observed"][name]),
            percent(certificate["naive"][name]),
        ]
        for name, bound in certificate["bounds"].items()
    ]
    rows.append(["mean", "", at_most(certificate["mean"]), "", ""])
    told = (
        f"Counted on {number(certificate['records'])} records of {number(certificate['persons'])} people. The "
        "certified accuracy is that of the best guesser with hindsight plus a margin for chance of "
        f"{percent(certificate['margin'], 2)}; numbers and dates are guessed within {certificate['bins']} ranges. All "
        f"lines hold together with {confidence_text(certificate['confidence'])} confidence."
    )
    return Section("What is certified", [*blocks, Text(told, "soft"), Table(columns, rows)])
