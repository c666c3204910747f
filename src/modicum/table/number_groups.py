"""How a number's values are put into groups of neighbours: as many records each, as wide each, or at given edges.

A grouping gives each distinct value a key that never falls from one value to the next; a group begins where it rises.
The key depends on nothing but the value and how many records lie below it, so that it is known of a value even where
those around it are not: an engine looks only at the values between two whose keys differ.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from modicum.table.values import Floats, Mask

Weights = npt.NDArray[np.int64]
Keys = npt.NDArray[np.int64]


class Grouping(Protocol):
    """Where a new group of values begins."""

    @property
    def most(self) -> int:
        """How many groups there can be."""

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        """Each value's key, the first and the last value among them; `before` of `total` records lie below it."""

    def starts(self, distinct: Floats, counts: Weights) -> Mask:
        """Which values begin a group, from all distinct values and how many records have each."""


@dataclass(frozen=True)
class EqualCounts:
    """At most so many groups, of about as many records each; each value alone where there are no more than that.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.number_groups import EqualCounts
    >>> EqualCounts(2).starts(np.arange(5.0), np.array([5, 1, 1, 1, 2])).tolist()
    [True, True, False, False, False]
    """

    most: int

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        return before * self.most // total

    def starts(self, distinct: Floats, counts: Weights) -> Mask:
        if len(counts) <= self.most:
            return np.ones(len(counts), dtype=bool)
        return rises(self, distinct, counts)


@dataclass(frozen=True)
class EqualWidths:
    """At most so many groups, as wide each: a value x, scaled to [0, 1], goes to group ⌊k·x⌋ (papers/0 §6).

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.number_groups import EqualWidths
    >>> EqualWidths(2).starts(np.array([0.0, 1.0, 4.0, 10.0]), np.array([1, 1, 1, 1])).tolist()
    [True, False, False, True]
    """

    most: int

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        width = distinct[-1] - distinct[0]
        scaled = (distinct - distinct[0]) / (width if width > 0 else 1)
        return np.minimum(self.most - 1, np.floor(self.most * scaled)).astype(np.int64)

    def starts(self, distinct: Floats, counts: Weights) -> Mask:
        return rises(self, distinct, counts)


@dataclass(frozen=True)
class AtEdges:
    """Groups by given edges: group i holds `edges[i-1] < x <= edges[i]`.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.number_groups import AtEdges
    >>> AtEdges((3.5,)).starts(np.array([1.0, 2.0, 4.0, 9.0]), np.array([1, 1, 1, 1])).tolist()
    [True, False, True, False]
    """

    edges: tuple[float, ...]

    @property
    def most(self) -> int:
        return len(self.edges) + 1

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        return np.searchsorted(np.array(self.edges), distinct, side="left")

    def starts(self, distinct: Floats, counts: Weights) -> Mask:
        return rises(self, distinct, counts)


@dataclass(frozen=True)
class AtRanks:
    """Groups that end with the records of given ranks: the 1st smallest, the 10th smallest, …

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.number_groups import AtRanks
    >>> AtRanks((2,)).starts(np.array([1.0, 2.0, 4.0, 9.0]), np.array([1, 1, 1, 1])).tolist()
    [True, False, True, False]
    """

    ranks: tuple[int, ...]

    @property
    def most(self) -> int:
        return len(self.ranks) + 1

    def keys(self, distinct: Floats, before: Weights, total: int) -> Keys:
        return np.searchsorted(np.array(self.ranks), before, side="right")

    def starts(self, distinct: Floats, counts: Weights) -> Mask:
        return rises(self, distinct, counts)


def rises(grouping: Grouping, distinct: Floats, counts: Weights) -> Mask:
    """Where the key is larger than the one before."""
    reached = np.cumsum(counts)
    return np.diff(grouping.keys(distinct, reached - counts, int(reached[-1])), prepend=-1) > 0
