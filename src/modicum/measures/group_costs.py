"""What groups of records that are alike cost: discernibility and the classification metric."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.table import EngineTable, collect_arrow
from modicum.errors import DataError, ParameterError
from modicum.measures.anonymity import (
    MANY,
    alike,
    count_group_values,
    sensitive_names,
    size_counts,
    value_codes,
    value_counts_at,
)


def discernibility(frame: Any, quasi_identifiers: Sequence[str] | None = None, *, suppressed: int = 0) -> int:
    """How many ordered pairs of records look alike: Σ |E|² + suppressed · n (Bayardo and Agrawal, ICDE 2005).

    Each record costs the size of its group E, and each one left out costs as many as there were, n = released +
    suppressed.

    Parameters
    ----------
    frame : frame
        What is released.
    quasi_identifiers : names of columns; all by default. Missing values are alike.
    suppressed : how many records were left out.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50", "≤ 50", "≥ 51"], "job": ["nurse", "nurse", "nurse"]})
    >>> md.measures.discernibility(released), md.measures.discernibility(released, ["age"], suppressed=2)
    (5, 15)
    """
    _check_suppressed(suppressed, "discernibility")
    sizes, often = (found.astype(object) for found in size_counts(frame, quasi_identifiers))  # squares may be huge
    return int((sizes**2 * often).sum()) + int(suppressed) * (int((sizes * often).sum()) + int(suppressed))


def classification_metric(frame: Any, quasi_identifiers: Sequence[str], label: str, *, suppressed: int = 0) -> float:
    """The share of records whose label is not the most frequent one of their group (Iyengar, KDD 2002).

    Records that were left out count as wrong. Missing is a label of its own.

    Parameters
    ----------
    frame : frame
        What is released, with the label.
    quasi_identifiers : names of columns. Missing values are alike.
    label : the name of another column.
    suppressed : how many records were left out.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50"] * 3 + ["≥ 51"], "ill": ["no", "no", "yes", "yes"]})
    >>> md.measures.classification_metric(released, ["age"], "ill")
    0.25
    >>> md.measures.classification_metric(released, ["age"], "ill", suppressed=1)
    0.4
    """
    _check_suppressed(suppressed, "classification_metric")
    n, right = _most_frequent(frame, quasi_identifiers, label)
    if not n:
        raise DataError("The data has no rows, so nobody is hidden in it.")
    return (n - right + int(suppressed)) / (n + int(suppressed))


def _most_frequent(frame: Any, quasi_identifiers: Sequence[str], label: str) -> tuple[int, int]:
    """How many records there are, and how many have the most frequent label of their group."""
    table, names = sensitive_names(frame, quasi_identifiers, label, "label")
    if isinstance(table, EngineTable):
        pairs, keys = value_counts_at(table, names, label)
        groups = pairs.group_by(keys).agg(nw.col(MANY).sum(), nw.col(MANY).max().alias("modicum_most"))
        sums = collect_arrow(groups.select(nw.col(MANY).sum(), nw.col("modicum_most").sum()))
        return int(sums[MANY][0] or 0), int(sums["modicum_most"][0] or 0)
    found = count_group_values(alike(table, names), value_codes(table[label]))
    most = np.zeros(len(found.sizes), dtype=np.int64)
    np.maximum.at(most, found.group, found.count)
    return int(found.sizes.sum()), int(most.sum())


def _check_suppressed(suppressed: Any, function: str) -> None:
    if isinstance(suppressed, bool) or not isinstance(suppressed, int | np.integer) or suppressed < 0:
        raise ParameterError(
            f"The 'suppressed' parameter of {function} must be an int of at least 0. Got {suppressed!r} instead."
        )
