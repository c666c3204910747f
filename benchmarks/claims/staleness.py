"""Find results whose code has changed since they were measured.

A result is fresh if the code of each of its parts is as recorded, or if its canary agreed with the current code (see
canary.py). A result that does not record its code is stale.
"""

import json
from pathlib import Path
from typing import Any

from loaded_code import ROOT, list_changed

RESULTS = Path(__file__).parents[1] / "results"
SHOWN = 4  # how many changed modules are named


def find_stale(results: Path = RESULTS, root: Path = ROOT) -> dict[str, str]:
    """Return each stale result with the reason."""
    found = {path.stem: explain_stale(json.loads(path.read_text()), root) for path in sorted(results.glob("*.json"))}
    return {name: why for name, why in found.items() if why}


def explain_stale(result: dict[str, Any], root: Path = ROOT) -> str | None:
    """Say which modules have changed, and since which commit; None if the result is still valid."""
    canary = result.get("canary")
    if canary and not list_changed(canary["code"], root):
        return None
    runs = [result.get("runs", {}).get(part, {}) for part in list_parts(result)]
    if canary and not all("code" in run for run in runs):
        return _describe(canary, root)
    if not all("code" in run for run in runs):
        return f"measured at {result['machine']['commit']}, without a record of its code"
    return "; ".join(dict.fromkeys(_describe(run, root) for run in runs if list_changed(run["code"], root))) or None


def list_parts(result: dict[str, Any]) -> list[str]:
    """List the parts that were measured separately, each with its own machine, or the whole."""
    found = list(_find_parts(result["figures"]))
    return found or ["all"]


def _find_parts(figures: Any, within: str = "") -> Any:
    for name, own in figures.items() if isinstance(figures, dict) else ():
        if isinstance(own, dict) and "machine" in own:
            yield within + name
        elif isinstance(own, dict) and not within:
            yield from _find_parts(own, f"{name}.")


def _describe(run: dict[str, Any], root: Path) -> str:
    modules = list_changed(run["code"], root)
    more = f" and {len(modules) - SHOWN} more" if len(modules) > SHOWN else ""
    return f"changed since {run['commit']}: {', '.join(modules[:SHOWN])}{more}"
