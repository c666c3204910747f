"""Grow the upper levels of the tree of [Goldsteen21 Algorithm 1] in an engine."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.anonymizers.out_of_core.cut_tree import CutTree, Upper
from modicum.anonymizers.out_of_core.whole_task import ReleaseGuide, WholeColumn, WholeTask
from modicum.anonymizers.task import Needs, Task
from modicum.engines.coded_table import CodedTable, StreamedCounts
from modicum.engines.coding import coder_at, labels_at
from modicum.engines.table import EngineTable
from modicum.measures.requirement import Requirement
from modicum.table.codes import CodeArray, Coder, all_counts
from modicum.table.counts import CountSource, Layout, NodeCounts, NodeSplit, RowCounts
from modicum.table.frames import column
from modicum.table.targets import MAX_CLASSES
from modicum.trees import Criterion, Tree, grow
from modicum.typing import Codes

# The tree of [Goldsteen21 Algorithm 1], grown on the released records: its leaves are the groups.


def grow_guided_groups(task: Task, label: Codes) -> Codes:
    """Return each record's leaf in a tree that predicts the label; every leaf meets the requirements on groups."""
    coder, classes = task.coding or (_fit_coder(task), int(label.max()) + 1)
    if coder is None:
        return np.zeros(len(label), dtype=np.int64)
    codes, needs = coder.encode(task.frame), task.needs
    sensitive = [needs.sensitive_codes] if needs.n_sensitive else []
    table = np.column_stack([codes, *(values.astype(np.uint16) for values in (*sensitive, label))])
    source = _PersonCounts(table, layout_of(coder, needs.n_sensitive, classes), needs)
    admits = None if needs.persons is None else source.admits
    leaves = grow_tree(source, coder, needs.requirement, admits).apply(codes)
    return leaves if task.coding is None else np.unique(leaves, return_inverse=True)[1]


def _fit_coder(task: Task) -> Coder | None:
    names = [each.attribute.name for each in task.ranked.columns if len(each.values)]  # a column may be empty
    return Coder.fit(task.frame, task.schema.select(names)) if names else None


def layout_of(coder: Coder, n_sensitive: int, classes: int) -> Layout:
    """Lay out the counts: split by coded quasi-identifiers; count classes, and sensitive values if required."""
    d, sizes = len(coder.sizes), [*([n_sensitive] if n_sensitive else []), classes]
    return Layout(tuple(range(d)), tuple(coder.sizes), tuple(range(d, d + len(sizes))), tuple(sizes))


def grow_tree(source: CountSource, coder: Coder, requirement: Requirement, admits: Any = None) -> Tree:
    """Grow the tree from these counts."""
    weights: Sequence[float] = [0.0] * (len(source.layout.targets) - 1) + [1.0]
    criterion = Criterion(
        column_weights=np.repeat(weights, source.layout.target_sizes),
        has_order=np.array([coding.attribute.has_order for coding in coder.codings]),
        missing=np.array([coding.n_values if coding.missing else -1 for coding in coder.codings]),
        min_leaf=requirement.k,
        requirement=requirement,
        sensitive=(0, source.layout.label_start),
    )
    counts = [all_counts(coding) for coding in coder.codings]
    return grow(source, criterion, value_counts=counts, admits=admits)


class _PersonCounts(RowCounts):
    """Counts from rows that also check the number of persons on both sides of a split."""

    def __init__(self, table: Any, layout: Layout, needs: Needs) -> None:
        super().__init__(np.ascontiguousarray(table), layout)
        self._needs = needs

    def admits(self, split: NodeSplit) -> bool:
        """Whether both sides have records of at least k persons."""
        rows, persons = self.rows_of(split.node), self._needs.persons
        assert persons is not None
        left = split.goes_left[self.codes_of(rows, split.attribute)]
        return all(len(np.unique(persons[side])) >= self._needs.requirement.k for side in (rows[left], rows[~left]))


# Grow the upper levels in the engine.


def has_classes(table: EngineTable, name: str) -> bool:
    """Whether a label has classes and is not a number with many values."""
    if not table.types[name].is_numeric():
        return True
    return table.count_distinct(name) <= MAX_CLASSES


def guide_at(table: EngineTable, task: WholeTask, label: str, bins: int) -> ReleaseGuide:
    """Build the guide of the tree: the label's classes, or ranges of a number with many values."""
    labels = labels_at(table, label, None if has_classes(table, label) else bins)
    names = [each.attribute.name for each in task.quasi if len(each.values)]
    coder = coder_at(table, task.schema.select(names)) if names else None
    return ReleaseGuide(label, labels, coder)


def grow_guided_parts(table: EngineTable, task: WholeTask, rows: int) -> Upper:
    """Divide the records into parts: leaves of the tree, or nodes with at most `rows` records."""
    assert task.guide is not None
    guide, coder = task.guide, task.guide.coder
    if coder is None or task.rows <= rows:
        return Upper(CutTree.root(), None)
    many = 0 if task.sensitive is None else len(task.requirement.overall)
    with CodedTable.of(table, _GuidedCoder(coder, task.sensitive, guide)) as coded:
        source = _OpenCounts(StreamedCounts(coded, layout_of(coder, many, len(guide.labels))), rows)
        return Upper(grow_tree(source, coder, task.requirement), coder)


@dataclass(frozen=True)
class _GuidedCoder:
    """Encode quasi-identifiers as the tree does, then sensitive values if required, then classes."""

    coder: Coder
    sensitive: WholeColumn | None
    guide: ReleaseGuide

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
    """Counts that report nodes with few records as empty: they are split later, with their records."""

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
