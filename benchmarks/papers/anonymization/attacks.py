"""[Goldsteen21 §4.2]: what models reveal about their training records, if raw, anonymized or differentially private.

Table 2 distinguishes members (the 40% for training) from as many others; Table 3 guesses the attribute `social` of
Nursery. The adversary always has raw records, even if the model has seen anonymized ones. "Train" is the accuracy on
the model's training data.
"""

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from papers.anonymization.training import GUIDED, Part, Size, Split, accuracy, anonymized, fitted, prepared, split
from peers.environments import DIFFPRIVLIB, ask, environment
from sklearn.pipeline import make_pipeline

import modicum as md
from modicum.attacks.breach import OverlapWarning

TREES, DEPTH = 100, 8
DELTA = 1e-5
MOST = 8_000  # members in an attack on membership, and as many others
# Train and test accuracy of the model; accuracy, precision and recall of the attack.
PAPER_2: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {
    ("adult_12", "random forest"): {
        "": (0.98, 0.83, 0.58, 0.56, 0.78),
        "k=50": (0.85, 0.83, 0.51, 0.51, 0.33),
        "k=100": (0.85, 0.81, 0.5, 0.5, 0.76),
        "epsilon=10": (0.82, 0.81, 0.53, 0.52, 0.95),
        "epsilon=1": (0.8, 0.79, 0.5, 0.52, 0.13),
    },
    ("adult_12", "large network"): {
        "": (0.96, 0.89, 0.53, 0.52, 0.6),
        "k=25": (0.84, 0.82, 0.5, 0.5, 0.71),
        "k=50": (0.84, 0.81, 0.5, 0.5, 0.32),
        "epsilon=2.11": (0.83, 0.83, 0.5, 0.5, 0.14),
    },
    ("loan", "random forest"): {
        "": (1.0, 0.92, 0.67, 0.65, 0.71),
        "k=100": (1.0, 0.92, 0.51, 0.51, 0.29),
        "epsilon=10": (0.82, 0.81, 0.5, 0.66, 0.0094),
        "epsilon=1": (0.82, 0.8, 0.5, 0.5, 0.18),
    },
    ("loan", "large network"): {
        "": (0.95, 0.95, 0.54, 0.53, 0.67),
        "k=200": (0.95, 0.92, 0.5, 0.5, 0.46),
        "epsilon=3.1": (0.87, 0.87, 0.5, 0.5, 0.47),
    },
}
PAPER_3 = {"": (0.68, 0.61, 0.41, 0.32), "k=100": (0.74, 0.56, 0.31, 0.21)}  # test; accuracy, precision, recall
_SHOWN = {"adult_12": "Adult", "loan": "Loan", "random forest": "RF", "large network": "NN"}


def membership(size: Size) -> dict:
    """Table 2, on one split; each figure of an attack has its own interval."""
    environment(DIFFPRIVLIB.name, DIFFPRIVLIB.pins)  # once, before two processes need it
    order = sorted(PAPER_2, key=lambda key: key[1])  # networks first, which take longest
    jobs = [delayed(attacked)(*key, size) for key in order]
    found = dict(zip(order, Parallel(n_jobs=2, batch_size=1)(jobs), strict=True))
    rows = [row for key in PAPER_2 for row in found[key]]
    return {"attack": "forest", "private_forest": {"trees": TREES, "depth": DEPTH}, "rows": rows}


def attacked(name: str, kind: str, size: Size) -> list[dict]:
    """Return the rows of Table 2 for one table and kind of model; without DP-SGD if Opacus is not installed."""
    data = split(name, size.seeds[0], size)
    raw = fitted(kind, *data.train, data.schema, 0, size)
    able = kind != "large network" or find_spec("opacus") is not None
    names = [each for each in PAPER_2[name, kind] if able or not each.startswith("epsilon")]
    return [line(name, kind, mitigation, data, *mitigated(data, kind, mitigation, raw, size)) for mitigation in names]


def line(name: str, kind: str, mitigation: str, data: Split, model: Any, trained: Part) -> dict:
    """Return one row of Table 2."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # Adult has equal records; the result has their number
        found = md.attacks.MembershipInference("forest").run(model, _some(data.train), _some(data.others))
    own = found.to_dict()
    return {
        "title": ", ".join([_SHOWN[name], _SHOWN[kind], *([mitigation] if mitigation else [])]),
        "train": accuracy(model, trained),
        "test": accuracy(model, data.test),
        **{key: own[key] for key in ("accuracy", "precision", "recall", "auc", "overlap", "records", "known")},
        "tpr": own["tpr"]["0.01"],
        "epsilon": getattr(model[-1], "epsilon_", None) if hasattr(model, "steps") else None,
        "paper": PAPER_2[name, kind][mitigation],
    }


def _some(part: Part) -> Part:
    """Limit the records to those an attack can process; the parts are in random order."""
    return part[0][:MOST], part[1][:MOST]


def mitigated(data: Split, kind: str, mitigation: str, raw: Any, size: Size) -> tuple[Any, Part]:
    """Return the model and its training data; `raw` is the model without mitigation."""
    what, _, value = mitigation.partition("=")
    if what == "epsilon":
        make = private_forest if kind == "random forest" else private_network
        return make(data, float(value), size), data.train
    if what != "k":
        return raw, data.train
    X = anonymized(GUIDED, min(int(value), len(data.train[1]) // 4), data, raw)[0]
    return fitted(kind, X, data.train[1], data.schema, 0, size), (X, data.train[1])


class Answers:
    """The predictions of a model in another environment, looked up for equal records."""

    def __init__(self, X: pd.DataFrame, chances: np.ndarray, classes: Sequence[Any]) -> None:
        self.classes_ = np.asarray(classes)
        predictions = pd.DataFrame(chances, index=_marks(X))
        self._predictions = predictions[~predictions.index.duplicated()]

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        return self._predictions.loc[_marks(X)].to_numpy()

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def _marks(X: pd.DataFrame) -> np.ndarray:
    return pd.util.hash_pandas_object(X, index=False).to_numpy()


def private_forest(data: Split, epsilon: float, size: Size) -> Answers:
    """Train diffprivlib's forest in its own environment, on numbers and codes with the whole table's bounds."""
    parts = [data.train, data.others, data.test]
    everything = pd.concat([X for X, _ in parts], ignore_index=True)
    coded = codes_of(everything)
    classes, y = np.unique(data.train[1].to_numpy(dtype=object), return_inverse=True)
    arrays = {"X": coded[: len(y)], "y": y, "low": coded.min(axis=0), "high": coded.max(axis=0), "ask_all": coded}
    options = {"epsilons": [epsilon], "trees": TREES, "depth": DEPTH, "classes": len(classes), "seed": 0}
    answer = ask(DIFFPRIVLIB, "private_forest.py", arrays, **options)
    return Answers(everything, answer.arrays[f"{epsilon} all"], classes)


def codes_of(X: pd.DataFrame) -> np.ndarray:
    """Keep numbers, and code categories by their place in the alphabet; missing comes first."""
    columns = [
        values.fillna(values.median()) if pd.api.types.is_numeric_dtype(values) else values.astype("category").cat.codes
        for _, values in X.items()
    ]
    return np.column_stack([np.asarray(values, dtype=np.float64) for values in columns])


def private_network(data: Split, epsilon: float, size: Size) -> Any:
    """Train a network by DP-SGD; it is smaller than the paper's, because noise grows with the number of weights.

    Its ε covers only the training: means and categories of the encoding come from the training records.
    """
    from modicum.learners.private_network import PrivateNetwork

    X, y = data.train
    model = PrivateNetwork(epsilon, DELTA, hidden=(100,), random_state=0)
    return make_pipeline(prepared(data.schema, list(X.columns)), model).fit(X, y)


def attributes(size: Size) -> dict:
    """Table 3: Nursery's `social`, guessed with the model, and without it from all other attributes of a person.

    The paper's rates look like those of two values, as if one of three one-hot columns was attacked. So we attack both:
    the three values, and whether it is "problematic".
    """
    data = split("nursery", size.seeds[0], size)
    cases = [("social", data), ("social, problematic or not", in_two(data, "social", "problematic"))]
    rows = [row for title, own in cases for row in guessed(title, own, size)]
    return {"attribute": "social", "rows": rows}


def in_two(data: Split, name: str, value: str) -> Split:
    """Return the table with one attribute reduced to two values: this value or not."""
    parts = [
        (X.assign(**{name: np.where(X[name] == value, value, "other")}), y)
        for X, y in (data.train, data.others, data.test)
    ]
    free = tuple(a.model_copy(update={"domain": None}) if a.name == name else a for a in data.schema)
    return Split(*parts, md.Schema(attributes=free), data.quasi_identifiers)


def guessed(title: str, data: Split, size: Size) -> list[dict]:
    """Table 3: raw, and anonymized."""
    raw = fitted("decision tree", *data.train, data.schema, 0, size)
    models = {mitigation: mitigated(data, "decision tree", mitigation, raw, size)[0] for mitigation in PAPER_3}
    return [guess(title, data, mitigation, model) for mitigation, model in models.items()]


def guess(title: str, data: Split, mitigation: str, model: Any) -> dict:
    """Return one row of Table 3."""
    found = md.attacks.AttributeInference("social").run(model, members=data.train, others=data.others)
    own = asdict(found.members)
    return {
        "title": f"{title}, DT" + (f", {mitigation}" if mitigation else ""),
        "test": accuracy(model, data.test),
        **own["model"],
        "without_model": own["imputation"]["accuracy"],
        "naive": own["naive"]["accuracy"],
        "leak": own["leak"],
        "combined": own["combined"],
        "combined_leak": own["combined_leak"],
        "control": asdict(found.control),
        "paper": PAPER_3[mitigation],
    }
