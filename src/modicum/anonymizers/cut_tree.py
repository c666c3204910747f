"""Trees of cuts: which leaf a record comes to, by the codes of its quasi-identifiers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.anonymizers.coarse_columns import AnyColumn, CoarseColumn
from modicum.table.codes import CodeArray
from modicum.table.values import Codes, Floats

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """One cut of a node: codes of the attribute below the limit go left.

    `value` is the highest number that goes left, where the attribute is coded coarsely (infinity: all but missing), and
    `left` how many records do.
    """

    attribute: int
    limit: int
    left: int
    value: float = np.nan


@dataclass(frozen=True)
class CutTree:
    """Cuts by node: codes of `attributes` below `limits` go to the node `lefts`, others to the next; -1 is a leaf."""

    attributes: Ints
    limits: Ints
    lefts: Ints
    values: Floats

    @classmethod
    def root(cls) -> "CutTree":
        """One leaf."""
        return cls(np.array([-1]), np.array([0]), np.array([-1]), np.array([np.nan]))

    def nodes(self, codes: CodeArray) -> Codes:
        """The leaf that each record comes to."""
        from modicum.anonymizers.upper_kernel import route  # deferred: the compiler takes a second to import

        found = np.empty(len(codes), dtype=np.int64)
        route(codes, self.attributes, self.limits, self.lefts, found)
        return found

    def cut(self, cuts: Sequence[tuple[int, Cut]]) -> "CutTree":
        """The tree with some leaves cut."""
        many, more = len(self.attributes), 2 * len(cuts)
        nodes = np.array([node for node, _ in cuts], dtype=np.int64)
        attributes, limits, lefts = (
            np.append(own, np.full(more, -1)) for own in (self.attributes, self.limits, self.lefts)
        )
        values = np.append(self.values, np.full(more, np.nan))
        attributes[nodes] = [cut.attribute for _, cut in cuts]
        limits[nodes], values[nodes] = [cut.limit for _, cut in cuts], [cut.value for _, cut in cuts]
        lefts[nodes] = many + 2 * np.arange(len(cuts))
        return CutTree(attributes, limits, lefts, values)

    def recoded(self, columns: Sequence[AnyColumn]) -> "CutTree":
        """The same cuts in other codes of the columns that are coded coarsely."""
        limits = self.limits.copy()
        for a, column in enumerate(columns):
            if isinstance(column, CoarseColumn):
                own = self.attributes == a
                limits[own] = column.limit(self.values[own])
        return replace(self, limits=limits)


@dataclass(frozen=True)
class Encoded:
    """How records become codes of the whole table."""

    whole: tuple[AnyColumn, ...]

    @property
    def names(self) -> list[str]:
        return [each.attribute.name for each in self.whole]

    @property
    def sizes(self) -> list[int]:
        return [each.size for each in self.whole]

    def encode(self, X: Any) -> CodeArray:
        """One row per record, one column per attribute."""
        columns = [each.encode(X[each.attribute.name]).astype(np.uint16) for each in self.whole]
        return np.ascontiguousarray(np.column_stack(columns))


@dataclass(frozen=True)
class CutParts:
    """The part of each record, told by a tree of cuts."""

    tree: CutTree
    encoded: Encoded

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """The part of each record of a batch."""
        return self.tree.nodes(self.encoded.encode(frame))
