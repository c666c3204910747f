"""Loaders of real public data for tests and benchmarks, from the folder that MODICUM_DATA names.

A loader returns a `Dataset` (features, label, schema with roles, source), or `(X, y)` with `return_X_y=True`. `folder=`
overrides the environment variable.
"""

from data.acs import load_acs
from data.bank import load_bank
from data.crime import load_crime
from data.fars import load_fars
from data.gss import load_gss
from data.health import load_health
from data.loan import load_loan
from data.nist import load_nist
from data.nursery import load_nursery

__all__ = [
    "load_acs",
    "load_bank",
    "load_crime",
    "load_fars",
    "load_gss",
    "load_health",
    "load_loan",
    "load_nist",
    "load_nursery",
]
