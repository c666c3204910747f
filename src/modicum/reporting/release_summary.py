"""Evidence of a k-anonymous release as plain data: every number its report shows, and none that tells of a few."""

from typing import Any

from modicum.evaluation import ReleaseEvidence
from modicum.evaluation.evidence.release_measures import Guess
from modicum.reporting.crowd_content import crowd_content
from modicum.reporting.disclosure import check_size, compared, few, highest, outward, ranking_of, tens, tens_up
from modicum.reporting.release_parts import head, too_few
from modicum.reporting.release_words import decision, limits, warnings
from modicum.table.codes import FEW
from modicum.table.values import plain

SEEN = {"quasi-identifiers": "quasi_identifiers", "every published column": "all_columns"}


def release_summary(
    found: ReleaseEvidence,
    purpose: str | None = None,
    date: str | None = None,
    command: str | None = None,
    people: str | None = None,
) -> dict[str, Any]:
    """Everything the report of a k-anonymous release shows, ready for JSON."""
    check_size(found.people, "records" if found.persons is None else "people in the records")
    release = found.release
    content = head("release", purpose, date, found.provenance, command, people)
    content |= {
        "method": release.method,
        "form": release.output,
        "unit": "records" if found.persons is None else "people",
        "label": found.label,
        "promise": {name: release.asked.get(name) for name in ("k", "l", "t", "diversity", "distance", "c")},
        "measured": _measured(found),
        "information_loss": release.ncp,
        "attributes": [plain(vars(each)) for each in found.attributes],
        "crowds": {
            SEEN[key]: {
                name: crowd_content(each, key == "quasi-identifiers" and name == "release")
                for name, each in own.items()
            }
            for key, own in found.crowds.items()
        },
        "inference": [_inference(each, found) for each in found.inference],
        "utility": _utility(found),
        "membership": _membership(found),
        "skipped": dict(found.skipped) | _too_few(found),
    }
    content |= {"decision": decision(content), "warnings": warnings(content), "limits": limits(content)}
    return dict(plain(content))


def _measured(found: ReleaseEvidence) -> dict[str, Any]:
    """What the published table shows to anybody who counts is told exactly."""
    own, crowd = found.measured, found.crowds["quasi-identifiers"]["release"]
    return {
        "k": own.k,
        "sensitive": own.sensitive,
        "distinct_l": own.distinct_l,
        "l": own.l,
        "t": own.t,
        "distance": own.distance,
        "kept": own.kept,
        "groups": crowd.groups,
        "largest_group": crowd.largest if found.persons is None else few(crowd.largest),
        "highest_risk": crowd.highest,
        "records": few(found.release.rows),
        "left_out": few(found.release.suppressed) if found.release.suppressed else 0,
    }


def _inference(each: Any, found: ReleaseEvidence) -> dict[str, Any]:
    n = found.people
    return {
        "attribute": each.attribute,
        "values": each.values,
        "in_ranges": each.in_ranges,
        "naive": tens(each.naive, n),
        "release": _guess(each.release, n),
        "raw": _guess(each.raw, n),
    }


def _guess(guess: Guess, n: int) -> dict[str, Any]:
    return {
        "right": tens(guess.right, n),
        "interval": outward(guess.interval, n),
        "certain": tens_up(guess.certain, n),
    }


def _too_few(found: ReleaseEvidence) -> dict[str, str]:
    """Why models are not told of, where they were tested on few people."""
    why = too_few(found.tested) if found.utility is not None else None
    return {} if why is None else {"utility": why, "membership": why}


def _utility(found: ReleaseEvidence) -> dict[str, Any] | None:
    if found.utility is None or too_few(found.tested):
        return None
    own, n = found.utility.to_dict(), found.tested
    error = own["scores"]["error"]
    auc = own["scores"]["auc"]
    large = {name: each for name, each in own["by_group"].items() if each["persons"] >= FEW}
    groups = {name: _group(each) for name, each in large.items()}
    errors = {name: each["errors"]["release"] for name, each in groups.items()}
    return {
        "held_out": found.held_out,
        "estimator": own["estimator"],
        "records": few(own["records"]),
        "trained_on": few(own["trained_on"]),
        "errors": {
            "release": {"error": tens(own["error"], n), "interval": outward(own["interval"], n)},
            "raw": {"error": tens(own["raw_error"], n), "interval": outward(error["raw_interval"], n)},
            "majority": {"error": tens(own["majority_error"], n), "interval": None},
        },
        "auc": {name: ranking_of(auc[key], n) for name, key in (("release", "minimized"), ("raw", "raw"))},
        "auc_interval": ranking_of(_ends(auc["interval"]), n),
        "skill_kept": _rounded(own["skill_kept"]),
        "skill_interval": [_rounded(end) for end in own["skill_interval"]],
        "is_weak": own["is_weak"],
        "by_group": groups,
        "small_groups": len(own["by_group"]) - len(large),
        "worst_group": highest(errors, compared({name: each["persons"] for name, each in large.items()})),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _ends(ends: Any) -> list[float] | None:
    """An interval whose ends exist, to three digits."""
    return None if ends is None or any(end is None or end != end for end in ends) else [round(end, 3) for end in ends]


def _group(group: dict[str, Any]) -> dict[str, Any]:
    n = group["persons"]
    errors = {name: tens(group[key], n) for name, key in (("release", "error"), ("raw", "raw_error"))}
    return {
        "records": few(group["records"]),
        "errors": errors | {"majority": tens(group["majority_error"], n)},
        "interval": outward(group["interval"], n),
    }


def _membership(found: ReleaseEvidence) -> dict[str, Any] | None:
    if found.membership is None or too_few(found.tested):
        return None
    own = next(iter(found.membership.values()))
    others = max(1, (own.records + own.known) // 2)  # half of all are members
    return {
        "records": few(own.records),
        "shared": tens_up(min(1.0, own.overlap / others), others),
        "models": {
            name: {
                "accuracy": tens(float(each.accuracy.value or 0), each.records),
                "interval": outward(each.accuracy.interval, each.records),
                "auc": _rounded(each.auc.value),
                "auc_interval": _ends(each.auc.interval),
                "method": each.method,
            }
            for name, each in found.membership.items()
        },
    }
