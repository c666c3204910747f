"""Adversaries: what someone learns who sees generalized records (papers/0 §5) or asks a model (papers/2 §4.2)."""

from modicum.attacks._suite import SuiteResult, suite
from modicum.attacks.breach import OverlapWarning
from modicum.attacks.inference.attribute_inference import AttributeInference
from modicum.attacks.inference.attribute_result import AttributeInferenceResult
from modicum.attacks.inference.sensitive_inference import SensitiveInference
from modicum.attacks.inference.sensitive_result import GuessedSensitive, SensitiveInferenceResult
from modicum.attacks.linkability import Linkability, LinkResult
from modicum.attacks.matching.matching import Matching
from modicum.attacks.matching.matching_result import MatchingResult
from modicum.attacks.membership.membership_inference import MembershipInference
from modicum.attacks.membership.membership_result import MembershipResult
from modicum.attacks.multi_breach import MultiBreach, MultiBreachResult
from modicum.attacks.reconstruction import Reconstruction
from modicum.attacks.result import AttackResult, AttributeResult, ConfidentResult, Estimate
from modicum.attacks.singling_out import SinglingOut, SinglingOutResult

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
