"""The pictures of a report on a generalization: buckets, risks, the model's error, and the trade-off."""

from collections.abc import Sequence

from markupsafe import Markup

from modicum.generalization.description import percent as bucket_share
from modicum.reporting.charts import (
    AMBER,
    BLUE,
    DARK,
    GREEN,
    GREY,
    MOST_ROWS,
    NAMES,
    RED,
    RIGHT,
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
    whisker,
)
from modicum.reporting.disclosure import both_ends
from modicum.reporting.formats import percent
from modicum.reporting.generalization.data import AlternativesContent, AttributeOutcome, EndContent, ScoreContent

COLOURS = {"not collected": GREEN, "coarsened": AMBER, "kept": RED}


def buckets_chart(attributes: Sequence[AttributeOutcome]) -> Markup:
    """How many buckets each attribute is asked in, and of how many values (after papers/0 Figure 9)."""
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
            rows.append(bar(NAMES, y + 4, length, COLOURS[attribute.decision]))
        rows.append(
            text(NAMES + length + 8, y + 17, _bucket_text(attribute, full), colour=DARK if collected else GREEN)
        )
    return svg(rows, 16 + len(shown) * ROW, "Buckets per attribute")


def risk_chart(attributes: Sequence[AttributeOutcome]) -> Markup:
    """For each personal attribute: the naive guess's error, the adversary's with its interval, the certified floor."""
    found = [
        (a, a.adversary_error, a.naive_error, a.certified_error)
        for a in attributes
        if a.adversary_error is not None and a.naive_error is not None and a.certified_error is not None
    ]
    shown = sorted(found, key=lambda each: each[1] - each[2])[:MOST_ROWS]
    top = 26
    rows = [axis(top, len(shown))]
    for i, (attribute, error, naive, certified) in enumerate(shown):
        y = top + i * ROW
        rows += [
            row_name(attribute.name, y),
            bar(NAMES, y + 4, across(naive) - NAMES, GREY),
            bar(NAMES, y + 8, across(error) - NAMES, RED, height=10),
            whisker(attribute.adversary_interval, y + 13),
            line(across(certified), y + 2, across(certified), y + 24, DARK, 2),
            text(WIDTH - RIGHT + 6, y + 17, share(error)),
        ]
    return svg(rows, top + 12 + len(shown) * ROW, "Error of the adversary for each personal attribute")


def error_chart(score: ScoreContent) -> Markup:
    """The model's error on raw and minimized data and the majority guess's, with intervals."""
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
        rows.append(text(NAMES + end * scale + 8, y + 17, share(value)))
    return svg(rows, 16 + len(lines) * ROW, "Error of the model")


def _bucket_text(attribute: AttributeOutcome, full: bool) -> str:
    values = attribute.values
    if attribute.decision == "not collected":
        return f"not collected ({values:,} values)"
    if full:
        return f"full detail ({values:,} values)"
    n = attribute.n_buckets
    return f"{n:,} of {values:,} values ({bucket_share(n / values)})" if values else f"{n:,}"


def trade_off_chart(content: AlternativesContent) -> Markup:
    """The model's error against the adversary's, for every point and the two ends."""
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
