"""Two tables that share group numbers, and how often an adversary finds a person's value."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import modicum as md
from modicum.reporting.charts import AMBER, BLUE, DARK, GREY, RED, SOFT, WIDTH, line
from pictures.shapes import LIGHT, PALE, RULE, Parts, box, card, words
from pictures.tree import AGE, HOURS, adult

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def anatomy() -> str:
    """Draw two tables that share group numbers, and how often an adversary finds a person's value."""
    identifying, sensitive = anatomized()
    parts = [
        words(30, 36, "identifying table", bold=True, size=16),
        words(585, 36, "sensitive table", bold=True, size=16),
    ]
    parts += _rows(identifying, (30, 90, 175, 250, 340), 62, 360)
    parts += _rows(sensitive, (585, 660), 62, 250)
    for i, group in enumerate(sorted(set(sensitive["GID"]))):
        parts += _tie(i, group)
    parts.append(line(30, 318, WIDTH - 30, 318, RULE, 1.5))
    promise, learned, name = matched()
    parts.append(words(30, 350, "How often an adversary finds a person's value", bold=True, size=16))
    for i, (label, share, fill) in enumerate(
        (("1/ℓ, all matchings equally likely", promise, GREY), ("learning from the two tables", learned, RED))
    ):
        y = 370 + i * 34
        parts += [words(30, y + 17, label), box(340, y, 440, 22, LIGHT), box(340, y, 440 * share, 22, fill)]
        parts.append(words(348 + 440 * share, y + 17, f"{share:.0%}", DARK, bold=True))
    parts.append(words(30, 456, name, SOFT, size=13))
    return card(
        parts, 476, "Two tables that share group numbers; an adversary who learns is right more often than promised"
    )


@cache
def anatomized() -> tuple[Any, Any]:
    """Return two groups of a release of the first 3,000 records."""
    X, y = adult()
    X = X[[AGE, "sex", HOURS, "education"]][:3_000]
    release = md.Anatomy(l=3, sensitive="education", random_state=0).fit(X, y[:3_000]).release_
    shown = release.identifying["GID"].iloc[:2].tolist()
    parts = [
        table[table["GID"].isin(shown)].sort_values("GID", kind="stable")
        for table in (release.identifying, release.sensitive)
    ]
    return parts[0].rename(columns={HOURS: "hours"}), parts[1]


def _rows(table: Any, places: Sequence[float], y: float, width: float) -> Parts:
    parts = [words(x, y, name, SOFT, size=14) for name, x in zip(table.columns, places, strict=True)]
    for i, row in enumerate(table.astype(str).to_numpy().tolist()):
        top = y + 12 + i * 36 + 14 * (i // 3)
        parts.append(box(places[0] - 8, top, width, 30, PALE if i < 3 else "#fbe6c0"))
        parts += [words(x, top + 21, value, DARK, size=15) for x, value in zip(places, row, strict=True)]
    return parts


def _tie(i: int, group: int) -> Parts:
    top, fill = 74 + i * 122, BLUE if i == 0 else AMBER
    marks = [line(x, top, x, top + 102, fill, 3) for x in (396, 568)]
    return [
        *marks,
        line(396, top + 51, 568, top + 51, fill, 2),
        words(482, top + 42, f"group {group}", fill, "middle", 14, True),
        words(482, top + 71, "who has which value", SOFT, "middle", 13),
        words(482, top + 88, "is not published", SOFT, "middle", 13),
    ]


def matched() -> tuple[float, float, str]:
    """Return the promise and the attack's success at ℓ = 3 on all of Adult, from the benchmark, with its source."""
    figures = json.loads((RESULTS / "reproduce_anatomy.json").read_text(encoding="utf-8"))["figures"]
    adults = next(table for table in figures["releases"]["tables"] if table["title"] == "Adult")
    found = next(r for r in adults["releases"] if r["l"] == 3 and r["grouping"] == "bucketize")
    source = f"Adult, {found['rows']:,} records, ℓ = 3, sensitive: {adults['sensitive']}"
    source += " (benchmarks/results/reproduce_anatomy.json)"
    return found["attack"]["baseline"], found["attack"]["accuracy"], source
