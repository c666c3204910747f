from .cells import CellPartition
from .core import Artifact, Generalization
from .loading import load
from .questionnaire import Questionnaire

__all__ = ["Artifact", "CellPartition", "Generalization", "Questionnaire", "load"]
