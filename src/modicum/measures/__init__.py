"""Pure numbers about artifacts and results, used alike by searches and reports."""

from modicum.measures.anonymity import disclosure_risk, k_anonymity
from modicum.measures.certificate import Certificate, certify
from modicum.measures.information_loss import InformationLoss, ncp
from modicum.measures.intervals import Resampling, mean_interval, share_interval
from modicum.measures.uniqueness import Uniqueness, expected_uniques

__all__ = [
    "Certificate",
    "InformationLoss",
    "Resampling",
    "Uniqueness",
    "certify",
    "disclosure_risk",
    "expected_uniques",
    "k_anonymity",
    "mean_interval",
    "ncp",
    "share_interval",
]
