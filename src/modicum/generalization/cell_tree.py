"""The questions that lead to a cell: a tree, written down in preorder, every question before what follows from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from modicum.errors import ArtifactError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals, Scalar
from modicum.generalization.core import Generalization
from modicum.generalization.walking import Walk
from modicum.table.schema import first_complaint
from modicum.table.values import Codes, Mask, canonical

Box = dict[int, Mask]  # attribute → which of its codes are left; one that was not asked about may be anything


class Ask(BaseModel):
    """A question: records whose bucket of the attribute is one of `left` go left, all others right."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ask: str
    left: tuple[int, ...]


class Cell(BaseModel):
    """A leaf: what the model predicts there (nothing where it must see more), and a representative record."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    prediction: bool | int | float | str | None = None
    values: tuple[Scalar, ...]


Entry = Ask | Cell


@dataclass(frozen=True)
class CellTree:
    """The tree laid out: questions and cells in preorder, what each question sends left, and each cell's box."""

    questions: tuple[Ask, ...]
    cells: tuple[Cell, ...]
    boxes: tuple[Box, ...]
    walk: Walk

    @classmethod
    def of(cls, entries: Iterable[Entry], detail: Generalization) -> "CellTree":
        """Lay the entries out; each question must part the buckets of `detail` that reach it."""
        questions: list[Ask] = []
        cells: list[Cell] = []
        boxes: list[Box] = []
        columns: list[int] = []
        lefts: list[Mask] = []
        children: list[list[int]] = []
        places = {name: j for j, name in enumerate(detail.names)}
        waiting: list[tuple[int, int, Box]] = [(-1, 0, {})]  # the question above, the side, what reaches it
        for entry in entries:
            if not waiting:
                raise ArtifactError("The artifact's field 'cells' goes on after its last cell.")
            parent, side, box = waiting.pop()
            if isinstance(entry, Cell):
                place = ~len(cells)
                cells.append(entry)
                boxes.append(box)
            else:
                place = len(questions)
                column, left, reaches = _parted(entry, box, places, detail)
                waiting += [(place, 1, box | {column: reaches & ~left}), (place, 0, box | {column: reaches & left})]
                questions.append(entry)
                columns.append(column)
                lefts.append(left)
                children.append([0, 0])
            if parent >= 0:
                children[parent][side] = place
        if waiting:
            raise ArtifactError("The artifact's field 'cells' ends before every answer leads to a cell.")
        for cell, box in zip(cells, boxes, strict=True):
            _check_values(cell, box, detail)
        return cls(tuple(questions), tuple(cells), tuple(boxes), Walk.of(columns, lefts, children))

    @property
    def asked(self) -> list[int]:
        """The attributes that some question is about."""
        return sorted(set(self.walk.columns.tolist()))

    def entries(self) -> list[Entry]:
        """Questions and cells in preorder."""
        found: list[Entry] = []
        waiting = [0 if self.questions else ~0]
        while waiting:
            place = waiting.pop()
            if place < 0:
                found.append(self.cells[~place])
            else:
                found.append(self.questions[place])
                waiting += self.walk.children[place][::-1].tolist()
        return found


def parse_entries(content: Any) -> list[Entry]:
    """Questions and cells from plain data."""
    if not isinstance(content, list) or not content:
        raise ArtifactError("The artifact's field 'cells' must be a list of questions and cells.")
    found: list[Entry] = []
    for i, entry in enumerate(content):
        if not isinstance(entry, dict):
            raise ArtifactError("Every entry of the artifact's field 'cells' must be a question or a cell.")
        kind: type[Entry] = Ask if "ask" in entry else Cell
        try:
            found.append(kind.model_validate(entry))
        except ValidationError as error:
            raise ArtifactError(
                f"Entry {i + 1} of the artifact's field 'cells' is not valid: {first_complaint(error, entry)}."
            ) from None
    return found


def told_sets(boxes: Sequence[Box], column: int, size: int) -> tuple[list[tuple[int, ...]], Codes]:
    """The different sets of an attribute's codes that the boxes leave, in order, and which of them each box has."""
    everything = np.ones(size, dtype=bool)
    masks = np.array([box.get(column, everything) for box in boxes])
    distinct, which = np.unique(~masks, axis=0, return_inverse=True)  # first codes first
    return [tuple(np.flatnonzero(~mask).tolist()) for mask in distinct], which.reshape(-1).astype(np.int64)


def _parted(entry: Ask, box: Box, places: dict[str, int], detail: Generalization) -> tuple[int, Mask, Mask]:
    if entry.ask not in places:
        raise ArtifactError(f"The cells ask for {entry.ask!r}, which the artifact does not have.")
    column = places[entry.ask]
    partition = detail.partitions[column]
    if isinstance(partition, Dropped | FullDetail):
        raise ArtifactError(f"The cells ask for {entry.ask!r}, which has no buckets.")
    size = len(partition.labels)
    if any(not 0 <= code < size for code in entry.left):
        raise ArtifactError(f"A question about {entry.ask!r} speaks of a bucket that it does not have.")
    left = np.zeros(size, dtype=bool)
    left[list(entry.left)] = True
    reaches = box.get(column, np.ones(size, dtype=bool))
    stay, go = np.flatnonzero(reaches & left), np.flatnonzero(reaches & ~left)
    if not len(stay) or not len(go):
        raise ArtifactError(f"A question about {entry.ask!r} is asked where its answer is known already.")
    if partition.attribute.has_order:
        stay, go = stay[stay < partition.n_buckets], go[go < partition.n_buckets]
        if len(stay) and len(go) and not (stay[-1] < go[0] or go[-1] < stay[0]):
            raise ArtifactError(f"A question about {entry.ask!r} does not follow its order.")
    return column, left, reaches


def _check_values(cell: Cell, box: Box, detail: Generalization) -> None:
    if len(cell.values) != len(detail.partitions):
        raise ArtifactError(f"A cell has {len(cell.values)} values for {len(detail.partitions)} attributes.")
    for j, (value, partition) in enumerate(zip(cell.values, detail.partitions, strict=True)):
        try:
            code = code_of(partition, value)
        except ValueError as error:
            raise ArtifactError(f"A cell's value of {partition.name!r} is not valid: {error}.") from None
        if j in box and not (0 <= code < len(box[j]) and box[j][code]):
            raise ArtifactError(f"A cell's value of {partition.name!r} lies outside the cell.")


def code_of(partition: AnyPartition, value: Scalar) -> int:
    """The bucket of one value as an artifact writes it; 0 for an attribute without buckets."""
    if isinstance(partition, Intervals):
        if value is None:
            return partition.missing_code
        return int(np.searchsorted(partition.edges, partition.as_number(value), side="left"))
    if isinstance(partition, Groups):
        return (
            partition.missing_code if value is None else partition.code_of.get(canonical(value), partition.unseen_code)
        )
    if value is not None and not partition.attribute.is_category:
        partition.as_number(value)
    return 0


def same_bucket(kept: AnyPartition, code: int, detail: AnyPartition) -> int:
    """The bucket in `detail` of a bucket of an attribute that is told besides; -1 where `detail` refuses it.

    Not by its representative: that of `(other)` is a usual value, which is not unseen.
    """
    if not isinstance(kept, Groups) or not isinstance(detail, Groups):
        return 0
    if code < kept.n_buckets:
        return detail.code_of.get(kept.buckets[code].values[0], detail.unseen_code)
    return detail.unseen_code if code == kept.unseen_code else detail.missing_code
