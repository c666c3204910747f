"""Adversaries: what someone learns who sees generalized records (papers/0 §5)."""

from modicum.attacks.reconstruction import Reconstruction
from modicum.attacks.result import AttackResult, AttributeResult

__all__ = ["AttackResult", "AttributeResult", "Reconstruction"]
