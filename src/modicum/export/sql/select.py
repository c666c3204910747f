"""Export an artifact as a SELECT of its buckets or cells, in five dialects.

Values are compared as `modicum.generalization.bins` defines. Columns must have the type that the schema's `storage`
names. A value that the artifact refuses becomes NULL.
"""

import datetime as dt
import math
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import sqlglot
from sqlglot import exp

from modicum.errors import ArtifactError, ParameterError
from modicum.export.sql.dialects import Dialect, Node, dialect_of
from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Groups, Intervals, Scalar
from modicum.generalization.cells import CellPartition
from modicum.generalization.core import Generalization
from modicum.generalization.exports import Output, check_form
from modicum.generalization.lazy import as_integers, as_numbers, as_spellings, refuses
from modicum.generalization.lazy import moment as last_moment
from modicum.generalization.loading import check_collected
from modicum.generalization.representatives import representatives
from modicum.table.schema import Attribute
from modicum.table.values import canonical, iso, seconds

# The buckets of one attribute as an expression.

_EPOCH = dt.datetime(1970, 1, 1)
_MANY = 16

Spell = Callable[[str], list[Node]]


def column(partition: AnyPartition, dialect: Dialect, output: str) -> Node:
    """Return labels, codes or representative values of an attribute; a number in full detail is unchanged."""
    if isinstance(partition, FullDetail):
        return _full_detail(partition, dialect, output)
    if output == "codes":
        found = [number(code) for code in range(len(partition.labels))]
    elif output == "values":
        found = values(partition.attribute, partition.representatives, dialect)
    else:
        found = [dialect.literal(label, partition.name) for label in partition.labels]
    if isinstance(partition, Dropped):
        return found[0].copy()
    if isinstance(partition, Intervals):
        return _interval_column(partition, dialect, found)
    return _group_column(partition, dialect, found)


def values(attribute: Attribute, given: Sequence[Scalar], dialect: Dialect) -> list[Node]:
    """Return representatives as literals in the type of the attribute's storage."""
    return [_value(value, attribute.name, dialect) for value in representatives(attribute, given, None)[0]]


def number(value: float) -> Node:
    """Return a literal that every dialect reads as the same float64: an integer, or with an exponent."""
    if math.isinf(value):
        raise ParameterError("An infinite number has no literal.")
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < 2**53)
    text = str(abs(int(value))) if whole else repr(abs(value))
    found = exp.Literal.number(text if whole or "e" in text else f"{text}e0")
    return exp.Neg(this=found) if value < 0 else found


def moment(value: dt.datetime, dialect: Dialect) -> Node:
    """Return a date with time as a literal."""
    return dialect.cast(exp.Literal.string(value.isoformat(" ")), dialect.moment)


def _value(value: Any, name: str, dialect: Dialect) -> Node:
    if value is None:
        return exp.Null()
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return dialect.literal(value, name)
    return moment(value, dialect) if isinstance(value, dt.datetime) else number(value)


def _full_detail(partition: FullDetail, dialect: Dialect, output: str) -> Node:
    if output == "codes":
        raise ParameterError(
            f"The attribute {partition.name!r} is kept in full detail, so it has no bucket codes; use labels or values."
        )
    own = dialect.column(partition.name)
    if partition.missing == "separate" or partition.attribute.kind == "date":
        return own
    absent = dialect.is_nan(dialect.cast(own.copy(), dialect.double))
    return exp.Case(ifs=[exp.If(this=absent, true=exp.Null())], default=own)


def _interval_column(partition: Intervals, dialect: Dialect, found: Sequence[Node]) -> Node:
    own = dialect.column(partition.name)
    absent: Node = exp.Is(this=own.copy(), expression=exp.Null())
    if partition.attribute.kind == "date":
        compared = dialect.cast(own, dialect.moment)
        edges = [moment(last_moment(edge, None), dialect) for edge in partition.edges.tolist()]
    else:
        whole = dialect.cast(own, "INT") if partition.attribute.storage == "boolean" else own
        compared = dialect.cast(whole, dialect.double)
        absent = exp.Or(this=absent, expression=dialect.is_nan(compared.copy()))
        edges = [number(edge) for edge in partition.edges.tolist()]
    branches = [(absent, _at(found, partition.missing_code))]
    branches += [(exp.LTE(this=compared.copy(), expression=edge), found[i]) for i, edge in enumerate(edges)]
    return _case(branches, found[len(edges)])


def _group_column(partition: Groups, dialect: Dialect, found: Sequence[Node]) -> Node:
    compared, absent, spell = _comparable(partition.attribute, dialect)
    branches = [(absent, _at(found, partition.missing_code)), *_nul_branches(partition, dialect, found)]
    spelled = [[s for value in bucket.values for s in spell(value)] for bucket in partition.buckets]
    same = {i for i, words in enumerate(spelled) if len(words) == 1 and words[0] == found[i] and found[i].is_string}
    if len(same) > _MANY:  # kept values are their own labels: one look-up instead of many branches
        branches.append((is_in(compared, [spelled[i][0] for i in sorted(same)]), compared))
    others = [i for i, words in enumerate(spelled) if words and not (i in same and len(same) > _MANY)]
    branches += [(is_in(compared, spelled[i]), found[i]) for i in others]
    return _case(branches, _at(found, partition.unseen_code))


def _nul_branches(partition: Groups, dialect: Dialect, found: Sequence[Node]) -> list[tuple[Node, Node]]:
    """Return branches for texts with a NUL character, which come before a function that would cut them there."""
    if not dialect.cuts_at_nul or partition.attribute.storage != "text":
        return []
    text = dialect.cast(dialect.column(partition.name), dialect.text)
    branches = []
    for bucket, result in zip(partition.buckets, found, strict=False):
        own = [s for value in bucket.values if "\0" in value for s in as_spellings(value)]
        if own:
            branches.append((is_in(text, [dialect.literal(each, partition.name) for each in own]), result))
    nul = exp.Chr(expressions=[exp.Literal.number(0)])
    return [*branches, (exp.Contains(this=text, expression=nul), _at(found, partition.unseen_code))]


def _comparable(attribute: Attribute, dialect: Dialect) -> tuple[Node, Node, Spell]:
    """Return the column to compare, when it is missing, and how to write a canonical text in its type."""
    own = dialect.column(attribute.name)
    absent: Node = exp.Is(this=own.copy(), expression=exp.Null())
    if attribute.storage in ("integer", "float"):
        double = dialect.cast(own.copy(), dialect.double)
        absent = exp.Or(this=absent, expression=dialect.is_nan(double))
        if attribute.storage == "integer":  # not as float64, which is not exact beyond 2**53
            return own, absent, lambda value: [number(each) for each in as_integers(value)]
        return double.copy(), absent, lambda value: _floats(value, dialect)
    if attribute.storage in ("date", "datetime"):
        return dialect.cast(own, dialect.moment), absent, lambda value: _moments(value, dialect)
    text = dialect.cast(own, dialect.text)
    if attribute.storage == "boolean":
        return text, absent, lambda value: [dialect.literal(value, attribute.name)]
    if dialect.normal is not None:
        return dialect.normal(text), absent, lambda value: [dialect.literal(value, attribute.name)]
    return text, absent, lambda value: [dialect.literal(each, attribute.name) for each in as_spellings(value)]


def _floats(value: str, dialect: Dialect) -> list[Node]:
    if value in ("inf", "-inf"):
        return [dialect.cast(exp.Literal.string(value), dialect.double)]
    return [number(each) for each in as_numbers(value)]


def _moments(value: str, dialect: Dialect) -> list[Node]:
    """Convert the canonical text of a date; else return an empty list."""
    try:
        when = seconds(value)
        return [moment(_EPOCH + dt.timedelta(seconds=when), dialect)] if canonical(iso(when)) == value else []
    except (ValueError, OverflowError):
        return []


def is_in(compared: Node, choices: Sequence[Node]) -> Node:
    """Test whether a column has one of these values."""
    if len(choices) == 1:
        return exp.EQ(this=compared.copy(), expression=choices[0].copy())
    return exp.In(this=compared.copy(), expressions=[choice.copy() for choice in choices])


def _at(found: Sequence[Node], code: int) -> Node:
    return exp.Null() if code < 0 else found[code]


def _case(branches: Sequence[tuple[Node, Node]], default: Node) -> Node:
    ifs = [exp.If(this=condition, true=result.copy()) for condition, result in branches]
    return exp.Case(ifs=ifs, default=default.copy())


# The common parts of SELECTs: the table, the columns to pass through, writing them.


def build_select(
    columns: Sequence[tuple[str, Node]], origin: exp.Table | exp.Subquery, dialect: Dialect, keep: Sequence[str]
) -> exp.Select:
    """Select the columns `keep` unchanged, and named columns, from a table."""
    if not columns and not keep:
        raise ArtifactError("This artifact collects nothing, and SQL has no tables without columns.")
    dialect.check_columns([*keep, *(name for name, _ in columns)])
    plain = [dialect.column(name) for name in keep]
    named = [
        node if isinstance(node, exp.Column) else exp.Alias(this=node, alias=dialect.identifier(name, "column"))
        for name, node in columns
    ]
    return exp.Select(expressions=[*plain, *named]).from_(origin)


def source(table: str | Sequence[str], dialect: Dialect) -> exp.Table:
    """Return a table by its quoted name: a text is split at its dots, a sequence holds the parts."""
    parts = table.split(".") if isinstance(table, str) else list(table) if isinstance(table, Iterable) else []
    if not 1 <= len(parts) <= 3 or not all(isinstance(part, str) for part in parts):
        raise ParameterError(
            "The 'table' parameter must be a table's name, optionally with a schema and a catalog, such as 'people' or "
            "'staff.people', or a sequence of such parts."
        )
    named = [dialect.identifier(part, "table") for part in parts]
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(named), strict=False)))


def check_keep(keep: Sequence[str], attributes: Sequence[str]) -> list[str]:
    """Return the columns to pass through; refuse attributes, whose full detail would pass too."""
    names = [keep] if isinstance(keep, str) else list(keep) if isinstance(keep, Iterable) else None
    if names is None or not all(isinstance(name, str) for name in names):
        raise ParameterError("The 'keep' parameter must be a list of column names.")
    attribute = next((name for name in names if name in attributes), None)
    if attribute is not None:
        raise ParameterError(
            f"The column {attribute!r} is an attribute of this artifact; 'keep' would pass it through in full detail."
        )
    if len(set(names)) < len(names):
        raise ParameterError("The 'keep' parameter names a column twice.")
    return names


def render_sql(tree: exp.Select, dialect: Dialect) -> str:
    """Write the tree as text, which sqlglot must read back as the same tree."""
    text = tree.sql(dialect=dialect.name, pretty=True)
    if sqlglot.parse(text, dialect=dialect.name) != [tree]:
        raise ArtifactError(f"The artifact could not be written in the dialect of {dialect.title}; please report this.")
    return text


# Cells as SQL: first each attribute's bucket, then the cell whose box holds them, then the cell's output.


def select_cells(
    cells: CellPartition, origin: exp.Table, dialect: Dialect, output: str = "labels", keep: Sequence[str] = ()
) -> exp.Select:
    """Build the SELECT of cells as a sqlglot tree."""
    check_form(output)
    if output == "values":
        cells.to_dict()  # refuses values of actual people
    passed = check_keep(keep, cells.names)
    unchanged = [(name, column(cells.code_buckets(name)[0], dialect, output)) for name in cells.kept]
    asked = [cells.names[j] for j in cells.tree.asked]
    place = {name: f"{_free_name(cells, passed)}_{j}" for j, name in enumerate(asked)}
    coded = [(place[name], column(cells.detail[name], dialect, "codes")) for name in asked]
    inner = build_select([*unchanged, *coded], origin, dialect, passed)
    cell = (_free_name(cells, passed), _cell(cells, place, dialect))
    kept = [(name, dialect.column(name)) for name in cells.kept]
    middle = build_select([*kept, cell], _subquery(inner, dialect, "buckets"), dialect, passed)
    chosen = cells.names if output == "values" else cells.needed
    outputs = [(name, _build_cell_column(cells, name, cell[0], dialect, output)) for name in chosen]
    return build_select(outputs, _subquery(middle, dialect, "cells"), dialect, passed)


def _free_name(cells: CellPartition, keep: Sequence[str]) -> str:
    """Find a name that no column starts with, in any case."""
    name = "modicum_cell"
    while any(each.casefold().startswith(name) for each in [*cells.names, *keep]):
        name += "_"
    return name


def _subquery(query: exp.Select, dialect: Dialect, name: str) -> exp.Subquery:
    alias = exp.TableAlias(this=dialect.identifier(name, "table"))
    return exp.Subquery(this=query, alias=alias)


def _cell(cells: CellPartition, place: dict[str, str], dialect: Dialect) -> Node:
    """Return the number of the box that holds the buckets; NULL if one of them was refused."""
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
        inside = reduce(lambda left, right: exp.And(this=left, expression=right), sides)
        branches.append(exp.If(this=inside, true=number(i)))
    last = number(cells.n_cells - 1)
    return exp.Case(ifs=branches, default=last) if branches else last


def _build_cell_column(cells: CellPartition, name: str, cell: str, dialect: Dialect, output: str) -> Node:
    """Return each cell's output of an attribute."""
    if name in cells.kept:
        return dialect.column(name)
    if output == "values":
        j = cells.names.index(name)
        found = values(cells.schema[name], [each.values[j] for each in cells.tree.cells], dialect)
    else:
        labels, codes = cells.labels(name), cells.cell_codes(name).tolist()
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
    """Export an artifact as a SELECT: see its method `to_sql`.

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
    """Build the SELECT of a generalization as a sqlglot tree."""
    check_collected(g, (Generalization,), "g")
    check_form(output)
    kept = check_keep(keep, g.names)
    chosen = [p for p in g.partitions if output == "values" or not isinstance(p, Dropped)]
    columns = [(p.name, column(p, dialect, output)) for p in chosen]
    return build_select(columns, origin, dialect, kept)
