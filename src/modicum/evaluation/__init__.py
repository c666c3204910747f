"""Judgement: what a generalization costs the prediction, and what it leaves at risk."""

from modicum.evaluation._drift import Drift, RiskChange, drift
from modicum.evaluation._judge import Judgement, judge
from modicum.evaluation._study import study
from modicum.evaluation._utility import GroupScore, Score, Utility, utility
from modicum.evaluation.candidates import Candidate, Choice
from modicum.evaluation.coarsening import Effect, coarsened_choice, effect
from modicum.evaluation.periods import ValueShift
from modicum.evaluation.prism_comparison import ModelCost, PrismCost, prism_cost
from modicum.evaluation.study_result import Study

__all__ = [
    "Candidate",
    "Choice",
    "Drift",
    "Effect",
    "GroupScore",
    "Judgement",
    "ModelCost",
    "PrismCost",
    "RiskChange",
    "Score",
    "Study",
    "Utility",
    "ValueShift",
    "coarsened_choice",
    "drift",
    "effect",
    "judge",
    "prism_cost",
    "study",
    "utility",
]
