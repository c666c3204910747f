"""What an artifact becomes where data is collected and kept; `modicum.export`, which lies above, does the work."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

from modicum.errors import ParameterError

Output = Literal["labels", "codes", "values"]


def check_form(output: Any, name: str = "output") -> None:
    """Refuse anything but the three forms of a record."""
    if output not in get_args(Output):
        raise ParameterError(f"The {name!r} parameter must be 'labels', 'codes' or 'values'. Got {output!r} instead.")


class Exports:
    """Where a person is asked: every artifact."""

    def to_javascript(self: Any, *, representatives: bool = False) -> Any:
        """A JavaScript module, with types, that tells of records what Python does (`modicum.export.javascript`).

        Parameters
        ----------
        representatives : bool
            Of cells and questionnaires: bring the made-up values along that stand for a cell, for a model that runs in
            the same place.

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
        >>> "generalize" in g.to_javascript().module
        True
        """
        from modicum.export.javascript import to_javascript  # deferred: it lies above the artifacts

        return to_javascript(self, representatives=representatives)

    def to_json_schema(self: Any) -> dict[str, object]:
        """A JSON Schema (draft 2020-12) for an interface that takes generalized records and nothing finer.

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
        >>> contract = g.to_json_schema()
        >>> contract["required"], contract["properties"]["age"]["enum"]
        (['age'], ['≤ 50', '≥ 51', '(missing)'])
        """
        from modicum.export.json_schema import to_json_schema  # deferred: it lies above the artifacts

        return to_json_schema(self)


class TableExports(Exports):
    """Where tables are: what tells of a record the same whatever was asked before."""

    def to_sql(
        self: Any,
        table: str | Sequence[str],
        dialect: str = "duckdb",
        *,
        output: Output = "labels",
        keep: Sequence[str] = (),
    ) -> str:
        """The artifact as a `SELECT` that gives what `transform` does, where the data is.

        Names are quoted and so taken exactly (a table that Snowflake was told of without quotes is `PEOPLE` there).
        Columns must have the type that the schema's `storage` names, text that compares by its characters (no
        collation that passes over case), and times without a zone, or a session in UTC. A value that the artifact
        refuses is NULL, and so is all that its cell would tell: SQL cannot stop there; `to_dbt` adds the test that
        does.

        Parameters
        ----------
        table : str or sequence of str
            The table; a text is parted at its dots ("staff.people"), a sequence holds the parts as they are.
        dialect : "duckdb", "postgres", "spark", "bigquery" or "snowflake"
            Text is compared in Unicode normal form C; Spark and Snowflake cannot make it, so there a category is
            recognised in normal forms C and D. What a dialect cannot hold, such as a name of more than 63 bytes in
            PostgreSQL, is refused.
        output : "labels", "codes" or "values"
            As in `transform`.
        keep : sequence of str
            Columns to pass through, such as a number of the record; an attribute of the artifact is refused.

        Examples
        --------
        >>> import duckdb, pandas as pd, modicum as md
        >>> X = pd.DataFrame({"id": [7, 8], "job": ["nurse", "clerk"], "age": [18, 70]})
        >>> g = md.Uniform(buckets=2).fit(X[["job", "age"]]).generalization_
        >>> duckdb.sql(g.drop("job").to_sql("X", keep=["id"])).fetchall()
        [(7, '≤ 40'), (8, '≥ 41')]
        """
        from modicum.export.sql.select import to_sql  # deferred: sqlglot takes a moment to import

        return to_sql(self, table, dialect, output=output, keep=keep)


class GeneralizationExports(TableExports):
    """What only one partition per attribute can be."""

    def to_dbt(
        self: Any, table: str | Sequence[str], name: str, dialect: str = "duckdb", *, keep: Sequence[str] = ()
    ) -> dict[str, str]:
        """The generalization as a dbt model, with tests that admit only its buckets.

        Parameters
        ----------
        table : str or sequence of str
            Where the data comes from: a model ("people", which becomes `ref`) or a source and its table
            ("staff.people", which becomes `source`).
        name : str
            What the model is called.
        dialect, keep
            As in `to_sql`.

        Returns
        -------
        dict of file name → text: the model and its tests, below `models/`. `not_null` fails where a value is refused,
        `accepted_values` where anything but a bucket is found.

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
        >>> list(g.to_dbt("people", "people_minimized"))
        ['models/people_minimized.sql', 'models/people_minimized.yml']
        """
        from modicum.export.dbt import to_dbt  # deferred: sqlglot takes a moment to import

        return to_dbt(self, table, name, dialect, keep=keep)
