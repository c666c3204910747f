"""The tree of papers/2 Algorithm 1, grown on the records that are released: its leaves are the groups."""

from typing import Any

import numpy as np

from modicum.anonymizers.grouping import Needs
from modicum.anonymizers.task import Task
from modicum.table.codes import CodeArray, Coder, Coding, all_counts
from modicum.table.counts import Layout, NodeSplit, RowCounts
from modicum.table.values import Codes
from modicum.trees import Criterion, Tree, grow


def guided_groups(task: Task, label: Codes) -> Codes:
    """The leaf of each record in a tree that predicts the label, every leaf with what is asked of a group."""
    names = [each.attribute.name for each in task.ranked.columns if len(each.values)]  # a column may be empty
    if not names:
        return np.zeros(len(label), dtype=np.int64)
    coder = Coder.fit(task.frame, task.schema.select(names))
    codes = coder.encode(task.frame)
    tree = _grown(coder, codes, label, task.needs)
    return tree.apply(codes)


def _grown(coder: Coder, codes: CodeArray, label: Codes, needs: Needs) -> Tree:
    d, m = codes.shape[1], needs.n_sensitive
    targets = [(needs.sensitive_codes, m)] if m else []
    targets.append((label, int(label.max()) + 1))
    table = np.column_stack([codes, *(values.astype(np.uint16) for values, _ in targets)])
    layout = Layout(
        splits=tuple(range(d)),
        split_sizes=tuple(coder.sizes),
        targets=tuple(range(d, d + len(targets))),
        target_sizes=tuple(size for _, size in targets),
    )
    criterion = Criterion(
        column_weights=np.repeat([0.0] * bool(m) + [1.0], layout.target_sizes),
        has_order=np.array([coding.attribute.has_order for coding in coder.codings]),
        missing=np.array([_missing(coding) for coding in coder.codings]),
        min_leaf=needs.requirement.k,
        requirement=needs.requirement,
        sensitive=(0, m),
    )
    source = _PersonCounts(table, layout, needs)
    counts = [all_counts(coding) for coding in coder.codings]
    admits = None if needs.persons is None else source.admits
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
