"""How many records are alike in what can be observed of them: k-anonymity (Sweeney 2002) and disclosure risk."""

from collections.abc import Sequence
from typing import Any

from modicum.measures.alike import size_counts


def k_anonymity(frame: Any, quasi_identifiers: Sequence[str] | None = None, person: str | None = None) -> int:
    """The size of the smallest group of records with the same quasi-identifiers.

    Parameters
    ----------
    frame : frame
        What is released, such as `g.transform(X)`; a table in an engine is counted there.
    quasi_identifiers : names of columns; all (but `person`) by default. Missing values are alike.
    person : a column that the rows of one person share; then persons are counted.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50", "≤ 50", "≥ 51"], "job": ["nurse", "nurse", "nurse"]})
    >>> md.measures.k_anonymity(released, ["age", "job"]), md.measures.k_anonymity(released, ["job"])
    (1, 3)
    """
    return int(size_counts(frame, quasi_identifiers, person)[0][0])


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
    sizes, often = size_counts(frame, quasi_identifiers)
    return int(often.sum()) / int((sizes * often).sum())
