"""The charts of releases: shares as bars, several a row."""

from collections.abc import Sequence

from markupsafe import Markup

from modicum.reporting.charts import MOST_ROWS
from modicum.reporting.svg import (
    AMBER,
    DARK,
    GREY,
    NAMES,
    RIGHT,
    ROW,
    WIDTH,
    across,
    axis,
    bar,
    line,
    row_name,
    share,
    svg,
    text,
)

Row = tuple[str, float, tuple[float, float] | list[float] | None]


def bars_chart(rows: Sequence[Row], title: str, marks: Sequence[float] = (), colour: str = AMBER) -> Markup:
    """Shares from 0% to 100% as bars, each with its interval; upright lines mark what they are compared to."""
    shown, top = list(rows)[:MOST_ROWS], 26
    parts = [axis(top, len(shown))]
    for i, (name, value, ends) in enumerate(shown):
        y = top + i * ROW
        parts += [row_name(name, y), bar(NAMES, y + 4, across(value) - NAMES, colour)]
        if ends is not None:
            parts.append(line(across(ends[0]), y + 13, across(ends[1]), y + 13, DARK, 2))
        parts.append(text(WIDTH - RIGHT + 6, y + 17, share(value)))
    parts += [line(across(mark), top - 4, across(mark), top + len(shown) * ROW, DARK, 2) for mark in marks]
    return svg(parts, top + 12 + len(shown) * ROW, title)


def paired_chart(rows: Sequence[tuple[str, float, float]], title: str) -> Markup:
    """Two shares a row: the raw one behind in grey, the release's before it."""
    shown, top = list(rows)[:MOST_ROWS], 26
    parts = [axis(top, len(shown))]
    for i, (name, own, raw) in enumerate(shown):
        y = top + i * ROW
        parts += [
            row_name(name, y),
            bar(NAMES, y + 4, across(raw) - NAMES, GREY),
            bar(NAMES, y + 8, across(own) - NAMES, AMBER, height=10),
            text(WIDTH - RIGHT + 6, y + 17, share(own)),
        ]
    return svg(parts, top + 12 + len(shown) * ROW, title)
