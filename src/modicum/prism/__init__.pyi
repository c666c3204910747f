from .discovery.correlation_result import Correlation, Correlations
from .discovery.discovery import correlations
from .estimators import LinearSVM, Parsimony, PrismClassifier, PrismRegressor, Selection, select

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
