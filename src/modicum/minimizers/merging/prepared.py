"""Coded records made ready for merging: buckets in a row for each attribute, and the cells they make.

A number's or ordered category's codes stand in their order; missing, which has none, where P(y) is most like its own.
The values of a category without order stand by P(y). Of more than 128 in a row, neighbours share a place, with about as
many records in each. What is locked is never merged: it has a place for every value that is collected.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, partition
from modicum.minimizers.base import CodedData, guessed_codes
from modicum.minimizers.merging.cells import Cells, Guessing, stacked
from modicum.minimizers.merging.descent import Rules, label_places
from modicum.table.codes import Coding, NumberCoding, equal_starts
from modicum.table.frames import column, numbers
from modicum.table.roles import person_codes
from modicum.table.values import Codes, Floats, Mask

_PLACES = 128
_RANGES = 16  # of an attribute with an order, among which missing finds its like


@dataclass(frozen=True)
class Places:
    """Where records stand.

    Attributes
    ----------
    codings : of all attributes
    columns : those that may be collected
    rows : for each of these the place of every code
    exact : for a number that is locked all its values in order, which are its places; then missing, and a new value
    guessed : for each personal attribute its column and the guessed value of every code, numbered over all of them
    """

    codings: Sequence[Coding]
    columns: list[int]
    rows: list[Codes]
    exact: dict[int, Floats]
    guessed: list[tuple[int, Codes]]

    @property
    def names(self) -> list[str]:
        """The attributes that may be collected."""
        return [self.codings[j].attribute.name for j in self.columns]

    @property
    def sizes(self) -> list[int]:
        """How many places each of them has."""
        pairs = zip(self.columns, self.rows, strict=True)
        return [len(self.exact[j]) + 2 if j in self.exact else int(row.max()) + 1 for j, row in pairs]

    def of(self, frame: Any, codes: Any) -> Codes:
        """The places of some records, by their values and codes."""
        pairs = zip(self.columns, self.rows, strict=True)
        return stacked(
            [self._exactly(frame, j) if j in self.exact else row[codes[:, j]] for j, row in pairs], len(codes)
        )

    def values(self, codes: Any) -> Codes:
        """What is to be guessed of some records."""
        return np.column_stack([values[codes[:, j]] for j, values in self.guessed])

    def partitions(self, groups: Sequence[Codes]) -> list[AnyPartition]:
        """The partitions that these groups of places make; those that are locked are left to the schema's word."""
        found: dict[int, Any] = {
            j: np.unique(group[row], return_inverse=True)[1]
            for j, row, group in zip(self.columns, self.rows, groups, strict=True)
            if not self.codings[j].attribute.locked
        }
        return [partition(c, found[j]) if j in found else drop(c) for j, c in enumerate(self.codings)]

    def _exactly(self, frame: Any, j: int) -> Codes:
        attribute, known = self.codings[j].attribute, self.exact[j]
        values = numbers(column(frame, attribute.name), attribute)
        place = np.minimum(np.searchsorted(known, values), len(known) - 1)
        return np.where(np.isnan(values), len(known), np.where(known[place] == values, place, len(known) + 1))


@dataclass(frozen=True)
class Prepared:
    """Where records stand, the training records' cells, and what is free."""

    places: Places
    cells: Cells
    rules: Rules

    @classmethod
    def of(
        cls,
        data: CodedData,
        learns: Mask,
        chances: Floats,
        shares: Mapping[str, float],
        strength: float,
        min_group: int,
        mix: float,
    ) -> "Prepared":
        """The records: which of them learn (others count in the groups alone), and the teacher's chances for them."""
        records = learns * (np.ones(len(learns)) if data.weights is None else data.weights.astype(np.float64))
        places, owner = _places(data, list(shares), records, chances)
        column_of = {j: a for a, j in enumerate(places.columns)}
        guessing = Guessing(
            owner=owner,
            share=np.array(list(shares.values())),
            column=np.array([column_of.get(j, -1) for j, _ in places.guessed]),
            strength=strength,
        )
        cells = Cells.of(
            places.of(data.frame, data.codes),
            places.sizes,
            chances * records[:, None],
            places.values(data.codes),
            records,
            _people(data),
            guessing,
        )
        attributes = [data.coder.codings[j].attribute for j in places.columns]
        rules = Rules(
            movable=tuple(not attribute.locked for attribute in attributes),
            ordered=tuple(attribute.has_order for attribute in attributes),
            min_group=min_group,
            mix=mix,
        )
        return cls(places, cells, rules)


def _places(data: CodedData, personal: Sequence[str], records: Floats, chances: Floats) -> tuple[Places, Codes]:
    """The places, and for every guessed value the number of its personal attribute."""
    codings = data.coder.codings
    columns = [j for j, coding in enumerate(codings) if not coding.attribute.forbidden]
    exact = {}
    for j in columns:
        coding = codings[j]
        if coding.attribute.locked and isinstance(coding, NumberCoding):
            values = numbers(column(data.frame, coding.attribute.name), coding.attribute)
            exact[j] = np.unique(values[~np.isnan(values)])
    rows = [_row(codings[j], data.codes[:, j].astype(np.int64), records, chances) for j in columns]
    guessed: list[tuple[int, Codes]] = []
    owner: list[int] = []
    for p, name in enumerate(personal):
        j = data.coder.names.index(name)
        own = guessed_codes(codings[j])
        guessed.append((j, own + len(owner)))
        owner += [p] * (int(own.max()) + 1)
    return Places(codings, columns, rows, exact, guessed), np.array(owner)


def _people(data: CodedData) -> Floats:
    """What each row adds to the number of people: a person's rows add up to one, so that cells are of no fewer."""
    persons = person_codes(data.schema, data.frame)
    if persons is None:
        return np.ones(len(data.codes)) if data.weights is None else data.weights.astype(np.float64)
    return np.asarray(1.0 / np.bincount(persons)[persons])


def _row(coding: Coding, codes: Codes, records: Floats, chances: Floats) -> Codes:
    """The place of every code in the attribute's row."""
    size = coding.n_codes
    if coding.attribute.locked:
        return np.arange(size)
    labels = chances * records[:, None]
    counts = np.bincount(codes, weights=records, minlength=size).astype(np.int64)
    if not coding.attribute.has_order:
        # A value without records stands in the middle.
        sums = np.vstack([labels, np.full((size, labels.shape[1]), 1e-9)])
        order = np.argsort(label_places(np.append(codes, np.arange(size)), sums))
    else:
        order = np.arange(size)
        if coding.missing:
            order = np.insert(order[:-1], _like_missing(codes, counts, labels), size - 1)
    starts = equal_starts(counts[order], _PLACES)
    if coding.missing and coding.attribute.has_order:  # missing keeps a place of its own
        alone = int(np.flatnonzero(order == size - 1)[0])
        starts[alone : alone + 2] = True
    found = np.empty(size, dtype=np.int64)
    found[order] = np.cumsum(starts) - 1
    return found


def _like_missing(codes: Codes, counts: Codes, labels: Floats) -> int:
    """After how many values missing, the last code, stands: at the end of the range with the most similar P(y)."""
    ranges = np.append(np.cumsum(equal_starts(counts[:-1], _RANGES)) - 1, -1)
    of_row = ranges[codes]
    last = int(ranges.max())
    sums = np.stack([np.bincount(of_row + 1, weights=column, minlength=last + 2) for column in labels.T], axis=1)
    share = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
    nearest = int(np.argmin(((share[1:] - share[0]) ** 2).sum(axis=1)))
    return int(np.flatnonzero(ranges[:-1] == nearest)[-1]) + 1
