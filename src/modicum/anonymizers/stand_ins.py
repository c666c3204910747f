"""One record for each group, in the original domain (papers/2 §3): what all its records are replaced by.

By default it is made up: per attribute the median, or the most frequent category. A number that only one record of the
group has gives way to the plainest number between its neighbours in the group, so that no single person's value is
published. Missing stands where at least half of the group's values are missing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from modicum.anonymizers.ranks import Ranked, RankedColumn
from modicum.table.values import Codes, Floats, iso, plainest_date_between, shortest_between

Representatives = Literal["median", "mean", "random", "record"]
REPRESENTATIVES = ("median", "mean", "random", "record")
_UNITS = {"integer": 1, "date": 86_400}


@dataclass(frozen=True)
class Members:
    """One attribute's codes, ordered within each group.

    Parameters
    ----------
    column : RankedColumn
    groups : array
        Each record's group, numbered from 0 without gaps.
    """

    column: RankedColumn
    groups: Codes

    @cached_property
    def ordered(self) -> Codes:
        """The codes by group, within a group in order, missing last."""
        size = len(self.column.values) + 1
        return np.sort(self.groups * size + self.column.codes) % size

    @cached_property
    def sizes(self) -> Codes:
        return np.bincount(self.groups)

    @cached_property
    def starts(self) -> Codes:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def present(self) -> Codes:
        """How many records of each group have a value."""
        return np.bincount(self.groups, weights=self.column.codes != self.column.missing).astype(np.int64)

    @property
    def mostly_missing(self) -> npt.NDArray[np.bool_]:
        return 2 * self.present <= self.sizes

    def at(self, share: float) -> Codes:
        """The code below which this share of a group's values lies; 0 where it has none."""
        place = np.clip(np.ceil(share * self.present).astype(np.int64) - 1, 0, np.maximum(self.present - 1, 0))
        return np.where(self.present > 0, self.ordered[self.starts + place], 0)

    def quantile(self, share: float) -> Floats:
        """That value as a number; one that nobody else in the group has gives way to a plain number beside it."""
        values = self.column.values
        place = np.clip(np.ceil(share * self.present).astype(np.int64) - 1, 0, np.maximum(self.present - 1, 0))
        last = np.maximum(self.present - 1, 0)
        low, own, high = (
            np.minimum(self.ordered[self.starts + np.clip(place + step, 0, last)], len(values) - 1)
            for step in (-1, 0, 1)
        )
        alone = (own != np.where(place > 0, low, -1)) & (own != np.where(place < last, high, -1)) & (low < high)
        found = values[own].astype(np.float64)
        found[alone] = _beside(self.column, values[low[alone]], found[alone], values[high[alone]])
        return found

    def mode(self) -> Codes:
        """Each group's most frequent category; of several the one that all records have most often."""
        size = len(self.column.values) + 1
        keys, counts = np.unique(self.groups * size + self.column.codes, return_counts=True)
        overall = np.bincount(self.column.codes, minlength=size)
        groups, codes = keys // size, keys % size
        order = np.lexsort((-codes, overall[codes], counts, groups))
        return codes[order[np.append(np.flatnonzero(np.diff(groups[order])), len(order) - 1)]]

    def shared(self, code: Codes) -> npt.NDArray[np.bool_]:
        """Whether at least two records of each group have its code."""
        return np.bincount(self.groups, weights=self.column.codes == code[self.groups], minlength=len(code)) > 1


def _beside(column: RankedColumn, low: Floats, own: Floats, high: Floats) -> Floats:
    """The plainest number strictly between two others; `own` where the attribute's type has none."""
    between = plainest_date_between if column.attribute.kind == "date" else shortest_between
    found = between(low.astype(np.float64), high.astype(np.float64)) if len(low) else low
    unit = _UNITS.get(column.attribute.storage)
    usable = (found > low) & (found < high)
    if unit is not None:
        usable &= found % unit == 0
    return np.where(usable, found, own)


@dataclass(frozen=True)
class Values:
    """A value for each group: a code of the column, or a number of its own; None stands for missing."""

    column: RankedColumn
    values: list[Any]

    @property
    def written(self) -> list[Any]:
        """The values as artifacts write them: dates as text."""
        if self.column.attribute.kind != "date":
            return self.values
        return [None if value is None else iso(value) for value in self.values]

    @property
    def positions(self) -> Floats:
        """Where they stand between 0 and 1, as `RankedColumn.positions`; 1 for missing."""
        if self.column.attribute.is_category:
            place = {value: i for i, value in enumerate(self.column.values)}
            return self.column.positions[[place.get(value, self.column.missing) for value in self.values]]
        low, high = self.column.domain
        numbers = np.array([np.nan if value is None else value for value in self.values], dtype=np.float64)
        return np.where(np.isnan(numbers), 1.0, (numbers - low) / (high - low) if high > low else 0.0)


def of_codes(column: RankedColumn, codes: Codes) -> Values:
    """The values that codes stand for."""
    known = [*column.values, None]
    return Values(column, [known[code] for code in codes.tolist()])


def median(members: Members, share: float = 0.5) -> Values:
    """The median of an attribute with an order (or another quantile), the most frequent of one without."""
    column = members.column
    if not column.attribute.has_order:
        return of_codes(column, members.mode())
    empty = members.mostly_missing
    if column.attribute.is_category:
        return of_codes(column, np.where(empty, column.missing, members.at(share)))
    return _numbers(column, members.quantile(share), empty) if len(column.values) else of_codes(column, empty * 0)


def mean(members: Members) -> Values:
    """The mean of a number, rounded where whole numbers are stored; otherwise as the median."""
    column = members.column
    if column.attribute.is_category or not len(column.values):
        return median(members)
    values = np.append(column.values, 0.0)[column.codes]
    found = np.bincount(members.groups, weights=values) / np.maximum(members.present, 1)
    unit = _UNITS.get(column.attribute.storage)
    found = found if unit is None else np.round(found / unit) * unit
    return _numbers(column, found, members.mostly_missing)


def _numbers(column: RankedColumn, found: Floats, empty: npt.NDArray[np.bool_]) -> Values:
    return Values(column, [None if gone else x for x, gone in zip(found.tolist(), empty.tolist(), strict=True)])


def drawn(members: Members, random: np.random.Generator) -> Values:
    """The value of one record of each group, drawn for this attribute alone."""
    place = (random.uniform(size=len(members.sizes)) * members.sizes).astype(np.int64)
    return of_codes(members.column, members.ordered[members.starts + place])


def nearest_records(ranked: Ranked, groups: Codes, label: Codes | None) -> Codes:
    """The paper's choice: each group's record nearest to its median, of those with its most frequent label.

    Distances are Euclidean, numbers scaled to 0–1 and categories one-hot (another category is √2 away).
    """
    distance = np.zeros(len(groups))
    for column in ranked.columns:
        middle = median(Members(column, groups)).positions
        if column.attribute.has_order:
            distance += (column.positions[column.codes] - middle[groups]) ** 2
        else:
            distance += 2.0 * (column.positions[column.codes] != middle[groups])
    order = np.lexsort((distance, other_label(groups, label), groups))
    return order[np.append(0, np.flatnonzero(np.diff(groups[order])) + 1)]


def other_label(groups: Codes, label: Codes | None) -> npt.NDArray[np.bool_]:
    """Whether a record has another label than most of its group."""
    if label is None:
        return np.zeros(len(groups), dtype=bool)
    return label != usual_label(groups, label)[groups]


def usual_label(groups: Codes, label: Codes) -> Codes:
    """Each group's most frequent label, the lowest of several."""
    classes = int(label.max()) + 1
    return (
        np.bincount(groups * classes + label, minlength=(int(groups.max()) + 1) * classes)
        .reshape(-1, classes)
        .argmax(axis=1)
    )
