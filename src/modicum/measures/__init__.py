"""Pure numbers about artifacts and results, used alike by searches and reports."""

from modicum.measures.anonymity import k_anonymity
from modicum.measures.certificate import Certificate, certify
from modicum.measures.intervals import Resampling, mean_interval, share_interval
from modicum.measures.uniqueness import Uniqueness, expected_uniques

__all__ = [
    "Certificate",
    "Resampling",
    "Uniqueness",
    "certify",
    "expected_uniques",
    "k_anonymity",
    "mean_interval",
    "share_interval",
]
