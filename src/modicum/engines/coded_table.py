"""A table's codes, made once where the records are and read as often as a method wants to count.

Reading texts anew in every pass would take most of the time. On this machine the first pass writes the codes to a
temporary file, a byte or two each, and later passes read it in pieces; nothing stays in memory. Spark keeps them on the
disks of its executors; a lost executor's part is made again.
"""

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.failures import asking
from modicum.engines.local_table import ROWS, LocalTable, folded, in_threads
from modicum.engines.packed_codes import FrameCoder, Packing, RecordCoder
from modicum.engines.spark_table import SparkTable, frames_of
from modicum.engines.table import EngineTable
from modicum.engines.work import Counts
from modicum.errors import require
from modicum.table.codes import CodeArray
from modicum.table.targets import Labels

_CODES = "codes"
_TOGETHER = 256  # packed records in one value of a Spark table


class CodeFold(Protocol):
    """Counting codes: each batch adds to an array, and the arrays of all batches are added up; it may travel."""

    def empty(self) -> Counts:
        """An array of zeros, of one dimension."""

    def add(self, counts: Counts, codes: CodeArray) -> None:
        """Add a batch of coded records, the label's class last where there is a label."""


class CodedTable(ABC):
    """The codes of a table's features, and the class of its label as their last column.

    Use it in a `with` block, or `close` it: what was kept of it is then deleted.

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
        """Code the table's records; `label` is the label's column and its classes."""
        records = RecordCoder(coder, label)
        return PersistedCodes(table, records) if isinstance(table, SparkTable) else SpilledCodes(table, records)

    @abstractmethod
    def fold(self, work: CodeFold) -> Counts:
        """Count the codes: one pass."""

    @abstractmethod
    def close(self) -> None:
        """Delete what was kept."""

    def __enter__(self) -> "CodedTable":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class SpilledCodes(CodedTable):
    """Codes in a temporary file of this machine, which has no name to be found by and goes with its last reader."""

    def __init__(self, table: EngineTable, records: RecordCoder) -> None:
        assert isinstance(table, LocalTable)
        self._packing = records.packing
        with ExitStack() as stack:
            self._file = stack.enter_context(tempfile.TemporaryFile(prefix="modicum-"))
            self._write(table, records)
            self._open = stack.pop_all()

    def _write(self, table: LocalTable, records: RecordCoder) -> None:
        lock = Lock()

        def code(frame: nw.DataFrame[Any]) -> None:
            packed = self._packing.pack(records.encode(frame))
            with lock:
                self._file.write(packed.data)

        with asking(table.engine):
            for _ in in_threads(code, table.batches(records.columns)):
                pass
        self._file.flush()

    def fold(self, work: CodeFold) -> Counts:
        return folded(_Unpacking(work, self._packing), self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        self._file.seek(0)
        while content := self._file.read(ROWS * self._packing.width):
            yield content

    def close(self) -> None:
        self._open.close()


@dataclass(frozen=True)
class _Unpacking:
    """Counting codes, given packed records."""

    work: CodeFold
    packing: Packing

    def empty(self) -> Counts:
        return self.work.empty()

    def add(self, counts: Counts, content: bytes) -> None:
        self.work.add(counts, self.packing.records(content))


class PersistedCodes(CodedTable):
    """Codes that Spark keeps on the disks of its executors."""

    def __init__(self, table: SparkTable, records: RecordCoder) -> None:
        from pyspark import StorageLevel

        self._packing = records.packing
        self._kept = table.only(records.columns).mapInArrow(_coding(records), f"{_CODES} binary")
        self._kept.persist(StorageLevel.DISK_ONLY)

    def fold(self, work: CodeFold) -> Counts:
        return SparkTable(self._kept).fold(_OnSpark(work, self._packing))

    def close(self) -> None:
        self._kept.unpersist()


@dataclass
class _OnSpark:
    """Counting codes, given a table of packed records."""

    work: CodeFold
    packing: Packing
    columns: tuple[str, ...] = (_CODES,)

    def empty(self) -> Counts:
        return self.work.empty()

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        for piece in frame[_CODES].to_native().chunks:
            self.work.add(counts, self.packing.records(_content(piece)))


def _content(array: Any) -> Any:
    """The bytes of all values of a binary Arrow array, one after another."""
    if not len(array):
        return b""
    offsets = np.frombuffer(array.buffers()[1], dtype=_offset_type(array))[array.offset : array.offset + len(array) + 1]
    return memoryview(array.buffers()[2])[int(offsets[0]) : int(offsets[-1])]


def _offset_type(array: Any) -> Any:
    pyarrow = require("pyarrow", "scale")
    return np.int64 if pyarrow.types.is_large_binary(array.type) else np.int32


def _coding(records: RecordCoder) -> Any:
    packing = records.packing

    def code(batches: Iterator[Any]) -> Iterator[Any]:
        pyarrow = require("pyarrow", "scale")
        for frame in frames_of(batches, records.columns):
            packed = packing.pack(records.encode(frame))
            pieces = [packed[i : i + _TOGETHER].tobytes() for i in range(0, len(packed), _TOGETHER)]
            yield pyarrow.record_batch({_CODES: pyarrow.array(pieces, pyarrow.binary())})

    return code
