"""UCI Adult: the one data set that comes with the package."""

from importlib.resources import files
from typing import Literal, overload

import pandas as pd

from modicum.datasets.dataset import XY, Dataset, describe

_SOURCE = "the UCI Machine Learning Repository, Adult, https://doi.org/10.24432/C5XW20"
_DROPPED = ["fnlwgt", "education-num"]
_AMOUNTS = ["capital-gain", "capital-loss", "hours-per-week"]
# In the order of education-num, which is therefore not needed.
_EDUCATION = [
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
]


@overload
def load_adult(*, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_adult(*, return_X_y: Literal[True]) -> XY: ...
def load_adult(*, return_X_y: bool = False) -> Dataset | XY:
    """UCI Adult: does a person earn more than 50,000 dollars a year? Embedded, so that it works offline.

    An extract of the 1994 US census: 48,842 people (the original training rows, then the test rows), 12 features. The
    sampling weight `fnlwgt` is left out, and so is `education-num`, which says the same as `education`; `education` is
    ordered instead. `?` in the file is missing. The file is the work of Barry Becker and Ronny Kohavi (1996), licensed
    under CC BY 4.0, doi:10.24432/C5XW20; ADULT-LICENSE.txt beside it names the changes.

    Personal is all but `capital-gain`, `capital-loss` and `hours-per-week`. The sets of quasi-identifiers in papers/2
    (Appendix A) and the sensitive attribute in papers/4, `education`, are for the caller to name.

    Parameters
    ----------
    return_X_y : bool
        Give `(X, y)` alone.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from modicum.datasets import load_adult
    >>> X, y = load_adult(return_X_y=True)
    >>> X.shape, int((y == ">50K").sum())
    ((48842, 12), 11687)
    >>> load_adult().schema.personal[:3]
    ['age', 'workclass', 'education']
    """
    with files("modicum.datasets").joinpath("adult.csv.gz").open("rb") as file:
        table = pd.read_csv(file, compression="gzip", na_values="?", keep_default_na=False)
    X, y = table.drop(columns=[*_DROPPED, "income"]), table["income"]
    if return_X_y:
        return X, y
    personal = [name for name in X.columns if name not in _AMOUNTS]
    return Dataset(
        name="adult",
        X=X,
        y=y,
        schema=describe(X, y, numbers=["age", *_AMOUNTS], ordered={"education": _EDUCATION}, personal=personal),
        persons=None,
        description="People in the 1994 US census: does one earn more than 50,000 dollars a year?",
        source=_SOURCE,
    )
