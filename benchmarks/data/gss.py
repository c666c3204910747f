"""The General Social Survey's question about marital happiness."""

from typing import Literal, overload

import pandas as pd

from data.files import Folder, locate
from modicum.datasets.dataset import XY, Dataset, describe

_SOURCE = "NORC at the University of Chicago, General Social Survey, https://gss.norc.org"
_LABEL = "Happiness of marriage"
_HAPPINESS = ["NOT TOO HAPPY", "PRETTY HAPPY", "VERY HAPPY"]
# The survey's open-ended answers, each with its lowest number.
_TOP_CODES = {"age": {"89 OR OLDER": "89"}, "children": {"EIGHT OR MORE": "8"}}


@overload
def load_gss(*, folder: Folder = None, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_gss(*, folder: Folder = None, return_X_y: Literal[True]) -> XY: ...
def load_gss(*, folder: Folder = None, return_X_y: bool = False) -> Dataset | XY:
    """General Social Survey: how happy is a marriage?

    The set of [Goldsteen22]: the 24,455 people who answered the question, 8 features (without year and id). `age` and
    `children` are numbers, with "89 OR OLDER" read as 89 and "EIGHT OR MORE" as 8; `Happiness level` is ordered; the
    rest are categories. No role is declared, so all features count as personal; [Goldsteen22] treats all of them as
    quasi-identifiers.

    Parameters
    ----------
    folder : path, optional
        The folder that holds `gss/gss_happiness.csv.gz`; default: the environment variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_gss
    >>> load_gss(folder="data")  # doctest: +SKIP
    Dataset('gss': 24,455 rows, 8 features, label 'Happiness of marriage')
    """
    table = pd.read_csv(locate("gss/gss_happiness.csv.gz", folder, _SOURCE))
    table = table[table[_LABEL].notna()].reset_index(drop=True)
    X, y = table.drop(columns=["year", "id", _LABEL]), table[_LABEL]
    X = X.assign(**{name: pd.to_numeric(X[name].replace(codes)) for name, codes in _TOP_CODES.items()})
    if return_X_y:
        return X, y
    ordered = {"Happiness level": _HAPPINESS, _LABEL: _HAPPINESS}
    return Dataset(
        name="gss",
        X=X,
        y=y,
        schema=describe(X, y, numbers=list(_TOP_CODES), ordered=ordered),
        persons=None,
        description="Married people in the US, asked from 1973 on: how happy is the marriage?",
        source=_SOURCE,
    )
