"""The best guess in every cell, and the bound that follows from it."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import modicum as md
from modicum.reporting.charts import AMBER, BLUE, GREEN, SOFT, WIDTH, line
from pictures.shapes import LIGHT, PALE, RULE, Parts, box, card, words
from pictures.tree import AGE, HOURS, adult


def certificate() -> str:
    """Draw how U is counted cell by cell, and the bound next to the naive guess."""
    cells, found = certified()
    n, top = found.records, 84
    scale = 360 / max(sum(counts) for _, counts in cells)
    parts = [words(30, 36, f"{n:,} people whom g has not seen, by their buckets", bold=True, size=16)]
    parts += [words(30, 66, "age", SOFT, size=14), words(110, 66, "hours a week", SOFT, size=14)]
    parts += [words(230, 66, "men", BLUE, size=14), words(275, 66, "women", AMBER, size=14),
              words(355, 66, "dark: the better guess, which is counted", SOFT, size=14)]  # fmt: skip
    for i, ((age, hours), counts) in enumerate(cells):
        parts += [
            words(30, top + i * 30 + 17, age),
            words(110, top + i * 30 + 17, hours),
            *_cell(230, top + i * 30, counts, scale),
        ]
    y = top + len(cells) * 30 + 26
    best = sum(max(counts) for _, counts in cells)
    parts += [line(30, y - 14, WIDTH - 30, y - 14, RULE, 1.5)]
    parts.append(words(30, y + 14, f"U = {best:,} / {n:,} = {found.observed['sex']:.1%}", bold=True, size=16))
    parts += _scale(y + 40, found)
    return card(
        parts,
        y + 172,
        "The number of men and women in each combination of buckets; the certificate next to the naive guess",
    )


@cache
def certified() -> tuple[list[tuple[tuple[str, str], tuple[int, int]]], Any]:
    """Count men and women in every cell of the holdout, and return the certificate about sex."""
    X, y = adult()
    X = X[[AGE, HOURS, "sex"]]
    g = md.PrivacyTree(max_leaves=5, privacy=0.2, personal=["sex"]).fit(X[:20_000], y[:20_000]).generalization_
    holdout = X[20_000:]
    counted = g.transform(holdout).assign(sex=holdout["sex"]).groupby([AGE, HOURS, "sex"], observed=True).size()
    table = counted.unstack(fill_value=0)
    cells = [(key, (int(row["Male"]), int(row["Female"]))) for key, row in table.iterrows()]
    return cells, md.certify(g, holdout, personal=["sex"])


def _cell(x: float, y: float, counts: Sequence[int], scale: float) -> Parts:
    parts, left = [], x
    for count, own, pale in zip(counts, (BLUE, AMBER), (PALE, "#fbe6c0"), strict=True):
        best = count == max(counts)
        parts.append(box(left, y, max(3.0, count * scale - 2), 22, own if best else pale))
        left += max(5.0, count * scale)
    return [*parts, words(left + 8, y + 17, f"{max(counts):,} of {sum(counts):,}", SOFT, size=13)]


def _scale(y: float, found: Any) -> Parts:
    """Draw the bound on a line from half to all."""

    def at(share: float) -> float:
        return 60 + (share - 0.5) / 0.5 * 740

    bound = found.bounds["sex"]
    parts = [box(60, y + 34, 740, 16, LIGHT, RULE), box(at(bound), y + 34, at(1) - at(bound), 16, "#d9ecdb")]
    marks = [(found.naive["sex"], "naive guess", -46, "end", SOFT), (found.observed["sex"], "U", 0, "middle", BLUE),
             (bound, "bound", 44, "start", GREEN)]  # fmt: skip
    for share, label, shift, anchor, fill in marks:
        parts += [line(at(share), y + 30, at(share), y + 54, fill, 3)]
        text = f"{label} {share:.1%}" if label != "U" else "U"
        parts.append(words(at(share) + shift / 4, y + 20, text, fill, anchor, 15, True))
    parts += [
        words(x, y + 72, f"{s:.0%}", SOFT, "middle", 13)
        for s, x in ((s, at(s)) for s in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0))
    ]
    parts.append(words((at(bound) + at(1)) / 2, y + 47, "no adversary, on average", GREEN, "middle", 13))
    note = (
        f"bound = U + the margin {found.margin:.1%} for {found.records:,} people at {found.confidence:.0%} confidence"
    )
    return [*parts, words(60, y + 104, note, SOFT, size=14)]
