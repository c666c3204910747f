from .anatomy import Anatomy
from .anatomy_classifier import AnatomyClassifier
from .bound import PaperBound, paper_bound
from .training import training_data

__all__ = ["Anatomy", "AnatomyClassifier", "PaperBound", "paper_bound", "training_data"]
