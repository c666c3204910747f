"""Learning from anatomized data (papers/4): tables that keep every value exact and hide whose the sensitive one is."""

from modicum.anatomy.anatomize import Anatomy
from modicum.anatomy.bound import PaperBound, paper_bound
from modicum.anatomy.classifier import AnatomyClassifier
from modicum.anatomy.training_sets import training_data

__all__ = ["Anatomy", "AnatomyClassifier", "PaperBound", "paper_bound", "training_data"]
