"""Judgement: what a generalization costs the prediction, and what it leaves at risk."""

from modicum.evaluation._alternatives import Alternative, Alternatives, alternatives, alternatives_of
from modicum.evaluation._anatomy_evidence import AnatomyEvidence, anatomy_evidence
from modicum.evaluation._drift import Drift, RiskChange, drift
from modicum.evaluation._evidence import Evidence, evidence
from modicum.evaluation._judge import Judgement, judge
from modicum.evaluation._necessity import necessity
from modicum.evaluation._prism_evidence import PrismEvidence, prism_evidence
from modicum.evaluation._release_evidence import ReleaseEvidence, release_evidence
from modicum.evaluation._study import study
from modicum.evaluation._utility import GroupScore, Score, Utility, utility
from modicum.evaluation.candidates import Candidate, Choice
from modicum.evaluation.coarsening import Effect, coarsened_choice, effect
from modicum.evaluation.needs import AttributeNeed, Necessity, Step
from modicum.evaluation.periods import ValueShift
from modicum.evaluation.prism_comparison import ModelCost, PrismCost, prism_cost
from modicum.evaluation.prism_needs import PrismAlternative
from modicum.evaluation.prism_reasons import AttributeReason
from modicum.evaluation.study_result import Study

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
    "evidence",
    "judge",
    "necessity",
    "prism_cost",
    "prism_evidence",
    "release_evidence",
    "study",
    "utility",
]
