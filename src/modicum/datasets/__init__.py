"""Data to try things on: UCI Adult comes with the package, the others are read from a folder of your own.

A loader gives a `Dataset` (features, label, schema with roles, source), or `(X, y)` with `return_X_y=True`. For all but
Adult, name the folder that holds the files as `folder=` or in the environment variable MODICUM_DATA.
"""

from modicum.datasets.acs import load_acs
from modicum.datasets.adult import load_adult
from modicum.datasets.bank import load_bank
from modicum.datasets.crime import load_crime
from modicum.datasets.dataset import Dataset
from modicum.datasets.fars import load_fars
from modicum.datasets.gss import load_gss
from modicum.datasets.health import load_health
from modicum.datasets.loan import load_loan
from modicum.datasets.nist import load_nist
from modicum.datasets.nursery import load_nursery

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
