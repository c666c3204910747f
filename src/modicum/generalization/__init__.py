"""The artifacts: what is collected, as data that people and programs can read."""

from modicum.generalization.anatomy_release import AnatomyRelease
from modicum.generalization.artifact import Artifact
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.loading import load
from modicum.generalization.questionnaire import Questionnaire
from modicum.generalization.release import Release

__all__ = ["AnatomyRelease", "Artifact", "CellPartition", "Generalization", "Questionnaire", "Release", "load"]
