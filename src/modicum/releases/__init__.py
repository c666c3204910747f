"""What is published once, tied to one dataset: a k-anonymous table, or an anatomy's pair of tables."""

from modicum.releases.anatomy_release import AnatomyRelease
from modicum.releases.release import Release

__all__ = ["AnatomyRelease", "Release"]
