"""The four tables on which [Mancuhan16] is repeated, their folds, and value hierarchies of Adult.

Adult and Fars are the paper's tables (§5.1.1, Appendix C.1). So is Bank marketing: the 39,922 people who made no
deposit, of whom job, day and month of the call and the age are known; the age in ten bands of the same width, which is
what Weka's Discretize does unless told otherwise. ACS income of New York stands for IPUMS: its records are of another
place and time, but the attributes are much the same. The hierarchies, which [Mancuhan16 §5.1.2] takes from Inan et al.,
are our own.
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
    """Records with labels, what is sensitive of them, and the ℓ that are tried; the paper's t-tests beside it."""

    title: str
    X: pd.DataFrame
    y: pd.Series
    schema: md.Schema
    sensitive: str
    paper: str  # its row in the paper's Tables 1 and 2
    levels: tuple[int, ...] = (2, 3, 4, 5)
    persons: Any = None  # whose a record is; a household's records stay in one fold

    @property
    def most_frequent(self) -> float:
        """The share of the commonest sensitive value; more than 1/ℓ, and records have to be left out."""
        return float(self.X[self.sensitive].value_counts(normalize=True).max())


@dataclass(frozen=True)
class Fold:
    """Nine tenths to learn from, one tenth to judge by, as it is."""

    number: int
    X: pd.DataFrame
    y: pd.Series
    test_X: pd.DataFrame
    test_y: pd.Series


def folds(table: Table, many: int) -> Iterator[Fold]:
    """Stratified by label, shuffled with a fixed seed."""
    kind = StratifiedKFold if table.persons is None else StratifiedGroupKFold
    parts = kind(many, shuffle=True, random_state=SEED).split(table.X, table.y, table.persons)
    for number, (train, test) in enumerate(parts):
        parts_of = [part.iloc[rows].reset_index(drop=True) for rows in (train, test) for part in (table.X, table.y)]
        yield Fold(number, *parts_of)


def sampled(table: Table, rows: int | None) -> Table:
    """Some of the records; of people who have several, all or none."""
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
    """Who made no deposit: does this person have a housing loan? The age band is sensitive."""
    data = load_bank()
    X = data.X[data.y == "no"].reset_index(drop=True)
    bands, order = age_bands(X["age"])
    few = X[["job", "day", "month"]].assign(age=bands)
    age = md.Attribute(name="age", kind="ordered", domain=order)
    schema = md.Schema(attributes=(*(data.schema[name] for name in ("job", "day", "month")), age))
    return Table("Bank marketing", few, X["housing"], _plain(schema, few), "age", "Marketing")


def fars() -> Table:
    """Was this person of an accident injured? What the police say of alcohol is sensitive; it has four values."""
    data = load_fars()
    return Table("Fars", data.X, data.y, _plain(data.schema, data.X), ALCOHOL, "Fatality", (2, 3, 4))


def acs() -> Table:
    """ACS income of New York, in place of IPUMS; schooling is sensitive."""
    data = load_acs("income", "ny")
    schema = _plain(data.schema.select(list(data.X.columns)), data.X)
    return Table("ACS income, New York", data.X, data.y, schema, "SCHL", "IPUMS", persons=data.persons)


def nominal(table: Table) -> Table:
    """The same, with a sensitive attribute that has no order."""
    changed = [_changed(e, kind="category") if e.name == table.sensitive else e for e in table.schema.attributes]
    return replace(table, title=f"{table.title}, nominal", schema=md.Schema(attributes=tuple(changed)))


TABLES: Mapping[str, Callable[[], Table]] = {"adult": adult, "bank": bank, "fars": fars, "acs": acs}


def age_bands(age: pd.Series) -> tuple[pd.Series, tuple[str, ...]]:
    """Ten bands of the same width from the youngest to the oldest, closed on the right, and their order."""
    edges = np.linspace(age.min(), age.max(), AGE_BANDS + 1)
    own = np.clip(np.searchsorted(edges, age.to_numpy(), side="left") - 1, 0, AGE_BANDS - 1)
    names = tuple(f"{i + 1}: {low:g} to {high:g}" for i, (low, high) in enumerate(pairwise(edges)))
    present = tuple(names[i] for i in sorted(set(own.tolist())))
    return pd.Series(np.array(names, dtype=object)[own], index=age.index, name=age.name), present


def _plain(schema: md.Schema, X: pd.DataFrame) -> md.Schema:
    """Kinds without roles: what is sensitive is said where it matters."""
    return md.Schema(attributes=tuple(_changed(schema[name], roles=()) for name in X.columns))


def _changed(attribute: Any, **values: Any) -> Any:
    return attribute.model_copy(update=values)


# Of each value the groups it belongs to, the nearest first; whatever it is, in the end it is "any".
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
    """Of each value what it is generalized to, step by step."""
    return {value: (group, ANY) for group, values in HIERARCHIES[name].items() for value in values}


def steps(name: str) -> int:
    """How often the values of this attribute of Adult can be made coarser."""
    return len(BANDS[name]) + 1 if name in BANDS else 2


def coarser(column: pd.Series, level: int) -> pd.Series:
    """The values so many steps up their hierarchy."""
    name = str(column.name)
    if level == 0:
        return column
    if level == steps(name):
        return pd.Series(ANY, index=column.index, name=name, dtype=object)
    if name in BANDS:
        return pd.Series(np.digitize(column, BANDS[name][level - 1]), index=column.index, name=name).astype(str)
    return column.map({value: groups[level - 1] for value, groups in hierarchy_of(name).items()})
