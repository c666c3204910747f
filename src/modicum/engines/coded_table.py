"""Code a table once in its engine, and count the codes in as many passes as a method needs.

Parsing texts again in every pass would take most of the time. On this machine the first pass writes the codes to a
temporary file, one or two bytes each, and later passes read it in pieces; nothing stays in memory. Spark keeps the
codes on the disks of its executors and recomputes the part of a lost executor.
"""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.engines.failures import asking
from modicum.engines.local_table import ROWS, LocalTable, fold_batches, in_threads
from modicum.engines.spark import SparkTable, frames_of
from modicum.engines.table import Counts, EngineTable
from modicum.errors import DataError, require
from modicum.generalization.cells import Walk
from modicum.table.codes import CodeArray
from modicum.table.counts import Histogram, Layout, NodeCounts, NodeSplit, add_rows, count_type
from modicum.table.frames import column
from modicum.table.targets import Labels
from modicum.typing import Codes, Ints

# Codes as bytes: one byte per code, two for attributes with more than 256 codes

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Packing:
    """The byte layout of a record's codes: all low bytes, then the high bytes of the `wide` columns.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.engines.coded_table import Packing
    >>> packing = Packing.of([2, 300])
    >>> packed = packing.pack(np.array([[1, 299], [0, 5]], dtype=np.uint16))
    >>> packed.shape, packing.unpack(packed).tolist()
    ((2, 3), [[1, 299], [0, 5]])
    """

    columns: int
    wide: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> "Packing":
        """Build the layout for columns with these numbers of codes."""
        return cls(len(sizes), tuple(j for j, size in enumerate(sizes) if size > 256))

    @property
    def width(self) -> int:
        """Bytes per record."""
        return self.columns + len(self.wide)

    def pack(self, codes: CodeArray) -> Bytes:
        packed = np.empty((len(codes), self.width), dtype=np.uint8)
        np.copyto(packed[:, : self.columns], codes, casting="unsafe")  # the low bytes
        packed[:, self.columns :] = codes[:, list(self.wide)] >> 8
        return packed

    def unpack(self, packed: Bytes) -> CodeArray:
        codes = np.ascontiguousarray(packed[:, : self.columns], dtype=np.uint16)
        for j, high in zip(self.wide, range(self.columns, self.width), strict=True):
            codes[:, j] |= packed[:, high].astype(np.uint16) << 8
        return codes

    def records(self, content: Any) -> CodeArray:
        """Unpack a buffer of packed records."""
        return self.unpack(np.frombuffer(content, dtype=np.uint8).reshape(-1, self.width))


class FrameCoder(Protocol):
    """Something that codes the columns of a frame, such as a `Coder`."""

    @property
    def names(self) -> Sequence[str]:
        """The columns."""

    @property
    def sizes(self) -> Sequence[int]:
        """How many codes each column has."""

    def encode(self, X: Any) -> CodeArray:
        """Code a frame: one row per record, one column per name."""


@dataclass(frozen=True)
class LabelledCoder:
    """A coder that adds the class of a label as the last column.

    Parameters
    ----------
    coder : Coder, or another FrameCoder
    label : the column of the label
    labels : its classes
    """

    coder: FrameCoder
    label: str
    labels: Labels

    @property
    def names(self) -> list[str]:
        return [*self.coder.names, self.label]

    @property
    def sizes(self) -> list[int]:
        return [*self.coder.sizes, len(self.labels)]

    def encode(self, X: Any) -> CodeArray:
        codes, classes = self.coder.encode(X), self.labels.encode(column(X, self.label).to_numpy())
        if (classes < 0).any():
            raise DataError(f"The label {self.label!r} has new classes: the table changed while it was read.")
        return np.column_stack([codes, classes.astype(np.uint16)])


# The table of codes

_CODES = "codes"
_TOGETHER = 256  # packed records per value of a Spark table


class CodeFold(Protocol):
    """A `Fold` over codes; it may be sent to other processes."""

    def empty(self) -> Counts:
        """A one-dimensional array of zeros."""

    def add(self, counts: Counts, codes: CodeArray) -> None:
        """Add a batch of coded records; the label's class, if any, is the last column."""


@dataclass(frozen=True)
class DecodedFold:
    """A `CodeFold` over batches that must be decoded first; a `Fold` if the batches are frames of the columns."""

    work: CodeFold
    decode: Callable[[Any], CodeArray]
    columns: tuple[str, ...] = ()

    def empty(self) -> Counts:
        return self.work.empty()

    def add(self, counts: Counts, batch: Any) -> None:
        self.work.add(counts, self.decode(batch))


class CodedTable(ABC):
    """The codes of a table's features, with the class of its label as the last column.

    Use it in a `with` block or `close` it, to delete the stored codes.

    Examples
    --------
    >>> import duckdb, numpy as np, pandas as pd, modicum as md
    >>> from modicum.engines import table_at
    >>> from modicum.engines.coded_table import CodedTable
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"job": ["nurse", "clerk", "nurse"]})
    >>> class Jobs:
    ...     def empty(self):
    ...         return np.zeros(2, dtype=np.int64)
    ...     def add(self, counts, codes):
    ...         counts += np.bincount(codes[:, 0], minlength=2)
    >>> coder = Coder.fit(X, md.Schema.infer(X))
    >>> with CodedTable.of(table_at(duckdb.from_df(X)), coder) as coded:
    ...     coded.fold(Jobs()).tolist()
    [1, 2]
    """

    @staticmethod
    def of(table: EngineTable, coder: FrameCoder, label: tuple[str, Labels] | None = None) -> "CodedTable":
        """Code the table's records. `label`: the label's column and its classes."""
        whole = coder if label is None else LabelledCoder(coder, *label)
        return PersistedCodes(table, whole) if isinstance(table, SparkTable) else SpilledCodes(table, whole)

    @abstractmethod
    def fold(self, work: CodeFold) -> Counts:
        """Count the codes in one pass."""

    @abstractmethod
    def close(self) -> None:
        """Delete the stored codes."""

    def __enter__(self) -> "CodedTable":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SpilledCodes(CodedTable):
    """Codes in an unnamed temporary file on this machine, which is deleted when it is closed."""

    def __init__(self, table: EngineTable, coder: FrameCoder) -> None:
        assert isinstance(table, LocalTable)
        self._packing = Packing.of(coder.sizes)
        with ExitStack() as stack:
            self._file = stack.enter_context(tempfile.TemporaryFile(prefix="modicum-"))
            self._write(table, coder)
            self._open = stack.pop_all()

    def _write(self, table: LocalTable, coder: FrameCoder) -> None:
        lock = Lock()

        def code(frame: nw.DataFrame[Any]) -> None:
            packed = self._packing.pack(coder.encode(frame))
            with lock:
                self._file.write(packed.data)

        with asking(table.engine):
            for _ in in_threads(code, table.batches(coder.names)):
                pass
        self._file.flush()

    def fold(self, work: CodeFold) -> Counts:
        return fold_batches(DecodedFold(work, self._packing.records), self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        self._file.seek(0)
        while content := self._file.read(ROWS * self._packing.width):
            yield content

    def close(self) -> None:
        self._open.close()


class PersistedCodes(CodedTable):
    """Codes on the disks of Spark's executors."""

    def __init__(self, table: SparkTable, coder: FrameCoder) -> None:
        from pyspark import StorageLevel

        self._packing = Packing.of(coder.sizes)
        self._stored = table.only(coder.names).mapInArrow(partial(_code, coder), f"{_CODES} binary")
        self._stored.persist(StorageLevel.DISK_ONLY)

    def fold(self, work: CodeFold) -> Counts:
        records = self._packing.records
        joined = DecodedFold(work, lambda frame: records(b"".join(frame[_CODES].to_list())), (_CODES,))
        return SparkTable(self._stored).fold(joined)

    def close(self) -> None:
        self._stored.unpersist()


def _code(coder: FrameCoder, batches: Iterator[Any]) -> Iterator[Any]:
    pyarrow, packing = require("pyarrow", "scale"), Packing.of(coder.sizes)
    for frame in frames_of(batches, coder.names):
        packed = packing.pack(coder.encode(frame))
        pieces = [packed[i : i + _TOGETHER].tobytes() for i in range(0, len(packed), _TOGETHER)]
        yield pyarrow.record_batch({_CODES: pyarrow.array(pieces, pyarrow.binary())})


# Histograms of a tree's nodes, one pass for a batch of open leaves
#
# Each pass sends every record down the tree so far and counts it, with the same kernel as in memory, if it arrives at a
# requested child. Only the smaller of two children is counted; the other is the stored histogram of the parent minus
# that one. The parent's histogram also shows which child is smaller.

_MOST_AT_ONCE = 64
_COUNTING = 256 * 2**20  # bytes for the histograms of one pass
_KEEPING = 512 * 2**20  # bytes for the histograms of open leaves
_UNCOUNTED = 0  # the leaf of records that no histogram counts


class StreamedCounts:
    """A `CountSource` over a coded table.

    Parameters
    ----------
    codes : CodedTable
        With the label as its last column.
    layout : Layout
        Which columns are split and which are counted.
    batch : int, optional
        How many splits one pass counts. By default 64, or fewer if their histograms need more than 256 MB. It does not
        change the tree.
    keep_bytes : int
        Memory for the histograms of open leaves; beyond it, both children of a leaf are counted.

    Attributes
    ----------
    passes : int
        How often the records were read.
    """

    def __init__(self, codes: CodedTable, layout: Layout, batch: int | None = None, keep_bytes: int = _KEEPING) -> None:
        self.layout = layout
        fitting = _COUNTING // (8 * max(1, layout.shape[0] * layout.shape[1]))
        self.batch = min(_MOST_AT_ONCE, max(1, fitting)) if batch is None else batch
        self.passes = 0
        self._codes = codes
        self._splits: dict[int, NodeSplit] = {}  # all splits so far, including lookahead
        self._stored: dict[int, Histogram] = {}
        self._room = keep_bytes

    def root(self) -> NodeCounts:
        histogram = self._count_nodes({0: 1})[0]
        self._type = count_type(int(histogram[: self.layout.split_sizes[0], self.layout.label_start :].sum()))
        return self._remember(0, histogram)

    def expand(self, splits: Sequence[NodeSplit]) -> list[tuple[NodeCounts, NodeCounts]]:
        self._splits.update({split.node: split for split in splits})
        nodes = [node for split in splits for node in self._to_count(split)]
        counted = self._count_nodes({node: i + 1 for i, node in enumerate(nodes)})
        histograms = dict(zip(nodes, counted, strict=True))
        return [self._children(split, histograms) for split in splits]

    def _to_count(self, split: NodeSplit) -> list[int]:
        """The smaller child; both children if the parent's histogram was not stored."""
        parent = self._stored.get(split.node)
        if parent is None:
            return [split.left_node, split.right_node]
        start = self.layout.split_starts[split.attribute]
        of_value = parent[start : start + len(split.goes_left), self.layout.label_start :].sum(axis=1)
        is_small = 2 * of_value[split.goes_left].sum() <= of_value.sum()
        return [split.left_node if is_small else split.right_node]

    def _children(self, split: NodeSplit, counted: dict[int, Histogram]) -> tuple[NodeCounts, NodeCounts]:
        parent = self._stored.pop(split.node, None)
        if parent is not None:
            self._room += parent.nbytes
            small, large = split.left_node, split.right_node
            if small not in counted:
                small, large = large, small
            counted[large] = parent - counted[small]
        left, right = (self._remember(node, counted[node]) for node in (split.left_node, split.right_node))
        return left, right

    def _remember(self, node: int, histogram: Histogram) -> NodeCounts:
        histogram = histogram.astype(self._type, copy=False)
        if histogram.nbytes <= self._room:
            self._stored[node] = histogram
            self._room -= histogram.nbytes
        return NodeCounts(node, histogram)

    def _count_nodes(self, numbers: dict[int, int]) -> list[Histogram]:
        """Count the histograms of these nodes, numbered from 1, in one pass."""
        self.passes += 1
        counts = self._codes.fold(NodesFold(self.layout, self._walk(numbers), len(numbers)))
        return [histogram.astype(self._type, copy=True) for histogram in counts.reshape(-1, *self.layout.shape)]

    _type: npt.DTypeLike = np.int64  # until the number of records is known

    def _walk(self, numbers: dict[int, int]) -> Walk | None:
        """The walk from the root to these nodes; None if the root is one of them."""
        if 0 in numbers:
            return None
        splits = [self._splits[node] for node in sorted(self._ancestors(numbers))]
        place = {split.node: i for i, split in enumerate(splits)}
        return Walk.of(
            [self.layout.splits[split.attribute] for split in splits],
            [split.goes_left for split in splits],
            [[_next(child, place, numbers) for child in (split.left_node, split.right_node)] for split in splits],
        )

    def _ancestors(self, numbers: dict[int, int]) -> set[int]:
        splits = self._splits.values()
        parents = {child: split.node for split in splits for child in (split.left_node, split.right_node)}
        ancestors: set[int] = set()
        for node in numbers:
            while node in parents:
                node = parents[node]
                ancestors.add(node)
        return ancestors


def _next(child: int, place: dict[int, int], numbers: dict[int, int]) -> int:
    """The position of the child's split, or the complement of the leaf's number."""
    return place[child] if child in place else ~numbers.get(child, _UNCOUNTED)


@dataclass(frozen=True)
class NodesFold:
    """Count the histograms of nodes: leaf i + 1 of the walk is node i; without a walk, all records are in one node."""

    layout: Layout
    walk: Walk | None
    nodes: int

    def empty(self) -> Counts:
        return np.zeros(self.nodes * self.layout.shape[0] * self.layout.shape[1], dtype=np.int64)

    def add(self, counts: Counts, codes: CodeArray) -> None:
        histograms = counts.reshape(-1, *self.layout.shape)
        for rows, histogram in zip(self._rows(codes), histograms, strict=True):
            add_rows(codes, rows, self.layout, histogram)

    def _rows(self, codes: CodeArray) -> list[npt.NDArray[np.uint32]]:
        """The rows of each node."""
        if self.walk is None:
            return [np.arange(len(codes), dtype=np.uint32)]
        leaves: Codes = self.walk.leaves(codes)
        order = np.argsort(leaves.astype(np.uint16), kind="stable").astype(np.uint32)
        ends: Ints = np.cumsum(np.bincount(leaves, minlength=self.nodes + 1))
        return np.split(order, ends)[1:-1]
