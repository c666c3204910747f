"""An age kept, coarsened and dropped; one partition per attribute beside cells."""

import numpy as np

from modicum.reporting.charts import AMBER, BLUE, DARK, GREY, SOFT, WIDTH, line
from pictures.shapes import LIGHT, PALE, RULE, Parts, box, card, dot, lines, words
from pictures.tree import AGE, Plane, adult, edges, groups_that_occur, leaves, small_tree


def generalization() -> str:
    """Draw an age kept, coarsened and dropped; below, one partition per attribute next to cells."""
    parts = [words(30, 34, "What is known about an age", bold=True, size=17)]
    for row, draw in enumerate((_kept, _coarsened, _dropped)):
        parts += draw(60, 62 + row * 112)
    parts += [line(30, 404, WIDTH - 30, 404, RULE, 1.5)]
    for x, title, regions in (
        (85, "buckets of each attribute", groups_that_occur()),
        (355, "cells, from a tree", leaves()),
    ):
        parts += [words(x, 438, title, bold=True), *_boxes(Plane(x, 454, 190), [place for place, _ in regions])]
    notes = ("The dot is one person.", "The dark box is what is known.", "", "A line on the left cuts all the way",
             "through: anyone can answer each", "question by itself.", "", "On the right the same questions are",
             "asked only where they matter, so", "many reveal less; but code must", "choose the box.")  # fmt: skip
    parts += lines(590, 462, notes, DARK)
    return card(parts, 690, "An age kept, coarsened and dropped; below, a grid of buckets next to the boxes of a tree")


def _counts() -> np.ndarray:
    return np.bincount(adult()[0][AGE], minlength=91)[17:]


def _histogram(x: float, y: float, heights: np.ndarray, gap: float) -> Parts:
    step = 560 / len(heights)
    return [
        box(x + i * step, y + 78 * (1 - h), step - gap, 78 * h, BLUE) for i, h in enumerate(heights / _counts().max())
    ]


def _kept(x: float, y: float) -> Parts:
    notes = [words(650, y + 26, "kept", BLUE, bold=True), *lines(650, y + 47, ("every value is its own", "answer"))]
    return [*_histogram(x, y, _counts().astype(float), 1.5), words(x, y + 96, "17", SOFT, size=13),
            words(x + 560, y + 96, "90 years", SOFT, "end", 13), *notes]  # fmt: skip


def _coarsened(x: float, y: float) -> Parts:
    _, codes, _ = small_tree()
    labels = small_tree()[0].generalization_.buckets[AGE]
    ends, step, parts = edges(AGE), 560 / 74, []
    for i, share in enumerate(np.bincount(codes[:, 0]) / len(codes)):
        left = 0.0 if i == 0 else (ends[i] - 16.5) * step
        right = 560.0 if i == 2 else (ends[i + 1] - 16.5) * step
        tall = 78 * min(1.0, share * len(codes) / ((right - left) / step) / _counts().max())
        parts += [box(x + left + 1, y + 78 - tall, right - left - 2, tall, BLUE)]
        parts += [words(x + (left + right) / 2, y + 96, labels[i], SOFT, "middle", 13)]
        parts += [words(x + (left + right) / 2, y + 72, f"{share:.0%}", "#fff", "middle", 14, True)]
    notes = [
        words(650, y + 26, "coarsened", BLUE, bold=True),
        *lines(650, y + 47, ("an answer is a range;", "here three buckets")),
    ]
    return parts + notes


def _dropped(x: float, y: float) -> Parts:
    notes = [
        words(650, y + 26, "dropped", SOFT, bold=True),
        *lines(650, y + 47, ("one bucket for all: the", "question is not asked")),
    ]
    return [box(x, y + 14, 560, 64, LIGHT, GREY, dashed=True),
            words(x + 280, y + 52, "everybody", SOFT, "middle", 15), *notes]  # fmt: skip


def _boxes(plane: Plane, places: list[list[int]]) -> Parts:
    """Draw boxes; the box of a person from 30 to 36 who works 44 hours or more is dark."""
    parts = [plane.region(p, BLUE if p[0] <= 1 <= p[1] and p[2] <= 2 <= p[3] else PALE) for p in places]
    return [*parts, dot(*plane.middle([1, 1, 2, 2]), AMBER, 8), *plane.axes()]
