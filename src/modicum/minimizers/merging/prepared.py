"""Coded records made ready for merging: buckets in a row for each attribute, and the cells they make.

A number's or ordered category's codes stand in their order; missing, which has none, where P(y) is most like its own.
The values of a category without order stand by P(y). Of more than 128 in a row, neighbours share a place, with about as
many records in each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.generalization.bins import AnyPartition
from modicum.generalization.build import drop, partition
from modicum.minimizers.base import CodedData, guessed_codes
from modicum.minimizers.merging.cells import Cells, Guessing
from modicum.minimizers.merging.descent import Rules, label_places
from modicum.table.codes import Coding, equal_starts
from modicum.table.roles import person_codes
from modicum.table.values import Codes, Floats, Mask

_PLACES = 128
_RANGES = 16  # of an attribute with an order, among which missing finds its like


@dataclass(frozen=True)
class Prepared:
    """What may be merged.

    Attributes
    ----------
    codings : of all attributes
    columns : those that may be collected
    rows : for each of these the place of every code
    guessed : for each personal attribute its column and the guessed value of every code, numbered over all of them
    cells, rules : the training records, and what is free
    """

    codings: Sequence[Coding]
    columns: list[int]
    rows: list[Codes]
    guessed: list[tuple[int, Codes]]
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
        codings, codes = data.coder.codings, data.codes
        records = learns * (np.ones(len(codes)) if data.weights is None else data.weights.astype(np.float64))
        columns = [j for j, coding in enumerate(codings) if not coding.attribute.forbidden]
        labels = chances * records[:, None]
        places = [_places(codings[j], codes[:, j].astype(np.int64), labels) for j in columns]
        guessed, owner = _guessed(data, list(shares))
        guessing = Guessing(
            owner=owner,
            share=np.array(list(shares.values())),
            column=np.array([columns.index(j) if j in columns else -1 for j, _ in guessed]),
            strength=strength,
        )
        cells = Cells.of(
            _coded(codes, columns, places),
            [int(place.max()) + 1 for place in places],
            chances,
            np.column_stack([values[codes[:, j]] for j, values in guessed]),
            records,
            _people(data),
            guessing,
        )
        attributes = [codings[j].attribute for j in columns]
        rules = Rules(
            movable=tuple(not attribute.locked for attribute in attributes),
            ordered=tuple(attribute.has_order for attribute in attributes),
            min_group=min_group,
            mix=mix,
        )
        return cls(codings, columns, places, guessed, cells, rules)

    @property
    def names(self) -> list[str]:
        """The attributes that may be collected."""
        return [self.codings[j].attribute.name for j in self.columns]

    def places(self, codes: Any) -> Codes:
        """The places of other records with these codes."""
        return _coded(codes, self.columns, self.rows)

    def values(self, codes: Any) -> Codes:
        """What is to be guessed of other records."""
        return np.column_stack([values[codes[:, j]] for j, values in self.guessed])

    def partitions(self, groups: Sequence[Codes]) -> list[AnyPartition]:
        """The partitions that these groups of places make."""
        found: dict[int, Any] = {
            j: np.unique(group[row], return_inverse=True)[1]
            for j, row, group in zip(self.columns, self.rows, groups, strict=True)
        }
        return [partition(c, found[j]) if j in found else drop(c) for j, c in enumerate(self.codings)]


def _coded(codes: Any, columns: Sequence[int], rows: Sequence[Codes]) -> Codes:
    return np.column_stack([row[codes[:, j]] for j, row in zip(columns, rows, strict=True)])


def _guessed(data: CodedData, personal: Sequence[str]) -> tuple[list[tuple[int, Codes]], Codes]:
    """Each personal attribute's column and guessed values, numbered one after the other; and whose each number is."""
    found: list[tuple[int, Codes]] = []
    owner: list[int] = []
    for p, name in enumerate(personal):
        j = data.coder.names.index(name)
        own = guessed_codes(data.coder.codings[j])
        found.append((j, own + len(owner)))
        owner += [p] * (int(own.max()) + 1)
    return found, np.array(owner)


def _people(data: CodedData) -> Floats:
    """What each row adds to the number of people: a person's rows add up to one, so that cells are of no fewer."""
    persons = person_codes(data.schema, data.frame)
    if persons is None:
        return np.ones(len(data.codes)) if data.weights is None else data.weights.astype(np.float64)
    return np.asarray(1.0 / np.bincount(persons)[persons])


def _places(coding: Coding, codes: Codes, labels: Floats) -> Codes:
    """The place of every code in the attribute's row."""
    size = coding.n_codes
    counts: Floats = np.bincount(codes, weights=labels.sum(axis=1), minlength=size).astype(np.float64)
    if not coding.attribute.has_order:
        sums = np.vstack(
            [labels, np.full((size, labels.shape[1]), 1e-9)]
        )  # a value without records stands in the middle
        order = np.argsort(label_places(np.append(codes, np.arange(size)), sums))
    else:
        order = np.arange(size)
        if coding.missing:
            at = _like_missing(codes, counts, labels)
            order = np.insert(order[:-1], at, size - 1)
    starts = equal_starts(counts[order].astype(np.int64), _PLACES)
    if coding.missing and coding.attribute.has_order:  # missing keeps a place of its own
        alone = int(np.flatnonzero(order == size - 1)[0])
        starts[alone : alone + 2] = True
    found = np.empty(size, dtype=np.int64)
    found[order] = np.cumsum(starts) - 1
    return found


def _like_missing(codes: Codes, counts: Floats, labels: Floats) -> int:
    """After how many values missing, the last code, stands: at the end of the range with the most similar P(y)."""
    ranges = np.append(np.cumsum(equal_starts(counts[:-1].astype(np.int64), _RANGES)) - 1, -1)
    of_row = ranges[codes]
    last = int(ranges.max())
    sums = np.stack([np.bincount(of_row + 1, weights=column, minlength=last + 2) for column in labels.T], axis=1)
    share = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
    nearest = int(np.argmin(((share[1:] - share[0]) ** 2).sum(axis=1)))
    return int(np.flatnonzero(ranges[:-1] == nearest)[-1]) + 1
