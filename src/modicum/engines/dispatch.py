"""Records in memory or in an engine: which of the two they are, and what is asked of both in the same way."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from modicum.engines.local_table import LocalTable
from modicum.engines.spark import SparkTable
from modicum.engines.table import EngineTable
from modicum.generalization import Generalization
from modicum.table.frames import is_lazy
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import BINS, Target

SPARK = (nw.Implementation.PYSPARK, nw.Implementation.PYSPARK_CONNECT, nw.Implementation.SQLFRAME)


def is_table(X: Any) -> bool:
    """Whether X lives in an engine: a lazy table, or one that was opened.

    Examples
    --------
    >>> import duckdb, pandas as pd
    >>> from modicum.engines import is_table
    >>> is_table(duckdb.sql("SELECT 1 AS n")), is_table(pd.DataFrame({"n": [1]}))
    (True, False)
    """
    return isinstance(X, EngineTable) or is_lazy(X)


def table_at(X: Any) -> EngineTable:
    """X where it lives: a DuckDB relation, a Spark DataFrame, a polars LazyFrame, an Ibis table, or a frame in memory.

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


def in_memory(
    g: Generalization, X: Any, y: Any, sample: int, random_state: int, beside: Sequence[str] = ()
) -> tuple[Any, Any]:
    """Records and labels as they are, or `sample` of those that a table in an engine holds.

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md
    >>> from modicum.engines.dispatch import in_memory
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"], "ill": ["no", "no", "yes"]})
    >>> g = md.Uniform(buckets=2).fit(X[["age", "job"]]).generalization_
    >>> records, y = in_memory(g, duckdb.sql("SELECT * FROM X"), "ill", 100, 0)
    >>> len(records), sorted(y)
    (3, ['no', 'no', 'yes'])
    """
    if not is_table(X):
        return X, y
    from modicum.engines.sampling import draw_records, label_column

    table = table_at(X)
    y = label_column(table, y)
    person = [g.schema.person] if g.schema.person is not None and g.schema.person in table.types else []
    columns = list(dict.fromkeys([*g.schema.features, *person, *beside, y]))
    found = draw_records(table, columns, sample, random_state)
    labels = found[y].to_native().to_pandas().rename(y)
    return found.drop(y), labels


def sample_if_table(X: Any, y: Any, schema: Schema | None, sample: int) -> tuple[Any, Any]:
    """Records and labels as they are, or `sample` of a table in an engine, with every column that the schema knows.

    Examples
    --------
    >>> import duckdb
    >>> from modicum.engines.dispatch import sample_if_table
    >>> X, y = sample_if_table(duckdb.sql("SELECT range AS n, range % 2 AS odd FROM range(100)"), "odd", None, 10)
    >>> X.columns.tolist(), y.name, len(y)
    (['n'], 'odd', 10)
    """
    if not is_table(X):
        return X, y
    from modicum.engines.sampling import draw_records, label_column

    table = table_at(X)
    y = label_column(table, y)
    columns = table.columns if schema is None else [name for name in schema.names if name in table.types]
    found = draw_records(table, list(dict.fromkeys([*columns, y])), sample).to_pandas()
    return found.drop(columns=y), found[y]


def target_of(known: Any, attribute: Attribute, bins: int = BINS, **more: Any) -> Target:
    """`Target.fit` on known records that may be in an engine."""
    if is_table(known):
        from modicum.engines.coding import target_at

        return target_at(table_at(known), attribute, bins, **more)
    return Target.fit(known, attribute, bins, **more)
