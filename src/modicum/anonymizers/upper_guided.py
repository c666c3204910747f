"""The upper levels of the tree of papers/2 Algorithm 1, grown where the table lives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anonymizers.guided_tree import grown, layout_of
from modicum.anonymizers.part_release import Guide, Upper, WholeTask
from modicum.anonymizers.whole_columns import WholeColumn
from modicum.engines.coded_table import CodedTable, StreamedCounts
from modicum.engines.coding import coder_at, labels_at
from modicum.engines.table import EngineTable, collected
from modicum.table.codes import CodeArray, Coder
from modicum.table.counts import NodeCounts, NodeSplit
from modicum.table.frames import column
from modicum.table.targets import MAX_CLASSES
from modicum.table.values import Codes
from modicum.trees import Tree


def has_classes(table: EngineTable, name: str) -> bool:
    """Whether a label has classes, rather than being a number with many values."""
    if not table.types[name].is_numeric():
        return True
    return int(collected(table.lazy.select(nw.col(name).n_unique()))[name][0]) <= MAX_CLASSES


def guide_at(table: EngineTable, task: WholeTask, label: str, bins: int) -> Guide:
    """What guides the tree: the label's classes, tenths of one that is a number with many values."""
    labels = labels_at(table, label, None if has_classes(table, label) else bins)
    names = [each.attribute.name for each in task.quasi if len(each.values)]
    coder = coder_at(table, task.schema.select(names)) if names else None
    return Guide(label, labels, coder)


def guided_parts(table: EngineTable, task: WholeTask, rows: int) -> Upper:
    """Which part each record belongs to: a leaf of the tree, or a node with at most so many records."""
    assert task.guide is not None
    guide, coder = task.guide, task.guide.coder
    if coder is None or task.rows <= rows:
        return OnePart()
    many = 0 if task.sensitive is None else len(task.requirement.overall)
    with CodedTable.of(table, _GuidedCoder(coder, task.sensitive, guide)) as coded:
        source = _OpenCounts(StreamedCounts(coded, layout_of(coder, many, len(guide.labels))), rows)
        return GuidedParts(grown(source, coder, task.requirement), coder)


@dataclass(frozen=True)
class OnePart:
    """All records are one part."""

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """The part of each record of a batch."""
        return np.zeros(len(frame), dtype=np.int64)


@dataclass(frozen=True)
class GuidedParts:
    """The part of each record, told by the upper levels of a tree."""

    tree: Tree
    coder: Coder

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """The part of each record of a batch."""
        return self.tree.apply(self.coder.encode(frame))


@dataclass(frozen=True)
class _GuidedCoder:
    """Quasi-identifiers as the tree codes them, then sensitive values where they matter, then classes."""

    coder: Coder
    sensitive: WholeColumn | None
    guide: Guide

    @property
    def names(self) -> list[str]:
        own = [] if self.sensitive is None else [self.sensitive.attribute.name]
        return [*self.coder.names, *own, self.guide.name]

    @property
    def sizes(self) -> list[int]:
        own = [] if self.sensitive is None else [self.sensitive.size]
        return [*self.coder.sizes, *own, len(self.guide.labels)]

    def encode(self, X: Any) -> CodeArray:
        own = [] if self.sensitive is None else [self.sensitive.encode(column(X, self.sensitive.attribute.name))]
        targets = [each.astype(np.uint16) for each in (*own, self.guide.encode(X))]
        return np.column_stack([self.coder.encode(X.select(self.coder.names)), *targets])


class _OpenCounts:
    """Counts that tell of nodes with few records that they have none: these are split where their records are."""

    def __init__(self, source: StreamedCounts, rows: int) -> None:
        self.layout, self.batch = source.layout, source.batch
        self._source, self._rows = source, rows

    def root(self) -> NodeCounts:
        return self._open(self._source.root())

    def expand(self, splits: Sequence[NodeSplit]) -> list[tuple[NodeCounts, NodeCounts]]:
        return [(self._open(left), self._open(right)) for left, right in self._source.expand(splits)]

    def _open(self, node: NodeCounts) -> NodeCounts:
        many = int(node.histogram[: self.layout.split_sizes[0], self.layout.label_start :].sum())
        return node if many > self._rows else NodeCounts(node.node, np.zeros_like(node.histogram))
