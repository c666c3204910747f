"""Codes as bytes: one byte a code, and one more for those of an attribute that has more than 256 of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from modicum.errors import DataError
from modicum.table.codes import CodeArray
from modicum.table.frames import column
from modicum.table.targets import Labels

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Packing:
    """How a record's codes lie in its bytes: the low byte of each, then the high bytes of the `wide` columns.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.engines.packed_codes import Packing
    >>> packing = Packing.of([2, 300])
    >>> packed = packing.pack(np.array([[1, 299], [0, 5]], dtype=np.uint16))
    >>> packed.shape, packing.unpack(packed).tolist()
    ((2, 3), [[1, 299], [0, 5]])
    """

    columns: int
    wide: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int]) -> "Packing":
        """For columns of so many codes."""
        return cls(len(sizes), tuple(j for j, size in enumerate(sizes) if size > 256))

    @property
    def width(self) -> int:
        """The bytes of a record."""
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
        """The codes in a buffer of packed records."""
        return self.unpack(np.frombuffer(content, dtype=np.uint8).reshape(-1, self.width))


class FrameCoder(Protocol):
    """What makes codes of the columns of a frame: a `Coder`, or what is like one."""

    @property
    def names(self) -> Sequence[str]:
        """The columns."""

    @property
    def sizes(self) -> Sequence[int]:
        """How many codes each has."""

    def encode(self, X: Any) -> CodeArray:
        """One row per record, one column per name."""


@dataclass(frozen=True)
class RecordCoder:
    """From a batch of records to codes: the coder's features and, where there is a label, its class as the last column.

    Parameters
    ----------
    coder : Coder, or what is like one
    label : (str, Labels), optional
        The column of the label, and its classes.
    """

    coder: FrameCoder
    label: tuple[str, Labels] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """What it reads."""
        return (*self.coder.names, *([] if self.label is None else [self.label[0]]))

    @property
    def sizes(self) -> list[int]:
        """How many codes each column has."""
        return [*self.coder.sizes, *([] if self.label is None else [len(self.label[1])])]

    @property
    def packing(self) -> Packing:
        return Packing.of(self.sizes)

    def encode(self, frame: Any) -> CodeArray:
        codes = self.coder.encode(frame)
        if self.label is None:
            return codes
        name, labels = self.label
        classes = labels.encode(column(frame, name).to_numpy())
        if (classes < 0).any():
            raise DataError(f"The label {name!r} has classes that were not there when they were counted.")
        return np.column_stack([codes, classes.astype(np.uint16)])
