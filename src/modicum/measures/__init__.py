"""Pure numbers about artifacts and results, used alike by searches and reports."""

from modicum.measures.anonymity import disclosure_risk, k_anonymity
from modicum.measures.asking_orders import Order, compare_orders, measure_order
from modicum.measures.certificate import Certificate, certify
from modicum.measures.information_loss import InformationLoss, ncp
from modicum.measures.intervals import Resampling, mean_interval, share_interval
from modicum.measures.uniqueness import Uniqueness, expected_uniques

__all__ = [
    "Certificate",
    "InformationLoss",
    "Order",
    "Resampling",
    "Uniqueness",
    "certify",
    "compare_orders",
    "disclosure_risk",
    "expected_uniques",
    "k_anonymity",
    "mean_interval",
    "measure_order",
    "ncp",
    "share_interval",
]
