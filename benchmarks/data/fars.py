"""KEEL's fars: people in car accidents."""

from typing import Literal, overload

import pandas as pd

from data.files import Folder, locate
from modicum.datasets.dataset import XY, Dataset, describe

_SOURCE = (
    "KEEL, fars, https://sci2s.ugr.es/keel/datasets.php, from the US Fatality Analysis Reporting System of 2001, "
    "https://www.nhtsa.gov/research-data/fatality-analysis-reporting-system-fars"
)
_TARGET, _LABEL = "target", "injured"
# KEEL's classes in alphabetical order are the codes 0 to 7: died before the accident, fatal, incapacitating,
# injured (severity unknown), no injury, non-incapacitating, possible injury, unknown.
_INJURED, _NOT_INJURED = [1, 2, 5], 4


@overload
def load_fars(*, folder: Folder = None, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_fars(*, folder: Folder = None, return_X_y: Literal[True]) -> XY: ...
def load_fars(*, folder: Folder = None, return_X_y: bool = False) -> Dataset | XY:
    """KEEL's fars: was a person in a fatal car accident injured?

    The Fatality task of [Mancuhan16] (Appendix C): 91,085 of the 100,968 people in US accidents of 2001. They were
    injured (fatally, incapacitated or not) or not injured; people whose injury is unknown or only possible are left
    out. 29 features, all of them codes and therefore categories, including age. The sensitive attribute is
    `POLICE_REPORTED_ALCOHOL_INVOLVEMENT`, as in [Mancuhan16]; no personal attribute is declared, so all features count
    as personal. Some features follow from the outcome (`RACE` is recorded for the dead, `TAKEN_TO_HOSPITAL` for the
    injured), which makes the task easy.

    Parameters
    ----------
    folder : path, optional
        The folder that holds `fars/fars.tsv.gz`; default: the environment variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_fars
    >>> load_fars(folder="data")  # doctest: +SKIP
    Dataset('fars': 91,085 rows, 29 features, label 'injured')
    """
    table = pd.read_csv(locate("fars/fars.tsv.gz", folder, _SOURCE), sep="\t")
    table = table[table[_TARGET].isin([*_INJURED, _NOT_INJURED])].reset_index(drop=True)
    X, y = table.drop(columns=_TARGET), (table[_TARGET] != _NOT_INJURED).rename(_LABEL)
    if return_X_y:
        return X, y
    return Dataset(
        name="fars",
        X=X,
        y=y,
        schema=describe(X, y, sensitive=["POLICE_REPORTED_ALCOHOL_INVOLVEMENT"]),
        persons=None,
        description="People in fatal car accidents in the US in 2001: was one injured?",
        source=_SOURCE,
    )
