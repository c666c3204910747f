"""Learning from anatomized data (papers/4): tables that keep every value exact and hide whose the sensitive one is."""

from modicum.anatomy.anatomize import Anatomy
from modicum.anatomy.training_sets import training_data

__all__ = ["Anatomy", "training_data"]
