from .accuracy_guided import AccuracyGuided
from .hilbert import Hilbert
from .mondrian import Mondrian
from .rplus_tree import RPlusTree

__all__ = ["AccuracyGuided", "Hilbert", "Mondrian", "RPlusTree"]
