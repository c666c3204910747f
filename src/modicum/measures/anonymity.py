"""How many records are alike in what can be observed of them: k-anonymity (Sweeney 2002) and disclosure risk."""

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError
from modicum.table.frames import as_frame


def k_anonymity(frame: Any, quasi_identifiers: Sequence[str] | None = None, person: str | None = None) -> int:
    """The size of the smallest group of records with the same quasi-identifiers.

    Parameters
    ----------
    frame : frame
        What is released, such as `g.transform(X)`.
    quasi_identifiers : names of columns; all (but `person`) by default. Missing values are alike.
    person : a column that the rows of one person share; then persons are counted.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50", "≤ 50", "≥ 51"], "job": ["nurse", "nurse", "nurse"]})
    >>> md.measures.k_anonymity(released, ["age", "job"]), md.measures.k_anonymity(released, ["job"])
    (1, 3)
    """
    return int(_groups(frame, quasi_identifiers, person).min())


def disclosure_risk(frame: Any, quasi_identifiers: Sequence[str] | None = None) -> float:
    """The mean chance to pick the right record of those that are alike: papers/1 equation (4).

        Risk = (1/n) Σ_r 1 / freq(qi(r)),

    where freq counts the records with the same quasi-identifiers as r. Each group of equal records adds 1 to the sum,
    so that this is the number of distinct records over the number of records: 1 where every record is unique.

    Parameters
    ----------
    frame : frame
        What is released, such as `g.transform(X)`.
    quasi_identifiers : names of columns; all by default. Missing values are alike.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50", "≤ 50", "≥ 51"], "job": ["nurse", "nurse", "nurse"]})
    >>> round(md.measures.disclosure_risk(released), 3)
    0.667
    """
    sizes = _groups(frame, quasi_identifiers, None)
    return len(sizes) / int(sizes.sum())


def _groups(frame: Any, quasi_identifiers: Sequence[str] | None, person: str | None) -> npt.NDArray[np.int64]:
    """The sizes of the groups of records that are alike, in persons where there is such a column."""
    table = as_frame(frame)
    if quasi_identifiers is not None and (
        isinstance(quasi_identifiers, str) or not isinstance(quasi_identifiers, Iterable)
    ):
        raise ParameterError(f"The 'quasi_identifiers' parameter must be a list of names. Got {quasi_identifiers!r}.")
    asked = table.columns if quasi_identifiers is None else list(dict.fromkeys(quasi_identifiers))
    names = [name for name in asked if name != person]
    for name in [*names, *([] if person is None else [person])]:
        if name not in table.columns:
            raise DataError(f"The column {name!r} is not in the data.")
    if not len(table):
        raise DataError("The data has no rows, so nobody is hidden in it.")
    floats = [nw.col(name).fill_nan(None) for name in names if table.schema[name].is_float()]
    table = table.with_columns(floats) if floats else table
    if person is not None:
        table = table.select([*names, person]).unique()
    if not names:
        return np.array([len(table)])
    groups = table.group_by([nw.col(name) for name in names]).agg(nw.len().alias("\0size"))
    return np.asarray(groups["\0size"].to_numpy(), dtype=np.int64)
