from .anonymity import classification_metric, discernibility, disclosure_risk, k_anonymity
from .asking_orders import Order, compare_orders, measure_order
from .certificate import Certificate, certify
from .closeness import t_closeness
from .diversity import l_diversity
from .information_loss import InformationLoss, ncp
from .intervals import Resampling, mean_interval, share_interval
from .uniqueness import Uniqueness, expected_uniques

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
