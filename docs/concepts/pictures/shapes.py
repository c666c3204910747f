"""What the pictures are drawn with: words, boxes, points and the card they lie on."""

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from modicum.reporting.charts import DARK, SOFT, WIDTH, svg

PALE, LIGHT, RULE = "#dbe7f5", "#f4f6f9", "#e5e9ee"
Parts = list[Markup]


def words(
    x: float, y: float, told: str, fill: str = DARK, anchor: str = "start", size: int = 15, bold: bool = False
) -> Markup:
    """Some words in any size."""
    form = '<text x="{:.1f}" y="{:.1f}" fill="{}" text-anchor="{}" font-size="{}" font-weight="{}">{}</text>'
    return Markup(form).format(x, y, fill, anchor, size, "bold" if bold else "normal", told)


def lines(x: float, y: float, told: Sequence[str], fill: str = SOFT, size: int = 14) -> Parts:
    """Words on several lines."""
    return [words(x, y + i * (size + 5), line_, fill, size=size) for i, line_ in enumerate(told)]


def box(
    x: float, y: float, w: float, h: float, fill: str, edge: str = "none", width: float = 1.5, dashed: bool = False
) -> Markup:
    """A rectangle with soft corners."""
    form = (
        '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="3" fill="{}" stroke="{}" stroke-width="{}"{}/>'
    )
    return Markup(form).format(x, y, w, h, fill, edge, width, Markup(' stroke-dasharray="5 4"') if dashed else "")


def dot(x: float, y: float, fill: str, radius: float = 5) -> Markup:
    """A point."""
    return Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{}" fill="{}" stroke="#fff"/>').format(x, y, radius, fill)


def card(parts: Iterable[Markup], height: float, label: str) -> str:
    """The whole picture on a white card, so that it reads on dark pages too."""
    paper = box(1, 1, WIDTH - 2, height - 2, "#fff", RULE)
    drawn = str(svg([paper, *parts], height, label))
    opening = '<svg xmlns="http://www.w3.org/2000/svg" font-family="DejaVu Sans, Verdana, sans-serif"'
    return drawn.replace("<svg", opening, 1) + "\n"
