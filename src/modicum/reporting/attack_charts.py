"""The charts of what the adversaries found."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from modicum.reporting.charts import MOST_ROWS
from modicum.reporting.svg import (
    AMBER,
    BLUE,
    DARK,
    GREEN,
    GREY,
    NAMES,
    RED,
    ROW,
    SOFT,
    WIDTH,
    across,
    axis,
    bar,
    circle,
    line,
    row_name,
    share,
    span,
    svg,
    text,
)

COLOURS = {"A1": BLUE, "A3": GREEN, "A5": AMBER, "A4": RED, "A6": DARK}


def adversaries_chart(adversaries: Sequence[dict[str, Any]]) -> Markup:
    """Each adversary's mean error with its interval, the naive guess's behind it, the certified floor."""
    top = 26
    rows = [axis(top, len(adversaries))]
    for i, each in enumerate(adversaries):
        y = top + i * ROW
        rows += [
            row_name(each["short"], y),
            bar(NAMES, y + 4, across(each["naive"]) - NAMES, GREY),
            bar(NAMES, y + 8, across(each["error"]) - NAMES, COLOURS[each["id"]], height=10),
            line(across(each["interval"][0]), y + 13, across(each["interval"][1]), y + 13, DARK, 2),
            text(WIDTH - 54, y + 17, share(each["error"])),
        ]
        if each["certified_error"] is not None:
            rows.append(line(across(each["certified_error"]), y + 2, across(each["certified_error"]), y + 24, DARK, 2))
    return svg(rows, top + 12 + len(adversaries) * ROW, "Mean error of each adversary")


def attributes_chart(attributes: Sequence[dict[str, Any]]) -> Markup:
    """Each attribute's error under every adversary (after papers/0 Figure 7), the naive guess's behind them."""
    shown = sorted(attributes, key=lambda a: min(e["error"] for e in a["errors"].values()) - a["naive"])[:MOST_ROWS]
    top = 26
    rows = [axis(top, len(shown))]
    for i, attribute in enumerate(shown):
        y = top + i * ROW
        rows += [row_name(attribute["name"], y), bar(NAMES, y + 9, across(attribute["naive"]) - NAMES, GREY, height=8)]
        rows += [
            circle(across(found["error"]), y + 13, 5, COLOURS[kind])
            for kind, found in sorted(attribute["errors"].items(), key=lambda item: -item[1]["error"])
        ]
    return svg(rows, top + 12 + len(shown) * ROW, "Error of each adversary for each personal attribute")


def confident_chart(levels: Sequence[dict[str, Any]]) -> Markup:
    """The error on the most confident guesses (A2, after papers/0 Figure 5)."""
    height, top = 190, 16
    most = max([level["naive"] for level in levels] + [level["interval"][1] for level in levels]) or 1.0
    step = span() / max(1, len(levels) - 1)

    def place(i: int, value: float) -> tuple[float, float]:
        return NAMES + i * step, top + height - value / most * height * 0.92

    rows = [line(NAMES, top + height, NAMES + span(), top + height, GREY, 1)]
    for i in range(5):
        value = most * i / 4
        y = place(0, value)[1]
        rows += [line(NAMES, y, NAMES + span(), y, "#e5e9ee", 1), text(NAMES - 10, y + 4, share(value), SOFT, "end")]
    for i, level in enumerate(levels):
        x, y = place(i, level["error"])
        if i:
            rows += [
                line(*place(i - 1, levels[i - 1][key]), *place(i, level[key]), colour, 2)
                for key, colour in (("naive", GREY), ("error", BLUE))
            ]
        rows += [
            line(x, place(i, level["interval"][0])[1], x, place(i, level["interval"][1])[1], DARK, 2),
            circle(x, y, 4, BLUE),
            text(x, top + height + 20, f"{level['percent']:g}%", SOFT, "middle"),
        ]
    return svg(rows, top + height + 32, "Error on the most confident guesses")


def sizes_chart(sizes: dict[str, int | str]) -> Markup:
    """How many combinations of answers are shared by how many people."""
    counts = {name: 5 if isinstance(many, str) else many for name, many in sizes.items()}  # "< 10"
    most = max(counts.values(), default=1) or 1
    rows = []
    for i, (name, many) in enumerate(counts.items()):
        y = 8 + i * ROW
        length = many / most * span() * 0.85
        shown = sizes[name] if isinstance(sizes[name], str) else f"{many:,}"
        rows += [
            row_name(f"{name} {'person' if name == '1' else 'people'}", y),
            bar(NAMES, y + 4, length, RED if name == "1" else AMBER if i < 3 else GREY),
            text(NAMES + length + 8, y + 17, str(shown)),
        ]
    return svg(rows, 16 + len(counts) * ROW, "Combinations of answers by how many people share them")
