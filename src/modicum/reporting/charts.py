"""Charts as SVG text: they open offline, print sharply and need no script."""

import unicodedata
from collections.abc import Sequence

from markupsafe import Markup, escape

# What charts are drawn with: SVG text, which opens offline, prints sharply and needs no script.

WIDTH, NAMES, RIGHT = 880, 190, 60
ROW = 26
_TURNING = {chr(c) for c in (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))}  # bidi controls
_NO_TEXT = ("Cc", "Cs")  # what steers a terminal, and halves of characters, which no file can hold

RED, AMBER, GREEN, GREY, DARK, SOFT, BLUE = "#b3261e", "#d98e04", "#2e7d32", "#cfd5dd", "#1f2933", "#5f6b7a", "#1d5fa8"


def share(value: float) -> str:
    """A share for people."""
    return f"{value:.1%}"


def span() -> float:
    """The width between names and figures."""
    return WIDTH - NAMES - RIGHT


def across(value: float) -> float:
    """Where a share from 0 to 1 stands."""
    return NAMES + max(0.0, min(1.0, value)) * span()


def axis(top: float, n: int) -> Markup:
    """Lines at every fifth from 0% to 100% over n rows."""
    marks = []
    for i in range(6):
        x = across(i / 5)
        marks.append(line(x, top - 6, x, top + n * ROW, "#e5e9ee", 1))
        marks.append(text(x, top - 11, f"{i / 5:.0%}", anchor="middle", colour=SOFT))
    return Markup("").join(marks)


def readable(text: str) -> str:
    """Text without the characters that a page cannot show, or that would turn its direction."""
    hidden = {c for c in text if (unicodedata.category(c) in _NO_TEXT and c not in "\n\t") or c in _TURNING}
    return "".join("\ufffd" if c in hidden else c for c in text) if hidden else text


def row_name(name: str, y: float) -> Markup:
    """What a row is called, shortened where long."""
    name = readable(name)
    short = name if len(name) <= 24 else f"{name[:13]}…{name[-10:]}"
    return Markup('<text x="{}" y="{:.1f}" text-anchor="end" fill="{}">{}<title>{}</title></text>').format(
        NAMES - 10, y + 17, DARK, short, name
    )


def text(x: float, y: float, text: str, colour: str = DARK, anchor: str = "start") -> Markup:
    """Some words."""
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}">{}</text>').format(x, y, anchor, colour, text)


def bar(x: float, y: float, length: float, colour: str, height: float = 18) -> Markup:
    """A bar to the right."""
    return Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="2" fill="{}"/>').format(
        x, y, max(0.0, length), height, colour
    )


def line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> Markup:
    """A straight line."""
    return Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"/>').format(
        x1, y1, x2, y2, colour, width
    )


def whisker(ends: Sequence[float] | None, y: float) -> Markup:
    """A thin line over an interval of a share; nothing if there is none."""
    return Markup("") if ends is None else line(across(ends[0]), y, across(ends[1]), y, DARK, 2)


def circle(x: float, y: float, radius: float, colour: str) -> Markup:
    """A dot with a thin light rim, so that neighbours can be told apart."""
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}" stroke="#fff"/>').format(x, y, radius, colour)


def svg(parts: Sequence[Markup], height: float, label: str) -> Markup:
    """All parts as one picture with a name for who cannot see it."""
    opening = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, int(height), escape(label))
    return opening + Markup("").join(parts) + Markup("</svg>")


MOST_ROWS = 60

# The charts of releases: shares as bars, several a row.

Row = tuple[str, float, tuple[float, float] | list[float] | None]


def bars_chart(rows: Sequence[Row], title: str, marks: Sequence[float] = (), colour: str = AMBER) -> Markup:
    """Shares from 0% to 100% as bars, each with its interval; upright lines mark what they are compared to."""
    shown, top = list(rows)[:MOST_ROWS], 26
    parts = [axis(top, len(shown))]
    for i, (name, value, ends) in enumerate(shown):
        y = top + i * ROW
        parts += [row_name(name, y), bar(NAMES, y + 4, across(value) - NAMES, colour)]
        parts.append(whisker(ends, y + 13))
        parts.append(text(WIDTH - RIGHT + 6, y + 17, share(value)))
    parts += [line(across(mark), top - 4, across(mark), top + len(shown) * ROW, DARK, 2) for mark in marks]
    return svg(parts, top + 12 + len(shown) * ROW, title)


def draw_paired_bars(rows: Sequence[tuple[str, float, float]], title: str) -> Markup:
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
