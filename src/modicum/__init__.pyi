from . import anatomy, attacks, datasets, errors, evaluation, measures, prism
from .anatomy import Anatomy, AnatomyClassifier
from .anonymizers import AccuracyGuided, Hilbert, Mondrian, RPlusTree
from .evaluation._evidence import evidence
from .evaluation._utility import utility
from .evaluation.study.run import study
from .export.model_bundle import Bundle, load_bundle, save_bundle
from .generalization import CellPartition, Generalization, Questionnaire, load
from .measures import certify
from .minimizers import (
    AdversarialTraining,
    FeatureSelection,
    Iterative,
    MergePath,
    ModelGuided,
    MutualInformation,
    PrivacyTree,
    Uniform,
)
from .prism import PrismClassifier
from .releases import AnatomyRelease, Release
from .reporting import report
from .table.schema import Attribute, Schema
from .workflow import Minimization, minimize

__version__: str
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
    "Minimization",
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
    "errors",
    "evaluation",
    "evidence",
    "load",
    "load_bundle",
    "measures",
    "minimize",
    "prism",
    "report",
    "save_bundle",
    "study",
    "utility",
]
