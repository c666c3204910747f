"""What else could have been collected, as plain data: the points of the trade-off in tens of people.

A mean over attributes is the mean of what is told of each, as in the rest of the report.
"""

from typing import Any

from modicum.evaluation import Alternatives
from modicum.reporting.disclosure import tens, weighted


def alternatives_summary(found: Alternatives) -> dict[str, Any]:
    """The points that were considered, the ends, and why the chosen one was taken."""
    n = found.people
    return {
        "source": found.source,
        "judge": found.judge,
        "why": found.why,
        "considered": found.considered,
        "records": found.records,
        "raw_data": {"error": tens(found.raw_error, n), "adversary_error": 0.0},
        "nothing_collected": {
            "error": tens(found.majority_error, n),
            "adversary_error": _mean(found.naive, found),
        },
        "points": [
            {
                "name": point.name,
                "needed": len(point.generalization.needed),
                "buckets": point.buckets,
                "error": tens(point.error, n),
                "adversary_error": _mean(point.risk, found),
                "skill_kept": None if point.skill_kept != point.skill_kept else round(point.skill_kept, 3) + 0.0,
                "chosen": point.is_chosen,
            }
            for point in found.points
        ],
    }


def _mean(errors: dict[str, float], found: Alternatives) -> float:
    return weighted({name: tens(error, found.people) for name, error in errors.items()}, found.weights)
