"""Anonymous training data: records that share their quasi-identifiers with at least k - 1 others (papers/2)."""

from modicum.anonymizers.accuracy_guided import AccuracyGuided
from modicum.anonymizers.hilbert import Hilbert
from modicum.anonymizers.mondrian import Mondrian
from modicum.anonymizers.rplus_tree import RPlusTree

__all__ = ["AccuracyGuided", "Hilbert", "Mondrian", "RPlusTree"]
