"""PriSM (papers/3): a classifier that needs neither a sensitive attribute nor any attributes that reveal it."""

from modicum.prism._select import Selection, select
from modicum.prism.discovery.correlation_result import Correlation, Correlations
from modicum.prism.discovery.correlations import correlations
from modicum.prism.prism_classifier import LinearSVM, Parsimony, PrismClassifier
from modicum.prism.prism_regressor import PrismRegressor

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
