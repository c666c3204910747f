"""One record in the original domain replaces all records of a group [Goldsteen21 §3].

By default it is synthetic: the median of each attribute, or the most frequent category. A number that only one person
of the group has is replaced by the plainest number between it and a neighbour in the group. If there is none (adjacent
whole numbers), the nearest value that two persons of the group share is used, as for ordered categories. If there is
none either, the number stays. If at least half of the group's values are missing, the result is missing.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from modicum.anonymizers.ranks import Ranked, RankedColumn
from modicum.table.values import iso, plainest_date_between, shortest_between
from modicum.typing import Codes, Floats

Representatives = Literal["median", "mean", "random", "record"]
REPRESENTATIVES = ("median", "mean", "random", "record")
_UNITS = {"integer": 1, "date": 86_400}


@dataclass(frozen=True)
class GroupMembers:
    """One attribute's codes, ordered within each group.

    Parameters
    ----------
    column : RankedColumn
    groups : array
        Each record's group, numbered from 0 without gaps.
    persons : array, optional
        The person of each record; by default each record is a different person.
    """

    column: RankedColumn
    groups: Codes
    persons: Codes | None = None

    @property
    def _size(self) -> int:
        return len(self.column.values) + 1

    @cached_property
    def ordered(self) -> Codes:
        """The codes sorted by group and value, missing last."""
        return np.sort(self.groups * self._size + self.column.codes) % self._size

    @cached_property
    def sizes(self) -> Codes:
        return np.bincount(self.groups)

    @cached_property
    def starts(self) -> Codes:
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def present(self) -> Codes:
        """How many records of each group are not missing."""
        return np.bincount(self.groups, weights=self.column.codes != self.column.missing).astype(np.int64)

    @cached_property
    def _occurring(self) -> tuple[Codes, Codes, Codes]:
        """The codes that occur in each group, as group · size + code, with their number of records and of persons."""
        keys = self.groups * self._size + self.column.codes
        distinct, place, records = np.unique(keys, return_inverse=True, return_counts=True)
        if self.persons is None:
            return distinct, records, records
        many = int(self.persons.max()) + 1
        pairs = np.unique(place * many + self.persons)
        return distinct, records, np.bincount(pairs // many)

    @property
    def mostly_missing(self) -> npt.NDArray[np.bool_]:
        return 2 * self.present <= self.sizes

    def at(self, share: Any) -> Codes:
        """Return the code below which this share of each group's values lies; 0 for a group without values."""
        place = np.clip(np.ceil(share * self.present).astype(np.int64) - 1, 0, np.maximum(self.present - 1, 0))
        return np.where(self.present > 0, self.ordered[self.starts + place], 0)

    def is_shared(self, code: Codes) -> npt.NDArray[np.bool_]:
        """Whether at least two persons of each group have its code."""
        keys, _, persons = self._occurring
        wanted = np.arange(len(code)) * self._size + code
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return (keys[place] == wanted) & (persons[place] > 1)

    def find_nearest_shared(self, code: Codes) -> Codes:
        """Return the nearest code, by size or place, that two persons of the group share; if none, the given code."""
        keys, _, persons = self._occurring
        values = np.arange(self._size - 1) if self.column.attribute.is_category else self.column.values
        size_of = np.append(values, 0.0)
        keys = keys[(persons > 1) & (keys % self._size != self.column.missing)]
        wanted = np.arange(len(code)) * self._size + code
        place = np.searchsorted(keys, wanted)
        best, steps = code.copy(), np.full(len(code), np.inf)
        for side in (place - 1, place):
            inside = (side >= 0) & (side < len(keys))
            own = keys[side[inside]]
            near = own // self._size == np.flatnonzero(inside)
            where, shared = np.flatnonzero(inside)[near], own[near] % self._size
            distance = np.abs(size_of[shared] - size_of[code[where]])
            closer = distance < steps[where]
            best[where[closer]], steps[where[closer]] = shared[closer], distance[closer]
        return best

    def quantile(self, share: Any) -> Floats:
        """Return the value below which this share of each group's values lies, avoiding values of only one person."""
        own = np.minimum(self.at(share), max(0, len(self.column.values) - 1))
        values = self.column.values[own].astype(np.float64)
        unshared = np.flatnonzero(~self.is_shared(own) & (self.present > 0))
        below, above = self._neighbours(own[unshared], unshared)
        nearby, has_nearby = _find_plain_number(self.column, below, values[unshared], above)
        shared = self.column.values[self.find_nearest_shared(own)[unshared]]
        values[unshared] = np.where(has_nearby, nearby, shared)
        return values

    def _neighbours(self, code: Codes, group: Codes) -> tuple[Floats, Floats]:
        """Return the group's next lower and next higher values; the value itself if there is none."""
        keys = self._occurring[0]
        place = np.searchsorted(keys, group * self._size + code)
        ends = []
        for side in (place - 1, place + 1):
            inside = np.clip(side, 0, len(keys) - 1)
            neighbour = keys[inside] % self._size
            exists = (inside == side) & (keys[inside] // self._size == group) & (neighbour != self.column.missing)
            ends.append(self.column.values[np.where(exists, neighbour, code)].astype(np.float64))
        return ends[0], ends[1]

    def mode(self) -> Codes:
        """Return each group's most frequent category; among equals the one most frequent in all records."""
        keys, counts, _ = self._occurring
        overall = self.column.counts
        groups, codes = keys // self._size, keys % self._size
        order = np.lexsort((-codes, overall[codes], counts, groups))
        return codes[order[np.append(np.flatnonzero(np.diff(groups[order])), len(order) - 1)]]


def _find_plain_number(
    column: RankedColumn, low: Floats, own: Floats, high: Floats
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Find the plainest number strictly between a value and a neighbour, wider side first, and whether it exists."""
    found, is_found = own.copy(), np.zeros(len(own), dtype=bool)
    wider = high - own >= own - low
    for is_above in (wider, ~wider):
        start, end = np.where(is_above, own, low), np.where(is_above, high, own)
        tried = np.flatnonzero(~is_found & (start < end))
        if not len(tried):
            continue
        plain = _choose_between(column, start[tried], end[tried])
        usable = (plain > start[tried]) & (plain < end[tried])
        unit = _UNITS.get(column.attribute.storage)
        if unit is not None:
            usable &= plain % unit == 0
        found[tried[usable]], is_found[tried[usable]] = plain[usable], True
    return found, is_found


def _choose_between(column: RankedColumn, low: Floats, high: Floats) -> Floats:
    if column.attribute.kind == "date":
        return plainest_date_between(low, high)
    numbers = shortest_between(low, high)
    return numbers.astype(np.float32).astype(np.float64) if column.is_single else numbers


@dataclass(frozen=True)
class GroupValues:
    """A value for each group: a value of the column or another number; None means missing."""

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
        """The positions of the values between 0 and 1, as in `RankedColumn.positions`; 1 for missing."""
        if self.column.attribute.is_category:
            place = {value: i for i, value in enumerate(self.column.values)}
            return self.column.positions[[place.get(value, self.column.missing) for value in self.values]]
        low, high = self.column.domain
        numbers = np.array([np.nan if value is None else value for value in self.values], dtype=np.float64)
        return np.where(np.isnan(numbers), 1.0, (numbers - low) / (high - low) if high > low else 0.0)


def of_codes(column: RankedColumn, codes: Codes) -> GroupValues:
    """Convert codes to their values."""
    values = [*column.values, None]
    return GroupValues(column, [values[code] for code in codes.tolist()])


def median(members: GroupMembers, share: Any = 0.5) -> GroupValues:
    """Return the median (or another quantile) of an ordered attribute, otherwise the most frequent value."""
    column = members.column
    if not column.attribute.has_order:
        return of_codes(column, members.mode())
    empty = members.mostly_missing
    if not len(column.values):
        return of_codes(column, np.zeros(len(empty), dtype=np.int64))
    if column.attribute.is_category:
        code = members.at(share)
        code = np.where(members.is_shared(code), code, members.find_nearest_shared(code))
        return of_codes(column, np.where(empty, column.missing, code))
    return _of_numbers(column, members.quantile(share), empty)


def mean(members: GroupMembers) -> GroupValues:
    """Return the mean of a number, rounded if stored as a whole number; otherwise the median."""
    column = members.column
    if column.attribute.is_category or not len(column.values):
        return median(members)
    # Values are added in the order of their size, so the sum does not depend on the order of the records.
    values = np.append(column.values, 0.0)[members.ordered]
    owner = np.repeat(np.arange(len(members.sizes)), members.sizes)
    means = np.bincount(owner, weights=values) / np.maximum(members.present, 1)
    unit = _UNITS.get(column.attribute.storage)
    means = means if unit is None else np.round(means / unit) * unit
    return _of_numbers(column, means, members.mostly_missing)


def _of_numbers(column: RankedColumn, numbers: Floats, empty: npt.NDArray[np.bool_]) -> GroupValues:
    values = [None if is_empty else x for x, is_empty in zip(numbers.tolist(), empty.tolist(), strict=True)]
    return GroupValues(column, values)


def draw_values(members: GroupMembers, random: np.random.Generator) -> GroupValues:
    """Draw a value for each group and this attribute alone: near a record's value, avoiding unshared values."""
    share = random.uniform(size=len(members.sizes))
    if members.column.attribute.has_order:
        return median(members, share)
    place = (share * members.sizes).astype(np.int64)
    code = members.ordered[members.starts + place]
    return of_codes(members.column, np.where(members.is_shared(code), code, members.mode()))


def nearest_records(ranked: Ranked, groups: Codes, label: Codes | None) -> Codes:
    """Choose as in the paper: each group's record nearest to its median among those with its most frequent label.

    Distances are Euclidean, numbers scaled to 0–1 and categories one-hot (another category is √2 away).
    """
    distance = np.zeros(len(groups))
    for column in ranked.columns:
        middle = median(GroupMembers(column, groups)).positions
        if column.attribute.has_order:
            distance += (column.positions[column.codes] - middle[groups]) ** 2
        else:
            distance += 2.0 * (column.positions[column.codes] != middle[groups])
    is_other = np.zeros(len(groups), dtype=bool) if label is None else label != usual_label(groups, label)[groups]
    order = np.lexsort((distance, is_other, groups))
    return order[np.append(0, np.flatnonzero(np.diff(groups[order])) + 1)]


def usual_label(groups: Codes, label: Codes) -> Codes:
    """Return each group's most frequent label; among equals the lowest."""
    classes = int(label.max()) + 1
    counts = np.bincount(groups * classes + label, minlength=(int(groups.max()) + 1) * classes)
    return counts.reshape(-1, classes).argmax(axis=1)
