"""The upper levels of Mondrian and the R+-tree, grown where the table lives."""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from modicum.anonymizers.coarse_columns import CoarseColumn
from modicum.anonymizers.cut_tree import CutParts, CutTree, Encoded
from modicum.anonymizers.exact_medians import looking
from modicum.anonymizers.part_release import Upper, WholeTask
from modicum.anonymizers.upper_tree import UpperTree
from modicum.anonymizers.whole_columns import MOST_NUMBERS
from modicum.engines.coded_table import CodedTable, CodeFold
from modicum.engines.table import Counts, EngineTable
from modicum.errors import DataError


def upper_levels(table: EngineTable, task: WholeTask, rows: int, *, tight: bool) -> Upper:
    """Which part each record belongs to, no part with more than so many records unless it cannot be split.

    Codes are made once, unless a number has very many values: then its codes change as it is cut.
    """
    if task.rows <= rows:
        return CutParts(CutTree.root(), Encoded(task.quasi))
    coarse = [each.attribute.name for each in task.quasi if isinstance(each, CoarseColumn)]
    if coarse:
        return _looked(table, task, rows, tight, coarse[0])
    last = () if task.sensitive is None else (task.sensitive,)
    with CodedTable.of(table, Encoded((*task.quasi, *last))) as coded:
        tree = UpperTree(
            lambda work, _: coded.fold(work), task.quasi, task.sensitive, task.requirement, tight, rows
        ).grow(task.rows)
    return CutParts(tree, Encoded(task.quasi))


def _looked(table: EngineTable, task: WholeTask, rows: int, tight: bool, name: str) -> Upper:
    if tight:
        raise DataError(
            f"The column {name!r} has more than {MOST_NUMBERS:,} different numbers, too many for RPlusTree where the "
            "table lives; round them, or take Mondrian or AccuracyGuided."
        )
    upper = UpperTree(
        lambda work, encoded: table.fold(_Raw(encoded, work)),
        task.quasi,
        task.sensitive,
        task.requirement,
        tight,
        rows,
        looking(table),
    )
    return upper.grow_parts(task.rows)


@dataclass(frozen=True)
class _Raw:
    """Counting codes that are made on the way."""

    encoded: Encoded
    work: CodeFold

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.encoded.names)

    def empty(self) -> Counts:
        return self.work.empty()

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        self.work.add(counts, self.encoded.encode(frame))
