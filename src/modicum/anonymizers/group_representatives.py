"""One record for each group, in the original domain [Goldsteen21 §3]: what all its records are replaced by.

By default it is made up: per attribute the median, or the most frequent category. A number that only one person of the
group has gives way to the plainest number between it and a neighbour in the group; where the type has none (whole
numbers next to each other), to the nearest value that two persons of the group share, as an ordered category does; only
where there is no such value either does it stay. Missing stands where at least half of the group's values are missing.
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
        Whose each record is; each its own by default.
    """

    column: RankedColumn
    groups: Codes
    persons: Codes | None = None

    @property
    def _size(self) -> int:
        return len(self.column.values) + 1

    @cached_property
    def ordered(self) -> Codes:
        """The codes by group, within a group in order, missing last."""
        return np.sort(self.groups * self._size + self.column.codes) % self._size

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

    @cached_property
    def _held(self) -> tuple[Codes, Codes, Codes]:
        """Every code that occurs in a group, as group · size + code, how many records have it, and how many persons."""
        keys = self.groups * self._size + self.column.codes
        found, place, records = np.unique(keys, return_inverse=True, return_counts=True)
        if self.persons is None:
            return found, records, records
        many = int(self.persons.max()) + 1
        pairs = np.unique(place * many + self.persons)
        return found, records, np.bincount(pairs // many)

    @property
    def mostly_missing(self) -> npt.NDArray[np.bool_]:
        return 2 * self.present <= self.sizes

    def at(self, share: Any) -> Codes:
        """The code below which this share of a group's values lies; 0 where it has none."""
        place = np.clip(np.ceil(share * self.present).astype(np.int64) - 1, 0, np.maximum(self.present - 1, 0))
        return np.where(self.present > 0, self.ordered[self.starts + place], 0)

    def is_shared(self, code: Codes) -> npt.NDArray[np.bool_]:
        """Whether at least two persons of each group have its code."""
        keys, _, persons = self._held
        wanted = np.arange(len(code)) * self._size + code
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return (keys[place] == wanted) & (persons[place] > 1)

    def find_nearest_shared(self, code: Codes) -> Codes:
        """The nearest code that two persons of the group share, by size or by place; itself where there is none."""
        keys, _, persons = self._held
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
            where, found = np.flatnonzero(inside)[near], own[near] % self._size
            apart = np.abs(size_of[found] - size_of[code[where]])
            closer = apart < steps[where]
            best[where[closer]], steps[where[closer]] = found[closer], apart[closer]
        return best

    def quantile(self, share: Any) -> Floats:
        """The value below which this share of a group's values lies, as a number that is not one person's alone."""
        own = np.minimum(self.at(share), max(0, len(self.column.values) - 1))
        found = self.column.values[own].astype(np.float64)
        lonely = np.flatnonzero(~self.is_shared(own) & (self.present > 0))
        below, above = self._neighbours(own[lonely], lonely)
        made, is_made = _beside(self.column, below, found[lonely], above)
        other = self.column.values[self.find_nearest_shared(own)[lonely]]
        found[lonely] = np.where(is_made, made, other)
        return found

    def _neighbours(self, code: Codes, group: Codes) -> tuple[Floats, Floats]:
        """The values next to a group's own in the group; the value itself where there is none."""
        keys = self._held[0]
        place = np.searchsorted(keys, group * self._size + code)
        ends = []
        for side in (place - 1, place + 1):
            inside = np.clip(side, 0, len(keys) - 1)
            found = keys[inside] % self._size
            there = (inside == side) & (keys[inside] // self._size == group) & (found != self.column.missing)
            ends.append(self.column.values[np.where(there, found, code)].astype(np.float64))
        return ends[0], ends[1]

    def mode(self) -> Codes:
        """Each group's most frequent category; of several the one that all records have most often."""
        keys, counts, _ = self._held
        overall = self.column.counts
        groups, codes = keys // self._size, keys % self._size
        order = np.lexsort((-codes, overall[codes], counts, groups))
        return codes[order[np.append(np.flatnonzero(np.diff(groups[order])), len(order) - 1)]]


def _beside(column: RankedColumn, low: Floats, own: Floats, high: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """The plainest number strictly between a value and a neighbour, on the wider side first; and where there is one."""
    found, is_found = own.copy(), np.zeros(len(own), dtype=bool)
    wider = high - own >= own - low
    for is_above in (wider, ~wider):
        start, end = np.where(is_above, own, low), np.where(is_above, high, own)
        tried = np.flatnonzero(~is_found & (start < end))
        if not len(tried):
            continue
        made = _between(column, start[tried], end[tried])
        usable = (made > start[tried]) & (made < end[tried])
        unit = _UNITS.get(column.attribute.storage)
        if unit is not None:
            usable &= made % unit == 0
        found[tried[usable]], is_found[tried[usable]] = made[usable], True
    return found, is_found


def _between(column: RankedColumn, low: Floats, high: Floats) -> Floats:
    if column.attribute.kind == "date":
        return plainest_date_between(low, high)
    made = shortest_between(low, high)
    return made.astype(np.float32).astype(np.float64) if column.is_single else made


@dataclass(frozen=True)
class GroupValues:
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


def of_codes(column: RankedColumn, codes: Codes) -> GroupValues:
    """The values that codes stand for."""
    known = [*column.values, None]
    return GroupValues(column, [known[code] for code in codes.tolist()])


def median(members: GroupMembers, share: Any = 0.5) -> GroupValues:
    """The median of an attribute with an order (or another quantile), the most frequent of one without."""
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
    return _numbers(column, members.quantile(share), empty)


def mean(members: GroupMembers) -> GroupValues:
    """The mean of a number, rounded where whole numbers are stored; otherwise as the median."""
    column = members.column
    if column.attribute.is_category or not len(column.values):
        return median(members)
    # Added up in the order of their sizes, so that a sum does not depend on the order of the records.
    values = np.append(column.values, 0.0)[members.ordered]
    owner = np.repeat(np.arange(len(members.sizes)), members.sizes)
    found = np.bincount(owner, weights=values) / np.maximum(members.present, 1)
    unit = _UNITS.get(column.attribute.storage)
    found = found if unit is None else np.round(found / unit) * unit
    return _numbers(column, found, members.mostly_missing)


def _numbers(column: RankedColumn, found: Floats, empty: npt.NDArray[np.bool_]) -> GroupValues:
    return GroupValues(column, [None if gone else x for x, gone in zip(found.tolist(), empty.tolist(), strict=True)])


def draw_values(members: GroupMembers, random: np.random.Generator) -> GroupValues:
    """A value drawn for each group and this attribute alone: about the value of one record, but no person's own."""
    share = random.uniform(size=len(members.sizes))
    if members.column.attribute.has_order:
        return median(members, share)
    place = (share * members.sizes).astype(np.int64)
    code = members.ordered[members.starts + place]
    return of_codes(members.column, np.where(members.is_shared(code), code, members.mode()))


def nearest_records(ranked: Ranked, groups: Codes, label: Codes | None) -> Codes:
    """The paper's choice: each group's record nearest to its median, of those with its most frequent label.

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
    """Each group's most frequent label, the lowest of several."""
    classes = int(label.max()) + 1
    return (
        np.bincount(groups * classes + label, minlength=(int(groups.max()) + 1) * classes)
        .reshape(-1, classes)
        .argmax(axis=1)
    )
