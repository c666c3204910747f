"""Export an artifact as a dbt model: the SELECT, and tests that admit only its buckets.

dbt renders both files with Jinja before any database sees them, so a name or label that contains Jinja is written as an
expression that renders to itself.
"""

import re
from collections.abc import Iterable, Sequence

import yaml
from sqlglot import exp

from modicum.errors import ParameterError
from modicum.export.sql.dialects import Dialect, dialect_of
from modicum.export.sql.select import render_sql, select
from modicum.generalization.bins import AnyPartition, FullDetail
from modicum.generalization.core import Generalization

_JINJA = re.compile(r"[{\r]+")  # Jinja converts \r to \n
_JINJA_VALUE = re.compile(r"[{\r\n]+")  # and drops a newline at the end
_LOOKS_CALLED = re.compile(r"\s*(env_var|ref|var|source|doc)\s*\(.+\)\s*")  # dbt calls it even without braces


def to_dbt(
    g: Generalization,
    table: str | Sequence[str],
    name: str,
    dialect: str = "duckdb",
    *,
    keep: Sequence[str] = (),
) -> dict[str, str]:
    """Export a generalization as a dbt model: see `Generalization.to_dbt`.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.export.dbt import to_dbt
    >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    >>> files = to_dbt(g, "staff.people", "people_minimized")
    >>> list(files)
    ['models/people_minimized.sql', 'models/people_minimized.yml']
    >>> files["models/people_minimized.sql"].splitlines()[-1]
    "FROM {{ source('staff', 'people') }}"
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ParameterError(
            f"The 'name' parameter must be a model's name of letters, digits and underscores. Got {name!r} instead."
        )
    known, origin = dialect_of(dialect), _origin(table)
    return {
        f"models/{name}.sql": _model(g, origin, known, keep),
        f"models/{name}.yml": _tests(g, name, known),
    }


def jinja(text: str, special: re.Pattern[str] = _JINJA) -> str:
    """Escape a text so that Jinja renders it unchanged.

    Examples
    --------
    >>> from modicum.export.dbt import jinja
    >>> jinja("a {{ b }}")
    "a {{ '{{' }} b }}"
    """
    return special.sub(lambda found: f"{{{{ {_jinja_literal(found[0])} }}}}", text)


def _jinja_literal(text: str) -> str:
    escaped = text.encode("unicode_escape").decode("ascii").replace("'", "\\'")
    return f"'{escaped}'"


def _origin(table: str | Sequence[str]) -> str:
    parts = table.split(".") if isinstance(table, str) else list(table) if isinstance(table, Iterable) else []
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, str) and part for part in parts):
        raise ParameterError(
            "The 'table' parameter must be a dbt model, such as 'people', or a source and its table, such as "
            "'staff.people'."
        )
    arguments = ", ".join(_jinja_literal(part) for part in parts)
    return f"{{{{ {'ref' if len(parts) == 1 else 'source'}({arguments}) }}}}"


def _model(g: Generalization, origin: str, dialect: Dialect, keep: Sequence[str]) -> str:
    """Write the SELECT with dbt's own expression as the table."""
    place = "modicum_table"
    while (text := render_sql(select(g, _place(place), dialect, keep=keep), dialect)).count(place) > 1:
        place += "_"
    before, _, after = text.partition(_place(place).sql(dialect=dialect.name))
    return f"{jinja(before)}{origin}{jinja(after)}\n"


def _place(name: str) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def _tests(g: Generalization, name: str, dialect: Dialect) -> str:
    model = {
        "name": name,
        "description": "What is collected of a person: one bucket of each attribute, and nothing finer.",
        "columns": [_column(g[attribute], dialect) for attribute in g.needed],
    }
    return yaml.safe_dump({"version": 2, "models": [model]}, sort_keys=False, allow_unicode=True, width=1000)


def _column(partition: AnyPartition, dialect: Dialect) -> dict[str, object]:
    identifier = dialect.identifier(partition.name, "column").sql(dialect=dialect.name)
    found: dict[str, object] = {"name": jinja(identifier[1:-1], _JINJA_VALUE), "quote": True}
    if not isinstance(partition, FullDetail):
        values = [_value(label, partition.name, dialect) for label in partition.labels]
        return found | {"data_tests": ["not_null", {"accepted_values": {"values": values, "quote": True}}]}
    return found | ({"data_tests": ["not_null"]} if partition.missing == "refuse" else {})


def _value(label: str, attribute: str, dialect: Dialect) -> str:
    """Return the inside of the label's literal, which dbt quotes again."""
    inside = dialect.literal(label, attribute).sql(dialect=dialect.name)[1:-1]
    return jinja(inside, re.compile(r"[{\r\n(]+") if _LOOKS_CALLED.match(inside) else _JINJA_VALUE)
