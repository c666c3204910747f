"""Charts as SVG text: they open offline, print sharply and need no script."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup, escape

from modicum.generalization.describe import percent

WIDTH, NAMES, RIGHT = 880, 190, 60
ROW = 26
MOST_ROWS = 60

RED, AMBER, GREEN, GREY, DARK = "#b3261e", "#d98e04", "#2e7d32", "#cfd5dd", "#1f2933"
COLOURS = {"not collected": GREEN, "coarsened": AMBER, "kept": RED}


def buckets_chart(attributes: Sequence[dict[str, Any]]) -> Markup:
    """How many buckets each attribute is asked in, and of how many values (after papers/0 Figure 9)."""
    shown = sorted(attributes, key=lambda a: a["decision"] == "not collected")[:MOST_ROWS]
    most = max([a["n_buckets"] for a in shown if a["decision"] != "not collected"], default=1)
    most = max(most, 2)
    rows = []
    for i, attribute in enumerate(shown):
        y = 8 + i * ROW
        collected = attribute["decision"] != "not collected"
        full = collected and not attribute["buckets"]
        length = _span() * (1 if full else attribute["n_buckets"] / most) * 0.72 if collected else 0
        rows.append(_name(attribute["name"], y))
        if collected:
            rows.append(_bar(NAMES, y + 4, length, COLOURS[attribute["decision"]]))
        rows.append(
            _text(NAMES + length + 8, y + 17, _bucket_text(attribute, full), colour=DARK if collected else GREEN)
        )
    return _svg(rows, 16 + len(shown) * ROW, "Buckets per attribute")


def risk_chart(attributes: Sequence[dict[str, Any]]) -> Markup:
    """For each personal attribute: the naive guess's error, the adversary's with its interval, the certified floor."""
    shown = [a for a in attributes if a["adversary_error"] is not None]
    shown = sorted(shown, key=lambda a: a["adversary_error"] - a["naive_error"])[:MOST_ROWS]
    top = 26
    rows = [_axis(top, len(shown))]
    for i, attribute in enumerate(shown):
        y = top + i * ROW
        low, high = attribute["adversary_interval"]
        rows += [
            _name(attribute["name"], y),
            _bar(NAMES, y + 4, _x(attribute["naive_error"]) - NAMES, GREY),
            _bar(NAMES, y + 8, _x(attribute["adversary_error"]) - NAMES, RED, height=10),
            _line(_x(low), y + 13, _x(high), y + 13, DARK, 2),
            _line(_x(attribute["certified_error"]), y + 2, _x(attribute["certified_error"]), y + 24, DARK, 2),
            _text(WIDTH - RIGHT + 6, y + 17, _share(attribute["adversary_error"])),
        ]
    return _svg(rows, top + 12 + len(shown) * ROW, "Error of the adversary for each personal attribute")


def error_chart(score: dict[str, Any]) -> Markup:
    """The model's error on raw and minimized data and the majority guess's, with intervals."""
    lines = [
        ("raw data", score["raw"], score["raw_interval"], GREY),
        ("minimized data", score["minimized"], score["interval"], AMBER),
        ("majority guess", score["majority"], None, GREY),
    ]
    most = max(value for _, value, _, _ in lines) or 1.0
    scale = _span() * 0.8 / most
    rows = []
    for i, (name, value, interval, colour) in enumerate(lines):
        y = 8 + i * ROW
        rows += [_name(name, y), _bar(NAMES, y + 4, value * scale, colour)]
        if interval:
            rows.append(_line(NAMES + interval[0] * scale, y + 13, NAMES + interval[1] * scale, y + 13, DARK, 2))
        rows.append(_text(NAMES + max(value, interval[1] if interval else 0) * scale + 8, y + 17, _share(value)))
    return _svg(rows, 16 + len(lines) * ROW, "Error of the model")


def _bucket_text(attribute: dict[str, Any], full: bool) -> str:
    values = attribute["values"]
    if attribute["decision"] == "not collected":
        return f"not collected ({values:,} values)"
    if full:
        return f"full detail ({values:,} values)"
    n = attribute["n_buckets"]
    return f"{n:,} of {values:,} values ({percent(n / values)})" if values else f"{n:,}"


def _share(value: float) -> str:
    return f"{value:.1%}"


def _span() -> float:
    return WIDTH - NAMES - RIGHT


def _x(value: float) -> float:
    return NAMES + max(0.0, min(1.0, value)) * _span()


def _axis(top: float, n: int) -> Markup:
    marks = []
    for i in range(6):
        x = _x(i / 5)
        marks.append(_line(x, top - 6, x, top + n * ROW, "#e5e9ee", 1))
        marks.append(_text(x, top - 11, f"{i / 5:.0%}", anchor="middle", colour="#5f6b7a"))
    return Markup("").join(marks)


def _name(name: str, y: float) -> Markup:
    short = name if len(name) <= 24 else f"{name[:13]}…{name[-10:]}"
    return Markup('<text x="{}" y="{:.1f}" text-anchor="end" fill="{}">{}<title>{}</title></text>').format(
        NAMES - 10, y + 17, DARK, short, name
    )


def _text(x: float, y: float, text: str, colour: str = DARK, anchor: str = "start") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" fill="{}">{}</text>').format(x, y, anchor, colour, text)


def _bar(x: float, y: float, length: float, colour: str, height: float = 18) -> Markup:
    return Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{}" rx="2" fill="{}"/>').format(
        x, y, max(0.0, length), height, colour
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> Markup:
    return Markup('<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}" stroke-width="{}"/>').format(
        x1, y1, x2, y2, colour, width
    )


def _svg(parts: Sequence[Markup], height: float, label: str) -> Markup:
    opening = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, int(height), escape(label))
    return opening + Markup("").join(parts) + Markup("</svg>")
