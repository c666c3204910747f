"""Parquet files as Spark reads them, with the same columns, types and values as in DuckDB."""

import os
import re
from typing import Any

from modicum.engines.listing import Listing, listing, value_of
from modicum.engines.parquet_types import agreed
from modicum.engines.spark_session import is_local
from modicum.errors import DataError, require
from modicum.table.files import connected

_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


def in_spark(spark: Any, path: str, needed: set[str] | None) -> Any:
    """The Parquet files of a path as a Spark DataFrame; a path of another file system is Spark's own affair."""
    if not is_local(spark, path):
        return spark.read.parquet(path)
    found = listing(path.removeprefix("file://"))
    if found.kind == "csv":
        raise DataError(
            f"The engine 'spark' reads Parquet, and {path!r} is CSV, which has no types; use the engine 'duckdb', or "
            "convert it to Parquet first."
        )
    with connected() as connection:
        columns = agreed(connection, found, needed)
    frame = _read(spark, found)
    said = zip(found.written, frame.columns[len(frame.columns) - len(found.written) :], strict=True)
    return frame.select(
        *(frame[_in_ticks(name)] for name in columns),
        *(_said(found, name, frame[_in_ticks(as_read)]).alias(name) for name, as_read in said),
    )


def _read(spark: Any, found: Listing) -> Any:
    """The files as Spark reads them, what their folders say as text."""
    before = spark.conf.get(_INFERENCE)
    spark.conf.set(_INFERENCE, "false")
    try:
        reader = spark.read.option("basePath", f"file://{os.path.abspath(found.root)}")
        return reader.parquet(*(f"file://{_as_pattern(os.path.abspath(file))}" for file in found.files))
    finally:
        spark.conf.set(_INFERENCE, before)


def _said(found: Listing, name: str, column: Any) -> Any:
    """What the folders say of a column; Spark takes %C3%A9 for two characters, where it is the two bytes of one."""
    if found.whole(name):
        return column.cast("long")
    functions = require("pyspark.sql.functions", "spark")
    read = {written: _unescaped(written) for written in found.written[name]}
    if len(set(read.values())) < len(read):
        raise DataError(f"The names of the folders in {found.path!r} write a value of {name!r} in two ways.")
    for written, as_read in read.items():
        if value_of(written) not in (None, as_read):
            column = functions.when(column == as_read, functions.lit(value_of(written))).otherwise(column)
    return column


def _unescaped(written: str) -> str:
    return re.sub("%([0-9A-Fa-f]{2})", lambda code: chr(int(code.group(1), 16)), written)


def _in_ticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _as_pattern(path: str) -> str:
    """A path in which Hadoop sees no pattern."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
