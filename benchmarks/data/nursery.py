"""UCI Nursery."""

from typing import Literal, overload

import pandas as pd

from data.files import Folder, locate
from modicum.datasets.dataset import XY, Dataset, describe

_SOURCE = "the UCI Machine Learning Repository, Nursery, https://archive.ics.uci.edu/dataset/76/nursery"
_FEATURES = ["parents", "has_nurs", "form", "children", "housing", "finance", "social", "health"]
_LABEL = "label"


@overload
def load_nursery(*, folder: Folder = None, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_nursery(*, folder: Folder = None, return_X_y: Literal[True]) -> XY: ...
def load_nursery(*, folder: Folder = None, return_X_y: bool = False) -> Dataset | XY:
    """UCI Nursery: how is an application for a nursery school ranked?

    All 12,960 combinations of 8 attributes, ranked in five classes by a decision model that Slovenian schools used.
    All are categories; `children` (1, 2, 3, more) is ordered. The sensitive attribute is `social`, which [Goldsteen21]
    attacks; no personal attribute is declared, so all features count as personal. [Goldsteen22] leaves out the two rows
    of the class "recommend"; here they are kept.

    Parameters
    ----------
    folder : path, optional
        The folder that holds `nursery/nursery.data.gz`; default: the environment variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_nursery
    >>> load_nursery(folder="data")  # doctest: +SKIP
    Dataset('nursery': 12,960 rows, 8 features, label 'label')
    """
    path = locate("nursery/nursery.data.gz", folder, _SOURCE)
    table = pd.read_csv(path, header=None, names=[*_FEATURES, _LABEL], dtype=str, keep_default_na=False)
    X, y = table[_FEATURES], table[_LABEL]
    if return_X_y:
        return X, y
    return Dataset(
        name="nursery",
        X=X,
        y=y,
        schema=describe(X, y, ordered={"children": ["1", "2", "3", "more"]}, sensitive=["social"]),
        persons=None,
        description="Applications for nursery schools in Ljubljana: how is one ranked?",
        source=_SOURCE,
    )
