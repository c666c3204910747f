from ._alternatives import Alternative, Alternatives, alternatives, alternatives_of
from ._drift import Drift, RiskChange, ValueShift, drift
from ._necessity import AttributeNeed, Necessity, Step, necessity
from ._utility import GroupScore, Score, Utility
from .coarsening_effect import Effect, coarsened_choice, effect
from .evidence.anatomy_evidence import AnatomyEvidence
from .evidence.generalization_evidence import Evidence
from .evidence.prism_cost import ModelCost, PrismCost, prism_cost
from .evidence.prism_evidence import PrismEvidence
from .evidence.prism_reasons import AttributeReason, PrismAlternative
from .evidence.release_evidence import ReleaseEvidence
from .evidence.study_evidence import StudyEvidence
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
    "StudyEvidence",
    "Utility",
    "ValueShift",
    "alternatives",
    "alternatives_of",
    "coarsened_choice",
    "drift",
    "effect",
    "necessity",
    "prism_cost",
]
