"""Encode attributes as scaled columns of a linear model, and convert its coefficients to original units.

A number or date is one column, (x − mean) / standard deviation of the training records. If it was missing there, a
missing value counts as the median, and a second column of 0 and 1 marks it. A column of 0 and 1 is not scaled, also in
a group of one-hot columns; it accepts true and false too. A category with two values is one column of 0 and 1, where 1
is the rarer value. With more values, missing included, each of the 50 most frequent has its own column. An ordered
category may be a number instead: the place of its value in the order. π and the box of [Barbato25 Figure 5] are in the
units of these columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError
from modicum.table.codes import values_in_order
from modicum.table.frames import column, numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.typing import Floats

MOST_VALUES = 50  # values of a category that get their own column
LARGEST = 1e70  # limit of numbers to learn from: a solver computes fourth powers
_YES = ("1", "true", "1.0")  # texts that count as 1

Ordered = Literal["one-hot", "place"]  # the encoding of an ordered category


@dataclass(frozen=True)
class NumberColumns:
    """A standardized number or date, with a column that marks missing values if some were missing.

    With `places` it is an ordered category, encoded as the index of its value among them; an unknown value counts as
    missing.
    """

    attribute: Attribute
    mean: float
    deviation: float
    median: float
    may_miss: bool
    places: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        name = self.attribute.name
        return (name, f"{name} is missing")[: 1 + self.may_miss]

    def fill(self, series: nw.Series[Any], columns: Floats) -> None:
        """Write the encoded series into `columns`, which must be 0."""
        values = _find_places(series, self.places) if self.places else finite(series, self.attribute)
        missing = np.isnan(values)
        columns[:, 0] = (np.where(missing, self.median, values) - self.mean) / self.deviation
        if self.may_miss:
            columns[:, 1] = missing


@dataclass(frozen=True)
class ValueColumns:
    """A category: a column of 0 and 1 for each of these values; None is missing. Other values have 0 in all columns.

    A `flag` is a category of 0 and 1, or of false and true.
    """

    attribute: Attribute
    values: tuple[str | None, ...]
    flag: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        name = self.attribute.name
        if self.flag:
            return (name,)
        return tuple(f"{name} is missing" if value is None else f"{name} = {value}" for value in self.values)

    def fill(self, series: nw.Series[Any], columns: Floats) -> None:
        """Write the encoded series into `columns`, which must be 0."""
        codes, words = texts(series)
        place: dict[str | None, int] = {value: j for j, value in enumerate(self.values)}
        if self.flag:
            place = dict.fromkeys(_YES, 0)
        places = np.array([place.get(word, -1) for word in [*words, None]])[codes]
        known = np.flatnonzero(places >= 0)
        columns[known, places[known]] = 1.0


Columns = NumberColumns | ValueColumns  # the encoding of one data column


def encode_column(part: Columns, series: nw.Series[Any]) -> Floats:
    """Encode one data column as model columns."""
    found = np.zeros((len(series), len(part.names)))
    part.fill(series, found)
    return found


def columns_of(
    series: nw.Series[Any], attribute: Attribute, weights: Floats, ordered: Ordered = "one-hot"
) -> Columns | None:
    """Return the encoding of this column; None if it is constant."""
    if not attribute.is_category:
        return _number(moderate(series, attribute), attribute, weights)
    codes, words = texts(series)
    if attribute.kind == "ordered" and ordered == "place" and words:
        places = tuple(values_in_order(attribute, words))
        return _number(_find_places(series, places), attribute, weights, places)
    counts = np.bincount(codes + 1, weights, len(words) + 1)
    values: list[str | None] = [None, *words]
    # By descending frequency, then by name, so that the order of the records does not matter.
    order = sorted(range(len(values)), key=lambda i: (-counts[i], values[i] is None, values[i] or ""))
    present = [values[i] for i in order if counts[i] > 0]
    if len(present) < 2:
        return None
    if set(present) in ({"0", "1"}, {"false", "true"}):
        return ValueColumns(attribute, ("1",), flag=True)
    return ValueColumns(attribute, tuple(present[1:] if len(present) == 2 else present[:MOST_VALUES]))


def _number(
    values: Floats, attribute: Attribute, weights: Floats, places: tuple[str, ...] = ()
) -> NumberColumns | None:
    present = ~np.isnan(values) & (weights > 0)
    if not present.any():
        return None
    known, counts = values[present], weights[present]
    may_miss = bool((np.isnan(values) & (weights > 0)).any())
    order = np.argsort(known, kind="stable")
    reached = np.cumsum(counts[order])
    median = float(known[order][np.searchsorted(reached, reached[-1] / 2)])
    if np.ptp(known) > 0 and np.isin(known, (0.0, 1.0)).all():
        return NumberColumns(attribute, 0.0, 1.0, median, may_miss, places)
    middle = float(known[0]) if np.ptp(known) == 0 else float(np.average(known, weights=counts))
    deviation = float(np.sqrt(np.average((known - middle) ** 2, weights=counts)))
    if deviation == 0 and not may_miss:
        return None
    return NumberColumns(attribute, middle, deviation or 1.0, median, may_miss, places)


def _find_places(series: nw.Series[Any], places: tuple[str, ...]) -> Floats:
    """Return each value's place; NaN if missing or unknown."""
    codes, words = texts(series)
    known = {value: float(i) for i, value in enumerate(places)}
    return np.array([known.get(word, np.nan) for word in words] + [np.nan])[codes]


def finite(series: nw.Series[Any], attribute: Attribute) -> Floats:
    """Return a column of numbers or dates, NaN if missing; refuse infinity."""
    values = numbers(series, attribute)
    if np.isinf(values).any():
        raise DataError(f"The column {attribute.name!r} contains infinity; replace it by a number or by missing.")
    return values


def moderate(series: nw.Series[Any], attribute: Attribute) -> Floats:
    """Return the same for training; also refuse numbers so large that sums of squares could overflow."""
    values = finite(series, attribute)
    if (np.abs(values) > LARGEST).any():
        raise DataError(
            f"The column {attribute.name!r} has numbers beyond ±{LARGEST:g}, which are too large to compute "
            "with; use a larger unit or leave it out."
        )
    return values


@dataclass(frozen=True)
class Design:
    """The selectable attributes with their data columns and their model columns.

    Examples
    --------
    >>> import pandas as pd, numpy as np, modicum as md
    >>> from modicum.learners.columns import Design
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"age": [20, 40], "job": ["nurse", "clerk"], "land": ["x", "x"]})
    >>> design = Design.fit(as_frame(X), md.Schema.infer(X), {name: (name,) for name in X}, np.ones(2))
    >>> list(design.attributes), design.names
    (['age', 'job'], ['age', 'job = nurse'])
    >>> design.encode(as_frame(X)).tolist()
    [[-1.0, 1.0], [1.0, 0.0]]
    """

    attributes: dict[str, tuple[Columns, ...]]

    @classmethod
    def fit(
        cls,
        frame: nw.DataFrame[Any],
        schema: Schema,
        attributes: Mapping[str, Sequence[str]],
        weights: Floats,
        ordered: Ordered = "one-hot",
    ) -> "Design":
        """Encode the attributes that are not constant; ordered categories by value or by place."""
        found = {}
        for name, parts in attributes.items():
            each = [columns_of(column(frame, part), schema[part], weights, ordered) for part in parts]
            if any(one is not None for one in each):
                found[name] = tuple(one for one in each if one is not None)
        return cls(found)

    def only(self, attributes: Sequence[str]) -> "Design":
        """Return the design of some of the attributes."""
        return Design({name: self.attributes[name] for name in attributes})

    @property
    def parts(self) -> list[Columns]:
        return [part for parts in self.attributes.values() for part in parts]

    @property
    def names(self) -> list[str]:
        """The names of the model columns."""
        return [name for part in self.parts for name in part.names]

    @property
    def units(self) -> tuple[tuple[int, ...], ...]:
        """The indices of each attribute's model columns."""
        ends = np.cumsum([sum(len(part.names) for part in parts) for parts in self.attributes.values()]).tolist()
        return tuple(tuple(range(start, end)) for start, end in zip([0, *ends], ends, strict=False))

    def encode(self, frame: nw.DataFrame[Any]) -> Floats:
        """Return the scaled columns of these records."""
        found, place = np.zeros((len(frame), len(self.names))), 0
        for part in self.parts:  # in place, since joining parts would need twice the memory
            end = place + len(part.names)
            part.fill(column(frame, part.attribute.name), found[:, place:end])
            place = end
        return found

    def in_original_units(self, coefficients: Floats, intercepts: Floats) -> tuple[Floats, Floats]:
        """Convert coefficients of the scaled columns, and b with decision w·x − b, to original units.

        With x' = (x − shift) / scale: w·x' − b = (w / scale)·x − (b + Σ w shift / scale). A missing number counts as 0;
        the coefficient of "is missing" includes the contribution of the median.
        """
        starts = np.cumsum([0, *(len(part.names) for part in self.parts)])
        found = [(j, part) for j, part in zip(starts, self.parts, strict=False) if isinstance(part, NumberColumns)]
        scale, shift = np.ones(len(self.names)), np.zeros(len(self.names))
        for j, part in found:
            scale[j], shift[j] = part.deviation, part.mean
        plain = coefficients / scale
        added = -(intercepts + plain @ shift)
        for j, part in found:
            if part.may_miss:
                plain[:, j + 1] += plain[:, j] * part.median
        return plain, added
