"""What SELECTs of generalizations and of cells share: where they read, what they pass through, how they are written."""

from collections.abc import Iterable, Sequence
from typing import get_args

import sqlglot
from sqlglot import exp

from modicum.errors import ArtifactError, ParameterError
from modicum.export.sql_dialects import Dialect, Node
from modicum.generalization.exports import Output


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
