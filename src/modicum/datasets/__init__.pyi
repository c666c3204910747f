from .acs import load_acs
from .adult import load_adult
from .bank import load_bank
from .crime import load_crime
from .dataset import Dataset
from .fars import load_fars
from .gss import load_gss
from .health import load_health
from .loan import load_loan
from .nist import load_nist
from .nursery import load_nursery

__all__ = [
    "Dataset",
    "load_acs",
    "load_adult",
    "load_bank",
    "load_crime",
    "load_fars",
    "load_gss",
    "load_health",
    "load_loan",
    "load_nist",
    "load_nursery",
]
