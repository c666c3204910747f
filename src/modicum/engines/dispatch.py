"""Tell tables in an engine from records in memory, and open them."""

from typing import Any

import narwhals.stable.v2 as nw

from modicum.engines.local_table import LocalTable
from modicum.engines.spark import SparkTable
from modicum.engines.table import EngineTable
from modicum.table.frames import is_lazy
from modicum.table.schema import Attribute
from modicum.table.targets import BINS, Target

SPARK = (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT, nw.Implementation.SQLFRAME)


def is_table(X: Any) -> bool:
    """Whether X lives in an engine: a lazy table or an `EngineTable`.

    Examples
    --------
    >>> import duckdb, pandas as pd
    >>> from modicum.engines import is_table
    >>> is_table(duckdb.sql("SELECT 1 AS n")), is_table(pd.DataFrame({"n": [1]}))
    (True, False)
    """
    return isinstance(X, EngineTable) or is_lazy(X)


def table_at(X: Any) -> EngineTable:
    """X as an `EngineTable`. X: a DuckDB relation, Spark DataFrame, polars LazyFrame, Ibis table or frame in memory.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines import table_at
    >>> table = table_at(duckdb.sql("SELECT range AS n FROM range(5)"))
    >>> table.engine, table.columns, table.rows()
    ('duckdb', ['n'], 5)
    """
    if isinstance(X, EngineTable):
        return X
    lazy: Any = nw.from_native(X)
    return SparkTable(X) if lazy.implementation in SPARK else LocalTable(X)


def target_of(known: Any, attribute: Attribute, bins: int = BINS, **more: Any) -> Target:
    """Run `Target.fit` on known records, in memory or in an engine."""
    if is_table(known):
        from modicum.engines.coding import target_at

        return target_at(table_at(known), attribute, bins, **more)
    return Target.fit(known, attribute, bins, **more)
