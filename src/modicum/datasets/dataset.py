"""What every loader returns, and how its schema is written down."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import pandas as pd

from modicum.table.inference import storage_of
from modicum.table.schema import Attribute, Kind, Schema

XY = tuple[pd.DataFrame, pd.Series]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table ready for a prediction task.

    Parameters
    ----------
    name : str
        A short name.
    X : pandas.DataFrame
        The features and nothing else.
    y : pandas.Series
        What is predicted; it bears the label's name.
    schema : Schema
        Kinds and roles of the features, the label and, where there is one, the column that one person's rows share.
    persons : pandas.Series, optional
        Which rows belong together (a person, a household); None where each row is someone else.
    description : str
        One sentence.
    source : str
        Where the data officially comes from.

    Examples
    --------
    >>> from modicum.datasets import load_adult
    >>> adult = load_adult()
    >>> adult
    Dataset('adult': 48,842 rows, 12 features, label 'income')
    >>> adult.schema.label, adult.persons is None
    ('income', True)
    """

    name: str
    X: pd.DataFrame
    y: pd.Series
    schema: Schema
    persons: pd.Series | None
    description: str
    source: str

    def __repr__(self) -> str:
        rows, features = self.X.shape
        return f"Dataset({self.name!r}: {rows:,} rows, {features:,} features, label {self.y.name!r})"


def describe(
    X: pd.DataFrame,
    y: pd.Series,
    *,
    persons: pd.Series | None = None,
    numbers: Collection[str] = (),
    ordered: Mapping[str, Sequence[str | int]] | None = None,
    personal: Collection[str] = (),
    quasi_identifiers: Collection[str] = (),
    sensitive: Collection[str] = (),
) -> Schema:
    """The schema of a loaded table: a column is a category unless it is named in `numbers` or `ordered`.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.datasets.dataset import describe
    >>> X = pd.DataFrame({"age": [31, 45], "code": [1.0, None]})
    >>> schema = describe(X, pd.Series([True, False], name="employed"), numbers=["age"])
    >>> [(a.name, a.kind, a.storage) for a in schema]
    [('age', 'number', 'integer'), ('code', 'category', 'integer'), ('employed', 'category', 'boolean')]
    """
    order = ordered or {}
    columns = [X[name] for name in X.columns] + [y] + ([] if persons is None else [persons])
    schema = Schema(attributes=tuple(_attribute(column, numbers, order) for column in columns))
    return schema.with_roles(
        label=str(y.name),
        person=None if persons is None else str(persons.name),
        personal=personal,
        quasi_identifiers=quasi_identifiers,
        sensitive=sensitive,
    )


def _attribute(column: pd.Series, numbers: Collection[str], ordered: Mapping[str, Sequence[str | int]]) -> Attribute:
    name = str(column.name)
    kind: Kind = "number" if name in numbers else "ordered" if name in ordered else "category"
    domain = tuple(str(value) for value in ordered[name]) if name in ordered else None
    storage = storage_of(nw.from_native(column, series_only=True))
    return Attribute(name=name, kind=kind, storage=storage, domain=domain)
