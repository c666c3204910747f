"""Export methods of artifacts; `modicum.export`, a layer above, does the work."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

from modicum.errors import ParameterError

Output = Literal["labels", "codes", "values"]


def check_form(output: Any, name: str = "output") -> None:
    """Refuse anything except the three forms of a record."""
    if output not in get_args(Output):
        raise ParameterError(f"The {name!r} parameter must be 'labels', 'codes' or 'values'. Got {output!r} instead.")


class Exports:
    """Exports of every artifact."""

    def to_javascript(self: Any, *, representatives: bool = False) -> Any:
        """Export a JavaScript module, with types, that generalizes records as Python does.

        Parameters
        ----------
        representatives : bool
            For cells and questionnaires: include the made-up values that represent each cell, for a model that runs
            in JavaScript too.

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
        >>> "generalize" in g.to_javascript().module
        True
        """
        from modicum.export.javascript import to_javascript  # deferred: a layer above the artifacts

        return to_javascript(self, representatives=representatives)

    def to_json_schema(self: Any) -> dict[str, object]:
        """Export a JSON Schema (draft 2020-12) for an interface that accepts generalized records and nothing finer.

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
        >>> contract = g.to_json_schema()
        >>> contract["required"], contract["properties"]["age"]["enum"]
        (['age'], ['≤ 50', '≥ 51', '(missing)'])
        """
        from modicum.export.json_schema import to_json_schema  # deferred: a layer above the artifacts

        return to_json_schema(self)


class TableExports(Exports):
    """Exports of artifacts that apply to whole tables."""

    def to_sql(
        self: Any,
        table: str | Sequence[str],
        dialect: str = "duckdb",
        *,
        output: Output = "labels",
        keep: Sequence[str] = (),
    ) -> str:
        """Export the artifact as a `SELECT` with the same result as `transform`, to run where the data is.

        Names are quoted and therefore exact (a table created in Snowflake without quotes is called `PEOPLE` there).
        Columns must have the type that the schema's `storage` names, text must compare by its characters (no collation
        that ignores case), and times must have no zone, or the session must be in UTC. A value that the artifact
        refuses becomes NULL, and so does all that its cell reveals, because SQL cannot stop there; `to_dbt` adds a
        test that does.

        Parameters
        ----------
        table : str or sequence of str
            The table; a text is split at its dots ("staff.people"), a sequence holds the parts.
        dialect : "duckdb", "postgres", "spark", "bigquery" or "snowflake"
            Text is compared in Unicode normal form C. Spark and Snowflake cannot convert to it, so there a category is
            recognised in normal forms C and D. Anything that a dialect cannot represent, such as a name of more than 63
            bytes in PostgreSQL, is refused.
        output : "labels", "codes" or "values"
            As in `transform`.
        keep : sequence of str
            Columns to pass through, such as a record number; attributes of the artifact are refused.

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
    """Exports of artifacts with one partition per attribute."""

    def to_dbt(
        self: Any, table: str | Sequence[str], name: str, dialect: str = "duckdb", *, keep: Sequence[str] = ()
    ) -> dict[str, str]:
        """Export the generalization as a dbt model, with tests that admit only its buckets.

        Parameters
        ----------
        table : str or sequence of str
            The origin of the data: a model ("people", which becomes `ref`) or a source and its table
            ("staff.people", which becomes `source`).
        name : str
            The name of the model.
        dialect, keep
            As in `to_sql`.

        Returns
        -------
        dict of file name → text: the model and its tests, below `models/`. `not_null` fails if a value was refused,
        `accepted_values` if a column holds anything except a bucket.

        Examples
        --------
        >>> import pandas as pd, modicum as md
        >>> g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
        >>> list(g.to_dbt("people", "people_minimized"))
        ['models/people_minimized.sql', 'models/people_minimized.yml']
        """
        from modicum.export.dbt import to_dbt  # deferred: sqlglot takes a moment to import

        return to_dbt(self, table, name, dialect, keep=keep)
