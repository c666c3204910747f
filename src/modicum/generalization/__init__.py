"""The artifacts: what is collected, as data that people and programs can read."""

from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Artifact, Generalization
from modicum.generalization.loading import load
from modicum.generalization.questionnaire import Questionnaire

__all__ = ["Artifact", "CellPartition", "Generalization", "Questionnaire", "load"]
