"""Targets of a comparison; each is printed with 'ok' or 'MISSED' and stored with its figures."""

from typing import Any

import numpy as np

from modicum.measures.intervals import seeds_interval


def target(what: str, reached: bool) -> dict[str, Any]:
    """Print a target, and return it with whether it was reached."""
    print(f"  {what}: {'ok' if reached else 'MISSED'}", flush=True)
    return {"target": what, "reached": bool(reached)}


def faster(theirs: float, ours: float, times: float, what: str = "") -> dict[str, Any]:
    """Compute how many times faster ours is, and whether that is enough."""
    ratio = theirs / ours
    sentence = f"{what}{ours:.4g} s instead of {theirs:.4g} s, {ratio:.0f} times faster (target {times:g})"
    return target(sentence, ratio >= times) | {"times": ratio}


def difference(what: str, ours: list[float], theirs: list[float]) -> dict[str, Any]:
    """Compute ours minus theirs, seed by seed; the target is a mean of at least 0."""
    each = [float(a - b) for a, b in zip(ours, theirs, strict=True)]
    mean, (low, high) = float(np.mean(each)), seeds_interval(each) or (np.nan, np.nan)
    sentence = f"{what} {np.mean(ours):.4f} against {np.mean(theirs):.4f}, {mean:+.4f} [{low:+.4f}, {high:+.4f}]"
    return target(f"{sentence} (target ≥ 0)", mean >= 0) | {
        "ours": ours,
        "theirs": theirs,
        "differences": each,
        "mean": mean,
        "interval": [low, high],
    }
