"""The same buckets inside an engine: one narwhals expression per attribute, evaluated where the data is.

Works on whatever narwhals can push down to: DuckDB relations, polars LazyFrames, Spark and Ibis tables.
"""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from modicum.errors import DataError
from modicum.generalization.bins import AnyPartition, Dropped, Groups
from modicum.generalization.lazy_columns import bucket_column, refused
from modicum.table.files import normalised, quoted_name


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
    words = frame.implementation in (nw.Implementation.DUCKDB, nw.Implementation.POLARS)
    return [bucket_column(p, types.get(p.name), output, words).alias(p.name) for p in partitions]


def _refuse(partitions: Sequence[AnyPartition], frame: nw.LazyFrame[Any]) -> None:
    """Raise where a record has a value that its attribute refuses; costs a pass over the data only if one does."""
    strict = [p for p in partitions if -1 in (getattr(p, "missing_code", 0), getattr(p, "unseen_code", 0))]
    if not strict:
        return
    types = frame.collect_schema()
    sums = [refused(p, types[p.name]).cast(nw.Int64).sum().alias(p.name) for p in strict]
    counts = frame.select(*sums).collect()
    for partition in strict:
        found = int(counts[partition.name][0] or 0)
        if found:
            raise DataError(
                f"The column {partition.name!r} has {found:,} missing or unseen values, which this artifact refuses."
            )
