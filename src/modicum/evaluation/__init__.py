"""Judgement: what a generalization costs the prediction, and what it leaves at risk."""

from modicum.evaluation._judge import Judgement, judge
from modicum.evaluation._utility import GroupScore, Score, Utility, utility

__all__ = ["GroupScore", "Judgement", "Score", "Utility", "judge", "utility"]
