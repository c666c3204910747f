"""The Adult data, and a small tree on two attributes that can be drawn."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from markupsafe import Markup

import modicum as md
from modicum.reporting.charts import SOFT
from pictures.shapes import Parts, box, words

AGE, HOURS = "age", "hours-per-week"


@cache
def adult() -> tuple[Any, Any]:
    return md.datasets.load_adult(return_X_y=True)


@cache
def small_tree() -> tuple[Any, Any, Any]:
    """Return a tree on two attributes, each record's buckets, and each record's leaf."""
    X, y = adult()
    tree = md.PrivacyTree(max_leaves=5, privacy=0.0, min_leaf=2_000).fit(X[[AGE, HOURS]], y)
    return tree, tree.generalization_.codes(X[[AGE, HOURS]]), tree.tree_.apply(tree.coder_.encode(X[[AGE, HOURS]]))


def edges(name: str) -> list[float]:
    """Return the edges of the tree's buckets of an attribute, from its lowest to its highest value."""
    values = adult()[0][name]
    own = [bucket.up_to for bucket in small_tree()[0].generalization_[name].buckets[:-1]]
    return [float(values.min()), *own, float(values.max())]


class Plane:
    """The plane of age and hours a week, with all buckets equally wide."""

    def __init__(self, x: float, y: float, side: float) -> None:
        self.x, self.y, self.side = x, y, side / 3

    def region(self, place: Sequence[int], fill: str) -> Markup:
        """Draw a box from bucket a0 to a1 of the age and h0 to h1 of the hours."""
        a0, a1, h0, h1 = place
        wide, high = (a1 + 1 - a0) * self.side, (h1 + 1 - h0) * self.side
        return box(self.x + a0 * self.side, self.y + (2 - h1) * self.side, wide, high, fill, "#fff", 3)

    def middle(self, place: Sequence[int]) -> tuple[float, float]:
        a0, a1, h0, h1 = place
        return self.x + (a0 + a1 + 1) / 2 * self.side, self.y + (5 - h0 - h1) / 2 * self.side + 5

    def axes(self) -> Parts:
        """Draw the names of the buckets and of the two attributes."""
        ages, hours = (small_tree()[0].generalization_.buckets[name][:3] for name in (AGE, HOURS))
        end = self.y + 3 * self.side
        parts = [words(self.x + (i + 0.5) * self.side, end + 18, a, SOFT, "middle", 13) for i, a in enumerate(ages)]
        parts += [words(self.x - 8, end - (i + 0.5) * self.side + 5, h, SOFT, "end", 13) for i, h in enumerate(hours)]
        parts.append(words(self.x - 8, end + 18, "age:", SOFT, "end", 13))
        return [*parts, words(self.x - 8, self.y + 6, "hours:", SOFT, "end", 13)]


def groups_that_occur() -> list[tuple[list[int], int]]:
    """Return every combination of buckets that occurs, with its place and number of records."""
    found, counts = np.unique(small_tree()[1], axis=0, return_counts=True)
    return [([a, a, h, h], int(n)) for (a, h), n in zip(found.tolist(), counts, strict=True)]


def leaves() -> list[tuple[list[int], int]]:
    """Return every leaf with its place and number of records; the buckets that reach a leaf form one box."""
    _, codes, leaf = small_tree()
    own = [codes[leaf == each] for each in np.unique(leaf)]
    return [([int(end) for column in each.T for end in (column.min(), column.max())], len(each)) for each in own]
