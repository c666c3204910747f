"""NIST's excerpts of the American Community Survey, in two years."""

from typing import Literal, overload

import pandas as pd

from data.files import Folder, locate, require_choice
from modicum.datasets.dataset import XY, Dataset, describe

Year = Literal[2018, 2019]

_SOURCE = "NIST, Diverse Communities Data Excerpts (national), https://github.com/usnistgov/SDNist"
_MEDIAN_INCOME_2018 = 26_000
_LABEL = "income_above_median"
_SAYS_INCOME = ["PINCP", "PINCP_DECILE", "POVPIP"]
_WEIGHTS = ["PWGTP", "WGTP"]
_NUMBERS = ["AGEP", "NOC", "NPF", "DENSITY"]
_PERSONAL = [
    "PUMA",
    "SEX",
    "MSP",
    "HISP",
    "RAC1P",
    "HOUSING_TYPE",
    "OWN_RENT",
    "EDU",
    "DVET",
    "DREM",
    "DPHY",
    "DEYE",
    "DEAR",
]


@overload
def load_nist(year: Year = 2018, *, folder: Folder = None, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_nist(year: Year = 2018, *, folder: Folder = None, return_X_y: Literal[True]) -> XY: ...
def load_nist(year: Year = 2018, *, folder: Folder = None, return_X_y: bool = False) -> Dataset | XY:
    """NIST's national excerpts of the American Community Survey: is a person's income above the median of 2018?

    NIST made them for testing de-identification. Two years of the same places show drift over time, so both use the
    median of 2018 (26,000 dollars). Rows without an income (children), the weights and the columns that repeat the
    income (`PINCP_DECILE`, `POVPIP`) are left out. 19 features: age, number of children, family size and population
    density are numbers, education (`EDU`) is ordered, all others are categories. `N` (not applicable) means missing.

    Personal: `PUMA`, `SEX`, `MSP`, `HISP`, `RAC1P`, `HOUSING_TYPE`, `OWN_RENT`, `EDU`, `DVET`, `DREM`, `DPHY`, `DEYE`
    and `DEAR`.

    Parameters
    ----------
    year : 2018 or 2019
        The year of the survey.
    folder : path, optional
        The folder that holds `nist/national2018.csv.gz`; default: the environment variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_nist
    >>> load_nist(2019, folder="data")  # doctest: +SKIP
    Dataset('nist-2019': 23,006 rows, 19 features, label 'income_above_median')
    """
    require_choice(year, [2018, 2019], "year", "load_nist")
    path = locate(f"nist/national{year}.csv.gz", folder, _SOURCE)
    table = pd.read_csv(path, na_values="N", keep_default_na=False)
    table = table[table["PINCP"].notna()].reset_index(drop=True)
    X, y = table.drop(columns=[*_SAYS_INCOME, *_WEIGHTS]), (table["PINCP"] > _MEDIAN_INCOME_2018).rename(_LABEL)
    if return_X_y:
        return X, y
    return Dataset(
        name=f"nist-{year}",
        X=X,
        y=y,
        schema=describe(X, y, numbers=_NUMBERS, ordered={"EDU": range(1, 13)}, personal=_PERSONAL),
        persons=None,
        description=f"People in 20 places of the US in {year}: is one's income above the median of 2018?",
        source=_SOURCE,
    )
