"""A judgement as plain data: every number that a report shows, and none that would name a few people."""

from typing import Any

from modicum import __version__
from modicum.errors import DataError
from modicum.evaluation import Judgement
from modicum.generalization.bins import AnyPartition, Groups
from modicum.reporting.disclosure import described, few, tens, tens_up
from modicum.table.codes import FEW
from modicum.table.values import plain


def summary(judged: Judgement, purpose: str | None = None) -> dict[str, Any]:
    """Everything a report shows, ready for JSON; what would tell of fewer than ten people is left out or rounded."""
    description = judged.description
    records = description.records or 0
    if records < FEW:
        raise DataError(f"A report needs at least {FEW} test records, or it would tell of single people.")
    content = {
        "modicum": "report",
        "version": 1,
        "modicum_version": __version__,
        "purpose": purpose,
        "label": judged.label,
        "classes": list(judged.classes),
        "decision": decision(judged),
        "warnings": _warnings(judged),
        "collected": {
            "attributes": len(description.attributes),
            "needed": len(judged.generalization.needed),
            "n_buckets": description.n_buckets,
            "records": records,
            "groups": description.groups,
            "smallest_group": few(description.smallest_group or 0),
        },
        "attributes": _attributes(judged, records),
        "utility": _utility(judged),
        "attack": _attack(judged, records),
        "certificate": _certificate(judged),
        "limits": _limits(judged),
    }
    return dict(plain(content))


def decision(judged: Judgement) -> str:
    """The decision in one sentence."""
    g, utility, attack = judged.generalization, judged.utility, judged.attack
    if not g.needed:
        return f"To predict {judged.label!r}, nothing is collected; the model can only guess the majority."
    kept = sum(p.action == "kept" for p in g.partitions)
    detail = "none in full detail" if not kept else f"{kept} in full detail"
    return (
        f"To predict {judged.label!r}, ask for {len(g.needed)} of {len(g.names)} attributes, {detail}: the model is "
        f"then wrong for {utility.error:.1%} of people ({utility.raw_error:.1%} on raw data, "
        f"{utility.majority_error:.1%} when always guessing the majority), while an adversary who sees the answers is "
        f"wrong about {attack.error:.1%} of personal values ({attack.naive:.1%} without seeing them, {attack.raw:.0%} "
        "on raw data)."
    )


def _warnings(judged: Judgement) -> list[str]:
    found = []
    utility = judged.utility
    if utility.is_weak:
        found.append(
            f"Even the raw data barely predicts the label: it lowers the log-loss of the majority guess by only "
            f"{max(0.0, utility.raw_skill):.1%}, so keeping that skill means little."
        )
    elif utility.skill_kept > 1.02:
        found.append(
            "The model on minimized data predicts better than the one on raw data, which learned chance patterns: "
            "there are few records for so much detail."
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


def _limits(judged: Judgement) -> list[str]:
    unit = judged.certificate.unit
    return [
        "The adversary is the strongest of several that were tried, not the strongest there can be; the certificate "
        f"holds for every adversary, but only on average over {unit}: a single person may be easier to guess.",
        "Utility, attack and certificate speak of people like those in the test records; they assume that these are a "
        "random sample of the people whose data will be collected.",
        "The adversary sees the collected record and nothing else. Someone who knows more about a person can guess "
        "more.",
        f"A number or date counts as guessed when it is placed in the right one of {judged.certificate.bins} ranges of "
        "about equal frequency (fewer where it has fewer values).",
    ]


def _attributes(judged: Judgement, records: int) -> list[dict[str, Any]]:
    attack = _attack(judged, records)["by_attribute"]
    bounds = _certificate(judged)["bounds"]
    found = []
    for line in described(judged.description)["attributes"]:
        name = line["name"]
        risk, certified = attack.get(name), bounds.get(name)
        values = _values(judged.generalization[name], len(line["buckets"]))
        found.append(
            {
                "name": name,
                "personal": risk is not None,
                "decision": line["action"],
                "n_buckets": line["n_buckets"],
                "values": judged.values[name],
                "buckets": [bucket | {"values": v} for bucket, v in zip(line["buckets"], values, strict=True)],
                "adversary_error": None if risk is None else risk["error"],
                "adversary_interval": None if risk is None else risk["interval"],
                "naive_error": None if risk is None else risk["naive"],
                "raw_error": None if risk is None else risk["raw"],
                "method": None if risk is None else risk["method"],
                "certified_accuracy": certified,
                "certified_error": None if certified is None else 1 - certified,
            }
        )
    return found


def _values(partition: AnyPartition, n: int) -> list[list[str] | None]:
    """The categories that each bucket holds; None for a range and for the buckets of unseen and missing values."""
    named = [list(b.values) for b in partition.buckets] if isinstance(partition, Groups) else []
    return [named[i] if i < len(named) else None for i in range(n)]


def _utility(judged: Judgement) -> dict[str, Any]:
    content = judged.utility.to_dict()
    large = {name: group for name, group in content["by_group"].items() if group["records"] >= FEW}
    content["small_groups"] = len(content["by_group"]) - len(large)
    for group in large.values():
        n = group["records"]
        group |= {key: tens(group[key], n) for key in ("error", "raw_error", "majority_error")}
        group["records"] = few(n)
    return content | {"by_group": large}


def _attack(judged: Judgement, records: int) -> dict[str, Any]:
    content = judged.attack.to_dict()
    del content["seconds"]  # the same seed gives the same report
    for result in content["by_attribute"].values():
        result |= {key: tens(result[key], records) for key in ("error", "naive")}
    return content


def _certificate(judged: Judgement) -> dict[str, Any]:
    content = judged.certificate.to_dict()
    n = judged.certificate.records
    for key in ("bounds", "observed"):
        content[key] = {name: tens_up(value, n) for name, value in content[key].items()}
    content["naive"] = {name: tens(value, n) for name, value in content["naive"].items()}
    return content | {"mean_error": 1 - content["mean"]}
