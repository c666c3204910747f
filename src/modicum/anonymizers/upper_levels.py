"""The upper levels of Mondrian and the R+-tree, grown where the table lives."""

from modicum.anonymizers.part_release import Upper, WholeTask
from modicum.anonymizers.upper_tree import CutParts, CutTree, Encoded, UpperTree
from modicum.engines.coded_table import CodedTable
from modicum.engines.table import EngineTable


def upper_levels(table: EngineTable, task: WholeTask, rows: int, *, tight: bool) -> Upper:
    """Which part each record belongs to, no part with more than so many records unless it cannot be split."""
    quasi = Encoded(task.quasi)
    if task.rows <= rows:
        return CutParts(CutTree.root(), quasi)
    last = () if task.sensitive is None else (task.sensitive,)
    with CodedTable.of(table, Encoded((*task.quasi, *last))) as coded:
        tree = UpperTree(coded.fold, task.quasi, task.sensitive, task.requirement, tight, rows)
        return CutParts(tree.grow(task.rows), quasi)
