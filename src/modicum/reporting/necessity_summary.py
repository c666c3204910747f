"""Why each attribute is collected as it is, as plain data: what one step of detail more or less would change."""

import math
from typing import Any

from modicum.evaluation._necessity import Necessity, Step
from modicum.reporting.disclosure import change, change_outward


def necessity_summary(found: Necessity, people: int) -> dict[str, Any]:
    """How it was measured, and each attribute's steps in tens of people."""
    return {
        "trained_on": found.trained_on,
        "records": found.records,
        "estimator": found.estimator,
        "adversary": found.adversary,
        "note": found.note,
        "attributes": {
            name: {
                "verdict": need.verdict,
                "coarser": _step(need.coarser, people),
                "without": _step(need.without, people),
                "in_full": _step(need.in_full, people),
            }
            for name, need in found.attributes.items()
        },
    }


def _step(step: Step | None, people: int) -> dict[str, Any] | None:
    if step is None:
        return None
    return {
        "what": step.what,
        "error_change": change(step.error_change, people),
        "error_interval": change_outward(step.error_interval, people),
        "skill_change": _rounded(step.skill_change),
        "skill_interval": _outward(step.skill_interval),
        "adversary_change": change(step.adversary_change, people),
        "adversary_interval": change_outward(step.adversary_interval, people),
    }


def _rounded(value: float) -> float | None:
    return None if value != value else round(value, 3) + 0.0


def _outward(interval: Any) -> list[float] | None:
    """Widened to three digits; None where an end does not exist."""
    if interval is None or any(end is None or end != end for end in interval):
        return None
    low, high = interval
    return [math.floor(1000 * low) / 1000 + 0.0, math.ceil(1000 * high) / 1000 + 0.0]
