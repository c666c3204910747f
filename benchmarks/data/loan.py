"""Lending Club's loans."""

from typing import Literal, overload

import pandas as pd

from data.files import Folder, locate
from modicum.datasets.dataset import XY, Dataset, describe

_SOURCE = "Lending Club's public loan data, https://www.kaggle.com/datasets/wordsforthewise/lending-club"
_LABEL = "outcome"
_SAYS_THE_SAME = ["status", "purpose_", "home_", "emp_len_"]
_CATEGORIES = ["term", "purpose", "home_ownership", "delinq_2yrs_zero", "pub_rec_zero"]
_PERSONAL = [
    "annual_inc",
    "dti",
    "revol_bal",
    "revol_util",
    "purpose",
    "home_ownership",
    "delinq_2yrs_zero",
    "pub_rec_zero",
    "open_acc",
    "emp_length",
]


@overload
def load_loan(*, folder: Folder = None, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_loan(*, folder: Folder = None, return_X_y: Literal[True]) -> XY: ...
def load_loan(*, folder: Folder = None, return_X_y: bool = False) -> Dataset | XY:
    """Lending Club loans: was a loan paid off?

    119,987 loans, 14 features; replaces the Loan set of [Staab24], [Goldsteen22] and [Goldsteen21]. `status`, which
    is the outcome, and the derived copies `purpose_`, `home_` and `emp_len_` are left out. `term`, `purpose`,
    `home_ownership` and the two yes/no columns `delinq_2yrs_zero` and `pub_rec_zero` are categories, the rest
    numbers.

    Personal and quasi-identifiers: `annual_inc`, `dti`, `revol_bal`, `revol_util`, `purpose`, `home_ownership`,
    `delinq_2yrs_zero`, `pub_rec_zero`, `open_acc` and `emp_length`.

    Parameters
    ----------
    folder : path, optional
        The folder that holds `loan/lending_club.csv.gz`; default: the environment variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_loan
    >>> load_loan(folder="data")  # doctest: +SKIP
    Dataset('loan': 119,987 rows, 14 features, label 'outcome')
    """
    table = pd.read_csv(locate("loan/lending_club.csv.gz", folder, _SOURCE))
    X, y = table.drop(columns=[*_SAYS_THE_SAME, _LABEL]), table[_LABEL]
    if return_X_y:
        return X, y
    numbers = [name for name in X.columns if name not in _CATEGORIES]
    return Dataset(
        name="loan",
        X=X,
        y=y,
        schema=describe(X, y, numbers=numbers, personal=_PERSONAL, quasi_identifiers=_PERSONAL),
        persons=None,
        description="Loans between private people through Lending Club: was one paid off?",
        source=_SOURCE,
    )
