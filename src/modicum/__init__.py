"""modicum: how little personal data does this prediction need, and what could still leak?

Public names are loaded when they are first used, so that `import modicum` stays cheap.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Attribute": "modicum.table.schema",
    "Schema": "modicum.table.schema",
    "Generalization": "modicum.generalization",
    "CellPartition": "modicum.generalization",
    "Questionnaire": "modicum.generalization",
    "load": "modicum.generalization",
    "PrivacyTree": "modicum.minimizers",
    "MergePath": "modicum.minimizers",
    "ModelGuided": "modicum.minimizers",
    "Uniform": "modicum.minimizers",
    "FeatureSelection": "modicum.minimizers",
    "Iterative": "modicum.minimizers",
    "AdversarialTraining": "modicum.minimizers",
    "MutualInformation": "modicum.minimizers",
    "AccuracyGuided": "modicum.anonymizers",
    "Mondrian": "modicum.anonymizers",
    "Hilbert": "modicum.anonymizers",
    "RPlusTree": "modicum.anonymizers",
    "PrismClassifier": "modicum.prism",
    "Anatomy": "modicum.anatomy",
    "AnatomyClassifier": "modicum.anatomy",
    "AnatomyRelease": "modicum.releases",
    "Release": "modicum.releases",
    "Bundle": "modicum.export.model_bundle",
    "load_bundle": "modicum.export.model_bundle",
    "save_bundle": "modicum.export.model_bundle",
    "certify": "modicum.measures",
    "evidence": "modicum.evaluation.evidence.generalization_evidence",
    "judge": "modicum.evaluation._judge",
    "study": "modicum.evaluation.study.run",
    "utility": "modicum.evaluation._utility",
    "report": "modicum.reporting",
}
_MODULES = ("anatomy", "attacks", "datasets", "errors", "evaluation", "measures", "prism")

__all__ = [
    "AccuracyGuided",
    "AdversarialTraining",
    "Anatomy",
    "AnatomyClassifier",
    "AnatomyRelease",
    "Attribute",
    "Bundle",
    "CellPartition",
    "FeatureSelection",
    "Generalization",
    "Hilbert",
    "Iterative",
    "MergePath",
    "ModelGuided",
    "Mondrian",
    "MutualInformation",
    "PrismClassifier",
    "PrivacyTree",
    "Questionnaire",
    "RPlusTree",
    "Release",
    "Schema",
    "Uniform",
    "anatomy",
    "attacks",
    "certify",
    "datasets",
    "evaluation",
    "evidence",
    "judge",
    "load",
    "load_bundle",
    "measures",
    "prism",
    "report",
    "save_bundle",
    "study",
    "utility",
]

if TYPE_CHECKING:
    from modicum import anatomy, attacks, datasets, evaluation, measures, prism
    from modicum.anatomy import Anatomy as Anatomy
    from modicum.anatomy import AnatomyClassifier as AnatomyClassifier
    from modicum.anonymizers import AccuracyGuided as AccuracyGuided
    from modicum.anonymizers import Hilbert as Hilbert
    from modicum.anonymizers import Mondrian as Mondrian
    from modicum.anonymizers import RPlusTree as RPlusTree
    from modicum.evaluation._judge import judge as judge
    from modicum.evaluation._utility import utility as utility
    from modicum.evaluation.evidence.generalization_evidence import evidence as evidence
    from modicum.evaluation.study.run import study as study
    from modicum.export.model_bundle import Bundle as Bundle
    from modicum.export.model_bundle import load_bundle as load_bundle
    from modicum.export.model_bundle import save_bundle as save_bundle
    from modicum.generalization import CellPartition as CellPartition
    from modicum.generalization import Generalization as Generalization
    from modicum.generalization import Questionnaire as Questionnaire
    from modicum.generalization import load as load
    from modicum.measures import certify as certify
    from modicum.minimizers import AdversarialTraining as AdversarialTraining
    from modicum.minimizers import FeatureSelection as FeatureSelection
    from modicum.minimizers import Iterative as Iterative
    from modicum.minimizers import MergePath as MergePath
    from modicum.minimizers import ModelGuided as ModelGuided
    from modicum.minimizers import MutualInformation as MutualInformation
    from modicum.minimizers import PrivacyTree as PrivacyTree
    from modicum.minimizers import Uniform as Uniform
    from modicum.prism import PrismClassifier as PrismClassifier
    from modicum.releases import AnatomyRelease as AnatomyRelease
    from modicum.releases import Release as Release
    from modicum.reporting import report as report
    from modicum.table.schema import Attribute as Attribute
    from modicum.table.schema import Schema as Schema


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"modicum.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'modicum' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_HOME, *_MODULES, "__version__"])
