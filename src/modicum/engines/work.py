"""What is done to records where they are: a piece of work that an engine is given.

All kinds see the records batch by batch, in no particular order, and all travel to other processes.
"""

from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]


class Fold(Protocol):
    """Counting: each batch adds to an array, and the arrays of all batches are added up.

    Whole numbers add up to the same however the records are dealt out, so that every engine finds the same.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read."""

    def empty(self) -> Counts:
        """An array of zeros, of one dimension."""

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        """Add a batch, which has the `columns`."""


class Gather(Protocol):
    """Picking out a few: what is picked of all batches is brought together, in any order."""

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read."""

    @property
    def schema(self) -> Any:
        """The pyarrow Schema of what is picked."""

    def pick(self, frame: nw.DataFrame[Any]) -> Any:
        """A pyarrow RecordBatch or Table of what is wanted of a batch."""


class Digest(Protocol):
    """Summing up: each batch goes into a summary that stays small, and the summaries of all batches become one.

    A summary travels as a table with a column `part`; rows of one part are brought together before they are merged.
    """

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read."""

    @property
    def schema(self) -> Any:
        """The pyarrow Schema of a summary on its way."""

    def empty(self) -> Any:
        """A summary of nothing."""

    def add(self, summary: Any, frame: nw.DataFrame[Any]) -> None:
        """Take a batch in, which has the `columns`."""

    def merge(self, summary: Any, sent: Any) -> None:
        """Take another summary in, or some of its parts, as it was sent."""

    def sent(self, summary: Any) -> Any:
        """The summary as a pyarrow Table."""
