"""The charts of a judgement."""

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from modicum.generalization.description import percent
from modicum.reporting.svg import (
    AMBER,
    DARK,
    GREEN,
    GREY,
    NAMES,
    RED,
    RIGHT,
    ROW,
    WIDTH,
    across,
    axis,
    bar,
    line,
    row_name,
    share,
    span,
    svg,
    text,
)

MOST_ROWS = 60
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
        length = span() * (1 if full else attribute["n_buckets"] / most) * 0.72 if collected else 0
        rows.append(row_name(attribute["name"], y))
        if collected:
            rows.append(bar(NAMES, y + 4, length, COLOURS[attribute["decision"]]))
        rows.append(
            text(NAMES + length + 8, y + 17, _bucket_text(attribute, full), colour=DARK if collected else GREEN)
        )
    return svg(rows, 16 + len(shown) * ROW, "Buckets per attribute")


def risk_chart(attributes: Sequence[dict[str, Any]]) -> Markup:
    """For each personal attribute: the naive guess's error, the adversary's with its interval, the certified floor."""
    shown = [a for a in attributes if a["adversary_error"] is not None]
    shown = sorted(shown, key=lambda a: a["adversary_error"] - a["naive_error"])[:MOST_ROWS]
    top = 26
    rows = [axis(top, len(shown))]
    for i, attribute in enumerate(shown):
        y = top + i * ROW
        low, high = attribute["adversary_interval"]
        rows += [
            row_name(attribute["name"], y),
            bar(NAMES, y + 4, across(attribute["naive_error"]) - NAMES, GREY),
            bar(NAMES, y + 8, across(attribute["adversary_error"]) - NAMES, RED, height=10),
            line(across(low), y + 13, across(high), y + 13, DARK, 2),
            line(across(attribute["certified_error"]), y + 2, across(attribute["certified_error"]), y + 24, DARK, 2),
            text(WIDTH - RIGHT + 6, y + 17, share(attribute["adversary_error"])),
        ]
    return svg(rows, top + 12 + len(shown) * ROW, "Error of the adversary for each personal attribute")


def error_chart(score: dict[str, Any]) -> Markup:
    """The model's error on raw and minimized data and the majority guess's, with intervals."""
    lines = [
        ("raw data", score["raw"], score["raw_interval"], GREY),
        ("minimized data", score["minimized"], score["interval"], AMBER),
        ("majority guess", score["majority"], None, GREY),
    ]
    most = max(value for _, value, _, _ in lines) or 1.0
    scale = span() * 0.8 / most
    rows = []
    for i, (name, value, interval, colour) in enumerate(lines):
        y = 8 + i * ROW
        rows += [row_name(name, y), bar(NAMES, y + 4, value * scale, colour)]
        if interval:
            rows.append(line(NAMES + interval[0] * scale, y + 13, NAMES + interval[1] * scale, y + 13, DARK, 2))
        rows.append(text(NAMES + max(value, interval[1] if interval else 0) * scale + 8, y + 17, share(value)))
    return svg(rows, 16 + len(lines) * ROW, "Error of the model")


def _bucket_text(attribute: dict[str, Any], full: bool) -> str:
    values = attribute["values"]
    if attribute["decision"] == "not collected":
        return f"not collected ({values:,} values)"
    if full:
        return f"full detail ({values:,} values)"
    n = attribute["n_buckets"]
    return f"{n:,} of {values:,} values ({percent(n / values)})" if values else f"{n:,}"
