"""A judgement as plain data: every number that a report shows, and none that would name a few people."""

from typing import Any

from modicum import __version__
from modicum.evaluation import Judgement
from modicum.generalization.bins import AnyPartition, Groups
from modicum.generalization.describe import AttributeLine
from modicum.table.codes import FEW

FEW_TEXT = f"< {FEW}"

LIMITS = (
    "The adversary is the strongest of several that were tried, not the strongest there can be; the certificate holds "
    "for every adversary, but only on average over people: a single person may be easier to guess than the mean.",
    "Utility, attack and certificate speak of people like those in the test records; they assume that these are a "
    "random sample of the people whose data will be collected.",
    "The adversary sees the collected record and nothing else. Someone who knows more about a person can guess more.",
    "A number or date counts as guessed when its tenth of the population is right.",
)


def summary(judged: Judgement, purpose: str | None = None) -> dict[str, Any]:
    """Everything a report shows, ready for JSON; counts under ten are given as "< 10"."""
    utility = judged.utility.to_dict()
    for group in utility["by_group"].values():
        if group["records"] < FEW:
            group |= {"records": FEW_TEXT, "error": None, "interval": None, "raw_error": None, "majority_error": None}
    attack = judged.attack.to_dict()
    del attack["seconds"]  # the same seed gives the same report
    certificate = judged.certificate.to_dict()
    certificate["mean_error"] = 1 - certificate["mean"]
    description = judged.description
    return {
        "modicum": "report",
        "version": 1,
        "modicum_version": __version__,
        "purpose": purpose,
        "label": judged.generalization.schema.label,
        "decision": decision(judged),
        "warnings": _warnings(judged),
        "collected": {
            "attributes": len(description.attributes),
            "needed": len(judged.generalization.needed),
            "n_buckets": description.n_buckets,
            "records": description.records,
            "groups": description.groups,
            "smallest_group": _few(description.smallest_group or 0),
        },
        "attributes": [_attribute(line, judged) for line in description.attributes],
        "utility": utility,
        "attack": attack,
        "certificate": certificate,
        "limits": list(LIMITS),
    }


def decision(judged: Judgement) -> str:
    """The decision in one sentence."""
    g, utility, attack = judged.generalization, judged.utility, judged.attack
    label = f"{g.schema.label!r}" if g.schema.label else "the label"
    if not g.needed:
        return f"To predict {label}, nothing is collected; the model can only guess the majority."
    kept = sum(p.action == "kept" for p in g.partitions)
    detail = "none in full detail" if not kept else f"{kept} in full detail"
    return (
        f"To predict {label}, ask for {len(g.needed)} of {len(g.names)} attributes, {detail}: the model is then wrong "
        f"for {utility.error:.1%} of people ({utility.raw_error:.1%} on raw data, {utility.majority_error:.1%} when "
        f"always guessing the majority), while an adversary who sees the answers is wrong about {attack.error:.1%} of "
        f"personal values ({attack.naive:.1%} without seeing them, {attack.raw:.0%} on raw data)."
    )


def _warnings(judged: Judgement) -> list[str]:
    found = []
    if judged.utility.is_weak:
        found.append(
            f"Even the raw data barely predicts the label: it lowers the log-loss of the majority guess by only "
            f"{max(0.0, judged.utility.raw_skill):.1%}, so keeping that skill means little."
        )
    if (judged.description.smallest_group or 0) < FEW:
        found.append(
            "Some combinations of answers are shared by fewer than ten of the test records: such people stand out."
        )
    empty = judged.certificate.vacuous
    if empty:
        found.append(
            f"The certificate says nothing about {', '.join(empty)}: an adversary could always be right, "
            "or the holdout is too small to exclude it."
        )
    return found


def _attribute(line: AttributeLine, judged: Judgement) -> dict[str, Any]:
    risk = judged.attack.by_attribute.get(line.name)
    certified = judged.certificate.bounds.get(line.name)
    records = judged.description.records or 0
    values_of = _values(judged.generalization[line.name], len(line.buckets))
    return {
        "name": line.name,
        "personal": line.personal,
        "decision": line.action,
        "n_buckets": line.n_buckets,
        "values": judged.values[line.name],
        "buckets": [
            {"label": b.label, "takes": list(b.takes), "share": _few_share(b.share, records), "values": values}
            for b, values in zip(line.buckets, values_of, strict=True)
        ],
        "adversary_error": None if risk is None else risk.error,
        "adversary_interval": None if risk is None else list(risk.interval),
        "naive_error": None if risk is None else risk.naive,
        "raw_error": None if risk is None else risk.raw,
        "method": None if risk is None else risk.method,
        "certified_accuracy": certified,
        "certified_error": None if certified is None else 1 - certified,
    }


def _values(partition: AnyPartition, n: int) -> list[list[str] | None]:
    """The categories that each bucket holds; None for a range and for the buckets of unseen and missing values."""
    named = [list(b.values) for b in partition.buckets] if isinstance(partition, Groups) else []
    return [named[i] if i < len(named) else None for i in range(n)]


def _few(count: int) -> int | str:
    return count if count >= FEW else FEW_TEXT


def _few_share(share: float | None, records: int) -> float | str | None:
    """A share of the records; one that stands for fewer than ten of them is given as "< 10"."""
    if share is None or share == 0:
        return share
    return share if round(share * records) >= FEW else FEW_TEXT
