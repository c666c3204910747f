"""The tree of papers/2 Algorithm 1, grown on the records that are released: its leaves are the groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from modicum.anonymizers.grouping import Needs
from modicum.anonymizers.task import Task
from modicum.measures.requirement import Requirement
from modicum.table.codes import CodeArray, Coder, Coding, all_counts
from modicum.table.counts import CountSource, Layout, NodeSplit, RowCounts
from modicum.table.values import Codes
from modicum.trees import Criterion, Tree, grow


def guided_groups(task: Task, label: Codes) -> Codes:
    """The leaf of each record in a tree that predicts the label, every leaf with what is asked of a group."""
    coder, classes = task.coding or (_coder(task), int(label.max()) + 1)
    if coder is None:
        return np.zeros(len(label), dtype=np.int64)
    codes = coder.encode(task.frame)
    leaves = _grown(coder, codes, label, classes, task.needs).apply(codes)
    return leaves if task.coding is None else np.unique(leaves, return_inverse=True)[1]


def _coder(task: Task) -> Coder | None:
    names = [each.attribute.name for each in task.ranked.columns if len(each.values)]  # a column may be empty
    return Coder.fit(task.frame, task.schema.select(names)) if names else None


def _grown(coder: Coder, codes: CodeArray, label: Codes, classes: int, needs: Needs) -> Tree:
    sensitive = [needs.sensitive_codes] if needs.n_sensitive else []
    table = np.column_stack([codes, *(values.astype(np.uint16) for values in (*sensitive, label))])
    source = _PersonCounts(table, layout_of(coder, needs.n_sensitive, classes), needs)
    admits = None if needs.persons is None else source.admits
    return grown(source, coder, needs.requirement, admits)


def layout_of(coder: Coder, n_sensitive: int, classes: int) -> Layout:
    """The coded quasi-identifiers are split; sensitive values, where they matter, and classes are counted."""
    d, sizes = len(coder.sizes), [*([n_sensitive] if n_sensitive else []), classes]
    return Layout(tuple(range(d)), tuple(coder.sizes), tuple(range(d, d + len(sizes))), tuple(sizes))


def grown(source: CountSource, coder: Coder, requirement: Requirement, admits: Any = None) -> Tree:
    """The tree of these counts."""
    weights: Sequence[float] = [0.0] * (len(source.layout.targets) - 1) + [1.0]
    criterion = Criterion(
        column_weights=np.repeat(weights, source.layout.target_sizes),
        has_order=np.array([coding.attribute.has_order for coding in coder.codings]),
        missing=np.array([_missing(coding) for coding in coder.codings]),
        min_leaf=requirement.k,
        requirement=requirement,
        sensitive=(0, source.layout.label_start),
    )
    counts = [all_counts(coding) for coding in coder.codings]
    return grow(source, criterion, value_counts=counts, admits=admits)


def _missing(coding: Coding) -> int:
    return coding.n_values if coding.missing else -1


class _PersonCounts(RowCounts):
    """Counts from rows that also tell how many persons either side of a split has."""

    def __init__(self, table: Any, layout: Layout, needs: Needs) -> None:
        super().__init__(np.ascontiguousarray(table), layout)
        self._needs = needs

    def admits(self, split: NodeSplit) -> bool:
        """Whether both sides have records of at least k persons."""
        rows, persons = self.rows_of(split.node), self._needs.persons
        assert persons is not None
        left = split.goes_left[self.codes_of(rows, split.attribute)]
        return all(len(np.unique(persons[side])) >= self._needs.requirement.k for side in (rows[left], rows[~left]))
