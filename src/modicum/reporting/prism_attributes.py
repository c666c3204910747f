"""Attribute by attribute: why PriSM asks for it or not, and what another choice would change."""

from typing import Any

from modicum.reporting.document import Cell, Column, Section, Table, Text
from modicum.reporting.formats import number, points, points_interval

_TAGS: dict[str, Any] = {"asked": "middle", "left out": "good", "sensitive": "bad", "not considered": ""}


def attribute_section(content: dict[str, Any]) -> Section:
    """Two tables, so that a phone shows both: why, and what was measured."""
    balanced = ", every label counting the same" if content["utility"]["is_balanced"] else ""
    told = (
        "Tells by itself: strength, what chance would give, and the p-value. Decided otherwise: by how many percentage "
        "points the error on test records changes if an attribute that is asked for were not, or if one that is left "
        f"out were asked for as well, whether that reveals or not{balanced}; below it the 95% interval, and the change "
        "of the objective on the training records. All others stay as they are. In another's place: the same for the "
        "best allowed choice that asks for it and not for the one named. Minus is better."
    )
    why = Table(
        [Column(title, is_number=False) for title in ("attribute", "decision", "why")],
        [_why(each) for each in content["attributes"]],
    )
    titles = ("in revealing sets", "tells by itself", "decided otherwise: error", "in another's place: error")
    measured = Table(
        [Column("attribute", is_number=False), *(Column(title) for title in titles)],
        [_measured(each) for each in content["attributes"] if each["alone"]],
    )
    return Section("Attribute by attribute", [why, Text(told, "soft"), measured])


def _why(each: dict[str, Any]) -> list[Cell | str]:
    columns = [] if each["columns"] == [each["name"]] else [f"columns: {', '.join(each['columns'])}"]
    return [Cell(each["name"], columns), Cell(each["status"], tag=_TAGS[each["status"]]), each["why"]]


def _measured(each: dict[str, Any]) -> list[Cell | str]:
    alone = each["alone"]
    return [
        each["name"],
        Cell(number(each["sets"]), [f"{each['completes']} whole with it"]),
        Cell(number(alone["strength"]), [f"chance {number(alone['by_chance'])}", f"p {p_value(alone['p_value'])}"]),
        _other(each["other"]),
        _other(each["instead"]),
    ]


def _other(found: dict[str, Any] | None) -> Cell | str:
    if found is None:
        return "–"
    below = [points_interval(found["interval"]), f"objective {points(found['objective'], 2)}%"]
    return Cell(points(found["error"]), below + ([f"for {found['instead_of']}"] if found["instead_of"] else []))


def p_value(value: float | None) -> str:
    """A p-value for people; one too small for a number as such.

    Examples
    --------
    >>> from modicum.reporting.prism_attributes import p_value
    >>> p_value(0.0123), p_value(0.0), p_value(None)
    ('0.012', '< 1e-300', '–')
    """
    return "–" if value is None else "< 1e-300" if value == 0 else f"{value:.2g}"
