"""An artifact as SQL: one SELECT that gives the buckets or cells where the data is, in five dialects."""

from collections.abc import Iterable, Sequence

import numpy as np
import sqlglot
from sqlglot import exp

from modicum.errors import ArtifactError, ParameterError
from modicum.export.sql.bucket_expressions import column, is_in, number, refuses, values
from modicum.export.sql.dialects import Dialect, Node, dialect_of
from modicum.generalization.bins import Dropped
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.exports import Output, check_output
from modicum.generalization.loading import check_collected

# What SELECTs of generalizations and of cells share: where they read, what they pass through, how they are written.


def build_select(
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


def render_sql(tree: exp.Select, dialect: Dialect) -> str:
    """The tree as text, which sqlglot must read back as the same tree."""
    text = tree.sql(dialect=dialect.name, pretty=True)
    if sqlglot.parse(text, dialect=dialect.name) != [tree]:
        raise ArtifactError(f"The artifact could not be written in the dialect of {dialect.title}; please report this.")
    return text


# Cells as SQL: first each attribute's bucket, then the cell whose box holds them, then what the cell tells.


def select_cells(
    cells: CellPartition, origin: exp.Table, dialect: Dialect, output: str = "labels", keep: Sequence[str] = ()
) -> exp.Select:
    """The SELECT as a sqlglot tree."""
    check_output(output)
    if output == "values":
        cells.to_dict()  # refuses where a cell's values are an actual person's
    passed = check_keep(keep, cells.names)
    beside = [(name, column(cells.told(name)[0], dialect, output)) for name in cells.kept]
    asked = [cells.names[j] for j in cells.tree.asked]
    place = {name: f"{_free(cells, passed)}_{j}" for j, name in enumerate(asked)}
    coded = [(place[name], column(cells.detail[name], dialect, "codes")) for name in asked]
    inner = build_select([*beside, *coded], origin, dialect, passed)
    cell = (_free(cells, passed), _cell(cells, place, dialect))
    middle = build_select([*_plain(cells.kept, dialect), cell], _below(inner, dialect, "buckets"), dialect, passed)
    told = [(name, _build_cell_column(cells, name, cell[0], dialect, output)) for name in _choose_names(cells, output)]
    return build_select(told, _below(middle, dialect, "cells"), dialect, passed)


def _choose_names(cells: CellPartition, output: str) -> list[str]:
    return cells.names if output == "values" else cells.needed


def _free(cells: CellPartition, keep: Sequence[str]) -> str:
    """A name that no column begins with, whatever its case."""
    name = "modicum_cell"
    while any(each.casefold().startswith(name) for each in [*cells.names, *keep]):
        name += "_"
    return name


def _plain(names: Sequence[str], dialect: Dialect) -> list[tuple[str, Node]]:
    return [(name, dialect.column(name)) for name in names]


def _below(query: exp.Select, dialect: Dialect, name: str) -> exp.Subquery:
    alias = exp.TableAlias(this=dialect.identifier(name, "table"))
    return exp.Subquery(this=query, alias=alias)


def _cell(cells: CellPartition, place: dict[str, str], dialect: Dialect) -> Node:
    """The number of the box that holds the buckets; NULL where one of them was refused."""
    strict = [name for name in place if refuses(cells.detail[name])]
    branches = [
        exp.If(this=exp.Is(this=dialect.column(place[name]), expression=exp.Null()), true=exp.Null()) for name in strict
    ]
    for i, box in enumerate(cells.tree.boxes[:-1]):
        sides = [
            is_in(dialect.column(place[cells.names[j]]), [number(code) for code in np.flatnonzero(mask).tolist()])
            for j, mask in sorted(box.items())
            if not mask.all()
        ]
        branches.append(exp.If(this=_all(sides), true=number(i)))
    last = number(cells.n_cells - 1)
    return exp.Case(ifs=branches, default=last) if branches else last


def _all(conditions: Sequence[Node]) -> Node:
    found = conditions[0]
    for condition in conditions[1:]:
        found = exp.And(this=found, expression=condition)
    return found


def _build_cell_column(cells: CellPartition, name: str, cell: str, dialect: Dialect, output: str) -> Node:
    """What each cell tells of an attribute."""
    if name in cells.kept:
        return dialect.column(name)
    if output == "values":
        j = cells.names.index(name)
        found = values(cells.schema[name], [each.values[j] for each in cells.tree.cells], dialect)
    else:
        labels, codes = cells.labels(name), cells.told_by_cell(name).tolist()
        found = [number(code) if output == "codes" else dialect.literal(labels[code], name) for code in codes]
    groups: dict[str, list[int]] = {}
    for i, node in enumerate(found):
        groups.setdefault(repr(node), []).append(i)
    ifs = [
        exp.If(this=is_in(dialect.column(cell), [number(i) for i in group]), true=found[group[0]].copy())
        for group in groups.values()
    ]
    return exp.Case(ifs=ifs)


# The SELECT


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
    >>> from modicum.export.sql.select import to_sql
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
        return render_sql(select_cells(artifact, origin, known, output, keep), known)
    return render_sql(select(artifact, origin, known, output, keep), known)


def select(
    g: Generalization, origin: exp.Table, dialect: Dialect, output: str = "labels", keep: Sequence[str] = ()
) -> exp.Select:
    """The SELECT as a sqlglot tree."""
    check_collected(g, (Generalization,), "g")
    check_output(output)
    kept = check_keep(keep, g.names)
    chosen = [p for p in g.partitions if output == "values" or not isinstance(p, Dropped)]
    columns = [(p.name, column(p, dialect, output)) for p in chosen]
    return build_select(columns, origin, dialect, kept)
