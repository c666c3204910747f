from ._suite import SuiteResult, suite
from .breach import OverlapWarning
from .inference.attribute_inference import AttributeInference, AttributeInferenceResult
from .inference.sensitive_inference import SensitiveInference
from .inference.sensitive_result import GuessedSensitive, SensitiveInferenceResult
from .linkability import Linkability, LinkResult
from .matching.matching import Matching, MatchingResult
from .membership.membership_inference import MembershipInference, MembershipResult
from .multi_breach import MultiBreach, MultiBreachResult
from .reconstruction import Reconstruction
from .result import AttackResult, AttributeResult, ConfidentResult, Estimate
from .singling_out import SinglingOut, SinglingOutResult

__all__ = [
    "AttackResult",
    "AttributeInference",
    "AttributeInferenceResult",
    "AttributeResult",
    "ConfidentResult",
    "Estimate",
    "GuessedSensitive",
    "LinkResult",
    "Linkability",
    "Matching",
    "MatchingResult",
    "MembershipInference",
    "MembershipResult",
    "MultiBreach",
    "MultiBreachResult",
    "OverlapWarning",
    "Reconstruction",
    "SensitiveInference",
    "SensitiveInferenceResult",
    "SinglingOut",
    "SinglingOutResult",
    "SuiteResult",
    "suite",
]
