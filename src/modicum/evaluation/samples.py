"""Records drawn from a table in an engine, where something must be learned from single ones."""

from collections.abc import Sequence
from typing import Any

from modicum.engines import is_table, table_at
from modicum.engines.drawing import drawn
from modicum.engines.table import EngineTable
from modicum.errors import ParameterError
from modicum.generalization import Generalization


def in_memory(
    g: Generalization, X: Any, y: Any, sample: int, random_state: int, beside: Sequence[str] = ()
) -> tuple[Any, Any]:
    """Records and labels as they are, or `sample` of those that a table in an engine holds.

    Examples
    --------
    >>> import duckdb, pandas as pd, modicum as md
    >>> from modicum.evaluation.samples import in_memory
    >>> X = pd.DataFrame({"age": [18, 35, 70], "job": ["nurse", "clerk", "nurse"], "ill": ["no", "no", "yes"]})
    >>> g = md.Uniform(buckets=2).fit(X[["age", "job"]]).generalization_
    >>> records, y = in_memory(g, duckdb.sql("SELECT * FROM X"), "ill", 100, 0)
    >>> len(records), sorted(y)
    (3, ['no', 'no', 'yes'])
    """
    if not is_table(X):
        return X, y
    table = table_at(X)
    y = label_column(table, y)
    person = [g.schema.person] if g.schema.person is not None and g.schema.person in table.types else []
    columns = list(dict.fromkeys([*g.schema.features, *person, *beside, y]))
    found = drawn(table, columns, sample, random_state)
    labels = found[y].to_native().to_pandas().rename(y)
    return found.drop(y), labels


def label_column(table: EngineTable, y: Any) -> str:
    """The name of the column that is the label."""
    if not isinstance(y, str):
        raise ParameterError(
            f"The label of a table in {table.engine} must be the name of one of its columns. "
            f"Got {type(y).__name__} instead."
        )
    table.check([y])
    return y
