"""Count how often each value of each attribute occurs together with each label and each personal value.

A tree needs only these counts. `CountSource` is the interface: the histograms of a node's children. `RowCounts` counts
rows in memory; an engine runs the same kernel where its rows are and returns only counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numba
import numpy as np
import numpy.typing as npt

from modicum.typing import Ints

Histogram = npt.NDArray[Any]  # (split values, target values), integers


@dataclass(frozen=True)
class Layout:
    """The position of each attribute's values in a histogram.

    Rows are the values of the attributes that may be split (`splits`, columns of the coded table), in blocks. Columns
    are the values of the targets: the personal attributes and, last, the label.
    """

    splits: tuple[int, ...]
    split_sizes: tuple[int, ...]
    targets: tuple[int, ...]
    target_sizes: tuple[int, ...]

    @cached_property
    def split_starts(self) -> Ints:
        return _starts(self.split_sizes)

    @cached_property
    def target_starts(self) -> Ints:
        return _starts(self.target_sizes)

    @property
    def shape(self) -> tuple[int, int]:
        return sum(self.split_sizes), sum(self.target_sizes)

    @property
    def label_start(self) -> int:
        """The first column of the label, whose columns are the last ones."""
        return int(self.target_starts[-1])


def _starts(sizes: Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)


@dataclass(frozen=True)
class NodeCounts:
    """A node's number (0 is the root; the i-th split makes 2i+1 and 2i+2) and its histogram."""

    node: int
    histogram: Histogram


@dataclass(frozen=True)
class NodeSplit:
    """A split of a node: the attribute (position in `Layout.splits`), and which of its values go left."""

    node: int
    left_node: int
    right_node: int
    attribute: int
    goes_left: npt.NDArray[np.bool_]


class CountSource(Protocol):
    """The counts that a tree needs.

    `batch` is the number of splits to request at once: 1 in memory, more if a pass over the data is expensive. It does
    not change the tree.
    """

    layout: Layout
    batch: int

    def root(self) -> NodeCounts:
        """Return the histogram of all records."""

    def expand(self, splits: Sequence[NodeSplit]) -> list[tuple[NodeCounts, NodeCounts]]:
        """Return the histograms of both children of each split."""


class RowCounts:
    """Count rows in memory: sort the rows by node, and get one child of each pair by subtraction.

    Parameters
    ----------
    codes : array of shape (n, columns), C-ordered
        The coded table with the label as its last column.
    layout : Layout
        Which columns are split and which are counted.
    weights : array of int, optional
        How many records each row represents.
    keep_bytes : int
        Memory for the histograms of open leaves; beyond it, a leaf is counted again when it is split.
    """

    batch = 1

    def __init__(
        self,
        codes: npt.NDArray[np.uint16],
        layout: Layout,
        weights: Ints | None = None,
        keep_bytes: int = 256 * 2**20,
    ) -> None:
        self.layout = layout
        self._codes = codes
        self._weights = np.empty(0, dtype=np.int64) if weights is None else weights
        self._rows = np.arange(len(codes), dtype=np.uint32)
        self._spare = np.empty(len(codes), dtype=np.uint32)
        self._spans: dict[int, tuple[int, int]] = {0: (0, len(codes))}
        self._stored: dict[int, Histogram] = {}
        self._room = keep_bytes
        total = len(codes) if weights is None else int(weights.sum())
        self._dtype = count_type(total)

    def root(self) -> NodeCounts:
        return self._remember(0, self._count(0))

    def expand(self, splits: Sequence[NodeSplit]) -> list[tuple[NodeCounts, NodeCounts]]:
        return [self._expand(split) for split in splits]

    def rows_of(self, node: int) -> npt.NDArray[np.uint32]:
        """The rows of a node that is not yet split."""
        low, high = self._spans[node]
        return self._rows[low:high]

    def codes_of(self, rows: npt.NDArray[np.uint32], attribute: int) -> npt.NDArray[np.uint16]:
        """The codes of these rows in an attribute, given by its position in `Layout.splits`."""
        return self._codes[rows, self.layout.splits[attribute]]

    def _expand(self, split: NodeSplit) -> tuple[NodeCounts, NodeCounts]:
        low, high = self._spans.pop(split.node)
        column = self.layout.splits[split.attribute]
        middle = int(partition_rows(self._codes, self._rows, self._spare, low, high, column, split.goes_left))
        self._spans[split.left_node], self._spans[split.right_node] = (low, middle), (middle, high)
        parent = self._stored.pop(split.node, None)
        self._room += 0 if parent is None else parent.nbytes
        left_is_small = middle - low <= high - middle
        small, large = (split.left_node, split.right_node) if left_is_small else (split.right_node, split.left_node)
        small_counts = self._count(small)
        large_counts = self._count(large) if parent is None else np.subtract(parent, small_counts, out=parent)
        counts = {small: self._remember(small, small_counts), large: self._remember(large, large_counts)}
        return counts[split.left_node], counts[split.right_node]

    def _count(self, node: int) -> Histogram:
        low, high = self._spans[node]
        histogram = np.zeros(self.layout.shape, dtype=self._dtype)
        add_rows(self._codes, self._rows[low:high], self.layout, histogram, self._weights)
        return histogram

    def _remember(self, node: int, histogram: Histogram) -> NodeCounts:
        """Store a histogram for a later subtraction if counting again would cost more."""
        low, high = self._spans[node]
        recount = (high - low) * len(self.layout.splits) * len(self.layout.targets)
        if recount > histogram.size and histogram.nbytes <= self._room:
            self._stored[node] = histogram
            self._room -= histogram.nbytes
        return NodeCounts(node, histogram)


def count_type(records: int) -> npt.DTypeLike:
    """The integer type for this many records, the same in every source, so that every tree rounds in the same way.

    Examples
    --------
    >>> from modicum.table.counts import count_type
    >>> count_type(1_000).__name__, count_type(2**40).__name__
    ('int32', 'int64')
    """
    return np.int32 if records < 2**31 else np.int64


def add_rows(
    codes: npt.NDArray[np.uint16],
    rows: npt.NDArray[np.uint32],
    layout: Layout,
    histogram: Histogram,
    weights: Ints | None = None,
) -> None:
    """Add these rows of a coded table to a histogram, each multiplied by its weight.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.counts import Layout, add_rows
    >>> histogram = np.zeros((2, 2), dtype=np.int64)
    >>> codes = np.array([[0, 1], [1, 0], [1, 1]], dtype=np.uint16)
    >>> add_rows(codes, np.arange(3, dtype=np.uint32), Layout((0,), (2,), (1,), (2,)), histogram)
    >>> histogram.tolist()
    [[0, 1], [1, 1]]
    """
    count_rows(
        codes,
        rows,
        np.empty(0, dtype=np.int64) if weights is None else weights,
        np.asarray(layout.splits, dtype=np.uint64),
        layout.split_starts.astype(np.uint64),
        np.asarray(layout.targets, dtype=np.uint64),
        layout.target_starts.astype(np.uint64),
        histogram,
    )


@numba.njit(cache=True, nogil=True)
def count_rows(  # type: ignore[no-untyped-def]
    codes, rows, weights, splits, split_starts, targets, target_starts, histogram
) -> None:
    """Add the rows' (split value, target value) pairs to the histogram; empty weights mean one record per row.

    Positions are unsigned, so numba needs no check for negative indices.
    """
    n_splits, n_targets = len(splits), len(targets)
    flat, width = histogram.reshape(-1), np.uint64(histogram.shape[1])
    columns = np.empty(n_targets, np.uint64)
    weighted = len(weights) > 0
    for r in rows:
        for t in range(n_targets):
            columns[t] = target_starts[t] + np.uint64(codes[r, targets[t]])
        amount = weights[r] if weighted else 1
        for s in range(n_splits):
            start = (split_starts[s] + np.uint64(codes[r, splits[s]])) * width
            for t in range(n_targets):
                flat[start + columns[t]] += amount


@numba.njit(cache=True, nogil=True)
def partition_rows(codes, rows, spare, low, high, column, goes_left):  # type: ignore[no-untyped-def]
    """Move the rows of rows[low:high] that go left to the front, keeping the order; return where the others start."""
    middle, n_right = low, 0
    for i in range(low, high):
        r = rows[i]
        if goes_left[codes[r, column]]:
            rows[middle] = r
            middle += 1
        else:
            spare[n_right] = r
            n_right += 1
    rows[middle:high] = spare[:n_right]
    return middle
