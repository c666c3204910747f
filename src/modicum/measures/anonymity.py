"""Groups of records with the same quasi-identifiers: k-anonymity, disclosure risk, and costs of grouping."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.engines import is_table, table_at
from modicum.engines.counting import count_combinations, sizes_at, with_keys
from modicum.engines.table import EngineTable, collect_arrow
from modicum.errors import DataError, ParameterError, check_number_is
from modicum.table.codes import first_rows, group_rows, sizes_of
from modicum.table.frames import as_frame, texts
from modicum.table.values import canonical
from modicum.typing import Ints

# The counts of groups and their values, from which k, ℓ, t and costs follow.
#
# Two records are alike if all their quasi-identifiers are equal; a missing value equals another missing value. Only
# combinations that occur are stored: there is never a table of every group with every value.


EMPTY = "The data has no rows; give at least one record."
_CLOSE = 4096
MANY = "modicum_many"
_MOST_PLACES = 4  # combinations per record up to which a full table of them is counted


@dataclass(frozen=True)
class Held:
    """How often each value occurs in each group, for all combinations that occur, sorted by group and value.

    Attributes
    ----------
    group, value, count : of each combination
    sizes : the number of records of each group
    totals : the number of records of each value
    """

    group: Ints
    value: Ints
    count: Ints
    sizes: Ints
    totals: Ints


def resolve_columns(frame: Any, names: Sequence[str] | None, *others: str | None) -> tuple[Any, list[str]]:
    """Return the frame, or the table in its engine, and the quasi-identifiers: by default all columns except `others`.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.measures.anonymity import resolve_columns
    >>> resolve_columns(pd.DataFrame({"age": [31], "job": ["nurse"], "who": [1]}), None, "who")[1]
    ['age', 'job']
    """
    table = table_at(frame) if is_table(frame) else as_frame(frame)
    if names is not None and (isinstance(names, str) or not isinstance(names, Iterable)):
        raise ParameterError(f"The 'quasi_identifiers' parameter must be a list of names. Got {names!r}.")
    wanted = table.columns if names is None else list(dict.fromkeys(names))
    columns = [name for name in wanted if name not in others]
    for name in [*columns, *(name for name in others if name is not None)]:
        if name not in table.columns:
            raise DataError(f"The column {name!r} is not in the data.")
    if isinstance(table, nw.DataFrame) and not len(table):
        raise DataError(EMPTY)
    return table, columns


def number_equal_rows(table: nw.DataFrame[Any], names: Sequence[str]) -> Ints:
    """Number the records so that two share a number exactly if they are equal in these columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.measures.anonymity import number_equal_rows
    >>> from modicum.table.frames import as_frame
    >>> table = as_frame(pd.DataFrame({"age": [31, None, 31, None], "job": ["a", "a", "a", "a"]}))
    >>> number_equal_rows(table, ["age", "job"]).tolist()
    [1, 0, 1, 0]
    """
    if not names:
        return np.zeros(len(table), dtype=np.int64)
    return group_rows(np.column_stack(_encode_columns(table, names)))


def size_counts(frame: Any, names: Sequence[str] | None, person: str | None = None) -> tuple[Ints, Ints]:
    """Return the different sizes of groups of alike records in ascending order, and the number of groups of each size.

    A table in an engine is counted there. With a person column, sizes count persons.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.measures.anonymity import size_counts
    >>> [found.tolist() for found in size_counts(pd.DataFrame({"age": [31, 30, 31, 29]}), ["age"])]
    [[1, 2], [2, 1]]
    """
    table, columns = resolve_columns(frame, names, person)
    if isinstance(table, EngineTable):
        return _sizes_at(table, columns, person)
    if person is None:
        sizes = sizes_of(_encode_columns(table, columns)) if columns else np.array([len(table)])
    else:
        sizes = np.bincount(count_group_values(number_equal_rows(table, columns), value_codes(table[person])).group)
    return np.unique(sizes, return_counts=True)


def _sizes_at(table: EngineTable, names: Sequence[str], person: str | None) -> tuple[Ints, Ints]:
    lazy, keys = with_keys(table, [*names, *([person] if person else [])])
    lazy = lazy.with_columns(nw.lit(0).alias("modicum_all")).select("modicum_all", *keys)
    if person:  # each person once per group; those without an ID count as one
        lazy = lazy.unique()
    sizes = sizes_at(lazy, ["modicum_all", *keys[: len(names)]])
    if not len(sizes[0]):
        raise DataError(EMPTY)
    return sizes


def _encode_columns(table: nw.DataFrame[Any], names: Sequence[str]) -> list[Ints]:
    """Encode each column's values as numbers; whole numbers within a small range stay unchanged."""
    return [_own(table[name]) for name in names]


def _own(series: nw.Series[Any]) -> Ints:
    if not series.dtype.is_signed_integer() or series.null_count():
        return value_codes(series)
    values = series.to_numpy().astype(np.int64)
    return values if int(values.max()) - int(values.min()) < _CLOSE else value_codes(series)


def value_codes(series: nw.Series[Any]) -> Ints:
    """Number the records so that two share a number exactly if their values are equal; -1 is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.measures.anonymity import value_codes
    >>> from modicum.table.frames import as_frame
    >>> value_codes(as_frame(pd.DataFrame({"pay": [2.5, None, 0.0, 2.5]}))["pay"]).tolist()
    [0, -1, 1, 0]
    """
    if series.dtype.is_float() or (series.dtype.is_integer() and not series.null_count()):
        return np.asarray(pd.factorize(series.to_numpy())[0], dtype=np.int64)
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        return _by_text(native.cat.codes.to_numpy(), native.cat.categories)
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.StringDtype):
        return _by_text(*pd.factorize(native))
    if series.dtype in (nw.String, nw.Categorical, nw.Enum) and hasattr(native, "to_physical"):
        return _polars_text(series)
    return texts(series)[0]


def _by_text(codes: Any, values: Any) -> Ints:
    """Merge the codes of values with the same canonical text."""
    position: dict[str, int] = {}
    places = [position.setdefault(canonical(value), len(position)) for value in values]
    return np.array([*places, -1], dtype=np.int64)[codes]


def _polars_text(series: nw.Series[Any]) -> Ints:
    """Use the category numbers of polars, which is much faster than a Python text for every record."""
    if series.dtype == nw.String:
        series = series.cast(nw.Categorical())
    physical = nw.from_native(series.to_native().to_physical(), series_only=True).cast(nw.Int64).fill_null(-1)
    codes = pd.factorize(physical.to_numpy())[0]
    distinct = series[first_rows(codes)]
    return _by_text(
        np.where(distinct.is_null().to_numpy()[codes], -1, codes), ["" if v is None else v for v in distinct]
    )


@dataclass(frozen=True)
class Sensitive:
    """The group of each row and the sensitive column; `records` is the number of records per row if not 1."""

    groups: Ints
    column: Any
    records: Ints | None = None

    def count_values(self, values: Ints) -> Held:
        """Count how often each of these values, one per row, occurs in each group."""
        return count_group_values(self.groups, values, self.records)


def sensitive_column(frame: Any, quasi_identifiers: Sequence[str], name: str) -> Sensitive:
    """Return the group of each record and the sensitive column, which must not be a quasi-identifier.

    A table in an engine gives each combination once, with its number of records.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.measures.anonymity import sensitive_column
    >>> found = sensitive_column(pd.DataFrame({"job": ["a", "a"], "pay": [1, 2]}), ["job"], "pay")
    >>> found.groups.tolist(), found.column.name
    ([0, 0], 'pay')
    """
    table, names = sensitive_names(frame, quasi_identifiers, name, "sensitive")
    if isinstance(table, EngineTable):
        lazy, keys = with_keys(table, [*names, name])
        combinations, records = count_combinations(lazy, keys, "quasi-identifiers and sensitive values")
        if not len(combinations):
            raise DataError(EMPTY)
        table = combinations.rename(dict(zip(keys, [*names, name], strict=True)))
        return Sensitive(number_equal_rows(table, names), table[name], records)
    return Sensitive(number_equal_rows(table, names), table[name])


def sensitive_names(frame: Any, quasi_identifiers: Sequence[str], name: str, parameter: str) -> tuple[Any, list[str]]:
    """Return the frame or the table in its engine, and the quasi-identifiers without the sensitive column."""
    if not isinstance(name, str):
        raise ParameterError(f"The {parameter!r} parameter must be a column's name. Got {name!r} instead.")
    names = quasi_identifiers if isinstance(quasi_identifiers, str | None) else list(quasi_identifiers)
    if isinstance(names, list) and name in names:
        raise ParameterError(f"The {parameter!r} column {name!r} may not also be a quasi-identifier.")
    return resolve_columns(frame, names, name)


def value_counts_at(table: EngineTable, names: Sequence[str], name: str) -> tuple[nw.LazyFrame[Any], list[str]]:
    """Count each value in each group inside the engine, in the column `MANY`; return this and the groups' keys."""
    lazy, keys = with_keys(table, [*names, name])
    lazy = lazy.with_columns(nw.lit(0).alias("modicum_all"))
    groups = ["modicum_all", *keys[:-1]]
    return lazy.group_by([*groups, keys[-1]]).agg(nw.len().cast(nw.Int64).alias(MANY)), groups


def count_group_values(groups: Ints, values: Ints, records: Ints | None = None) -> Held:
    """Count each value in each group; `records` weights the rows. Missing, -1, becomes the last value.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.measures.anonymity import count_group_values
    >>> found = count_group_values(np.array([0, 0, 1, 1]), np.array([0, 0, 0, -1]))
    >>> found.group.tolist(), found.value.tolist(), found.count.tolist()
    ([0, 1, 1], [0, 0, 1], [2, 1, 1])
    """
    width = int(values.max()) + 1
    values = np.where(values < 0, width, values)
    width += 1
    sizes = _counts(groups, records)
    key = groups * width + values
    if len(sizes) * width <= _MOST_PLACES * len(key):
        counts = _counts(key, records)
        combinations = np.flatnonzero(counts)
        counts = counts[combinations]
    elif records is None:
        combinations, counts = np.unique(key, return_counts=True)
    else:
        combinations, which = np.unique(key, return_inverse=True)
        counts = _counts(which, records)
    return Held(combinations // width, combinations % width, counts, sizes, _counts(values, records, width))


def _counts(codes: Ints, records: Ints | None, least: int = 0) -> Ints:
    return np.bincount(codes, weights=records, minlength=least).astype(np.int64)


# k-anonymity


def k_anonymity(frame: Any, quasi_identifiers: Sequence[str] | None = None, person: str | None = None) -> int:
    """Return the size of the smallest group of records with the same quasi-identifiers (Sweeney 2002).

    Parameters
    ----------
    frame : frame
        The released records, such as `g.transform(X)`; a table in an engine is counted there.
    quasi_identifiers : names of columns; all (except `person`) by default. Missing values are equal to each other.
    person : a column with one value per person; group sizes then count persons.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50", "≤ 50", "≥ 51"], "job": ["nurse", "nurse", "nurse"]})
    >>> md.measures.k_anonymity(released, ["age", "job"]), md.measures.k_anonymity(released, ["job"])
    (1, 3)
    """
    return int(size_counts(frame, quasi_identifiers, person)[0][0])


def disclosure_risk(frame: Any, quasi_identifiers: Sequence[str] | None = None) -> float:
    """Return the mean chance to pick the right record among those that are alike: [Goldsteen22 equation (4)].

        Risk = (1/n) Σ_r 1 / freq(qi(r)),

    where freq counts the records with the same quasi-identifiers as r. Each group of equal records adds 1 to the sum,
    so this is the number of distinct records over the number of records. It is 1 if every record is unique.

    Parameters
    ----------
    frame : frame
        The released records, such as `g.transform(X)`.
    quasi_identifiers : names of columns; all by default. Missing values are equal to each other.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50", "≤ 50", "≥ 51"], "job": ["nurse", "nurse", "nurse"]})
    >>> round(md.measures.disclosure_risk(released), 3)
    0.667
    """
    sizes, often = size_counts(frame, quasi_identifiers)
    return int(often.sum()) / int((sizes * often).sum())


# Costs of grouping: discernibility and the classification metric.


def discernibility(frame: Any, quasi_identifiers: Sequence[str] | None = None, *, suppressed: int = 0) -> int:
    """Count the ordered pairs of alike records: Σ |E|² + suppressed · n (Bayardo and Agrawal, ICDE 2005).

    Each released record costs the size of its group E, each suppressed one costs n = released + suppressed.

    Parameters
    ----------
    frame : frame
        The released records.
    quasi_identifiers : names of columns; all by default. Missing values are equal to each other.
    suppressed : the number of records left out

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50", "≤ 50", "≥ 51"], "job": ["nurse", "nurse", "nurse"]})
    >>> md.measures.discernibility(released), md.measures.discernibility(released, ["age"], suppressed=2)
    (5, 15)
    """
    check_number_is(suppressed, "suppressed", "discernibility", 0)
    sizes, often = (found.astype(object) for found in size_counts(frame, quasi_identifiers))  # squares may be huge
    return int((sizes**2 * often).sum()) + int(suppressed) * (int((sizes * often).sum()) + int(suppressed))


def classification_metric(frame: Any, quasi_identifiers: Sequence[str], label: str, *, suppressed: int = 0) -> float:
    """Return the share of records whose label is not the most frequent one of their group (Iyengar, KDD 2002).

    Suppressed records count as wrong. Missing counts as one more label.

    Parameters
    ----------
    frame : frame
        The released records with the label.
    quasi_identifiers : names of columns. Missing values are equal to each other.
    label : the name of another column
    suppressed : the number of records left out

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> released = pd.DataFrame({"age": ["≤ 50"] * 3 + ["≥ 51"], "ill": ["no", "no", "yes", "yes"]})
    >>> md.measures.classification_metric(released, ["age"], "ill")
    0.25
    >>> md.measures.classification_metric(released, ["age"], "ill", suppressed=1)
    0.4
    """
    check_number_is(suppressed, "suppressed", "classification_metric", 0)
    n, right = _most_frequent(frame, quasi_identifiers, label)
    if not n:
        raise DataError(EMPTY)
    return (n - right + int(suppressed)) / (n + int(suppressed))


def _most_frequent(frame: Any, quasi_identifiers: Sequence[str], label: str) -> tuple[int, int]:
    """Count the records, and those with the most frequent label of their group."""
    table, names = sensitive_names(frame, quasi_identifiers, label, "label")
    if isinstance(table, EngineTable):
        pairs, keys = value_counts_at(table, names, label)
        groups = pairs.group_by(keys).agg(nw.col(MANY).sum(), nw.col(MANY).max().alias("modicum_most"))
        sums = collect_arrow(groups.select(nw.col(MANY).sum(), nw.col("modicum_most").sum()))
        return int(sums[MANY][0] or 0), int(sums["modicum_most"][0] or 0)
    held = count_group_values(number_equal_rows(table, names), value_codes(table[label]))
    most = np.zeros(len(held.sizes), dtype=np.int64)
    np.maximum.at(most, held.group, held.count)
    return int(held.sizes.sum()), int(most.sum())
