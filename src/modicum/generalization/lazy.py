"""The same buckets inside an engine: one narwhals expression per attribute, evaluated where the data is.

Works on whatever narwhals can push down to: DuckDB relations, polars LazyFrames, Spark and Ibis tables.
"""

import datetime as dt
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from modicum.errors import DataError
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals
from modicum.generalization.representatives import representatives
from modicum.generalization.spelling import as_integers, as_numbers, as_spellings
from modicum.table.files import normalised, quoted_name

_EPOCH = dt.datetime(1970, 1, 1)
_FEW_GROUPS = 16


def in_engine(X: Any, partitions: Sequence[AnyPartition], output: str, beside: Sequence[str] = ()) -> Any:
    """A lazy table with the partitions' columns, in the given form, behind the columns `beside` as they are."""
    frame = _normalised_frame(X, partitions)
    columns = _columns(partitions, frame, output)
    _refuse(partitions, frame)
    return frame.select(*(nw.col(name) for name in beside), *columns).to_native()


def _normalised_frame(X: Any, partitions: Sequence[AnyPartition]) -> nw.LazyFrame[Any]:
    """X as a narwhals frame, its categories in Unicode normal form C where the engine can do that (DuckDB, polars).

    narwhals has no such function, so these two are asked in their own words; elsewhere a text is recognised in normal
    forms C and D.
    """
    frame: nw.LazyFrame[Any] = nw.from_native(X)
    types = frame.collect_schema()
    words = [p.name for p in partitions if isinstance(p, Groups) and types.get(p.name) == nw.String]
    if not words:
        return frame
    if frame.implementation is nw.Implementation.POLARS:
        polars = nw.get_native_namespace(frame)
        return nw.from_native(X.with_columns(polars.col(words).str.normalize("NFC")))
    if frame.implementation is nw.Implementation.DUCKDB:
        replaced = ", ".join(f"{normalised(name)} AS {quoted_name(name)}" for name in words)
        return nw.from_native(X.project(f"* REPLACE ({replaced})"))
    return frame


def _columns(partitions: Sequence[AnyPartition], frame: nw.LazyFrame[Any], output: str) -> list[nw.Expr]:
    """One expression per partition: its labels, its codes or its representative values."""
    types = frame.collect_schema()
    for partition in partitions:
        if partition.name not in types and not isinstance(partition, Dropped):
            raise DataError(f"The column {partition.name!r} is not in the data.")
    return [_column(p, types.get(p.name), output).alias(p.name) for p in partitions]


def _representatives(partition: Dropped | Intervals | Groups, dtype: Any) -> nw.Expr:
    values, fitting = representatives(partition.attribute, partition.representatives, dtype)
    column = _bucketed(partition, dtype, values)
    return column if fitting is None else column.cast(fitting)


def _refuse(partitions: Sequence[AnyPartition], frame: nw.LazyFrame[Any]) -> None:
    """Raise where a record has a value that its attribute refuses; costs a pass over the data only if one does."""
    strict = [p for p in partitions if -1 in (getattr(p, "missing_code", 0), getattr(p, "unseen_code", 0))]
    if not strict:
        return
    types = frame.collect_schema()
    refused_ = [_refused(p, types[p.name]).cast(nw.Int64).sum().alias(p.name) for p in strict]
    counts = frame.select(*refused_).collect()
    for partition in strict:
        refused = int(counts[partition.name][0] or 0)
        if refused:
            raise DataError(
                f"The column {partition.name!r} has {refused:,} missing or unseen values, which this artifact refuses."
            )


def _refused(partition: AnyPartition, dtype: Any) -> nw.Expr:
    if isinstance(partition, FullDetail):
        column = nw.col(partition.name)
        return column.is_null() | column.is_nan() if dtype.is_float() else column.is_null()
    code = _column(partition, dtype, "codes")
    return code.is_null() | (code < 0)


def _column(partition: AnyPartition, dtype: Any, output: str) -> nw.Expr:
    if isinstance(partition, FullDetail):
        return _full_detail(partition, output)
    if output == "values":
        return _representatives(partition, dtype)
    labels = partition.labels
    return _bucketed(partition, dtype, list(labels) if output == "labels" else list(range(len(labels))))


def _bucketed(partition: Dropped | Intervals | Groups, dtype: Any, results: Sequence[Any]) -> nw.Expr:
    if isinstance(partition, Dropped):
        return nw.lit(results[0])
    if isinstance(partition, Intervals):
        return _interval_column(partition, dtype, results)
    return _group_column(partition, dtype, results)


def _full_detail(partition: FullDetail, output: str) -> nw.Expr:
    if output == "codes":
        raise DataError(
            f"The attribute {partition.name!r} is kept as a plain number, so an engine has no bucket codes for it; "
            "ask for labels or values."
        )
    return nw.col(partition.name)


def _interval_column(partition: Intervals, dtype: Any, results: Sequence[Any]) -> nw.Expr:
    column = nw.col(partition.name)
    if partition.attribute.kind == "date":
        zoned = getattr(dtype, "time_zone", None) is not None
        column = column if zoned else column.cast(nw.Datetime("us"))
        start = _EPOCH.replace(tzinfo=dt.UTC) if zoned else _EPOCH
        edges: list[Any] = [start + dt.timedelta(seconds=edge) for edge in partition.edges]
        absent = column.is_null()
    else:
        column = column.cast(nw.Float64)
        edges = partition.edges.tolist()
        absent = column.is_null() | column.is_nan()
    above = [(column > edge).cast(nw.Int64) for edge in edges]
    code = nw.sum_horizontal(*above) if above else nw.lit(0)
    code = nw.when(absent).then(nw.lit(partition.missing_code)).otherwise(code)
    return _looked_up(code, results)


def _looked_up(code: nw.Expr, results: Sequence[Any]) -> nw.Expr:
    if list(results) == list(range(len(results))):
        return code
    known = [(i, value) for i, value in enumerate(results) if value is not None]
    return code.replace_strict([i for i, _ in known], [value for _, value in known], default=None)


def _group_column(partition: Groups, dtype: Any, results: Sequence[Any]) -> nw.Expr:
    column, absent, spell = _comparable(partition.name, dtype)
    spelled = [[s for value in bucket.values for s in spell(value)] for bucket in partition.buckets]
    unseen = nw.lit(None if partition.unseen_code < 0 else results[partition.unseen_code])
    recode = _few_groups if len(spelled) <= _FEW_GROUPS else _many_groups
    found = recode(column, spelled, results, unseen)
    missing = None if partition.missing_code < 0 else results[partition.missing_code]
    return nw.when(absent).then(nw.lit(missing)).otherwise(found)


def _few_groups(column: nw.Expr, spelled: list[list[Any]], results: Sequence[Any], unseen: nw.Expr) -> nw.Expr:
    """One membership test per group: engines answer it by hashing, however many values a group has."""
    found = unseen
    for values, result in zip(spelled, results, strict=False):
        if values:
            found = nw.when(column.is_in(values)).then(nw.lit(result)).otherwise(found)
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


def _comparable(name: str, dtype: Any) -> tuple[nw.Expr, nw.Expr, Any]:
    """The column to compare, when it is missing, and how a canonical text is spelled in the column's type."""
    column = nw.col(name)
    if isinstance(dtype, nw.Date | nw.Datetime | nw.Time | nw.Decimal):
        raise DataError(f"The column {name!r} is a category here but a {dtype} in the engine; cast it to text first.")
    if dtype is not None and dtype.is_integer():
        return column.cast(nw.Int64), column.is_null(), as_integers
    if dtype is not None and dtype.is_numeric():
        number = column.cast(nw.Float64)
        return number, number.is_null() | number.is_nan(), as_numbers
    if dtype == nw.Boolean:
        return column.cast(nw.String), column.is_null(), lambda value: [value]
    return column.cast(nw.String), column.is_null(), as_spellings
