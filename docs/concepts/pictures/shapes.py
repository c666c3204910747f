"""The elements of the pictures: words, boxes, points and the card behind them."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from modicum.reporting.charts import DARK, SOFT, WIDTH, svg

PALE, LIGHT, RULE = "#dbe7f5", "#f4f6f9", "#e5e9ee"
Parts = list[Markup]


def words(
    x: float, y: float, text: str, fill: str = DARK, anchor: str = "start", size: int = 15, bold: bool = False
) -> Markup:
    """Draw a line of text."""
    form = '<text x="{:.1f}" y="{:.1f}" fill="{}" text-anchor="{}" font-size="{}" font-weight="{}">{}</text>'
    return Markup(form).format(x, y, fill, anchor, size, "bold" if bold else "normal", text)


def lines(x: float, y: float, texts: Sequence[str], fill: str = SOFT, size: int = 14) -> Parts:
    """Draw several lines of text."""
    return [words(x, y + i * (size + 5), text, fill, size=size) for i, text in enumerate(texts)]


def box(
    x: float, y: float, w: float, h: float, fill: str, edge: str = "none", width: float = 1.5, dashed: bool = False
) -> Markup:
    """Draw a rectangle with rounded corners."""
    form = (
        '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="3" fill="{}" stroke="{}" stroke-width="{}"{}/>'
    )
    return Markup(form).format(x, y, w, h, fill, edge, width, Markup(' stroke-dasharray="5 4"') if dashed else "")


def dot(x: float, y: float, fill: str, radius: float = 5) -> Markup:
    """Draw a point."""
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}" stroke="#fff"/>').format(x, y, radius, fill)


def card(parts: Iterable[Markup], height: float, label: str) -> str:
    """Put the picture on a white card, so that it is readable on dark pages too."""
    paper = box(1, 1, WIDTH - 2, height - 2, "#fff", RULE)
    drawn = str(svg([paper, *parts], height, label))
    opening = '<svg xmlns="http://www.w3.org/2000/svg" font-family="DejaVu Sans, Verdana, sans-serif"'
    return drawn.replace("<svg", opening, 1) + "\n"
