"""A judgement as plain data: every number that a report shows, and none that would tell of a few people.

Page, terminal and JSON all read this one dict, so that they cannot contradict each other.
"""

from collections.abc import Mapping
from typing import Any

from modicum import __version__
from modicum.errors import DataError
from modicum.evaluation import Judgement
from modicum.generalization.bins import AnyPartition, Groups
from modicum.measures.certificate import confidence_text
from modicum.reporting.disclosure import combinations, described, few, outward, tens, tens_up
from modicum.table.codes import FEW
from modicum.table.values import plain

LEAST_RECORDS = 100  # in the test part: shares are told in tens of people
COARSE = 1000


def check_size(n: int, what: str = "test records (30% of the rows)") -> None:
    """Refuse a report on so few records that its numbers would be empty or tell of single people."""
    if n < LEAST_RECORDS:
        raise DataError(
            f"There are {n} {what}; a report needs at least {LEAST_RECORDS}, or its numbers "
            "would mean little and tell of single people."
        )


def summary(judged: Judgement, purpose: str | None = None) -> dict[str, Any]:
    """Everything a report shows, ready for JSON; what would tell of fewer than ten people is left out or rounded."""
    description = judged.description
    records, people = description.records or 0, description.persons or 0
    check_size(people, "test records" if people == records else "people in the test records")
    attack, certificate, utility = _attack(judged, people), _certificate(judged), _utility(judged, people)
    content = {
        "modicum": "report",
        "version": 1,
        "modicum_version": __version__,
        "purpose": purpose,
        "label": judged.label,
        "classes": list(judged.classes),
        "unit": description.unit,
        "collected": {
            "attributes": len(description.attributes),
            "needed": len(judged.generalization.needed),
            "in_full_detail": sum(p.action == "kept" for p in judged.generalization.partitions),
            "buckets": sum(line.n_buckets for line in description.attributes if line.action != "not collected"),
            "records": records,
            "groups": combinations(description.groups or 0, description.smallest_group or 0),
            "smallest_group": few(description.smallest_group or 0),
        },
        "attributes": _attributes(judged, attack["by_attribute"], certificate["bounds"]),
        "utility": utility,
        "attack": attack,
        "certificate": certificate,
    }
    content |= {"decision": _decision(content), "warnings": _warnings(content), "limits": _limits(content)}
    return dict(plain(content))


def _decision(content: dict[str, Any]) -> str:
    """The decision in one sentence."""
    collected, utility, attack = content["collected"], content["utility"], content["attack"]
    label = repr(content["label"])
    if not collected["needed"]:
        return f"To predict {label}, nothing is collected; the model can only guess the majority."
    kept = collected["in_full_detail"]
    detail = "none in full detail" if not kept else f"{kept} in full detail"
    return (
        f"To predict {label}, ask for {collected['needed']} of {collected['attributes']} attributes, {detail}: the "
        f"model is then wrong for {utility['error']:.1%} of {content['unit']} ({utility['raw_error']:.1%} on raw data, "
        f"{utility['majority_error']:.1%} when always guessing the majority), while an adversary who sees the answers "
        f"is wrong about {attack['error']:.1%} of personal values ({attack['naive']:.1%} without seeing them, "
        f"{attack['raw']:.0%} on raw data)."
    )


def _warnings(content: dict[str, Any]) -> list[str]:
    utility, collected, bounds = content["utility"], content["collected"], content["certificate"]["bounds"]
    empty = [name for name, bound in bounds.items() if bound >= 1]
    told = [
        (
            utility["is_weak"],
            "Even the raw data barely predicts the label: it lowers the log-loss of the majority guess by only "
            f"{max(0.0, utility['raw_skill']):.1%}, so keeping that skill means little.",
        ),
        (
            not utility["is_weak"] and (utility["skill_kept"] or 0) > 1.02,
            "The model on minimized data predicts better than the one on raw data, which learned chance patterns: "
            "there are few records for so much detail.",
        ),
        (
            utility["raw_error"] < 0.005 and utility["majority_error"] > 0.05,
            "Raw data predicts the label almost perfectly: one of the attributes may be the label in disguise.",
        ),
        (
            isinstance(collected["smallest_group"], str),
            "Some combinations of answers are shared by fewer than ten people in the test records: they stand out.",
        ),
        (
            bool(empty),
            f"The certificate says nothing about {', '.join(empty)}: an adversary could always be right, or the "
            "holdout is too small to exclude it.",
        ),
        (
            collected["records"] < COARSE,
            f"There are only {collected['records']} test records: shares are rounded to tens of them, which is coarse "
            "here.",
        ),
    ]
    return [text for applies, text in told if applies]


def _limits(content: dict[str, Any]) -> list[str]:
    certificate = content["certificate"]
    return [
        "The adversary is the strongest of several that were tried, not the strongest there can be. It sees the "
        "collected record and nothing else: someone who knows more about a person can guess more.",
        f"The certificate holds, with {confidence_text(certificate['confidence'])} confidence, for every adversary who "
        f"sees only the collected record, but only on average over {certificate['unit']}: a single person may be "
        "easier.",
        "It holds only if the test records had no part in making or choosing what is collected. That is so after "
        "`minimize` with the same seed; not for a generalization that was made from all rows, nor for one that was "
        "edited after looking at these results.",
        "All of this speaks of people like those in the test records: it assumes that they are a random sample of the "
        "people whose data will be collected.",
        f"A number or date counts as guessed when it is placed in the right one of {certificate['bins']} ranges of "
        "about equal frequency (fewer where it has fewer values).",
    ]


def _attributes(judged: Judgement, attack: dict[str, Any], bounds: dict[str, float]) -> list[dict[str, Any]]:
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


def _utility(judged: Judgement, people: int) -> dict[str, Any]:
    content = judged.utility.to_dict()
    content |= {key: tens(content[key], people) for key in ("error", "raw_error", "majority_error")}
    content["interval"] = outward(content["interval"], people)
    error = content["scores"]["error"]
    error |= {key: tens(error[key], people) for key in ("minimized", "raw", "majority")}
    error |= {key: outward(error[key], people) for key in ("interval", "raw_interval")}
    large = {name: _group(group) for name, group in content["by_group"].items() if group["persons"] >= FEW}
    content["small_groups"] = len(content["by_group"]) - len(large)
    content["worst_group"] = max(large, key=lambda name: large[name]["error"], default=None)
    return content | {"by_group": large}


def _group(group: dict[str, Any]) -> dict[str, Any]:
    n = group["persons"]
    rounded = {key: tens(group[key], n) for key in ("error", "raw_error", "majority_error")}
    return (
        group
        | rounded
        | {"interval": outward(group["interval"], n), "records": few(group["records"]), "persons": few(n)}
    )


def _attack(judged: Judgement, people: int) -> dict[str, Any]:
    content = judged.attack.to_dict()
    del content["seconds"], content["aggregates"]  # the same seed gives the same report; the rest is for the team
    results = content["by_attribute"].values()
    for result in results:
        result |= {key: tens(result[key], people) for key in ("error", "naive")}
        result["interval"] = outward(result["interval"], people)
    for key in ("error", "naive"):
        content[key] = weighted(
            {name: result[key] for name, result in content["by_attribute"].items()}, judged.attack.weights
        )
    return content | {"interval": outward(content["interval"], people)}


def _certificate(judged: Judgement) -> dict[str, Any]:
    content = judged.certificate.to_dict()
    n = judged.certificate.persons
    del content["groups"]  # as many as the collected combinations
    for key in ("bounds", "observed"):
        content[key] = {name: tens_up(value, n) for name, value in content[key].items()}
    content["naive"] = {name: tens(value, n) for name, value in content["naive"].items()}
    mean = weighted(content["bounds"], judged.certificate.weights)
    return content | {"mean": mean, "mean_error": 1 - mean}


def weighted(values: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """The mean over attributes, each with its weight."""
    return sum(weights[name] * value for name, value in values.items())
