"""The four tables used to reproduce [Mancuhan16], their folds, and value hierarchies of Adult.

Adult and Fars are the paper's tables (§5.1.1, Appendix C.1). So is Bank marketing: the 39,922 people who made no
deposit, with job, age, and day and month of the call; the age in ten bands of equal width, the default of Weka's
Discretize. ACS income of New York replaces IPUMS: its records are from another place and time, but the attributes are
similar. [Mancuhan16 §5.1.2] takes its hierarchies from Inan et al.; these are our own.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from data import load_acs, load_bank, load_fars
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

import modicum as md

SEED = 20161015  # of the folds
AGE_BANDS = 10
ALCOHOL = "POLICE_REPORTED_ALCOHOL_INVOLVEMENT"


@dataclass(frozen=True)
class Table:
    """Records with labels, the sensitive attribute, the values of ℓ to try, and the paper's t-tests."""

    title: str
    X: pd.DataFrame
    y: pd.Series
    schema: md.Schema
    sensitive: str
    paper: str  # its row in the paper's Tables 1 and 2
    levels: tuple[int, ...] = (2, 3, 4, 5)
    persons: Any = None  # the person or household of each record; its records stay in one fold

    @property
    def most_frequent(self) -> float:
        """The share of the most frequent sensitive value; above 1/ℓ, records must be left out."""
        return float(self.X[self.sensitive].value_counts(normalize=True).max())


@dataclass(frozen=True)
class Fold:
    """Nine tenths to learn from, and one raw tenth for testing."""

    number: int
    X: pd.DataFrame
    y: pd.Series
    test_X: pd.DataFrame
    test_y: pd.Series


def folds(table: Table, many: int) -> Iterator[Fold]:
    """Split into folds stratified by label, shuffled with a fixed seed."""
    kind = StratifiedKFold if table.persons is None else StratifiedGroupKFold
    parts = kind(many, shuffle=True, random_state=SEED).split(table.X, table.y, table.persons)
    for number, (train, test) in enumerate(parts):
        parts_of = [part.iloc[rows].reset_index(drop=True) for rows in (train, test) for part in (table.X, table.y)]
        yield Fold(number, *parts_of)


def sampled(table: Table, rows: int | None) -> Table:
    """Sample some of the records; people with several records are kept whole or left out."""
    if rows is None or rows >= len(table.X):
        return table
    random = np.random.default_rng(SEED)
    if table.persons is None:
        chosen = np.sort(random.choice(len(table.X), rows, replace=False))
        persons = None
    else:
        whose = pd.factorize(table.persons)[0]
        drawn = random.permutation(whose.max() + 1)[whose]
        chosen = np.flatnonzero(drawn <= np.partition(drawn, rows - 1)[rows - 1])
        persons = table.persons.iloc[chosen]
    parts = [part.iloc[chosen].reset_index(drop=True) for part in (table.X, table.y)]
    return replace(table, X=parts[0], y=parts[1], persons=persons)


def adult() -> Table:
    """Rows without missing values; education is sensitive."""
    data = md.datasets.load_adult()
    whole = ~data.X.isna().any(axis=1)
    parts = [part[whole].reset_index(drop=True) for part in (data.X, data.y)]
    return Table("Adult", *parts, _with_hierarchies(_plain(data.schema, parts[0])), "education", "Adult")


def bank() -> Table:
    """People who made no deposit: does this person have a housing loan? The age band is sensitive."""
    data = load_bank()
    X = data.X[data.y == "no"].reset_index(drop=True)
    bands, order = age_bands(X["age"])
    few = X[["job", "day", "month"]].assign(age=bands)
    age = md.Attribute(name="age", kind="ordered", domain=order)
    schema = md.Schema(attributes=(*(data.schema[name] for name in ("job", "day", "month")), age))
    return Table("Bank marketing", few, X["housing"], _plain(schema, few), "age", "Marketing")


def fars() -> Table:
    """People in accidents: was this person injured? The police report on alcohol is sensitive; it has four values."""
    data = load_fars()
    return Table("Fars", data.X, data.y, _plain(data.schema, data.X), ALCOHOL, "Fatality", (2, 3, 4))


def acs() -> Table:
    """ACS income of New York, instead of IPUMS; schooling is sensitive."""
    data = load_acs("income", "ny")
    schema = _plain(data.schema.select(list(data.X.columns)), data.X)
    return Table("ACS income, New York", data.X, data.y, schema, "SCHL", "IPUMS", persons=data.persons)


def nominal(table: Table) -> Table:
    """Return the same table, with a sensitive attribute without order."""
    changed = [_changed(e, kind="category") if e.name == table.sensitive else e for e in table.schema.attributes]
    return replace(table, title=f"{table.title}, nominal", schema=md.Schema(attributes=tuple(changed)))


TABLES: Mapping[str, Callable[[], Table]] = {"adult": adult, "bank": bank, "fars": fars, "acs": acs}


def age_bands(age: pd.Series) -> tuple[pd.Series, tuple[str, ...]]:
    """Return ten age bands of equal width from the youngest to the oldest, closed on the right, and their order."""
    edges = np.linspace(age.min(), age.max(), AGE_BANDS + 1)
    own = np.clip(np.searchsorted(edges, age.to_numpy(), side="left") - 1, 0, AGE_BANDS - 1)
    names = tuple(f"{i + 1}: {low:g} to {high:g}" for i, (low, high) in enumerate(pairwise(edges)))
    present = tuple(names[i] for i in sorted(set(own.tolist())))
    return pd.Series(np.array(names, dtype=object)[own], index=age.index, name=age.name), present


def _plain(schema: md.Schema, X: pd.DataFrame) -> md.Schema:
    """Return a schema with kinds but without roles; the table names the sensitive attribute."""
    return md.Schema(attributes=tuple(_changed(schema[name], roles=()) for name in X.columns))


def _changed(attribute: Any, **values: Any) -> Any:
    return attribute.model_copy(update=values)


# The groups of each value, the nearest first; the last group of every value is "any".
HIERARCHIES: dict[str, dict[str, tuple[str, ...]]] = {
    "workclass": {
        "employee": ("Private",),
        "public service": ("Federal-gov", "State-gov", "Local-gov"),
        "own business": ("Self-emp-not-inc", "Self-emp-inc"),
        "no pay": ("Without-pay", "Never-worked"),
    },
    "marital-status": {
        "has a spouse": ("Married-civ-spouse", "Married-AF-spouse"),
        "had a spouse": ("Divorced", "Separated", "Widowed", "Married-spouse-absent"),
        "no spouse yet": ("Never-married",),
    },
    "occupation": {
        "office": ("Adm-clerical", "Exec-managerial", "Prof-specialty", "Tech-support", "Sales"),
        "workshop": ("Craft-repair", "Machine-op-inspct", "Handlers-cleaners", "Transport-moving", "Farming-fishing"),
        "service": ("Other-service", "Priv-house-serv", "Protective-serv", "Armed-Forces"),
    },
    "relationship": {
        "couple": ("Husband", "Wife"),
        "kin": ("Own-child", "Other-relative"),
        "by themselves": ("Not-in-family", "Unmarried"),
    },
    "race": {
        "White": ("White",),
        "other than White": ("Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
    },
    "sex": {"either": ("Male", "Female")},
    "native-country": {
        "North America": ("United-States", "Canada", "Outlying-US(Guam-USVI-etc)"),
        "Caribbean": ("Cuba", "Jamaica", "Puerto-Rico", "Haiti", "Dominican-Republic", "Trinadad&Tobago"),
        "Latin America": (
            *("Mexico", "Honduras", "El-Salvador", "Guatemala", "Nicaragua"),
            *("Columbia", "Ecuador", "Peru"),
        ),
        "Europe": (
            *("England", "Scotland", "Ireland", "Germany", "France", "Italy", "Greece", "Portugal", "Poland"),
            *("Hungary", "Yugoslavia", "Holand-Netherlands"),
        ),
        "Asia": (
            *("India", "Iran", "Philippines", "Cambodia", "Thailand", "Laos", "Taiwan", "China", "Japan", "Vietnam"),
            *("Hong", "South"),
        ),
    },
}
BANDS: dict[str, tuple[tuple[float, ...], ...]] = {  # lower ends of bands, finer first
    "age": (tuple(range(20, 91, 5)), tuple(range(20, 91, 10)), (30, 50, 70)),
    "hours-per-week": (tuple(range(10, 100, 10)), (20, 40, 60), (40,)),
    "capital-gain": ((1, 2_500, 5_000, 10_000, 20_000), (1, 5_000), (1,)),
    "capital-loss": ((1, 1_500, 2_000), (1,)),
}
ANY = "any"


def _with_hierarchies(schema: md.Schema) -> md.Schema:
    found = {name: _changed(schema[name], hierarchy=hierarchy_of(name)) for name in HIERARCHIES}
    return md.Schema(attributes=tuple(found.get(each.name, each) for each in schema.attributes))


def hierarchy_of(name: str) -> dict[str, tuple[str, ...]]:
    """Return the successive generalizations of each value."""
    return {value: (group, ANY) for group, values in HIERARCHIES[name].items() for value in values}


def steps(name: str) -> int:
    """Return how many times the values of this attribute of Adult can be made coarser."""
    return len(BANDS[name]) + 1 if name in BANDS else 2


def coarser(column: pd.Series, level: int) -> pd.Series:
    """Return the values generalized by this many steps of their hierarchy."""
    name = str(column.name)
    if level == 0:
        return column
    if level == steps(name):
        return pd.Series(ANY, index=column.index, name=name, dtype=object)
    if name in BANDS:
        return pd.Series(np.digitize(column, BANDS[name][level - 1]), index=column.index, name=name).astype(str)
    return column.map({value: groups[level - 1] for value, groups in hierarchy_of(name).items()})
