"""The result of every loader, how to describe its schema, and UCI Adult, which comes with the package."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, overload

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
        The features only.
    y : pandas.Series
        The label to predict; `y.name` is its column name.
    schema : Schema
        Kinds and roles of the features, the label and, if there is one, the person column.
    persons : pandas.Series, optional
        The rows that belong together (a person, a household); None if each row is a different person.
    description : str
        One sentence.
    source : str
        The official source of the data.

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
    """Build the schema of a loaded table: a column is a category unless it is in `numbers` or `ordered`.

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


# UCI Adult

_SOURCE = "the UCI Machine Learning Repository, Adult, https://doi.org/10.24432/C5XW20"
_DROPPED = ["fnlwgt", "education-num"]
_AMOUNTS = ["capital-gain", "capital-loss", "hours-per-week"]
# In the order of education-num, so that column is not needed.
_EDUCATION = [
    "Preschool",
    "1st-4th",
    "5th-6th",
    "7th-8th",
    "9th",
    "10th",
    "11th",
    "12th",
    "HS-grad",
    "Some-college",
    "Assoc-voc",
    "Assoc-acdm",
    "Bachelors",
    "Masters",
    "Prof-school",
    "Doctorate",
]


@overload
def load_adult(*, return_X_y: Literal[False] = False) -> Dataset: ...
@overload
def load_adult(*, return_X_y: Literal[True]) -> XY: ...
def load_adult(*, return_X_y: bool = False) -> Dataset | XY:
    """Load UCI Adult: does a person earn more than 50,000 dollars a year? It works offline.

    An extract of the 1994 US census: 48,842 people (the original training rows, then the test rows), 12 features. The
    sampling weight `fnlwgt` is left out, and so is `education-num`, which repeats `education`; `education` is ordered
    instead. `?` in the file is missing. The file is the work of Barry Becker and Ronny Kohavi (1996), licensed under
    CC BY 4.0, doi:10.24432/C5XW20; ADULT-LICENSE.txt next to it lists the changes.

    All attributes are personal except `capital-gain`, `capital-loss` and `hours-per-week`. Callers can add the
    quasi-identifiers in [Goldsteen21] (Appendix A) or the sensitive attribute in [Mancuhan16], `education`.

    Parameters
    ----------
    return_X_y : bool
        Return only `(X, y)`.

    Returns
    -------
    Dataset, or (pandas.DataFrame, pandas.Series)

    Examples
    --------
    >>> from modicum.datasets import load_adult
    >>> X, y = load_adult(return_X_y=True)
    >>> X.shape, int((y == ">50K").sum())
    ((48842, 12), 11687)
    >>> load_adult().schema.personal[:3]
    ['age', 'workclass', 'education']
    """
    with files("modicum.datasets").joinpath("adult.csv.gz").open("rb") as file:
        table = pd.read_csv(file, compression="gzip", na_values="?", keep_default_na=False)
    X, y = table.drop(columns=[*_DROPPED, "income"]), table["income"]
    if return_X_y:
        return X, y
    personal = [name for name in X.columns if name not in _AMOUNTS]
    return Dataset(
        name="adult",
        X=X,
        y=y,
        schema=describe(X, y, numbers=["age", *_AMOUNTS], ordered={"education": _EDUCATION}, personal=personal),
        persons=None,
        description="People in the 1994 US census: does one earn more than 50,000 dollars a year?",
        source=_SOURCE,
    )
