"""PriSM (papers/3): a classifier that needs neither a sensitive attribute nor any attributes that reveal it."""

from modicum.prism._correlations import correlations
from modicum.prism.classifier import LinearSVM, Parsimony, PrismClassifier
from modicum.prism.correlation_result import Correlation, Correlations
from modicum.prism.regressor import PrismRegressor
from modicum.prism.selection import Selection, select

__all__ = [
    "Correlation",
    "Correlations",
    "LinearSVM",
    "Parsimony",
    "PrismClassifier",
    "PrismRegressor",
    "Selection",
    "correlations",
    "select",
]
