"""The artifacts: what is collected, as data that people and programs can read."""

from modicum.generalization.artifact import Artifact
from modicum.generalization.core import Generalization, load

__all__ = ["Artifact", "Generalization", "load"]
