"""R+-tree: the boxes of a bulk-loaded spatial index are the groups (Iwuchukwu and Naughton 2007)."""

from modicum.anonymizers.base import Anonymizer
from modicum.anonymizers.grouping import for_kernel
from modicum.anonymizers.task import Task
from modicum.table.values import Codes


class RPlusTree(Anonymizer):
    """k-anonymous records by the leaves of an R+-tree: the third of the three comparators of papers/2 §4."""

    def _groups(self, task: Task) -> Codes:
        from modicum.anonymizers.split_kernel import split_groups

        groups: Codes = split_groups(for_kernel(task.ranked), task.needs.for_kernel(), False, True)
        return groups
