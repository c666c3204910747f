"""PriSM (papers/3): a classifier that needs neither a sensitive attribute nor any attributes that reveal it."""

from modicum.prism._correlations import correlations
from modicum.prism.correlation_result import Correlation, Correlations
from modicum.prism.discovery import Discovery

__all__ = ["Correlation", "Correlations", "Discovery", "correlations"]
