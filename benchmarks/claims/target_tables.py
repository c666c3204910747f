"""All targets of speed and memory of the benchmarks, with the measured values, as Markdown."""

from collections.abc import Iterator
from typing import Any

from common import markdown


def targets(figures: dict[str, Any]) -> str:
    """Make the table of all targets; `figures` has an entry for each file of results."""
    rows = [[f"`{stem}.py`", *row] for stem, own in figures.items() for row in _MAKERS.get(stem, _sentences)(own)]
    return markdown(["benchmark", "what", "found", "target", ""], rows)


def _row(what: str, found: str, target: str, reached: bool) -> list[str]:
    return [what, found, target, "reached" if reached else "**missed**"]


def _most(what: str, value: float, target: float, unit: str = " ×") -> list[str]:
    return _row(what, f"{value:.2f}{unit}", f"at most {target:g}{unit}", value <= target)


def _pat(own: dict[str, Any]) -> Iterator[list[str]]:
    for one in own["against_sklearn"]:
        yield _most(f"PAT, {one['task']}, {one['leaves']} leaves / scikit-learn's tree", one["ratio"], one["target"])
    sweep = own["sweep"]
    yield _most(f"{sweep['generalizations']} generalizations / one tree", sweep["ratio"], sweep["target"])


def _transform(own: dict[str, Any]) -> Iterator[list[str]]:
    coded, apply = own["coded"], own["apply"]
    ratio = coded["seconds"] / coded["gather_seconds"]
    yield _most(f"codes of {coded['rows']:,} records / one gather", ratio, coded["target"])
    yield _most("peak memory of `apply`, ten times the rows", apply["ratio"], apply["target"])


def _by_ratio(what: str) -> Any:
    def rows(own: dict[str, Any]) -> Iterator[list[str]]:
        yield _most(what, own["ratio"], own["target"])

    return rows


def _merged(own: dict[str, Any]) -> Iterator[list[str]]:
    for name, one in own["speed"].items():
        if name != "machine":
            yield _most(f"MergePath's whole path / PAT's sweep, {name.replace('_', ' ')}", one["ratio"], 1)


def _toolkit(own: dict[str, Any]) -> Iterator[list[str]]:
    for one in own["runs"]:
        found = one["times_faster"]
        what = f"ModelGuided, {one['rows']:,} records, against ai-privacy-toolkit"
        yield _row(what, f"{found:.0f} times faster", "at least 50", found >= 50)


def _guided(own: dict[str, Any]) -> Iterator[list[str]]:
    yield _most("ModelGuided, ten times the rows take", max(own["tenfold"].values()), own["most"])


def _sorted(own: dict[str, Any]) -> Iterator[list[str]]:
    for name, one in own["methods"].items():
        what, times = f"{name}, {own['rows']:,} records / one sort", one["times_lexsort"]
        yield _most(what, times, 40) if name == "Mondrian" else [what, f"{times:.2f} ×", "", ""]


def _sentences(own: Any) -> Iterator[list[str]]:
    """Yield the targets that are stored as sentences, at any depth."""
    if isinstance(own, dict):
        if isinstance(own.get("target"), str):
            yield _row(own["target"].split("; {")[0], "", "", own["reached"])
        for value in own.values():
            yield from _sentences(value)
    elif isinstance(own, list):
        for value in own:
            yield from _sentences(value)


_MAKERS = {
    "pat": _pat,
    "transform": _transform,
    "attack": _by_ratio("A1's portfolio / one fit of boosted trees"),
    "suite": _by_ratio("all adversaries / one fit of boosted trees"),
    "study_speed": _by_ratio("a study of five minimizers / one fit of boosted trees"),
    "beyond_pat": _merged,
    "against_ai_privacy_toolkit": _toolkit,
    "guided_speed": _guided,
    "anonymizers_speed": _sorted,
}
