"""UCI Communities and Crime."""

from pathlib import Path
from typing import Literal, overload

import numpy as np
import pandas as pd

from data.files import Folder, locate
from modicum.datasets.dataset import XY, Dataset, describe

_SOURCE = (
    "the UCI Machine Learning Repository, Communities and Crime, "
    "https://archive.ics.uci.edu/dataset/183/communities+and+crime"
)
_GOAL, _LABEL = "ViolentCrimesPerPop", "violent_crimes_above_median"
_NOT_PREDICTIVE = ["county", "community", "communityname", "fold"]
_RACE_SHARES = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]
_MOSTLY_MISSING = 0.5
_PERSONAL = ["state", "race"]


@overload
def load_crime(*, folder: Folder = None, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_crime(*, folder: Folder = None, return_X_y: Literal[True]) -> XY: ...
def load_crime(*, folder: Folder = None, return_X_y: bool = False) -> Dataset | XY:
    """UCI Communities and Crime: does a US community see more violent crime per head than the median one?

    1,994 communities, 98 features: `state` and `race` (categories, both personal) and 96 numbers that the source has
    scaled to 0–1.

    - `race` replaces the four columns of racial shares: "minority" if the share of white people (`racePctWhite`) is
      below the median of all communities, else "majority". Papers on fair representations compare the share of white
      people with the sum of the other shares. In this file each column is scaled separately, so columns cannot be
      compared with each other; the median of one column replaces that comparison. The four shares are left out because
      each of them would reveal `race`.
    - 22 columns about the police are left out: 84% of their values are missing.
    - Of the five columns that the source calls not predictive, only `state` is kept.

    [Staab24] (Appendix D) reports 99 features from the unscaled variant of this data, whose columns differ by a few.

    Parameters
    ----------
    folder : path, optional
        The folder that holds `crime/communities.data.gz` and `crime/communities.names`; default: the environment
        variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_crime
    >>> load_crime(folder="data")  # doctest: +SKIP
    Dataset('crime': 1,994 rows, 98 features, label 'violent_crimes_above_median')
    """
    names = _names(locate("crime/communities.names", folder, _SOURCE))
    data = locate("crime/communities.data.gz", folder, _SOURCE)
    table = pd.read_csv(data, header=None, names=names, na_values="?", keep_default_na=False)
    X, y = _features(table), (table[_GOAL] > table[_GOAL].median()).rename(_LABEL)
    if return_X_y:
        return X, y
    numbers = [name for name in X.columns if name not in _PERSONAL]
    return Dataset(
        name="crime",
        X=X,
        y=y,
        schema=describe(X, y, numbers=numbers, personal=_PERSONAL),
        persons=None,
        description="US communities around 1990: does one see more violent crime per head than the median community?",
        source=_SOURCE,
    )


def _names(path: Path) -> list[str]:
    lines = path.read_text(encoding="latin-1").splitlines()
    return [line.split()[1] for line in lines if line.startswith("@attribute")]


def _features(table: pd.DataFrame) -> pd.DataFrame:
    mostly_missing = [name for name in table.columns if table[name].isna().mean() > _MOSTLY_MISSING]
    X = table.drop(columns={_GOAL, *_NOT_PREDICTIVE, *_RACE_SHARES, *mostly_missing})
    X.insert(1, "race", _race(table["racePctWhite"]))
    return X


def _race(white: pd.Series) -> pd.Series:
    return pd.Series(np.where(white < white.median(), "minority", "majority"), index=white.index)
