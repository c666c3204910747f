"""Targets of a comparison, each printed with 'ok' or 'MISSED' and kept with what was found."""

from typing import Any

import numpy as np

from modicum.measures.intervals import seeds_interval


def target(what: str, reached: bool) -> dict[str, Any]:
    """One target, printed and kept."""
    print(f"  {what}: {'ok' if reached else 'MISSED'}", flush=True)
    return {"target": what, "reached": bool(reached)}


def faster(theirs: float, ours: float, times: float, what: str = "") -> dict[str, Any]:
    """How many times faster ours is, and whether that is enough."""
    found = theirs / ours
    told = f"{what}{ours:.4g} s instead of {theirs:.4g} s, {found:.0f} times faster (target {times:g})"
    return target(told, found >= times) | {"times": found}


def difference(what: str, ours: list[float], theirs: list[float]) -> dict[str, Any]:
    """Ours less theirs, seed by seed; the target is a mean of at least 0."""
    each = [float(a - b) for a, b in zip(ours, theirs, strict=True)]
    mean, (low, high) = float(np.mean(each)), seeds_interval(each) or (np.nan, np.nan)
    told = f"{what} {np.mean(ours):.4f} against {np.mean(theirs):.4f}, {mean:+.4f} [{low:+.4f}, {high:+.4f}]"
    return target(f"{told} (target ≥ 0)", mean >= 0) | {
        "ours": ours,
        "theirs": theirs,
        "differences": each,
        "mean": mean,
        "interval": [low, high],
    }
