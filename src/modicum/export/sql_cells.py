"""Cells as SQL: first each attribute's bucket, then the cell whose box holds them, then what the cell tells."""

from collections.abc import Sequence

import numpy as np
from sqlglot import exp

from modicum.export.sql_columns import column, is_in, number, refuses, values
from modicum.export.sql_dialects import Dialect, Node
from modicum.export.sql_select import check_keep, check_output, selected
from modicum.generalization.cells import CellPartition


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
    inner = selected([*beside, *coded], origin, dialect, passed)
    cell = (_free(cells, passed), _cell(cells, place, dialect))
    middle = selected([*_plain(cells.kept, dialect), cell], _below(inner, dialect, "buckets"), dialect, passed)
    told = [(name, _told(cells, name, cell[0], dialect, output)) for name in _chosen(cells, output)]
    return selected(told, _below(middle, dialect, "cells"), dialect, passed)


def _chosen(cells: CellPartition, output: str) -> list[str]:
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


def _told(cells: CellPartition, name: str, cell: str, dialect: Dialect, output: str) -> Node:
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
