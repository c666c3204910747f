"""Learning from anatomized data (papers/4): tables that keep every value exact and hide whose the sensitive one is.

Names are loaded when they are first used: making tables needs none of what the classifier does.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Anatomy": "modicum.anatomy.anatomy",
    "AnatomyClassifier": "modicum.anatomy.anatomy_classifier",
    "PaperBound": "modicum.anatomy.bound",
    "paper_bound": "modicum.anatomy.bound",
    "training_data": "modicum.anatomy.training",
}

__all__ = ["Anatomy", "AnatomyClassifier", "PaperBound", "paper_bound", "training_data"]

if TYPE_CHECKING:
    from modicum.anatomy.anatomy import Anatomy as Anatomy
    from modicum.anatomy.anatomy_classifier import AnatomyClassifier as AnatomyClassifier
    from modicum.anatomy.bound import PaperBound as PaperBound
    from modicum.anatomy.bound import paper_bound as paper_bound
    from modicum.anatomy.training import training_data as training_data


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'modicum.anatomy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_HOME)
