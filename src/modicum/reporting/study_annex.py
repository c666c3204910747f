"""The annex of a study: every candidate and every point that its pictures draw."""

from collections.abc import Sequence
from typing import Any

from modicum.reporting.document import Cell, Column, Section, Table, Text
from modicum.reporting.formats import number, percent
from modicum.reporting.study_fronts import size_text


def annex(content: dict[str, Any]) -> list[Section]:
    """The tables that are too long to stand among the text."""
    made = [_front(content), _candidates(content), _sizes(content["sizes"]), _later(content["later"])]
    return [section for section in made if section is not None]


def _front(content: dict[str, Any]) -> Section | None:
    if not content["front"]:
        return None
    asks = {each["name"]: each["asks"] for each in content["points"] if each["on_front"]}
    columns = [Column("candidate", False), Column("what it asks", False), Column("adversary’s error about", False)]
    rows = [
        [
            each["name"],
            Cell("", asks.get(each["name"]) or ["nothing"]),
            Cell("", pieces=[(name, percent(error)) for name, error in each["risks"].items()]),
        ]
        for each in content["front"]
    ]
    told = Text(
        "What each candidate of the front asks, and the adversary’s error about each personal attribute.", "soft"
    )
    return Section("Annex: the front in detail", [told, Table(columns, rows)])


def _candidates(content: dict[str, Any]) -> Section | None:
    if not content["points"]:
        return None
    told = Text(
        "Every candidate of the first split on its test records. Two errors stand in each cell: the classifier’s, then "
        "the adversary’s.",
        "soft",
    )
    columns = [Column("candidate", False), Column("attributes"), Column("buckets"), Column("smallest group")]
    columns += [Column("by counts"), Column("as judged"), Column("place", False)]
    return Section("Annex: every candidate", [told, Table(columns, [_candidate(each) for each in content["points"]])])


def _candidate(each: dict[str, Any]) -> list[Cell | str]:
    counts = [number(each[key]) for key in ("needed", "buckets", "smallest_group")]
    judged = _pair((each["error"], each["adversary_error"])) if each["judged"] else "–"
    return [each["name"], *counts, _pair(each["by_counts"]), judged, _place(each)]


def _place(each: dict[str, Any]) -> str:
    if each["chosen"]:
        return "chosen"
    return "on the front" if each["on_front"] else "on its minimizer’s front" if each["on_own_front"] else ""


def _sizes(found: dict[str, Any] | None) -> Section | None:
    if found is None:
        return None
    told = Text(f"The fronts of {found['minimizer']} by counts, from parts of the training records.", "soft")
    series = [(size_text(each), each["points"]) for each in found["series"]]
    return Section("Annex: fronts for each training size", [told, _points("share of the training records", series)])


def _later(found: Sequence[dict[str, Any]] | None) -> Section | None:
    if found is None:
        return None
    told = Text("The candidates of the front on the study’s and on later records.", "soft")
    series = [(each["name"], each["points"]) for each in found]
    return Section("Annex: the front on later records", [told, _points("records", series)])


def _points(what: str, series: Sequence[tuple[str, Sequence[Sequence[float]]]]) -> Table:
    columns = [Column(what, False), Column("classifier’s error"), Column("adversary’s error")]
    return Table(columns, [[name, percent(x), percent(y)] for name, points in series for x, y in points])


def _pair(errors: Sequence[float]) -> str:
    return f"{percent(errors[0])}, {percent(errors[1])}"
