"""Groups of at least k and what they reveal; a tree's leaves next to the groups that occur."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

import modicum as md
from modicum.reporting.charts import DARK, SOFT, WIDTH, line
from modicum.reporting.study.study_charts import colour
from pictures.shapes import LIGHT, PALE, RULE, Parts, box, card, dot, lines, words
from pictures.tree import AGE, HOURS, Plane, adult, groups_that_occur, leaves


def anonymity() -> str:
    """Draw groups of at least k with their sensitive values, and a tree's leaves next to the groups that occur."""
    parts = [words(30, 36, "60 people, made alike in groups of at least six", bold=True, size=16), *_groups(30, 62)]
    parts += [*_figures(30, 322), line(30, 404, WIDTH - 30, 404, RULE, 1.5)]
    for x, title, regions in ((95, "leaves of a tree", leaves()), (395, "groups that occur", groups_that_occur())):
        plane, least = Plane(x, 456, 210), min(n for _, n in regions)
        parts.append(words(x, 440, title, bold=True))
        for place, n in regions:
            parts.append(plane.region(place, "#f6c4bf" if n == least else PALE))
            parts.append(words(*plane.middle(place), f"{n:,}", DARK, "middle", 15, n == least))
        parts += plane.axes()
    few, fewer = (min(n for _, n in regions) for regions in (leaves(), groups_that_occur()))
    notes = ("Every leaf has 2,000 people", f"or more, the smallest {few:,}.", "", "Everybody is asked for all",
             "buckets, so every line cuts", f"through, and {fewer:,} are left", "in the smallest group.", "",
             "k counts people in groups.")  # fmt: skip
    parts += lines(640, 474, notes, DARK)
    return card(
        parts, 706, "Groups of people and what they reveal; below, the leaves of a tree next to the smaller groups"
    )


@cache
def few_people() -> Any:
    """Return Mondrian's release of the first 60 records."""
    X = adult()[0][[AGE, HOURS, "relationship"]][:60]
    return md.Mondrian(k=6, quasi_identifiers=[AGE, HOURS], sensitive="relationship", output="ranges").fit(X).release_


def _groups(x: float, y: float) -> Parts:
    """Draw the published values of each group, with its sensitive values and those of all people."""
    released = few_people().frame
    kinds = released["relationship"].value_counts().index.tolist()
    parts = [words(x + 20, y + 4, "age", SOFT, size=14), words(x + 95, y + 4, "hours", SOFT, size=14)]
    for i, kind in enumerate(kinds):
        parts += [dot(x + 190 + 128 * i, y - 1, colour(i), 6), words(x + 202 + 128 * i, y + 4, kind, SOFT, size=13)]
    rows = [*released.groupby([AGE, HOURS], sort=True), (("all", ""), released)]
    for i, ((age, hours), group) in enumerate(rows):
        top, counts = (
            y + 18 + i * 32 + 8 * (i == len(rows) - 1),
            [int((group["relationship"] == k).sum()) for k in kinds],
        )
        parts += [
            words(x + 20, top + 18, str(age), bold=not hours),
            words(x + 95, top + 18, str(hours)),
            *_shares(x + 182, top, counts),
        ]
        parts.append(
            words(x + 640, top + 18, f"{len(group)} people, {sum(n > 0 for n in counts)} values", SOFT, size=14)
        )
    return parts


def _shares(x: float, y: float, counts: Sequence[int]) -> Parts:
    ends = np.cumsum([0, *counts]) / sum(counts) * 440
    return [box(x + ends[i], y, ends[i + 1] - ends[i] - 2, 24, colour(i)) for i, n in enumerate(counts) if n]


def _figures(x: float, y: float) -> Parts:
    released, names = few_people().frame, [AGE, HOURS]
    found = (
        ("k", f"{md.measures.k_anonymity(released, names)}", "the smallest group"),
        ("ℓ", f"{md.measures.l_diversity(released, names, 'relationship')}", "the fewest values"),
        ("t", f"{md.measures.t_closeness(released, names, 'relationship'):.2f}", "furthest from all"),
        ("NCP", f"{few_people().ncp:.2f}", "detail given up"),
    )
    parts = []
    for i, (letter, value, means) in enumerate(found):
        left = x + i * 208
        parts += [
            box(left, y, 195, 62, LIGHT, RULE),
            words(left + 14, y + 27, f"{letter} = {value}", bold=True, size=18),
        ]
        parts.append(words(left + 14, y + 49, means, SOFT, size=14))
    return parts
