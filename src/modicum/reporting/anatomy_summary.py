"""Evidence of an anatomized release as plain data: every number its report shows, and none that tells of a few."""

from dataclasses import asdict
from typing import Any

from modicum.attacks import MatchingResult
from modicum.evaluation import AnatomyEvidence
from modicum.reporting.anatomy_words import decision, limits, warnings
from modicum.reporting.crowd_content import crowd_content
from modicum.reporting.disclosure import check_size, compared, few, highest, outward, tens
from modicum.reporting.release_parts import head, too_few
from modicum.table.codes import FEW
from modicum.table.values import plain

_ALIKE = "deFinetti, "  # the same adversary by each of its learners


def anatomy_summary(
    found: AnatomyEvidence,
    purpose: str | None = None,
    date: str | None = None,
    command: str | None = None,
    people: str | None = None,
) -> dict[str, Any]:
    """Everything the report of an anatomized release shows, ready for JSON."""
    check_size(found.people, "people in the records" if found.repeated else "records")
    content = head("anatomy", purpose, date, found.provenance, command, people)
    content |= {
        "grouping": found.release.grouping,
        "label": found.label,
        "asked_l": found.l,
        "kept": all(each.l >= (found.l or 1) for each in found.measured),
        "records": few(found.release.rows),
        "left_out": few(found.left_out) if found.left_out else 0,
        "has_repeated": found.repeated,
        "measured": [asdict(each) for each in found.measured],
        "attributes": [asdict(each) for each in found.attributes],
        "crowds": {name: crowd_content(each) for name, each in found.crowds.items()},
        "matching": [_matching(each, found) for each in found.matching],
        "utility": _utility(found),
        "skipped": dict(found.skipped) | _too_few(found),
    }
    content |= {"decision": decision(content), "warnings": warnings(content), "limits": limits(content)}
    return dict(plain(content))


def _matching(result: MatchingResult, found: AnatomyEvidence) -> dict[str, Any]:
    n, told = found.people, result.to_dict()
    return {
        "sensitive": result.sensitive,
        "promised": 1 / (found.l or result.l),
        "naive": tens(result.naive, n),
        "raw": 1.0,
        "learned": tens(result.accuracy, n),
        "interval": outward(result.interval, n),
        "adversaries": [
            {
                "name": name,
                "means": each["means"],
                "right": tens(each["value"], n),
                "interval": outward(each["interval"], n),
            }
            for name, each in told["by_adversary"].items()
            if not name.startswith(_ALIKE)
        ],
        "note": result.note,
    }


def _too_few(found: AnatomyEvidence) -> dict[str, str]:
    why = None if found.utility is None else too_few(found.utility.people)
    return {} if why is None else {"utility": why}


def _utility(found: AnatomyEvidence) -> dict[str, Any] | None:
    own = found.utility
    if own is None or too_few(own.people):
        return None
    large = {name: each for name, each in own.by_group.items() if each.people >= FEW}
    groups: dict[str, Any] = {
        name: {
            "records": few(each.records),
            "errors": {kind: tens(one.error, each.people) for kind, one in each.errors.items()},
            "interval": outward(each.errors["pruned"].interval, each.people),
        }
        for name, each in large.items()
    }
    errors = {name: each["errors"]["pruned"] for name, each in groups.items()}
    return {
        "held_out": found.held_out,
        "estimator": own.estimator,
        "records": few(own.records),
        "trained_on": few(own.trained_on),
        "errors": {
            name: {"error": tens(each.error, own.people), "interval": outward(each.interval, own.people)}
            for name, each in own.errors.items()
        },
        "by_group": groups,
        "small_groups": len(own.by_group) - len(large),
        "worst_group": highest(errors, compared({name: each.people for name, each in large.items()})),
    }
