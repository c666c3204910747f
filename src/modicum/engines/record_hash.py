"""A number for each record that depends on its values alone: wherever it lies, in whatever order, it is the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.table.frames import column, numbers, texts
from modicum.table.schema import Attribute

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class RecordHash:
    """Hashes of records, by their values in these columns and a seed.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.engines.record_hash import RecordHash
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"age": [31, 45, 31], "job": ["nurse", "clerk", "nurse"]})
    >>> first, other, again = RecordHash(("age", "job")).of(as_frame(X))
    >>> bool(first == again), bool(first == other)
    (True, False)
    """

    columns: tuple[str, ...]
    seed: int = 0

    def of(self, frame: nw.DataFrame[Any]) -> Hashes:
        """The hash of each record; the columns' order does not matter."""
        return self.of_series([column(frame, name) for name in self.columns])

    def of_series(self, columns: Sequence[nw.Series[Any]]) -> Hashes:
        """The same, of columns that need not be in one frame."""
        total = np.zeros(len(columns[0]), dtype=np.uint64)
        for series in columns:
            total += _mixed(_of_values(series) ^ _mixed(_of_words([f"{self.seed} {series.name}"])))
        return _mixed(total)


def _of_values(series: nw.Series[Any]) -> Hashes:
    if series.dtype.is_numeric() or series.dtype in (nw.Date, nw.Datetime):
        attribute = Attribute(name=series.name, kind="number" if series.dtype.is_numeric() else "date")
        values = numbers(series, attribute) + 0.0  # -0.0 is 0.0
        values[np.isnan(values)] = np.nan  # one missing like another
        return values.view(np.uint64)
    codes, words = texts(series)
    return _of_words([*words, "(missing)"])[codes]


def _of_words(words: Sequence[str]) -> Hashes:
    found = b"".join(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest() for word in words)
    return np.frombuffer(found, dtype="<u8").astype(np.uint64)


def _mixed(values: Hashes) -> Hashes:
    """Every bit spread over all others, so that near values have far hashes."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31))
