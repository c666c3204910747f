"""The common parts of the benchmarks of anonymous training data: tables and splits, models, the four anonymizers.

As in [Goldsteen21 §4] a table is split 40/40/20: the first part trains the model and is anonymized, the last part
tests. The paper grows its tree on the second part; AccuracyGuided grows it on the records that it releases, because
only then does every group of the release have k records. Here the second part holds the non-members.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from data import load_crime, load_health, load_loan, load_nursery
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import modicum as md
from modicum.errors import PrivacyWarning

MODELS = ("network", "boosted trees", "decision tree", "random forest")
GUIDED, LABELS, PAPER = "accuracy-guided", "guided by labels", "the paper's algorithm"
METHODS = {
    GUIDED: "AccuracyGuided",
    "Mondrian": "Mondrian",
    "Hilbert": "Hilbert",
    "R+ tree": "RPlusTree",
    LABELS: "AccuracyGuided",
    PAPER: "AccuracyGuided",
}
COMPARED = tuple(METHODS)[:4]
_WITHOUT_8 = ("age", "capital-gain", "capital-loss", "hours-per-week")


@dataclass(frozen=True)
class Size:
    """The size of a run: `FULL` for the results, `TINY` for a test."""

    rows: int | None
    ks: tuple[int, ...]
    seeds: tuple[int, ...]  # of the splits; those under 10 were used while AccuracyGuided was developed
    epochs: int  # of the network of 100 neurons; the paper's 200
    layers: tuple[int, ...]  # of Table 2's network
    long_epochs: int  # of Table 2's network


FULL = Size(None, (2, 5, 10, 25, 50, 100, 250, 500, 1000), (10, 11, 12), 40, (1024, 512, 256), 40)
TINY = Size(2_000, (5, 50), (10,), 3, (32, 16), 3)


LOADERS = {
    "adult": md.datasets.load_adult,
    "loan": load_loan,
    "nursery": load_nursery,
    "crime": load_crime,
    "health": load_health,
}


@dataclass(frozen=True)
class Setting:
    """A table, the number of records to use, and the quasi-identifiers."""

    title: str
    data: str
    rows: int | None = None
    without: tuple[str, ...] = ()  # of the table's quasi-identifiers


SETTINGS = {
    "adult_12": Setting("Adult, 12 quasi-identifiers", "adult"),
    "adult_10": Setting("Adult, 10", "adult", without=("capital-gain", "capital-loss")),
    "adult_8": Setting("Adult, 8", "adult", without=_WITHOUT_8),
    "loan": Setting("Loan, 10 of 14", "loan", rows=40_000),
    "nursery": Setting("Nursery", "nursery"),
    "crime": Setting("Crime", "crime"),
    "health": Setting("Health", "health", rows=20_000),
}


Part = tuple[pd.DataFrame, pd.Series]


@dataclass(frozen=True)
class Split:
    """The three parts of a table, each a pair (X, y), with the kinds of its columns and its quasi-identifiers."""

    train: Part
    others: Part
    test: Part
    schema: md.Schema
    quasi_identifiers: list[str]

    @property
    def majority(self) -> float:
        """Return the test accuracy of always predicting the most frequent training class."""
        return float((self.test[1] == self.train[1].mode()[0]).mean())


@cache
def _table(name: str) -> tuple[pd.DataFrame, pd.Series, md.Schema, list[str]]:
    data = LOADERS[name]()
    X, y = data.X, data.y
    if data.persons is not None:  # one record of each person
        first = ~data.persons.duplicated().to_numpy()
        X, y = X[first], y[first]
    declared = data.schema.with_role("quasi-identifier") if name == "loan" else list(X.columns)
    return X, y, data.schema.select(list(X.columns)).with_roles(sensitive=[], quasi_identifiers=[]), declared


def split(name: str, seed: int, size: Size) -> Split:
    setting = SETTINGS[name]
    X, y, schema, declared = _table(setting.data)
    rows = min(len(X), setting.rows or len(X), size.rows or len(X))
    order = np.random.default_rng(seed).permutation(len(X))[:rows]
    first, second, last = np.split(order, [int(0.4 * rows), int(0.8 * rows)])
    parts = [
        (X.iloc[part].reset_index(drop=True), y.iloc[part].reset_index(drop=True)) for part in (first, second, last)
    ]
    return Split(*parts, schema, [name for name in declared if name not in setting.without])


def prepared(schema: md.Schema, names: Sequence[str]) -> Any:
    """Encode in float32: numbers scaled, ordered categories by their place in the order, other categories one-hot."""
    kinds = {kind: [name for name in names if schema[name].kind == kind] for kind in ("number", "ordered", "category")}
    places = [list(schema[name].domain or ()) for name in kinds["ordered"]]
    steps = [
        (make_pipeline(SimpleImputer(), StandardScaler()), kinds["number"]),
        (make_pipeline(_places(places), StandardScaler()), kinds["ordered"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), kinds["category"]),
    ]
    return make_pipeline(make_column_transformer(*steps), FunctionTransformer(_as_float32))


def _places(categories: list[list[str]]) -> OrdinalEncoder:
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1, "encoded_missing_value": -1}
    return OrdinalEncoder(categories=categories or "auto", **unknown)


def _as_float32(X: Any) -> np.ndarray:
    return np.asarray(X, dtype=np.float32)


def estimator(kind: str, seed: int, size: Size) -> Any:
    """Return the paper's models, with scikit-learn's boosted trees for XGBoost."""
    return {
        "network": lambda: network((100,), seed, size.epochs),
        "boosted trees": lambda: HistGradientBoostingClassifier(random_state=seed),
        "decision tree": lambda: DecisionTreeClassifier(random_state=seed),
        "random forest": lambda: RandomForestClassifier(100, random_state=seed),
        "large network": lambda: network(size.layers, seed, size.long_epochs, activation="tanh", rate=0.0001),
    }[kind]()


def network(layers: tuple[int, ...], seed: int, epochs: int, activation: str = "relu", rate: float = 0.001) -> Any:
    """Return a network trained by Adam in batches of 200 for a fixed number of epochs."""
    return MLPClassifier(
        layers,
        activation=activation,
        learning_rate_init=rate,
        batch_size=200,
        max_iter=epochs,
        n_iter_no_change=epochs,
        random_state=seed,
    )


def fitted(kind: str, X: pd.DataFrame, y: Any, schema: md.Schema, seed: int, size: Size) -> Any:
    model = make_pipeline(prepared(schema, list(X.columns)), estimator(kind, seed, size))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a fixed number of epochs
        return model.fit(X, y)


def accuracy(model: Any, part: Part) -> float:
    return float((model.predict(part[0]) == part[1].to_numpy()).mean())


def anonymized(method: str, k: int, data: Split, model: Any = None) -> tuple[pd.DataFrame, Any]:
    """Make the training records k-anonymous; return them and the release with its losses."""
    guide = {"model": model} if method in (GUIDED, PAPER) else {}
    if method == PAPER:
        guide |= {"refine": False, "representatives": "record"}
    anonymizer = getattr(md, METHODS[method])(
        k=k, quasi_identifiers=data.quasi_identifiers, schema=data.schema, **guide
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the paper publishes a record for each group
        return anonymizer.fit_transform(*data.train), anonymizer.release_
