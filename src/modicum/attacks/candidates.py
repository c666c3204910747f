"""The values that an attacked attribute may have, and records into which each of them is put."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.table.codes import NumberCoding, first_rows
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target
from modicum.table.values import Codes


@dataclass(frozen=True)
class Candidates:
    """The values of an attribute among known records; each stands in a known record, whose value is put to the model.

    Attributes
    ----------
    columns : the attribute's column, or its one-hot columns
    target : the values; a number's are bins
    known : the known records
    stands : for each value the row whose value stands for it; for a bin the one nearest to its typical value
    """

    columns: tuple[str, ...]
    target: Target
    known: Any
    stands: Codes

    @classmethod
    def of(cls, known: Any, columns: Sequence[str], bins: int) -> "Candidates":
        """The values that the known records have."""
        frame = as_frame(known)
        told = _told(frame, columns)
        attribute = Schema.infer(told)[told.columns[0]]
        target = Target.fit(told, attribute, bins)
        return cls(tuple(columns), target, known, _stands(target, told, attribute))

    @property
    def size(self) -> int:
        return self.target.size

    def encode(self, X: Any) -> Codes:
        """Each record's value; -1 for one that no known record has."""
        return self.target.encode(_told(as_frame(X), self.columns))

    def name(self, code: int) -> str:
        """What a value is called."""
        if code == self.target.missing_code:
            return "(missing)"
        coding = self.target.coding
        return f"{coding.typical[code]:g}" if isinstance(coding, NumberCoding) else coding.values[code]

    def put(self, X: Any, code: int) -> Any:
        """The records X, all with this value."""
        row = int(self.stands[code])
        places = [as_frame(X).columns.index(name) for name in self.columns]
        if isinstance(X, np.ndarray):
            changed = X.copy()
            changed[:, places] = self.known[row, places]
            return changed
        if isinstance(X, pd.DataFrame):
            return _with_columns(X, self.known, places, np.full(len(X), row))
        held = nw.from_native(self.known, eager_only=True)
        columns = [held[name][[row] * len(X)] for name in self.columns]
        return nw.to_native(nw.from_native(X, eager_only=True).with_columns(*columns))


def _with_columns(X: pd.DataFrame, source: pd.DataFrame, places: Sequence[int], rows: Codes) -> pd.DataFrame:
    changed = X.copy()
    for place in places:
        changed[X.columns[place]] = source.iloc[:, place].take(rows).set_axis(X.index)
    return changed


def _told(frame: nw.DataFrame[Any], columns: Sequence[str]) -> nw.DataFrame[Any]:
    """A frame of the attribute alone: its column, or one text for what its one-hot columns say together."""
    series = [column(frame, name) for name in columns]
    if len(columns) == 1:
        return frame.select(columns[0])
    words = [np.array([*found, "(missing)"], dtype=object)[codes] for codes, found in map(texts, series)]
    held = np.column_stack([np.isin(word, ("1", "true")) for word in words])
    together = np.array([", ".join(parts) for parts in zip(*words, strict=True)], dtype=object)
    named = np.array(columns, dtype=object)[held.argmax(axis=1)]
    off = np.column_stack([np.isin(word, ("0", "false")) for word in words])
    is_one = (held.sum(axis=1) == 1) & (off.sum(axis=1) == len(columns) - 1)
    return as_frame(pd.DataFrame({" + ".join(columns): np.where(is_one, named, together)}))


def _stands(target: Target, told: nw.DataFrame[Any], attribute: Attribute) -> Codes:
    codes = target.encode(told)
    if not isinstance(target.coding, NumberCoding):
        return first_rows(codes)
    values = numbers(told[told.columns[0]], attribute)
    typical = np.append(target.coding.typical, np.nan)[codes]
    order = np.lexsort((np.nan_to_num(np.abs(values - typical)), codes))
    return order[first_rows(codes[order])]
