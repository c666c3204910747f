"""ℓ-diversity: how many sensitive values occur in a group of records with the same quasi-identifiers.

Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, ACM TKDD 1(1), 2007.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines import is_table
from modicum.engines.table import collect_arrow
from modicum.errors import DataError, ParameterError, check_choice_is
from modicum.measures.anonymity import (
    EMPTY,
    MANY,
    Held,
    sensitive_column,
    sensitive_names,
    value_codes,
    value_counts_at,
)

Diversity = Literal["distinct", "entropy", "recursive"]  # kinds that an anonymizer accepts

_KINDS = (*get_args(Diversity), "frequency")

_DIGITS = 9  # removes rounding errors of exp and log: five equally frequent values must give ℓ = 5


def l_diversity(
    frame: Any,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    *,
    kind: Diversity | Literal["frequency"] = "distinct",
    c: float | None = None,
) -> int | float:
    """Return the largest ℓ such that every group of records with the same quasi-identifiers is ℓ-diverse.

    - "distinct": the fewest different sensitive values in a group, an int;
    - "entropy": exp of the smallest entropy of a group's sensitive values, a float rounded to nine decimals; the
      release is ℓ-diverse for every ℓ up to it;
    - "recursive": the largest int ℓ with r₁ < c (r_ℓ + … + r_m) in every group, where r₁ ≥ … ≥ r_m are the counts of
      its values; at least 1;
    - "frequency": the largest int ℓ such that no value has a share above 1/ℓ in its group ([Mancuhan16 Definition 9];
      Xiao and Tao 2006); never above "distinct".

    Parameters
    ----------
    frame : frame
        The released records. A table in an engine is counted there; "recursive" fetches its combinations of
        quasi-identifiers and sensitive value, at most two million.
    quasi_identifiers : names of columns. Missing values are equal to each other.
    sensitive : the name of another column. Missing counts as one more value.
    kind : "distinct", "entropy", "recursive" or "frequency"
    c : the paper's constant for "recursive", above 0

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50"] * 3 + ["≥ 51"] * 2, "illness": ["flu", "flu", "cold", "gout", "flu"]})
    >>> md.measures.l_diversity(released, ["age"], "illness")
    2
    >>> round(md.measures.l_diversity(released, ["age"], "illness", kind="entropy"), 3)
    1.89
    >>> md.measures.l_diversity(released, ["age"], "illness", kind="recursive", c=3)
    2
    >>> md.measures.l_diversity(released, ["age"], "illness", kind="frequency")
    1
    """
    check_choice_is(kind, "kind", "l_diversity", _KINDS)
    _check_constant(kind, c)
    if is_table(frame) and kind != "recursive":
        return _in_engine(frame, quasi_identifiers, sensitive, kind)
    rows = sensitive_column(frame, quasi_identifiers, sensitive)
    held = rows.count_values(value_codes(rows.column))
    if kind == "entropy":
        return _entropy(held)
    if kind == "frequency":
        return int((held.sizes[held.group] // held.count).min())
    return _recursive(held, float(c)) if c is not None else int(np.bincount(held.group).min())


def _in_engine(frame: Any, quasi_identifiers: Sequence[str], sensitive: str, kind: str) -> int | float:
    """Compute the same for a table inside its engine, which returns only the smallest value of all groups."""
    table, names = sensitive_names(frame, quasi_identifiers, sensitive, "sensitive")
    pairs, keys = value_counts_at(table, names, sensitive)
    many = nw.col(MANY)
    pairs = pairs.with_columns((many * many.cast(nw.Float64).log()).alias("modicum_spread"))
    groups = pairs.group_by(keys).agg(
        nw.len().alias("modicum_values"),
        many.sum().alias("modicum_size"),
        many.max().alias("modicum_most"),
        nw.col("modicum_spread").sum(),
    )
    size, most = nw.col("modicum_size"), nw.col("modicum_most")
    entropy = size.cast(nw.Float64).log() - nw.col("modicum_spread") / size  # −Σ p log p
    least = {"distinct": nw.col("modicum_values"), "frequency": size // most, "entropy": entropy}[kind]
    smallest = collect_arrow(groups.select(least.min().alias("modicum_least")))["modicum_least"][0]
    if smallest is None:
        raise DataError(EMPTY)
    return round(float(np.exp(max(0.0, float(smallest)))), _DIGITS) if kind == "entropy" else int(smallest)


def _check_constant(kind: str, c: Any) -> None:
    number = isinstance(c, int | float | np.integer | np.floating) and not isinstance(c, bool)
    if kind == "recursive" and not (number and 0 < c < float("inf")):
        raise ParameterError(f"The 'c' parameter of l_diversity must be a number above 0. Got {c!r} instead.")
    if kind != "recursive" and c is not None:
        raise ParameterError(f"The 'c' parameter of l_diversity belongs to kind 'recursive', not to {kind!r}.")


def _entropy(held: Held) -> float:
    share = held.count / held.sizes[held.group]
    entropy = np.bincount(held.group, weights=-share * np.log(share))
    return round(float(np.exp(entropy.min())), _DIGITS)


def _recursive(held: Held, c: float) -> int:
    order = np.lexsort((-held.count, held.group))
    count, group = held.count[order], held.group[order]
    first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])  # each group's most frequent value
    before = np.cumsum(count) - count
    rest = held.sizes[group] - (before - before[first][group])  # records with this value or a less frequent one
    return max(1, int(np.bincount(group, weights=count[first][group] < c * rest).min()))
