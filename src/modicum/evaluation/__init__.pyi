from ._alternatives import Alternative, Alternatives, alternatives, alternatives_of
from ._drift import Drift, RiskChange, ValueShift, drift
from ._judge import Judgement
from ._necessity import AttributeNeed, Necessity, Step, necessity
from ._utility import GroupScore, Score, Utility
from .coarsening_effect import Effect, coarsened_choice, effect
from .evidence.anatomy_evidence import AnatomyEvidence, anatomy_evidence
from .evidence.generalization_evidence import Evidence
from .evidence.prism_cost import ModelCost, PrismCost, prism_cost
from .evidence.prism_evidence import PrismEvidence, prism_evidence
from .evidence.prism_reasons import AttributeReason, PrismAlternative
from .evidence.release_evidence import ReleaseEvidence, release_evidence
from .study.candidates import Candidate, Choice
from .study.study_result import Study

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
