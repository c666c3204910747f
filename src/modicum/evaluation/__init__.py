"""Judgement: what a generalization costs the prediction, and what it leaves at risk."""

from modicum.evaluation._alternatives import Alternative, Alternatives, alternatives, alternatives_of
from modicum.evaluation._drift import Drift, RiskChange, ValueShift, drift
from modicum.evaluation._judge import Judgement
from modicum.evaluation._necessity import AttributeNeed, Necessity, Step, necessity
from modicum.evaluation._utility import GroupScore, Score, Utility
from modicum.evaluation.coarsening_effect import Effect, coarsened_choice, effect
from modicum.evaluation.evidence.anatomy_evidence import AnatomyEvidence, anatomy_evidence
from modicum.evaluation.evidence.generalization_evidence import Evidence
from modicum.evaluation.evidence.prism_cost import ModelCost, PrismCost, prism_cost
from modicum.evaluation.evidence.prism_evidence import PrismEvidence, prism_evidence
from modicum.evaluation.evidence.prism_reasons import AttributeReason, PrismAlternative
from modicum.evaluation.evidence.release_evidence import ReleaseEvidence, release_evidence
from modicum.evaluation.study.candidates import Candidate, Choice
from modicum.evaluation.study.study_result import Study

__all__ = [
    "Alternative",
    "Alternatives",
    "AnatomyEvidence",
    "AttributeNeed",
    "AttributeReason",
    "Candidate",
    "Choice",
    "Drift",
    "Effect",
    "Evidence",
    "GroupScore",
    "Judgement",
    "ModelCost",
    "Necessity",
    "PrismAlternative",
    "PrismCost",
    "PrismEvidence",
    "ReleaseEvidence",
    "RiskChange",
    "Score",
    "Step",
    "Study",
    "Utility",
    "ValueShift",
    "alternatives",
    "alternatives_of",
    "anatomy_evidence",
    "coarsened_choice",
    "drift",
    "effect",
    "necessity",
    "prism_cost",
    "prism_evidence",
    "release_evidence",
]
