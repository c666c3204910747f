from .anatomy_release import AnatomyRelease
from .release import Release

__all__ = ["AnatomyRelease", "Release"]
