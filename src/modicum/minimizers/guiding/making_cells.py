"""A pruned tree and one record for each leaf, made into the artifact."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.generalization import CellPartition, Generalization
from modicum.generalization.bins import AnyPartition, Dropped, Groups, Scalar
from modicum.generalization.build import drop, keep, partition
from modicum.generalization.cells import Ask, Cell, Entry
from modicum.generalization.core import bucket_tables
from modicum.table.codes import Coder, usual_code
from modicum.trees import Tree


def made_cells(
    tree: Tree,
    coder: Coder,
    values: Sequence[Sequence[Scalar]],
    predictions: Sequence[Any],
    kept: Sequence[int],
    representatives: str,
) -> CellPartition:
    """The cells of a tree.

    Parameters
    ----------
    tree : Tree
        On the coder's codes.
    coder : Coder
    values : each leaf's record
    predictions : what the model says of each
    kept : attributes that are told in full
    representatives : whether the values are made up
    """
    found = dict(zip(tree.layout.splits, tree.buckets(), strict=True))
    parts: list[AnyPartition] = [partition(c, found[j]) if j in found else drop(c) for j, c in enumerate(coder.codings)]
    detail = Generalization(coder.schema, parts)
    entries = _entries(tree, detail, coder, values, predictions)
    return CellPartition(detail, entries, kept=[keep(coder.codings[j]) for j in kept], representatives=representatives)


def one_cell(g: Generalization, representatives: str) -> CellPartition:
    """A generalization as a single cell, of which each attribute's bucket is told."""
    nothing = Generalization(g.schema, [Dropped(attribute=p.attribute, value=p.value) for p in g.partitions])
    kept = [p for p in g.partitions if not isinstance(p, Dropped)]
    values = tuple(p.value for p in g.partitions)
    return CellPartition(nothing, [Cell(values=values)], kept=kept, representatives=representatives)


def _entries(
    tree: Tree,
    detail: Generalization,
    coder: Coder,
    values: Sequence[Sequence[Scalar]],
    predictions: Sequence[Any],
) -> list[Entry]:
    tables = bucket_tables(detail.partitions, coder)
    made = {split.node: split for split in tree.splits}
    leaf_of = tree.leaf_numbers()
    found: list[Entry] = []
    waiting: list[tuple[int, dict[int, Any]]] = [(0, {})]
    while waiting:
        node, reaches = waiting.pop()
        if node in leaf_of:
            leaf = leaf_of[node]
            found.append(Cell(prediction=predictions[leaf], values=tuple(values[leaf])))
            continue
        split = made[node]
        a = tree.layout.splits[split.attribute]
        here = reaches.get(a, np.ones(len(split.goes_left), dtype=bool))
        left = set(tables[a][here & split.goes_left].tolist())
        if split.goes_left[usual_code(coder.codings[a])]:
            left |= _never_seen(detail.partitions[a], tables[a])
        found.append(Ask(ask=detail.names[a], left=tuple(sorted(left))))
        waiting.append((2 * node + 2, reaches | {a: here & ~split.goes_left}))
        waiting.append((2 * node + 1, reaches | {a: here & split.goes_left}))
    return found


def _never_seen(part: AnyPartition, table: npt.NDArray[Any]) -> set[int]:
    """The codes of unseen and missing values that no record had: they go with the usual value, as in the search."""
    if isinstance(part, Dropped):
        return set()
    special = {getattr(part, "missing_code", -1), part.unseen_code if isinstance(part, Groups) else -1}
    return {code for code in special if code >= 0} - set(table.tolist())
