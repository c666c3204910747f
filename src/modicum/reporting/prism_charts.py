"""The picture of what reveals a sensitive attribute: strengths against the threshold and against chance."""

import math
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from modicum.reporting.svg import DARK, GREY, NAMES, RED, RIGHT, ROW, SOFT, WIDTH, bar, line, row_name, span, svg, text

MOST_ROWS = 40
SETS = 12  # of several attributes that are drawn
REVEALS, ACCEPTED, CHANCE, THRESHOLD = RED, GREY, DARK, "#1d5fa8"


def strengths_chart(content: dict[str, Any]) -> Markup:
    """Single attributes and the strongest sets, with the threshold as a line and chance as a mark."""
    rows = _rows(content)
    threshold = content["rule"]["threshold"]
    most = max([each["strength"] for _, each, _ in rows] + [each["by_chance"] or 0.0 for _, each, _ in rows])
    scale, top = span() / max(1.1 * max(most, threshold), 1e-9), 26
    height = top + len(rows) * ROW
    drawn = [_axis(scale, top, height)]
    for i, (name, each, reveals) in enumerate(rows):
        drawn += _row(name, each, reveals, top + i * ROW, scale)
    x = NAMES + threshold * scale
    drawn += [line(x, top - 6, x, height, THRESHOLD, 2)]
    return svg(drawn, height + 8, "How strongly attributes tell of the sensitive one")


def drawn_sets(content: dict[str, Any]) -> Sequence[dict[str, Any]]:
    """The sets of several attributes that the picture shows: the strongest."""
    several = [each for each in content["sets"] if len(each["attributes"]) > 1]
    return sorted(several, key=lambda each: -each["strength"])[:SETS]


def _rows(content: dict[str, Any]) -> list[tuple[str, dict[str, Any], bool]]:
    """Name, strength and whether it reveals: single attributes first, then sets; the strongest first."""
    alone = {each["attributes"][0] for each in content["sets"] if len(each["attributes"]) == 1}
    single = [(each["name"], each["alone"], each["name"] in alone) for each in content["attributes"] if each["alone"]]
    single.sort(key=lambda each: -each[1]["strength"])
    return single[:MOST_ROWS] + [(" + ".join(each["attributes"]), each, True) for each in drawn_sets(content)]


def _row(name: str, each: dict[str, Any], reveals: bool, y: float, scale: float) -> list[Markup]:
    drawn = [
        row_name(name, y),
        bar(NAMES, y + 4, each["strength"] * scale, REVEALS if reveals else ACCEPTED),
        text(WIDTH - RIGHT + 6, y + 17, f"{each['strength']:.3f}"),
    ]
    if each["by_chance"] is not None:
        x = NAMES + each["by_chance"] * scale
        drawn.append(line(x, y + 2, x, y + 24, CHANCE, 2))
    return drawn


def _axis(scale: float, top: float, height: float) -> Markup:
    """Lines at even places from 0, at round numbers."""
    step = _step(span() / scale)
    marks = []
    for i in range(int(span() / scale / step + 1e-9) + 1):
        x = NAMES + i * step * scale
        marks.append(line(x, top - 6, x, height, "#e5e9ee", 1))
        marks.append(text(x, top - 11, f"{i * step:.3g}", anchor="middle", colour=SOFT))
    return Markup("").join(marks)


def _step(most: float) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that makes six steps or fewer."""
    base: float = 10.0 ** math.floor(math.log10(most / 6))
    return next(base * times for times in (1, 2, 5, 10) if base * times * 6 >= most)
