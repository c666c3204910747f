"""Cells: disjoint boxes over several attributes at once, from the leaves of a tree (papers/1 §3.2, local recoding)."""

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.errors import ArtifactError, ParameterError
from modicum.generalization import storage
from modicum.generalization.bins import MISSING, OTHER, AnyPartition, Dropped, FullDetail, Groups, Intervals
from modicum.generalization.cell_description import CellsDescription, describe_cells
from modicum.generalization.cell_tree import CellTree, Entry, parse_entries, told_sets
from modicum.generalization.core import Generalization
from modicum.generalization.exports import Output, TableExports
from modicum.generalization.labels import group_label, interval_label, unique
from modicum.generalization.lazy_cells import cells_in_engine
from modicum.generalization.possible import possible
from modicum.generalization.representatives import representative_column, typed_column
from modicum.table.frames import as_frame, column, is_lazy, same_kind
from modicum.table.schema import Schema
from modicum.table.targets import Target
from modicum.table.values import Codes, Mask

Told = tuple[AnyPartition, list[tuple[int, ...]]]


class CellPartition(TableExports):
    """What a record tells: the box it falls into, and no more of each attribute than the box's side.

    A tree of questions about the buckets of `detail` leads every record to exactly one cell: the two sides of a
    question are each other's complement, so that no gap is left and nothing overlaps. The same value is told more or
    less precisely in different cells (local recoding), which reveals less than the generalization by all the same
    buckets but takes code where data is collected.

    Parameters
    ----------
    detail : Generalization
        The buckets that questions are about; an attribute that no question is about is dropped.
    entries : iterable of Ask and Cell
        The tree in preorder: a question, then its left side, then its right.
    kept : iterable of partitions
        Attributes that are told besides, the same in every cell, because the model needs them: in full detail, or in
        buckets where no question is about them.
    representatives : 'synthetic' or 'record'
        Whether a cell's values were made up or are an actual person's. Those of a person are never saved.

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
            raise ArtifactError(f"The cells keep {strange[0]!r}, which the artifact does not have.")
        if representatives not in ("synthetic", "record"):
            raise ArtifactError("The artifact's field 'representatives' must be 'synthetic' or 'record'.")
        self._tree = CellTree.of(entries, detail)
        asked = {self.names[j] for j in self._tree.asked}
        for partition in self._kept.values():
            if partition.action == "dropped" or (partition.action == "coarsened" and partition.name in asked):
                raise ArtifactError(
                    f"The attribute {partition.name!r} is told besides, so that it must be in full detail."
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
        """The attributes of which anything is told."""
        asked = {self.names[j] for j in self._tree.asked}
        return [name for name in self.names if name in asked or name in self._kept]

    @property
    def kept(self) -> list[str]:
        """The attributes that are told the same way in every cell."""
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
        """Whether the cells' values were made up ('synthetic') or are an actual person's ('record')."""
        return self._representatives

    @property
    def n_cells(self) -> int:
        """How many cells there are."""
        return len(self._tree.cells)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many codes each attribute has; 0 for a number in full detail."""
        return tuple(len(self.labels(name)) for name in self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CellPartition) and self._plain() == other._plain()

    def __hash__(self) -> int:
        return hash((self.schema, self.n_cells, tuple(self.needed)))

    def __repr__(self) -> str:
        unit = "cell" if self.n_cells == 1 else "cells"
        return f"<CellPartition: {self.n_cells} {unit} over {len(self.needed)} of {len(self.names)} attributes>"

    # What is told

    @cached_property
    def _told(self) -> dict[str, tuple[list[tuple[int, ...]], Codes]]:
        sizes = self._detail.sizes
        return {n: told_sets(self._tree.boxes, j, max(1, sizes[j])) for j, n in enumerate(self.names)}

    def told(self, name: str) -> Told:
        """An attribute's buckets, and for each code that it may have here the buckets that are left possible."""
        if name in self._kept:
            partition = self._kept[name]
            return partition, [(code,) for code in range(len(partition.labels))]
        return self._detail[name], self._told[name][0]

    def labels(self, name: str) -> tuple[str, ...]:
        """What may be told of an attribute, in words, one for each code; nothing for a number in full detail."""
        return self._words[name]

    @cached_property
    def _words(self) -> dict[str, tuple[str, ...]]:
        return {name: self._words_of(name) for name in self.names}

    def _words_of(self, name: str) -> tuple[str, ...]:
        if name in self._kept:
            return self._kept[name].labels
        partition, told = self.told(name)
        return unique([told_label(partition, codes) for codes in told])

    def told_by_cell(self, name: str) -> Codes:
        """Which of its codes each cell tells of an attribute that is not kept."""
        return self._told[name][1]

    def cell_labels(self, cell: int) -> dict[str, str]:
        """What one cell's records tell, in words; attributes that may be anything are left out."""
        box = self._tree.boxes[cell]
        return {
            self.names[j]: told_label(self._detail.partitions[j], np.flatnonzero(mask).tolist())
            for j, mask in sorted(box.items())
            if not mask.all() and self.names[j] not in self._kept
        }

    # Applying it

    def cells(self, X: Any) -> Codes:
        """The cell of each record, numbered from 0 as they stand in the tree."""
        return self._tree.walk.leaves(self._detail.codes(as_frame(X, self.names)))

    def codes(self, X: Any) -> Codes:
        """What is told of each record in each attribute: what an adversary sees of X."""
        frame = as_frame(X, self.names)
        cells = self.cells(frame)
        found = np.zeros((len(frame), len(self.names)), dtype=np.int64)
        for j, name in enumerate(self.names):
            kept = self._kept.get(name)
            found[:, j] = self._told[name][1][cells] if kept is None else kept.encode(column(frame, name))
        return found

    def possible(self, attribute: str, target: Target, codes: Codes) -> Mask:
        """For each row of codes, which of the target's values it leaves possible."""
        own = codes if codes.ndim == 1 else codes[:, self.names.index(attribute)]
        if attribute in self._kept:
            return possible(self._kept[attribute], target, own)
        partition, told = self.told(attribute)
        each = possible(partition, target)
        return np.array([each[list(buckets)].any(axis=0) for buckets in told])[own]

    def transform(self, X: Any, output: Output = "labels") -> Any:
        """X with no more detail than the cells tell.

        Parameters
        ----------
        X : frame or array
            Or a lazy table (DuckDB relation, Spark DataFrame, …), which stays lazy. Only the needed attributes must be
            there; other columns are never passed through.
        output : "labels", "codes" or "values"
            `labels`: what is told, in words; `codes`: the same as integers; `values`: each cell's representative
            record in the original types, for all attributes, kept ones as they are: what the model is given.
        """
        if output not in ("labels", "codes", "values"):
            raise ParameterError(
                f"The 'output' parameter must be 'labels', 'codes' or 'values'. Got {output!r} instead."
            )
        if is_lazy(X):
            return cells_in_engine(X, self, output)
        frame = as_frame(X, self.names)
        if output == "values":
            cells = self.cells(frame)
            return same_kind({name: self._values(name, cells, frame) for name in self.names}, like=X)
        codes = self.codes(frame)
        chosen = {name: codes[:, self.names.index(name)] for name in self.needed}
        if output == "labels":
            return same_kind({name: self._named(name, codes, frame) for name, codes in chosen.items()}, like=X)
        return same_kind(chosen, like=X)

    def _values(self, name: str, cells: Codes, frame: nw.DataFrame[Any]) -> Any:
        if name in self._kept:
            return representative_column(self._kept[name], frame)
        own = [cell.values[self.names.index(name)] for cell in self._tree.cells]
        return typed_column(self.schema[name], own, cells, frame)

    def _named(self, name: str, codes: Codes, frame: nw.DataFrame[Any]) -> Any:
        if isinstance(self._kept.get(name), FullDetail):
            return column(frame, name).to_native()
        return pd.Categorical.from_codes(codes, categories=pd.Index(self.labels(name)), ordered=True)

    # Looking at it

    def describe(self, X: Any = None) -> CellsDescription:
        """The cells in words, one line each; with records, each cell's share, the largest first."""
        return describe_cells(self, X)

    # Keeping it

    def to_dict(self) -> dict[str, Any]:
        """The artifact as plain data, ready for JSON; refused where a cell's values are an actual person's."""
        if self._representatives == "record":
            raise ArtifactError(
                "These cells hold the records of actual people as representatives, which must not be passed on; fit "
                "with representatives='synthetic'."
            )
        return self._plain()

    def _plain(self) -> dict[str, Any]:
        return {
            "modicum": "cells",
            "version": storage.VERSION,
            "schema": self.schema.to_dict(),
            "attributes": [storage.dump_partition(p) for p in self._detail.partitions],
            "kept": [storage.dump_partition(self._kept[name]) for name in self.kept],
            "cells": [entry.model_dump(mode="json") for entry in self._tree.entries()],
        }

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "CellPartition":
        """The artifact from plain data; everything is checked."""
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
        """Write it as JSON, one line per question and cell; an existing file is replaced only by a complete one."""
        storage.write_json(self.to_dict(), path)


def told_label(partition: AnyPartition, codes: Sequence[int]) -> str:
    """The name of several buckets together: a range, a group of categories, `(any)` where nothing is told."""
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
