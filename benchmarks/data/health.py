"""Heritage Health: insured patients over up to three years."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, overload

import numpy as np
import pandas as pd

from data.files import Folder, locate
from modicum.datasets.dataset import XY, Dataset, describe
from modicum.errors import ParameterError
from modicum.table.schema import Schema

_SOURCE = "the Heritage Provider Network, Heritage Health Prize, https://www.kaggle.com/competitions/hhp"
_PERSON, _LABEL = "MemberID_t", "Charlson>0"
_SAYS_LABEL = "CharlsonIndex"
_AGES = ["05", "15", "25", "35", "45", "55", "65", "75", "85"]
_SEXES = ["MALE", "FEMALE"]
_AGE_COLUMNS = [f"age_{age}" for age in [*_AGES, "MISS"]]
_SEX_COLUMNS = [f"sex{sex}" for sex in [*_SEXES, "MISS"]]
_YES_NO = ["ClaimsTruncated", "labNull", "drugNull"]
_CATEGORIES = ["YEAR_t", "age", "age_over_60", "sex", *_AGE_COLUMNS, *_SEX_COLUMNS, *_YES_NO]
_COUNTS = ["pcg1", "pcg2", "pcg3", "pcg4", "sp1", "sp2", "ps1"]
_PRUNED_OPEN = ["drugCount_ave", "drugcount_months", "no_Claims", "no_Providers", "PayDelay_ave"]
_PRUNED_PERSONAL = ["age_over_60", "sex", "pcg1", "pcg2", "sp1", "ps1"]


@overload
def load_health(
    *, pruned: bool = False, one_hot: bool = False, folder: Folder = None, return_X_y: Literal[False] = False
) -> Dataset: ...
@overload
def load_health(
    *, pruned: bool = False, one_hot: bool = False, folder: Folder = None, return_X_y: Literal[True]
) -> XY: ...
def load_health(
    *, pruned: bool = False, one_hot: bool = False, folder: Folder = None, return_X_y: bool = False
) -> Dataset | XY:
    """Heritage Health: has a patient's year a Charlson comorbidity index above zero?

    171,067 years of 92,671 patients, so `persons` is the patient (`MemberID_t`): keep a patient's years in one split.
    The columns made from the Charlson index and the mark `trainset` are left out.

    - By default, 124 features: the ten columns `age_*` become one ordered attribute `age` (the middle of each ten
      years, 05 to 85) and the three columns `sex*` one category `sex`; the mark MISS means missing, but no value in the
      file is.
    - `one_hot=True` keeps those thirteen columns: 135 features, 136 columns with the label.
    - `pruned=True` keeps 11, after [Staab24] (Appendix D): `drugCount_ave`, `drugcount_months`, `no_Claims`,
      `no_Providers`, `PayDelay_ave`, and the personal `age_over_60` ("yes" for the groups 65, 75 and 85, that is, 60
      years or more), `sex`, `pcg1`, `pcg2`, `sp1`, `ps1`.

    Counts, sums and averages are numbers; `YEAR_t` is ordered; yes/no columns are categories. Personal: age, sex,
    `pcg1`–`pcg4`, `sp1`, `sp2` and `ps1`.

    Parameters
    ----------
    pruned : bool
        Keep the 11 attributes of the pruned variant.
    one_hot : bool
        Keep one column for each value of age and sex; not with `pruned`.
    folder : path, optional
        The folder that holds `health/health.csv.zip`; default: the environment variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_health
    >>> load_health(pruned=True, folder="data")  # doctest: +SKIP
    Dataset('health-pruned': 171,067 rows, 11 features, label 'Charlson>0')
    """
    if pruned and one_hot:
        raise ParameterError("The 'one_hot' parameter of load_health must be False when 'pruned' is True.")
    table = _read(locate("health/health.csv.zip", folder, _SOURCE))
    X, y, persons = _features(table, pruned, one_hot), table[_LABEL].astype(bool), table[_PERSON]
    if return_X_y:
        return X, y
    return Dataset(
        name="health-pruned" if pruned else "health-one-hot" if one_hot else "health",
        X=X,
        y=y,
        schema=_schema(X, y, persons),
        persons=persons,
        description="Insured patients in the US, year by year: has one a Charlson comorbidity index above zero?",
        source=_SOURCE,
    )


def _read(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path, usecols=lambda name: name != "trainset" and not name.startswith(_SAYS_LABEL))
    return table.copy()  # defragmented, because pandas warns about inserting into the frame of read_csv


def _features(table: pd.DataFrame, pruned: bool, one_hot: bool) -> pd.DataFrame:
    X = table.drop(columns=[_PERSON, _LABEL])
    if one_hot:
        return X
    X = _merged(_merged(X, "age", _AGE_COLUMNS, _AGES), "sex", _SEX_COLUMNS, _SEXES)
    if not pruned:
        return X
    over_60 = X["age"].map({age: "yes" if int(age) > 60 else "no" for age in _AGES})
    return X.assign(age_over_60=over_60)[_PRUNED_OPEN + _PRUNED_PERSONAL]


def _merged(X: pd.DataFrame, name: str, columns: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Replace the columns that mark an attribute's values by one attribute; the last column marks a missing value."""
    position = list(X.columns).index(columns[0])
    chosen = np.array([*values, None], dtype=object)[X[list(columns)].to_numpy().argmax(axis=1)]
    merged = X.drop(columns=list(columns))
    merged.insert(position, name, pd.Series(chosen, index=X.index))
    return merged


def _schema(X: pd.DataFrame, y: pd.Series, persons: pd.Series) -> Schema:
    personal = {"age", "age_over_60", "sex", *_AGE_COLUMNS, *_SEX_COLUMNS, *_COUNTS}
    return describe(
        X,
        y,
        persons=persons,
        numbers=[name for name in X.columns if name not in _CATEGORIES],
        ordered={"age": _AGES, "YEAR_t": ["Y1", "Y2", "Y3"]},
        personal=[name for name in X.columns if name in personal],
    )
