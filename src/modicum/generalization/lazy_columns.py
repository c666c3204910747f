"""One attribute's bucket as an expression that engines evaluate cheaply.

A number, a date and a whole number that is a category are compared with a few constants of their own type, by halving:
`CASE WHEN x <= 39 THEN CASE WHEN x <= 19 …`. Text is looked up. Where an engine has a type for a fixed list of words
(DuckDB, polars), a label is one of them: it is then written as a number, not as text.
"""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw

from modicum.errors import DataError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals
from modicum.generalization.representatives import representatives
from modicum.generalization.spelling import as_integers, as_numbers, as_spellings

_EXACT = 2**53  # whole numbers up to here are exact as float64
FEW = 64  # buckets, for labels that are a type of their own; groups, for one membership test each


@dataclass(frozen=True)
class Results:
    """What stands for each bucket: values, the words that all are among where they are a type, and a type to fit."""

    values: list[Any]
    fixed: list[str] | None = None
    fitting: Any = None

    def literal(self, value: Any) -> nw.Expr:
        if value is None or self.fixed is None:
            return nw.lit(value)
        return nw.lit(value).cast(nw.Enum(self.fixed))


def results_of(partition: Dropped | Intervals | Groups, dtype: Any, output: str, words: bool) -> Results:
    """Labels, codes or representative values; `words`: the engine has a type for a fixed list of words."""
    if output == "values":
        values, fitting = representatives(partition.attribute, partition.representatives, dtype)
        return Results(values, fitting=fitting)
    labels = list(partition.labels)
    if output == "codes":
        return Results(list(range(len(labels))))
    return Results(labels, labels if words and _plain(labels) else None)


def bucket_column(
    partition: AnyPartition, column: nw.Expr, dtype: Any, output: str, words: bool, found: nw.Expr | None = None
) -> nw.Expr:
    """The attribute's label, code or representative value.

    `words`: the engine has a type for a fixed list of words. `found`: what was looked up for the category, NULL for one
    that is not known.
    """
    if isinstance(partition, FullDetail):
        return _full_detail(partition, column, output)
    results = results_of(partition, dtype, output, words)
    bucket = _bucketed(partition, column, dtype, results, found)
    return bucket if results.fitting is None else bucket.cast(results.fitting)


def refused(partition: AnyPartition, column: nw.Expr, dtype: Any, found: nw.Expr | None) -> nw.Expr:
    """Whether the artifact refuses the value."""
    if isinstance(partition, FullDetail):
        return _is_missing(column, dtype)
    code = bucket_column(partition, column, dtype, "codes", words=False, found=found)
    return code.is_null() | (code < 0)


def _plain(labels: Sequence[str]) -> bool:
    """Whether the labels can be a type: narwhals writes them into SQL as Python writes a text, so without any quote."""
    return 2 <= len(labels) <= FEW and all(repr(label) == f"'{label}'" for label in labels)


def _bucketed(
    partition: Dropped | Intervals | Groups, column: nw.Expr, dtype: Any, results: Results, found: nw.Expr | None
) -> nw.Expr:
    constants = [results.literal(value) for value in results.values]
    if isinstance(partition, Dropped):
        return constants[0]
    if isinstance(partition, Intervals):
        return _interval_column(partition, column, dtype, constants)
    return _group_column(partition, column, dtype, results.values, constants, found)


def _full_detail(partition: FullDetail, column: nw.Expr, output: str) -> nw.Expr:
    if output == "codes":
        raise DataError(
            f"The attribute {partition.name!r} is kept as a plain number, so an engine has no bucket codes for it; "
            "ask for labels or values."
        )
    return column


def _is_missing(column: nw.Expr, dtype: Any) -> nw.Expr:
    return column.is_null() | column.is_nan() if dtype is not None and dtype.is_float() else column.is_null()


def _at(constants: Sequence[nw.Expr], code: int) -> nw.Expr:
    return nw.lit(None) if code < 0 else constants[code]


def _interval_column(partition: Intervals, column: nw.Expr, dtype: Any, constants: Sequence[nw.Expr]) -> nw.Expr:
    if partition.attribute.kind == "date":
        column, edges = _date_edges(column, dtype, partition.edges.tolist())
        absent = column.is_null()
    else:
        column, edges, absent = _number_edges(column, dtype, partition.edges.tolist())
    buckets = list(constants[: len(edges) + 1])
    found = stepped(column, edges, buckets)
    return nw.when(absent).then(_at(constants, partition.missing_code)).otherwise(found)


def _number_edges(column: nw.Expr, dtype: Any, edges: list[float]) -> tuple[nw.Expr, list[Any], nw.Expr]:
    """The column, its edges and when it is missing; a whole number is at most 19.5 where it is at most 19."""
    if dtype.is_integer() and all(abs(edge) < _EXACT for edge in edges):
        return column, [math.floor(edge) for edge in edges], column.is_null()
    number = column if dtype == nw.Float64 else column.cast(nw.Float64)
    return number, edges, number.is_null() | number.is_nan()


def _date_edges(column: nw.Expr, dtype: Any, edges: list[float]) -> tuple[nw.Expr, list[Any]]:
    zone = getattr(dtype, "time_zone", None)
    column = column if zone is not None or dtype == nw.Datetime("us") else column.cast(nw.Datetime("us"))
    return column, [moment(edge, zone) for edge in edges]


def moment(edge: float, zone: str | None) -> dt.datetime:
    """An edge in seconds as the last moment that is not beyond it, in the column's own zone: polars wants the same.

    Examples
    --------
    >>> from modicum.generalization.lazy_columns import moment
    >>> moment(0.5, None), moment(0.0, "Europe/Berlin").hour
    (datetime.datetime(1970, 1, 1, 0, 0, 0, 500000), 1)
    """
    micros = math.floor(edge * 1e6) + 1
    while micros / 1e6 > edge:
        micros -= 1
    start = dt.datetime(1970, 1, 1, tzinfo=None if zone is None else dt.UTC)
    found = start + dt.timedelta(microseconds=micros)
    return found if zone is None else found.astimezone(ZoneInfo(zone))


def stepped(column: nw.Expr, edges: Sequence[Any], results: Sequence[nw.Expr]) -> nw.Expr:
    """The result of the step on which a value lies: `edges[i-1] < x <= edges[i]`, found by halving."""
    if not edges:
        return results[0]
    middle = len(edges) // 2
    below = stepped(column, edges[:middle], results[: middle + 1])
    above = stepped(column, edges[middle + 1 :], results[middle + 1 :])
    return nw.when(column <= edges[middle]).then(below).otherwise(above)


def _group_column(
    partition: Groups,
    column: nw.Expr,
    dtype: Any,
    results: Sequence[Any],
    constants: Sequence[nw.Expr],
    found: nw.Expr | None,
) -> nw.Expr:
    column, absent, spell = _comparable(partition.name, column, dtype)
    spelled = [[s for value in bucket.values for s in spell(value)] for bucket in partition.buckets]
    unseen = _at(constants, partition.unseen_code)
    if found is not None:
        found = nw.when(found.is_null()).then(unseen).otherwise(found)
    elif spell is as_integers:
        found = _whole_numbers(column, spelled, constants, unseen)
    elif len(spelled) <= FEW:
        found = _few_groups(column, spelled, constants, unseen)
    else:
        found = _many_groups(column, spelled, results, unseen)
    return nw.when(absent).then(_at(constants, partition.missing_code)).otherwise(found)


def _whole_numbers(column: nw.Expr, spelled: list[list[int]], constants: Sequence[nw.Expr], unseen: nw.Expr) -> nw.Expr:
    """Steps: a run of numbers of one group is one, and so is a gap between known numbers."""
    edges: list[int] = []
    steps: list[nw.Expr] = []
    for low, high, group in _runs(spelled):
        if (not edges or low > edges[-1] + 1) and low > -(2**63):
            edges.append(low - 1)
            steps.append(unseen)
        edges.append(high)
        steps.append(constants[group])
    return stepped(column, edges, [*steps, unseen])


def _runs(spelled: list[list[int]]) -> list[tuple[int, int, int]]:
    """First and last of neighbouring whole numbers in one group, and the group."""
    found: list[tuple[int, int, int]] = []
    for value, group in sorted((value, group) for group, values in enumerate(spelled) for value in values):
        if found and found[-1][1:] == (value - 1, group):
            found[-1] = (found[-1][0], value, group)
        else:
            found.append((value, value, group))
    return found


def _few_groups(column: nw.Expr, spelled: list[list[Any]], constants: Sequence[nw.Expr], unseen: nw.Expr) -> nw.Expr:
    """One membership test per group."""
    found = unseen
    for values, constant in reversed(list(zip(spelled, constants, strict=False))):
        if values:
            found = nw.when(column.is_in(values)).then(constant).otherwise(found)
    return found


def _many_groups(column: nw.Expr, spelled: list[list[Any]], results: Sequence[Any], unseen: nw.Expr) -> nw.Expr:
    """A look-up table; a value that is its own label, as in a kept attribute, is passed on without one."""
    pairs = [(value, result) for values, result in zip(spelled, results, strict=False) for value in values]
    same = [value for value, result in pairs if value == result and isinstance(value, str)]
    rest = [(value, result) for value, result in pairs if not (value == result and isinstance(value, str))]
    found = unseen
    if rest:
        old, new = zip(*rest, strict=True)
        looked_up = column.replace_strict(list(old), list(new), default=None)
        found = nw.when(column.is_in(list(old))).then(looked_up).otherwise(unseen)
    return nw.when(column.is_in(same)).then(column).otherwise(found) if same else found


def _comparable(name: str, column: nw.Expr, dtype: Any) -> tuple[nw.Expr, nw.Expr, Any]:
    """The column to compare, when it is missing, and how a canonical text is spelled in the column's type."""
    if isinstance(dtype, nw.Date | nw.Datetime | nw.Time | nw.Decimal):
        raise DataError(f"The column {name!r} is a category here but a {dtype} in the engine; cast it to text first.")
    if dtype is not None and dtype.is_integer():
        return column, column.is_null(), as_integers
    if dtype is not None and dtype.is_numeric():
        number = column if dtype == nw.Float64 else column.cast(nw.Float64)
        return number, number.is_null() | number.is_nan(), as_numbers
    if dtype == nw.Boolean:
        return column.cast(nw.String), column.is_null(), lambda value: [value]
    text = column if dtype == nw.String else column.cast(nw.String)
    return text, column.is_null(), as_spellings
