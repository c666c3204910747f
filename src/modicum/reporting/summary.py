"""A judgement as plain data: every number that a report shows, and none that would tell of a few people.

Page, Markdown, terminal and JSON all read this one dict, so that they cannot contradict each other.
"""

from typing import Any

from modicum.evaluation import Evidence, Judgement
from modicum.generalization.bins import AnyPartition, Groups
from modicum.reporting.alternatives_summary import alternatives_summary
from modicum.reporting.attack_summary import attack_summary
from modicum.reporting.certificate_words import certificate_sentences, exposed_sentence
from modicum.reporting.disclosure import (
    check_size,
    combinations,
    compared,
    decimals_of,
    described,
    few,
    highest,
    outward,
    ranking_of,
    tens,
    tens_up,
    weighted,
)
from modicum.reporting.necessity_summary import necessity_summary
from modicum.reporting.provenance import provenance
from modicum.reporting.report_words import decision, limits, warnings
from modicum.table.codes import FEW
from modicum.table.values import plain


def summary(
    judged: Judgement | Evidence,
    purpose: str | None = None,
    *,
    people: str | None = None,
    date: str | None = None,
    command: str | None = None,
) -> dict[str, Any]:
    """Everything a report shows, ready for JSON; what would tell of fewer than ten people is left out or rounded.

    Parameters
    ----------
    judged : Judgement or Evidence
        Of evidence also what all adversaries found, why each attribute is needed, and what else could be collected.
    purpose, people : what the prediction is for, and whom the records are of, in the user's words
    date, command : the day (today where none is named) and the command that made it
    """
    found = judged if isinstance(judged, Evidence) else None
    judged = judged.judgement if isinstance(judged, Evidence) else judged
    description = judged.description
    records, many = description.records or 0, description.persons or 0
    check_size(many, "test records" if many == records else "people in the test records")
    attack, certificate, utility = _attack(judged, many), _certificate(judged), _utility(judged, many)
    content: dict[str, Any] = {
        "modicum": "report",
        "version": 2,
        "purpose": purpose,
        "people": people,
        "provenance": provenance(None if found is None else found.provenance, date, command),
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
        "attacks": None if found is None else attack_summary(found.attacks),
        "necessity": None if found is None else necessity_summary(found.necessity, many),
        "alternatives": None
        if found is None or found.alternatives is None
        else alternatives_summary(found.alternatives),
    }
    certificate["sentences"] = certificate_sentences(content)
    certificate["exposed"] = exposed_sentence(content)
    content |= {"decision": decision(content), "warnings": warnings(content), "limits": limits(content)}
    content["warnings"] += [] if content["attacks"] is None else content["attacks"]["warnings"]
    return dict(plain(content))


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
                "kind": judged.generalization.schema[name].kind,
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
    if content.pop("rarest") < FEW:
        # The majority guess's follows from how many people have each class, so that a rare class could be counted.
        del content["scores"]["log_loss"]
    for name, score in content["scores"].items():
        if name != "error":
            score |= {key: ranking_of(value, people) for key, value in score.items() if key != "more_is_better"}
    content |= {key: decimals_of(content[key]) for key in ("skill_kept", "skill_interval", "raw_skill")}
    large = {name: group for name, group in content["by_group"].items() if group["persons"] >= FEW}
    told = {name: _group(group) for name, group in large.items()}
    content["small_groups"] = len(content["by_group"]) - len(told)
    names = compared({name: group["persons"] for name, group in large.items()})
    return content | {"by_group": told} | _worst_groups(told, names)


def _worst_groups(told: dict[str, Any], names: list[str]) -> dict[str, str | None]:
    """The group with the highest error, and the one that loses most by minimizing."""
    lost = {name: told[name]["error"] - told[name]["raw_error"] for name in names}
    most = highest(lost, names)
    return {
        "worst_group": highest({name: told[name]["error"] for name in names}, names),
        "loses_most": most if most is not None and lost[most] > 0 else None,
    }


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
