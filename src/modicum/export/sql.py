"""An artifact as SQL: one SELECT that gives the buckets where the data is, in five dialects."""

from collections.abc import Iterable, Sequence
from typing import get_args

import sqlglot
from sqlglot import exp

from modicum.errors import ArtifactError, ParameterError
from modicum.export.sql_columns import column
from modicum.export.sql_dialects import Dialect, Node, dialect_of
from modicum.generalization.bins import Dropped
from modicum.generalization.core import Generalization, Output
from modicum.generalization.identity import check_collected


def to_sql(
    g: Generalization,
    table: str | Sequence[str],
    dialect: str = "duckdb",
    *,
    output: Output = "labels",
    keep: Sequence[str] = (),
) -> str:
    """The generalization as a SELECT: see `Generalization.to_sql`.

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
    return written(select(g, source(table, known), known, output, keep), known)


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


def selected(
    columns: Sequence[tuple[str, Node]], origin: exp.Table | exp.Subquery, dialect: Dialect, keep: Sequence[str]
) -> exp.Select:
    """`keep` as they are and the columns under their names, from a table."""
    if not columns and not keep:
        raise ArtifactError("This artifact collects nothing, and a SELECT has no table without columns.")
    dialect.check_columns([*keep, *(name for name, _ in columns)])
    plain = [dialect.column(name) for name in keep]
    named = [
        node if isinstance(node, exp.Column) else exp.Alias(this=node, alias=dialect.identifier(name, "column"))
        for name, node in columns
    ]
    return exp.Select(expressions=[*plain, *named]).from_(origin)


def source(table: str | Sequence[str], dialect: Dialect) -> exp.Table:
    """A table by its quoted name: a text is parted at its dots, a sequence is taken as it is."""
    parts = table.split(".") if isinstance(table, str) else list(table) if isinstance(table, Iterable) else []
    if not 1 <= len(parts) <= 3 or not all(isinstance(part, str) for part in parts):
        raise ParameterError(
            "The 'table' parameter must be a table's name, with a schema and a catalog before it at most: 'people', "
            "'staff.people', or a sequence of such parts."
        )
    named = [dialect.identifier(part, "table") for part in parts]
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(named), strict=False)))


def check_output(output: str) -> None:
    """Refuse what `transform` does not know either."""
    if output not in get_args(Output):
        raise ParameterError(f"The 'output' parameter must be 'labels', 'codes' or 'values'. Got {output!r} instead.")


def check_keep(keep: Sequence[str], attributes: Sequence[str]) -> list[str]:
    """The columns to pass through; one of the attributes would be told in full detail."""
    names = [keep] if isinstance(keep, str) else list(keep) if isinstance(keep, Iterable) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise ParameterError("The 'keep' parameter must be a list of columns' names.")
    told = next((name for name in names if name in attributes), None)
    if told is not None:
        raise ParameterError(
            f"The column {told!r} is an attribute of this artifact, which 'keep' would pass on in full detail."
        )
    if len(set(names)) < len(names):
        raise ParameterError("The 'keep' parameter names a column twice.")
    return names


def written(tree: exp.Select, dialect: Dialect) -> str:
    """The tree as text, which sqlglot must read back as the same tree."""
    text = tree.sql(dialect=dialect.name, pretty=True)
    if sqlglot.parse(text, dialect=dialect.name) != [tree]:
        raise ArtifactError(f"The artifact could not be written in the dialect of {dialect.title}; please report this.")
    return text
