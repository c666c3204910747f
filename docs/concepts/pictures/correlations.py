"""How strongly each attribute reveals a sensitive one, and a pair that reveals it only together."""

from functools import cache

import modicum as md
from modicum.reporting.charts import BLUE, DARK, RED, SOFT, line
from pictures.shapes import Parts, box, card, words
from pictures.tree import adult


def correlations() -> str:
    """Draw how strongly each attribute reveals the sex, and a pair that reveals it only together."""
    alone, pair, threshold = strengths()
    parts = [words(30, 36, "How much does it reveal about the sex? Cramér's V, Adult", bold=True, size=16)]
    top, left, scale = 78, 235, 560 / 0.7

    def bar_of(y: float, name: str, strength: float, chance: float, bold: bool = False) -> Parts:
        fill = RED if strength >= threshold else BLUE
        return [
            words(left - 12, y + 17, name, DARK, "end", 15, bold),
            box(left, y, strength * scale, 22, fill),
            box(left + strength * scale + 5, y + 2, 54, 18, "#fff"),
            line(left + chance * scale, y - 2, left + chance * scale, y + 24, DARK, 2),
            words(left + strength * scale + 10, y + 17, f"{strength:.3f}", SOFT, size=14),
        ]

    after, x = top + len(alone) * 29 + 44, left + threshold * scale
    parts += [
        line(x, top - 14, x, after + 36, DARK, 1.5),
        words(x + 6, top - 10, f"threshold {threshold:g}", DARK, size=14),
    ]
    for i, (name, strength, chance) in enumerate(alone):
        parts += bar_of(top + i * 29, name, strength, chance)
    parts.append(words(30, after - 14, "Two of those below it, together:", bold=True, size=16))
    parts += bar_of(after + 4, " + ".join(pair[0]).replace("hours-per-week", "hours"), *pair[1:])
    y = after + 56
    parts += [
        box(left, y, 22, 16, RED),
        words(left + 30, y + 14, "reveals: not fully asked", SOFT, size=14),
        box(left + 235, y, 22, 16, BLUE),
        words(left + 265, y + 14, "may be asked", SOFT, size=14),
        line(left + 400, y - 2, left + 400, y + 18, DARK, 2),
        words(left + 410, y + 14, "what chance alone gives", SOFT, size=14),
    ]
    return card(parts, y + 36, "The strength with which each attribute of Adult reveals the sex, and that of one pair")


@cache
def strengths() -> tuple[list[tuple[str, float, float]], tuple[tuple[str, ...], float, float], float]:
    """Return every attribute's strength alone, the strongest pair of those below the threshold, and the threshold."""
    X, _ = adult()
    found = md.prism.correlations(X, "sex", threshold=0.3, max_size=2, progress=False)
    alone = md.prism.correlations(X, "sex", threshold=0.0, p_value=1.0, max_size=1, progress=False)
    pair = next(each for each in found if len(each.attributes) == 2)
    single = [(each.attributes[0], each.strength, each.by_chance or 0.0) for each in alone]
    return single, (pair.attributes, pair.strength, pair.by_chance or 0.0), found.threshold
