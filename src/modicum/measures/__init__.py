"""Pure numbers about artifacts and results, used alike by searches and reports."""

from modicum.measures.anonymity import disclosure_risk, k_anonymity
from modicum.measures.asking_orders import Order, compare_orders, measure_order
from modicum.measures.certificate import Certificate, certify
from modicum.measures.closeness import t_closeness
from modicum.measures.diversity import l_diversity
from modicum.measures.group_costs import classification_metric, discernibility
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
    "classification_metric",
    "compare_orders",
    "discernibility",
    "disclosure_risk",
    "expected_uniques",
    "k_anonymity",
    "l_diversity",
    "mean_interval",
    "measure_order",
    "ncp",
    "share_interval",
    "t_closeness",
]
