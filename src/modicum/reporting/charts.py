"""Charts as SVG text: they open offline, print sharply and need no script."""

import math
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from modicum.generalization.description import percent as bucket_share
from modicum.reporting.disclosure import both_ends
from modicum.reporting.formats import percent

if TYPE_CHECKING:
    from modicum.reporting.generalization.data import AlternativesContent, AttributeOutcome, EndContent, ScoreContent

# Drawing.

WIDTH, NAMES, RIGHT = 880, 190, 60
ROW = 26
_BIDI = {chr(c) for c in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}
_NO_TEXT = ("Cc", "Cs")  # control characters, and halves of surrogate pairs, which no file can hold

RED, AMBER, GREEN, GREY, DARK, SOFT, BLUE = "#b3261e", "#d98e04", "#2e7d32", "#cfd5dd", "#1f2933", "#5f6b7a", "#1d5fa8"
GRID = "#e5e9ee"


def span() -> float:
    """Return the width between names and figures."""
    return WIDTH - NAMES - RIGHT


def across(value: float) -> float:
    """Return the x position of a share from 0 to 1."""
    return NAMES + max(0.0, min(1.0, value)) * span()


def axis(top: float, n: int) -> Markup:
    """Draw lines at 0%, 20%, …, 100% over n rows."""
    marks = []
    for i in range(6):
        x = across(i / 5)
        marks.append(line(x, top - 6, x, top + n * ROW, GRID, 1))
        marks.append(text(x, top - 11, f"{i / 5:.0%}", anchor="middle", colour=SOFT))
    return Markup("").join(marks)


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return round numbers from low to high, in steps of 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> from modicum.reporting.charts import ticks
    >>> [round(tick, 6) for tick in ticks(0.143, 0.257)]
    [0.16, 0.18, 0.2, 0.22, 0.24]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def readable(text: str) -> str:
    """Replace characters that a page cannot show or that would change the direction of the text."""
    hidden = {c for c in text if (unicodedata.category(c) in _NO_TEXT and c not in "\n\t") or c in _BIDI}
    return "".join("\ufffd" if c in hidden else c for c in text) if hidden else text


def row_name(name: str, y: float) -> Markup:
    """Draw a row's name, shortened if it is long."""
    name = readable(name)
    return Markup('<text x="{}" y="{:.1f}" text-anchor="end" fill="{}">{}<title>{}</title></text>').format(
        NAMES - 10, y + 17, DARK, shorten_name(name), name
    )


def shorten_name(name: str) -> str:
    """Keep the beginning and the end of a long name."""
    return name if len(name) <= 24 else f"{name[:13]}…{name[-10:]}"


def text(x: float, y: float, text: str, colour: str = DARK, anchor: str = "start") -> Markup:
    """Draw text."""
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}">{}</text>').format(x, y, anchor, colour, text)


def bar(x: float, y: float, length: float, colour: str, height: float = 18) -> Markup:
    """Draw a bar to the right."""
    return Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="2" fill="{}"/>').format(
        x, y, max(0.0, length), height, colour
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> Markup:
    """Draw a straight line."""
    return Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"/>').format(
        x1, y1, x2, y2, colour, width
    )


def whisker(ends: Sequence[float] | None, y: float) -> Markup:
    """Draw a thin line over an interval of a share; nothing if there is none."""
    return Markup("") if ends is None else line(across(ends[0]), y, across(ends[1]), y, DARK, 2)


def circle(x: float, y: float, radius: float, colour: str) -> Markup:
    """Draw a dot with a thin light rim, so that neighbours stay distinct."""
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}" stroke="#fff"/>').format(x, y, radius, colour)


def svg(parts: Sequence[Markup], height: float, label: str) -> Markup:
    """Join parts into one picture, with a label for screen readers."""
    opening = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, int(height), escape(label))
    return opening + Markup("").join(parts) + Markup("</svg>")


MOST_ROWS = 60  # of a chart

# Charts of releases.

BarRow = tuple[str, float, tuple[float, float] | list[float] | None]


def bars_chart(rows: Sequence[BarRow], title: str, marks: Sequence[float] = (), colour: str = AMBER) -> Markup:
    """Draw shares from 0% to 100% as bars with intervals, and a vertical line at each of `marks`."""
    shown, top = list(rows)[:MOST_ROWS], 26
    parts = [axis(top, len(shown))]
    for i, (name, value, ends) in enumerate(shown):
        y = top + i * ROW
        parts += [row_name(name, y), bar(NAMES, y + 4, across(value) - NAMES, colour)]
        parts.append(whisker(ends, y + 13))
        parts.append(text(WIDTH - RIGHT + 6, y + 17, percent(value)))
    parts += [line(across(mark), top - 4, across(mark), top + len(shown) * ROW, DARK, 2) for mark in marks]
    return svg(parts, top + 12 + len(shown) * ROW, title)


class PairedBars(NamedTuple):
    """A row of two bars: one behind in grey, one in front with its interval, and a mark, such as what is certified."""

    name: str
    behind: float
    front: float
    colour: str = AMBER
    ends: Sequence[float] | None = None
    mark: float | None = None


def draw_paired_bars(rows: Sequence[PairedBars], title: str) -> Markup:
    """Draw two shares a row, from 0% to 100%."""
    shown, top = rows[:MOST_ROWS], 26
    parts = [axis(top, len(shown))]
    for i, row in enumerate(shown):
        y = top + i * ROW
        parts += [
            row_name(row.name, y),
            bar(NAMES, y + 4, across(row.behind) - NAMES, GREY),
            bar(NAMES, y + 8, across(row.front) - NAMES, row.colour, height=10),
            whisker(row.ends, y + 13),
            text(WIDTH - RIGHT + 6, y + 17, percent(row.front)),
        ]
        if row.mark is not None:
            parts.append(line(across(row.mark), y + 2, across(row.mark), y + 24, DARK, 2))
    return svg(parts, top + 12 + len(shown) * ROW, title)


# Charts of generalizations.

DECISION_COLOURS = {"not collected": GREEN, "coarsened": AMBER, "kept": RED}


def buckets_chart(attributes: "Sequence[AttributeOutcome]") -> Markup:
    """Draw how many buckets each attribute has, and of how many values (after [Staab24 Figure 9])."""
    shown = sorted(attributes, key=lambda a: a.decision == "not collected")[:MOST_ROWS]
    most = max([a.n_buckets for a in shown if a.decision != "not collected"], default=1)
    most = max(most, 2)
    rows = []
    for i, attribute in enumerate(shown):
        y = 8 + i * ROW
        collected = attribute.decision != "not collected"
        full = collected and not attribute.buckets
        length = span() * (1 if full else attribute.n_buckets / most) * 0.72 if collected else 0
        rows.append(row_name(attribute.name, y))
        if collected:
            rows.append(bar(NAMES, y + 4, length, DECISION_COLOURS[attribute.decision]))
        rows.append(
            text(NAMES + length + 8, y + 17, _bucket_text(attribute, full), colour=DARK if collected else GREEN)
        )
    return svg(rows, 16 + len(shown) * ROW, "Buckets per attribute")


def risk_chart(attributes: "Sequence[AttributeOutcome]") -> Markup:
    """Draw for each personal attribute the naive guess's, the adversary's and the certified error."""
    rows = [
        PairedBars(a.name, a.naive_error, a.adversary_error, RED, a.adversary_interval, a.certified_error)
        for a in attributes
        if a.adversary_error is not None and a.naive_error is not None
    ]
    rows.sort(key=lambda row: row.front - row.behind)
    return draw_paired_bars(rows, "Error of the adversary for each personal attribute")


def error_chart(score: "ScoreContent") -> Markup:
    """Draw the model's error on raw and minimized data and the majority guess's, with intervals."""
    lines = [
        ("raw data", score.raw or 0.0, score.raw_interval, GREY),
        ("minimized data", score.minimized or 0.0, score.interval, AMBER),
        ("majority guess", score.majority or 0.0, None, GREY),
    ]
    most = max(value for _, value, _, _ in lines) or 1.0
    scale = span() * 0.8 / most
    rows = []
    for i, (name, value, interval, colour) in enumerate(lines):
        y, end = 8 + i * ROW, value
        rows += [row_name(name, y), bar(NAMES, y + 4, value * scale, colour)]
        if ends := both_ends(interval):
            rows.append(line(NAMES + ends[0] * scale, y + 13, NAMES + ends[1] * scale, y + 13, DARK, 2))
            end = max(value, ends[1])
        rows.append(text(NAMES + end * scale + 8, y + 17, percent(value)))
    return svg(rows, 16 + len(lines) * ROW, "Error of the model")


def _bucket_text(attribute: "AttributeOutcome", full: bool) -> str:
    values = attribute.values
    if attribute.decision == "not collected":
        return f"not collected ({values:,} values)"
    if full:
        return f"full detail ({values:,} values)"
    n = attribute.n_buckets
    return f"{n:,} of {values:,} values ({bucket_share(n / values)})" if values else f"{n:,}"


def trade_off_chart(content: "AlternativesContent") -> Markup:
    """Draw the model's error against the adversary's, for every point and the two ends."""
    ends = content.raw_data, content.nothing_collected
    everyone: list[EndContent] = [*content.points, *ends]
    low, high = (f(p.error for p in everyone) for f in (min, max))
    top = max(p.adversary_error for p in everyone) or 1.0
    span, height, left = max(high - low, 1e-9), 260, 70

    def place(error: float, adversary_error: float) -> tuple[float, float]:
        across = left + 20 + (error - low) / span * (WIDTH - left - 60)
        return across, 20 + height - adversary_error / (1.08 * top) * height

    parts = [line(left, 20, left, 20 + height, GREY, 1), line(left, 20 + height, WIDTH - 20, 20 + height, GREY, 1)]
    for i in range(5):
        error, adversary_error = low + span * i / 4, top * i / 4
        x, y = place(error, adversary_error)
        parts += [
            line(left, y, WIDTH - 20, y, "#eef1f4", 1),
            text(left - 8, y + 4, percent(adversary_error), SOFT, "end"),
            text(x, 38 + height, percent(error), SOFT, "middle"),
        ]
    shown = sorted(content.points, key=lambda p: (p.error, -p.adversary_error))
    parts += [circle(*place(p.error, p.adversary_error), 5, BLUE) for p in shown if not p.chosen]
    parts += [
        circle(*place(end.error, end.adversary_error), 6, colour)
        for end, colour in zip(ends, (AMBER, GREEN), strict=True)
    ]
    parts += [circle(*place(p.error, p.adversary_error), 8, RED) for p in shown if p.chosen]
    parts.append(text(left + 8, 14, "adversary’s error", DARK))
    parts.append(text(WIDTH - 20, 56 + height, "model’s error", DARK, "end"))
    return svg(parts, height + 66, "The model's error against the adversary's, for each way to collect")
