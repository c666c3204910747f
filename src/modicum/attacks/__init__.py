"""Adversaries: what someone learns who sees generalized records (papers/0 §5)."""

from modicum.attacks._suite import SuiteResult, suite
from modicum.attacks.confidence import ConfidentResult
from modicum.attacks.linkability import Linkability, LinkResult
from modicum.attacks.multi_breach import MultiBreach, MultiBreachResult
from modicum.attacks.overlap import OverlapWarning
from modicum.attacks.reconstruction import Reconstruction
from modicum.attacks.result import AttackResult, AttributeResult
from modicum.attacks.singling_out import SinglingOut, SinglingOutResult

__all__ = [
    "AttackResult",
    "AttributeResult",
    "ConfidentResult",
    "LinkResult",
    "Linkability",
    "MultiBreach",
    "MultiBreachResult",
    "OverlapWarning",
    "Reconstruction",
    "SinglingOut",
    "SinglingOutResult",
    "SuiteResult",
    "suite",
]
