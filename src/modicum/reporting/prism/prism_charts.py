"""The picture of what reveals a sensitive attribute: strengths, the threshold, and chance."""

from markupsafe import Markup

from modicum.reporting.charts import (
    BLUE,
    DARK,
    GREY,
    GRID,
    NAMES,
    RED,
    RIGHT,
    ROW,
    SOFT,
    WIDTH,
    bar,
    line,
    row_name,
    span,
    svg,
    text,
    ticks,
)
from modicum.reporting.document import Picture, Sign
from modicum.reporting.prism.data import PrismContent, Strength

_MOST_ROWS = 40
_SETS = 12  # of several attributes in the picture
_REVEALS, _ACCEPTED, _CHANCE, _THRESHOLD = RED, GREY, DARK, BLUE


def strengths_picture(content: PrismContent) -> Picture:
    """Draw single attributes and the strongest sets, with the threshold as a line and chance as a mark."""
    rows, threshold = _rows(content), content.rule.threshold
    most = max([threshold, *(max(each.strength, each.by_chance or 0.0) for _, each, _ in rows)])
    scale, top = span() / max(1.1 * most, 1e-9), 26
    height = top + len(rows) * ROW
    parts = [_axis(scale, top, height)]
    for i, (name, each, reveals) in enumerate(rows):
        parts += _row(name, each, reveals, top + i * ROW, scale)
    x = NAMES + threshold * scale
    parts.append(line(x, top - 6, x, height, _THRESHOLD, 2))
    signs = [
        Sign("reveals", _REVEALS),
        Sign("does not", _ACCEPTED),
        Sign("strength by chance alone", _CHANCE, "mark"),
        Sign(f"threshold ({threshold:g})", _THRESHOLD, "mark"),
    ]
    return Picture(svg(parts, height + 8, "How strongly attributes are related to the sensitive one"), signs)


def _rows(content: PrismContent) -> list[tuple[str, Strength, bool]]:
    """Return name, strength and whether it reveals: single attributes, then sets, each from the strongest."""
    alone = {each.attributes[0] for each in content.sets if len(each.attributes) == 1}
    single = [(each.name, each.alone, each.name in alone) for each in content.attributes if each.alone]
    several = [(" + ".join(each.attributes), each, True) for each in content.sets if len(each.attributes) > 1]
    single.sort(key=lambda row: -row[1].strength)
    several.sort(key=lambda row: -row[1].strength)
    return [*single[:_MOST_ROWS], *several[:_SETS]]


def _row(name: str, each: Strength, reveals: bool, y: float, scale: float) -> list[Markup]:
    parts = [
        row_name(name, y),
        bar(NAMES, y + 4, each.strength * scale, _REVEALS if reveals else _ACCEPTED),
        text(WIDTH - RIGHT + 6, y + 17, f"{each.strength:.3f}"),
    ]
    if each.by_chance is not None:
        x = NAMES + each.by_chance * scale
        parts.append(line(x, y + 2, x, y + 24, _CHANCE, 2))
    return parts


def _axis(scale: float, top: float, height: float) -> Markup:
    """Draw lines at round numbers from 0."""
    marks = []
    for tick in ticks(0, span() / scale, most=6):
        x = NAMES + tick * scale
        marks.append(line(x, top - 6, x, height, GRID, 1))
        marks.append(text(x, top - 11, f"{tick:.3g}", anchor="middle", colour=SOFT))
    return Markup("").join(marks)
