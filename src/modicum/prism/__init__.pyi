from ._select import Selection, select
from .discovery.correlation_result import Correlation, Correlations
from .discovery.correlations import correlations
from .prism_classifier import LinearSVM, Parsimony, PrismClassifier
from .prism_regressor import PrismRegressor

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
