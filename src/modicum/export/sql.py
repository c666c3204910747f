"""An artifact as SQL: one SELECT that gives the buckets where the data is, in five dialects."""

from collections.abc import Sequence

from sqlglot import exp

from modicum.export.sql_cells import select_cells
from modicum.export.sql_columns import column
from modicum.export.sql_dialects import Dialect, dialect_of
from modicum.export.sql_select import check_keep, check_output, selected, source, written
from modicum.generalization.bins import Dropped
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.exports import Output
from modicum.generalization.loading import check_collected


def to_sql(
    artifact: Generalization | CellPartition,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    output: Output = "labels",
    keep: Sequence[str] = (),
) -> str:
    """The artifact as a SELECT: see its method `to_sql`.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.sql import to_sql
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> print(to_sql(g, "staff.people"))
    SELECT
      CASE
        WHEN "age" IS NULL OR ISNAN(CAST("age" AS DOUBLE))
        THEN '(missing)'
        WHEN CAST("age" AS DOUBLE) <= 50
        THEN '≤ 50'
        ELSE '≥ 51'
      END AS "age"
    FROM "staff"."people"
    """
    known = dialect_of(dialect)
    origin = source(table, known)
    if isinstance(artifact, CellPartition):
        return written(select_cells(artifact, origin, known, output, keep), known)
    return written(select(artifact, origin, known, output, keep), known)


def select(
    g: Generalization, origin: exp.Table, dialect: Dialect, output: str = "labels", keep: Sequence[str] = ()
) -> exp.Select:
    """The SELECT as a sqlglot tree."""
    check_collected(g, (Generalization,), "g")
    check_output(output)
    kept = check_keep(keep, g.names)
    chosen = [p for p in g.partitions if output == "values" or not isinstance(p, Dropped)]
    columns = [(p.name, column(p, dialect, output)) for p in chosen]
    return selected(columns, origin, dialect, kept)
