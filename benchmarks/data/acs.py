"""The American Community Survey: three tasks on people in New York or New Jersey."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, overload

import numpy as np
import pandas as pd

from data.files import Folder, locate, require_choice
from modicum.datasets.dataset import XY, Dataset, describe

Task = Literal["employment", "income", "public_coverage"]
State = Literal["ny", "nj"]

_SOURCE = (
    "the US Census Bureau, American Community Survey public use microdata 2024 (1-year, persons), "
    "https://www.census.gov/programs-surveys/acs/microdata.html"
)
_STATES = {"ny": "New York", "nj": "New Jersey"}
_PERSON = "SERIALNO"
_NUMBERS = ("AGEP", "WKHP", "PINCP", "JWMNP")
_ORDERED = {"SCHL": range(1, 25)}


@dataclass(frozen=True)
class _Question:
    """One task: its people, its question and its attributes."""

    sentence: str
    label: str
    truth: str
    rows: str
    columns: str
    not_personal: tuple[str, ...]

    @property
    def features(self) -> list[str]:
        return self.columns.split()


_TASKS = {
    "employment": _Question(
        "is a person aged 17 to 89 employed?",
        label="employed",
        truth="ESR = 1",
        rows="AGEP BETWEEN 17 AND 89",
        columns="AGEP SCHL MAR DIS CIT MIL NATIVITY DEAR DEYE DREM DPHY SEX RAC1P ENG LANX HISP",
        not_personal=("AGEP", "SCHL"),
    ),
    "income": _Question(
        "does a person who works earn more than 50,000 dollars a year?",
        label="income_over_50000",
        truth="PINCP > 50000",
        rows="AGEP >= 17 AND PINCP > 100 AND WKHP > 0",
        columns="AGEP COW SCHL MAR OCCP WKHP SEX RAC1P CIT HISP",
        not_personal=("AGEP", "WKHP"),
    ),
    "public_coverage": _Question(
        "has a person under 65 with a low income public health insurance?",
        label="public_coverage",
        truth="PUBCOV = 1",
        rows="AGEP < 65 AND PINCP <= 30000",
        columns="AGEP SCHL MAR SEX DIS CIT MIL NATIVITY DEAR DEYE DREM PINCP ESR FER RAC1P HISP",
        not_personal=("AGEP", "SCHL", "PINCP"),
    ),
}


@overload
def load_acs(
    task: Task = "employment", state: State = "ny", *, folder: Folder = None, return_X_y: Literal[False] = False
) -> Dataset: ...
@overload
def load_acs(
    task: Task = "employment", state: State = "ny", *, folder: Folder = None, return_X_y: Literal[True]
) -> XY: ...
def load_acs(
    task: Task = "employment", state: State = "ny", *, folder: Folder = None, return_X_y: bool = False
) -> Dataset | XY:
    """American Community Survey 2024: employment, income or public health insurance, in one of two states.

    The tasks replace those of [Staab24] (Appendix D) and follow folktables' definitions. Codes are categories whatever
    their dtype, with schooling (`SCHL`) ordered; age, hours worked and income are numbers; values that do not apply to
    a person are missing. `persons` is the household (`SERIALNO`): keep its people in one split.

    - employment: people aged 17 to 89; 16 features, all personal except `AGEP` and `SCHL`;
    - income: people from 17 with work and an income above 100 dollars; 10 features, all personal except `AGEP` and
      `WKHP`;
    - public_coverage: people under 65 with an income of at most 30,000 dollars; 16 features, all personal except
      `AGEP`, `SCHL` and `PINCP`.

    Parameters
    ----------
    task : "employment", "income" or "public_coverage"
        The question.
    state : "ny" or "nj"
        New York, or New Jersey to study changes between states.
    folder : path, optional
        The folder that holds `acs/ny2024.parquet`; default: the environment variable MODICUM_DATA.
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from data import load_acs
    >>> load_acs("employment", "ny", folder="data")  # doctest: +SKIP
    Dataset('acs-employment-ny': 174,054 rows, 16 features, label 'employed')
    """
    require_choice(task, list(_TASKS), "task", "load_acs")
    require_choice(state, list(_STATES), "state", "load_acs")
    question = _TASKS[task]
    table = _read(locate(f"acs/{state}2024.parquet", folder, _SOURCE), question)
    X, y, persons = table[question.features], table[question.label], table[_PERSON]
    if return_X_y:
        return X, y
    personal = [name for name in question.features if name not in question.not_personal]
    ordered = {name: codes for name, codes in _ORDERED.items() if name in question.features}
    return Dataset(
        name=f"acs-{task.replace('_', '-')}-{state}",
        X=X,
        y=y,
        schema=describe(X, y, persons=persons, numbers=_NUMBERS, ordered=ordered, personal=personal),
        persons=persons,
        description=f"American Community Survey 2024, {_STATES[state]}: {question.sentence}",
        source=_SOURCE,
    )


def _read(path: Path, question: _Question) -> pd.DataFrame:
    import duckdb

    columns = ", ".join([*question.features, _PERSON, f"coalesce({question.truth}, false) AS {question.label}"])
    with duckdb.connect() as connection:
        query = f"SELECT {columns} FROM read_parquet(?) WHERE {question.rows}"
        table = connection.execute(query, [str(path)]).df()
    return table.assign(**{name: _plain(table[name]) for name in question.features})


def _plain(codes: pd.Series) -> pd.Series:
    """Return whole numbers as int64, or as float64 with NaN if some are missing."""
    dtype = np.float64 if codes.isna().any() else np.int64
    return codes.astype(dtype)
