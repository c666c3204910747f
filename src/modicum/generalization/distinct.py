"""Many generalizations of the same records: every column's distinct values are read once, then only looked up."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.generalization.bins import Dropped
from modicum.generalization.core import Generalization
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.schema import Schema
from modicum.table.values import Codes


@dataclass(frozen=True)
class DistinctColumns:
    """For each attribute its distinct values, and for each record which of them it has.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.distinct import DistinctColumns
    >>> X = pd.DataFrame({"age": [18, 35, 70, 18], "job": ["nurse", "clerk", "nurse", None]})
    >>> g = md.Uniform(buckets=2).fit(X).generalization_
    >>> columns = DistinctColumns.of(X, g.schema)
    >>> bool((columns.codes(g) == g.codes(X)).all())
    True
    """

    names: Sequence[str]
    values: Sequence[Any]  # a short column each, of the frame's own kind
    places: Sequence[npt.NDArray[np.int32]]

    @classmethod
    def of(cls, X: Any, schema: Schema) -> "DistinctColumns":
        """The distinct values of the schema's features in X."""
        frame = as_frame(X, schema.features)
        found = [_distinct(column(frame, name), schema[name]) for name in schema.features]
        return cls(schema.features, [values for values, _ in found], [places for _, places in found])

    def __len__(self) -> int:
        return len(self.places[0])

    def codes(self, g: Generalization) -> Codes:
        """The bucket of each record in each attribute: what `g.codes` says of the same records."""
        result = np.zeros((len(self), len(self.names)), dtype=np.int64, order="F")
        for j, partition in enumerate(g.partitions):
            if not isinstance(partition, Dropped):
                np.take(partition.encode(self.values[j]), self.places[j], out=result[:, j])
        return result

    def sizes(self) -> dict[str, int]:
        """How many different values each attribute has, missing not counted."""
        missing = self.with_missing()
        return {n: len(values) - (n in missing) for n, values in zip(self.names, self.values, strict=True)}

    def with_missing(self) -> list[str]:
        """The attributes of which some record has no value."""
        pairs = zip(self.names, self.values, strict=True)
        return [name for name, values in pairs if values.is_null().any() or _has_nan(values)]

    def fingerprint(self) -> str:
        """A hash of all values in their order: other data, other text."""
        total = sha256()
        for name, values, places in zip(self.names, self.values, self.places, strict=True):
            codes, words = texts(values)  # canonical: a missing value is not the text None, nor true the text True
            total.update(repr((name, words, codes.tolist(), len(places))).encode())
            total.update(places.tobytes())
        return total.hexdigest()


def _distinct(series: Any, attribute: Any) -> tuple[Any, npt.NDArray[np.int32]]:
    keys = texts(series)[0] if attribute.is_category else numbers(series, attribute)
    _, first, places = np.unique(keys, return_index=True, return_inverse=True)
    return series[first.tolist()], places.astype(np.int32)


def _has_nan(values: Any) -> bool:
    return bool(values.dtype.is_float() and values.is_nan().any())
