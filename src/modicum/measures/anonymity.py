"""How many records are alike in what can be observed of them: k-anonymity (Sweeney 2002) and disclosure risk."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from modicum.measures.alike import Ints, alike, alike_sizes, held, named_columns, value_codes


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


def _groups(frame: Any, quasi_identifiers: Sequence[str] | None, person: str | None) -> Ints:
    """The sizes of the groups of records that are alike, in persons where there is such a column."""
    table, names = named_columns(frame, quasi_identifiers, person)
    if person is None:
        return alike_sizes(table, names)
    found = held(alike(table, names), value_codes(table[person]))
    return np.bincount(found.group)
