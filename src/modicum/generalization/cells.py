"""Cells: disjoint boxes over several attributes, from the leaves of a tree; local recoding [Goldsteen22 §3.2]."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, ValidationError

from modicum.errors import ArtifactError
from modicum.generalization import storage
from modicum.generalization.bins import (
    MISSING,
    OTHER,
    AnyPartition,
    Dropped,
    FullDetail,
    Groups,
    Intervals,
    Scalar,
    group_label,
    interval_label,
    possible,
    unique,
)
from modicum.generalization.core import Generalization
from modicum.generalization.description import CellsDescription, describe_cells
from modicum.generalization.exports import Output, TableExports, check_form
from modicum.generalization.lazy import cells_in_engine
from modicum.generalization.representatives import build_typed_column, label_codes, transform_column
from modicum.table.frames import as_frame, column, is_lazy, same_kind
from modicum.table.schema import Schema, first_complaint
from modicum.table.targets import Target
from modicum.table.values import canonical
from modicum.typing import Codes, Mask

# Walk down a tree of yes/no questions about codes, with all records at once.


@dataclass(frozen=True)
class Walk:
    """A tree as arrays: question i is about `columns[i]`, and `goes_left[starts[i] + code]` says if a code goes left.

    `children[i]` are the next questions; leaf l is written as ~l.
    """

    columns: Codes
    starts: Codes
    goes_left: Mask
    children: Codes

    @classmethod
    def of(cls, columns: Sequence[int], goes_left: Sequence[Mask], children: Sequence[Sequence[int]]) -> "Walk":
        """Build the arrays of a tree whose root is the first question.

        Examples
        --------
        >>> import numpy as np
        >>> from modicum.generalization.cells import Walk
        >>> walk = Walk.of([1], [np.array([True, False, True])], [[~0, ~1]])
        >>> walk.leaves(np.array([[9, 0], [9, 1], [9, 2]])).tolist()
        [0, 1, 0]
        """
        sizes = [len(flags) for flags in goes_left]
        return cls(
            np.array(columns, dtype=np.int64),
            np.cumsum([0, *sizes])[: len(sizes)].astype(np.int64),
            np.concatenate([*goes_left, np.zeros(0, dtype=bool)]),
            np.array(children, dtype=np.int64).reshape(-1, 2),
        )

    def leaves(self, codes: npt.NDArray[Any]) -> Codes:
        """Return the leaf of each row of codes."""
        if not len(self.columns):
            return np.zeros(len(codes), dtype=np.int64)
        from modicum.generalization.kernel import walk  # deferred: the compiler takes a second to import

        found: Codes = walk(codes, self.columns, self.starts, self.goes_left, self.children)
        return found


# The questions that lead to a cell: a tree in preorder, each question before its two sides.

Box = dict[int, Mask]  # attribute → which codes are possible; without an entry, all are


class Ask(BaseModel):
    """A question: records whose bucket of the attribute is one of `left` go left, all others right."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ask: str
    left: tuple[int, ...]


class Cell(BaseModel):
    """A leaf: the model's prediction (None if the model needs more), and a representative record."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    prediction: bool | int | float | str | None = None
    values: tuple[Scalar, ...]


Entry = Ask | Cell


@dataclass(frozen=True)
class CellTree:
    """The tree: its questions and cells in preorder, each cell's box, and the arrays to walk it."""

    questions: tuple[Ask, ...]
    cells: tuple[Cell, ...]
    boxes: tuple[Box, ...]
    walk: Walk

    @classmethod
    def of(cls, entries: Iterable[Entry], detail: Generalization) -> "CellTree":
        """Build the tree from its entries; each question must split the buckets of `detail` that reach it."""
        questions: list[Ask] = []
        cells: list[Cell] = []
        boxes: list[Box] = []
        columns: list[int] = []
        lefts: list[Mask] = []
        children: list[list[int]] = []
        places = {name: j for j, name in enumerate(detail.names)}
        waiting: list[tuple[int, int, Box]] = [(-1, 0, {})]  # the parent question, its side, the codes that reach it
        for entry in entries:
            if not waiting:
                raise ArtifactError("The artifact's field 'cells' has entries after its last cell.")
            parent, side, box = waiting.pop()
            if isinstance(entry, Cell):
                place = ~len(cells)
                cells.append(entry)
                boxes.append(box)
            else:
                place = len(questions)
                column, left, reaches = _parse_question(entry, box, places, detail)
                waiting += [(place, 1, box | {column: reaches & ~left}), (place, 0, box | {column: reaches & left})]
                questions.append(entry)
                columns.append(column)
                lefts.append(left)
                children.append([0, 0])
            if parent >= 0:
                children[parent][side] = place
        if waiting:
            raise ArtifactError("The artifact's field 'cells' ends too early: some answers lead to no cell.")
        for cell, box in zip(cells, boxes, strict=True):
            _check_values(cell, box, detail)
        return cls(tuple(questions), tuple(cells), tuple(boxes), Walk.of(columns, lefts, children))

    @property
    def asked(self) -> list[int]:
        """The attributes with at least one question."""
        return sorted(set(self.walk.columns.tolist()))

    def entries(self) -> list[Entry]:
        """List questions and cells in preorder."""
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
    """Read questions and cells from plain data."""
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


def find_code_sets(boxes: Sequence[Box], column: int, size: int) -> tuple[list[tuple[int, ...]], Codes]:
    """List the distinct sets of an attribute's codes that the boxes allow, in order, and the set of each box."""
    everything = np.ones(size, dtype=bool)
    masks = np.array([box.get(column, everything) for box in boxes])
    distinct, which = np.unique(~masks, axis=0, return_inverse=True)  # first codes first
    return [tuple(np.flatnonzero(~mask).tolist()) for mask in distinct], which.reshape(-1).astype(np.int64)


def _parse_question(entry: Ask, box: Box, places: dict[str, int], detail: Generalization) -> tuple[int, Mask, Mask]:
    if entry.ask not in places:
        raise ArtifactError(f"A question is about {entry.ask!r}, which is not an attribute of the artifact.")
    column = places[entry.ask]
    partition = detail.partitions[column]
    if isinstance(partition, Dropped | FullDetail):
        raise ArtifactError(f"A question is about {entry.ask!r}, which has no buckets.")
    size = len(partition.labels)
    if any(not 0 <= code < size for code in entry.left):
        raise ArtifactError(f"A question about {entry.ask!r} names a bucket code that the attribute does not have.")
    left = np.zeros(size, dtype=bool)
    left[list(entry.left)] = True
    reaches = box.get(column, np.ones(size, dtype=bool))
    stay, go = np.flatnonzero(reaches & left), np.flatnonzero(reaches & ~left)
    if not len(stay) or not len(go):
        raise ArtifactError(f"A question about {entry.ask!r} is redundant: its answer is already known.")
    if partition.attribute.has_order:
        stay, go = stay[stay < partition.n_buckets], go[go < partition.n_buckets]
        if len(stay) and len(go) and not (stay[-1] < go[0] or go[-1] < stay[0]):
            raise ArtifactError(f"A question about {entry.ask!r} does not follow the order of its buckets.")
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
    """Return the bucket of one value, as an artifact writes it; 0 for an attribute without buckets."""
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
    """Return the bucket in `detail` that matches a kept attribute's bucket; -1 if `detail` refuses it.

    Its representative would not do: `(other)` is represented by a usual value, which is not unseen.
    """
    if not isinstance(kept, Groups) or not isinstance(detail, Groups):
        return 0
    if code < kept.n_buckets:
        return detail.code_of.get(kept.buckets[code].values[0], detail.unseen_code)
    return detail.unseen_code if code == kept.unseen_code else detail.missing_code


# The cells


class CellPartition(TableExports):
    """A partition into boxes over several attributes: a record reveals only the box that it falls into.

    A tree of questions about the buckets of `detail` leads every record to exactly one cell, without gaps or overlaps.
    The same value is collected in more or less detail in different cells (local recoding). This reveals less than a
    generalization with the same buckets, but needs code where data is collected.

    Parameters
    ----------
    detail : Generalization
        The buckets that questions are about; an attribute without a question is dropped.
    entries : iterable of Ask and Cell
        The tree in preorder: a question, then its left side, then its right.
    kept : iterable of partitions
        Attributes that are collected in the same way in every cell, because the model needs them: in full detail, or
        in buckets if no question is about them.
    representatives : 'synthetic' or 'record'
        Whether a cell's values are made up or those of an actual person, which are never saved.

    Examples
    --------
    >>> import modicum as md
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = md.datasets.load_adult(return_X_y=True)
    >>> numbers = X[["age", "hours-per-week", "capital-gain"]][:3000]
    >>> model = DecisionTreeClassifier(max_leaf_nodes=4, random_state=0).fit(numbers, y[:3000])
    >>> cells = md.ModelGuided(model).fit(numbers).cells_
    >>> bool((model.predict(cells.transform(numbers, output="values")) == model.predict(numbers)).mean() > 0.98)
    True
    """

    def __init__(
        self,
        detail: Generalization,
        entries: Iterable[Entry],
        *,
        kept: Iterable[AnyPartition] = (),
        representatives: str = "synthetic",
    ) -> None:
        self._detail = detail
        self._kept = {partition.name: partition for partition in kept}
        self._representatives = representatives
        strange = [name for name in self._kept if name not in detail.names]
        if strange:
            raise ArtifactError(f"The cells keep {strange[0]!r}, which is not an attribute of the artifact.")
        if representatives not in ("synthetic", "record"):
            raise ArtifactError("The artifact's field 'representatives' must be 'synthetic' or 'record'.")
        self._tree = CellTree.of(entries, detail)
        asked = {self.names[j] for j in self._tree.asked}
        for partition in self._kept.values():
            if partition.action == "dropped" or (partition.action == "coarsened" and partition.name in asked):
                raise ArtifactError(
                    f"The attribute {partition.name!r} is kept and also asked about, so it must be in full detail."
                )

    @property
    def schema(self) -> Schema:
        """Kinds, roles and domains of the attributes."""
        return self._detail.schema

    @property
    def names(self) -> list[str]:
        """All attributes, in order, whether collected or not."""
        return self._detail.names

    @property
    def needed(self) -> list[str]:
        """The attributes that are collected in any form."""
        asked = {self.names[j] for j in self._tree.asked}
        return [name for name in self.names if name in asked or name in self._kept]

    @property
    def kept(self) -> list[str]:
        """The attributes that are collected in the same way in every cell."""
        return [name for name in self.names if name in self._kept]

    @property
    def detail(self) -> Generalization:
        """The buckets that questions are about."""
        return self._detail

    @property
    def tree(self) -> CellTree:
        """The questions and the cells."""
        return self._tree

    @property
    def representatives(self) -> str:
        """Whether the cells' values are made up ('synthetic') or those of an actual person ('record')."""
        return self._representatives

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self._tree.cells)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of codes of each attribute; 0 for a number in full detail."""
        return tuple(len(self.labels(name)) for name in self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CellPartition) and self._plain() == other._plain()

    def __hash__(self) -> int:
        return hash((self.schema, self.n_cells, tuple(self.needed)))

    def __repr__(self) -> str:
        unit = "cell" if self.n_cells == 1 else "cells"
        return f"<CellPartition: {self.n_cells} {unit} over {len(self.needed)} of {len(self.names)} attributes>"

    # What each cell reveals

    @cached_property
    def _code_sets(self) -> dict[str, tuple[list[tuple[int, ...]], Codes]]:
        sizes = self._detail.sizes
        return {n: find_code_sets(self._tree.boxes, j, max(1, sizes[j])) for j, n in enumerate(self.names)}

    def code_buckets(self, name: str) -> tuple[AnyPartition, list[tuple[int, ...]]]:
        """Return an attribute's buckets, and for each of its codes here the buckets that remain possible."""
        if name in self._kept:
            partition = self._kept[name]
            return partition, [(code,) for code in range(len(partition.labels))]
        return self._detail[name], self._code_sets[name][0]

    def labels(self, name: str) -> tuple[str, ...]:
        """Return the label of each of an attribute's codes; empty for a number in full detail."""
        return self._kept[name].labels if name in self._kept else self._local_labels[name]

    @cached_property
    def _local_labels(self) -> dict[str, tuple[str, ...]]:
        local = {name: self.code_buckets(name) for name in self.names if name not in self._kept}
        return {name: unique([format_label(p, codes) for codes in sets]) for name, (p, sets) in local.items()}

    def cell_codes(self, name: str) -> Codes:
        """Return each cell's code of an attribute that is not kept."""
        return self._code_sets[name][1]

    def cell_labels(self, cell: int) -> dict[str, str]:
        """Return what one cell reveals, as labels; attributes with no restriction are left out."""
        box = self._tree.boxes[cell]
        return {
            self.names[j]: format_label(self._detail.partitions[j], np.flatnonzero(mask).tolist())
            for j, mask in sorted(box.items())
            if not mask.all() and self.names[j] not in self._kept
        }

    # Apply it

    def cells(self, X: Any) -> Codes:
        """Return the cell of each record, numbered from 0 in the order of the tree."""
        return self._tree.walk.leaves(self._detail.codes(as_frame(X, self.names)))

    def codes(self, X: Any) -> Codes:
        """Return the code of each record in each attribute: what an adversary sees of X."""
        frame = as_frame(X, self.names)
        cells = self.cells(frame)
        codes = np.zeros((len(frame), len(self.names)), dtype=np.int64)
        for j, name in enumerate(self.names):
            kept = self._kept.get(name)
            codes[:, j] = self._code_sets[name][1][cells] if kept is None else kept.encode(column(frame, name))
        return codes

    def possible(self, attribute: str, target: Target, codes: Codes) -> Mask:
        """Return which of the target's values each row of codes leaves possible."""
        own = codes if codes.ndim == 1 else codes[:, self.names.index(attribute)]
        if attribute in self._kept:
            return possible(self._kept[attribute], target, own)
        partition, code_sets = self.code_buckets(attribute)
        each = possible(partition, target)
        return np.array([each[list(buckets)].any(axis=0) for buckets in code_sets])[own]

    def transform(self, X: Any, output: Output = "labels") -> Any:
        """Return X with no more detail than the cells reveal.

        Parameters
        ----------
        X : frame or array
            Or a lazy table (DuckDB relation, Spark DataFrame, …), which stays lazy. Only the needed attributes are
            required; other columns are never passed through.
        output : "labels", "codes" or "values"
            `labels`: what each cell reveals, in words; `codes`: the same as integers; `values`: all attributes in
            their original types as input for the model, with each cell's representative values for those not kept.
        """
        check_form(output)
        if is_lazy(X):
            return cells_in_engine(X, self, output)
        frame = as_frame(X, self.names)
        if output == "values":
            cells = self.cells(frame)
            return same_kind({name: self._values(name, cells, frame) for name in self.names}, like=X)
        codes = self.codes(frame)
        chosen = {name: codes[:, self.names.index(name)] for name in self.needed}
        if output == "labels":
            return same_kind({name: self._label_codes(name, codes, frame) for name, codes in chosen.items()}, like=X)
        return same_kind(chosen, like=X)

    def _values(self, name: str, cells: Codes, frame: nw.DataFrame[Any]) -> Any:
        if name in self._kept:
            return transform_column(self._kept[name], frame, "values")
        own = [cell.values[self.names.index(name)] for cell in self._tree.cells]
        return build_typed_column(self.schema[name], own, cells, frame)

    def _label_codes(self, name: str, codes: Codes, frame: nw.DataFrame[Any]) -> Any:
        if isinstance(self._kept.get(name), FullDetail):
            return column(frame, name).to_native()
        return label_codes(codes, self.labels(name))

    # Look at it

    def describe(self, X: Any = None) -> CellsDescription:
        """Describe the cells, one line each; with records, also each cell's share, the largest first."""
        return describe_cells(self, X)

    # Save and load it

    def to_dict(self) -> storage.PlainArtifact:
        """Return the artifact as plain data for JSON; refused if the cells hold values of actual people."""
        if self._representatives == "record":
            raise ArtifactError(
                "These cells hold the records of actual people as representatives, which must not be shared; fit with "
                "representatives='synthetic'."
            )
        return self._plain()

    def _plain(self) -> storage.PlainArtifact:
        return {
            "modicum": "cells",
            "version": storage.VERSION,
            "schema": self.schema.to_dict(),
            "attributes": [storage.dump_partition(p) for p in self._detail.partitions],
            "kept": [storage.dump_partition(self._kept[name]) for name in self.kept],
            "cells": [entry.model_dump(mode="json") for entry in self._tree.entries()],
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, object]) -> "CellPartition":
        """Read and check the artifact from plain data."""
        if not isinstance(content, dict) or content.get("modicum") != "cells":
            raise ArtifactError("The artifact's field 'modicum' does not say 'cells'.")
        unknown = set(content) - {"modicum", "version", "schema", "attributes", "kept", "cells"}
        if unknown:
            raise ArtifactError(f"The artifact has an unknown field {sorted(unknown)[0]!r}.")
        own = {key: value for key, value in content.items() if key in ("version", "schema", "attributes")}
        detail = Generalization.from_dict({**own, "modicum": "generalization"})
        kept = content.get("kept", [])
        if not isinstance(kept, list):
            raise ArtifactError("The artifact's field 'kept' must be a list.")
        partitions = [storage.parse_partition(entry, detail.schema) for entry in kept]
        return cls(detail, parse_entries(content.get("cells")), kept=partitions)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it as JSON, one line per question and cell; an existing file is replaced only by a complete one."""
        storage.write_json(self.to_dict(), path)


def format_label(partition: AnyPartition, codes: Sequence[int]) -> str:
    """Name several buckets together: a range, a group of categories, or `(any)` for all of them."""
    if isinstance(partition, Dropped | FullDetail) or len(codes) == len(partition.labels):
        return "(any)"
    own = [code for code in codes if code < partition.n_buckets]
    words: list[str] = []
    if own and isinstance(partition, Intervals):
        ends = [None, *partition.edges.tolist(), None]
        words.append(interval_label(ends[own[0]], ends[own[-1] + 1], partition.attribute))
    elif own and isinstance(partition, Groups):
        values = [value for code in own for value in partition.buckets[code].values]
        words.append(group_label(values, partition.attribute))
    unseen = partition.unseen_code if isinstance(partition, Groups) else -1
    words += [OTHER] if unseen >= partition.n_buckets and unseen in codes else []
    words += [MISSING] if partition.missing_code >= partition.n_buckets and partition.missing_code in codes else []
    return " or ".join(words)
