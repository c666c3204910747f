"""UCI Bank Marketing, original and binarized."""

from pathlib import Path
from typing import Literal, overload

import pandas as pd

from data.files import Folder, locate
from modicum.datasets.dataset import XY, Dataset, describe

_SOURCE = "the UCI Machine Learning Repository, Bank Marketing, https://archive.ics.uci.edu/dataset/222/bank+marketing"
_BINARIZED_SOURCE = f"https://gitlab.tudelft.nl/jgmvanderlinde/dpf, made from {_SOURCE}"
_LABEL = "y"
_NUMBERS = ["age", "balance", "day", "duration", "campaign", "pdays", "previous"]


@overload
def load_bank(*, binarized: bool = False, folder: Folder = None, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_bank(*, binarized: bool = False, folder: Folder = None, return_X_y: Literal[True]) -> XY: ...
def load_bank(*, binarized: bool = False, folder: Folder = None, return_X_y: bool = False) -> Dataset | XY:
    """UCI Bank Marketing: does a client who is called open a term deposit?

    45,211 calls of a Portuguese bank, label `y` ("yes" or "no"). Original: 16 features, of which age, balance, day of
    the month, duration, campaign, pdays (-1: never called before) and previous are numbers; "unknown" is an ordinary
    value. Binarized: the version of [Barbato25], 47 columns of 0 and 1 named after their condition (`age=26-61`,
    `default=no`), all categories.

    The sensitive attribute is `default` (binarized: `default=no`), as in [Barbato25]; no personal attribute is
    declared, so all features count as personal. [Mancuhan16] uses the rows with `y` "no" for another question: is
    `housing` "yes", given job, day, month and a discretized age, which is sensitive.

    Parameters
    ----------
    binarized : bool
        Load the binarized version.
    folder : path, optional
        The folder that holds `bank/bank-full.csv.gz`, or for the binarized version `bank/bank-binarized.csv.gz` and
        `bank/bank-binarized-names.txt`; default: the environment variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_bank
    >>> load_bank(binarized=True, folder="data")  # doctest: +SKIP
    Dataset('bank-binarized': 45,211 rows, 47 features, label 'y')
    """
    table = _read_binarized(folder) if binarized else _read(folder)
    X, y = table.drop(columns=_LABEL), table[_LABEL]
    if return_X_y:
        return X, y
    sensitive = "default=no" if binarized else "default"
    return Dataset(
        name="bank-binarized" if binarized else "bank",
        X=X,
        y=y,
        schema=describe(X, y, numbers=_NUMBERS, sensitive=[sensitive]),
        persons=None,
        description="Calls of a Portuguese bank: does the client open a term deposit?",
        source=_BINARIZED_SOURCE if binarized else _SOURCE,
    )


def _read(folder: Folder) -> pd.DataFrame:
    return pd.read_csv(locate("bank/bank-full.csv.gz", folder, _SOURCE), sep=";", keep_default_na=False)


def _read_binarized(folder: Folder) -> pd.DataFrame:
    names = _names(locate("bank/bank-binarized-names.txt", folder, _BINARIZED_SOURCE))
    data = locate("bank/bank-binarized.csv.gz", folder, _BINARIZED_SOURCE)
    table = pd.read_csv(data, sep=" ", header=None, names=names)
    return table.assign(**{_LABEL: table[_LABEL].map({1: "yes", 0: "no"})})


def _names(path: Path) -> list[str]:
    """Return the columns' names: first the label, as in the data; every other line holds a number and a name."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    return [_LABEL, *(name for _, name in lines[1:])]
