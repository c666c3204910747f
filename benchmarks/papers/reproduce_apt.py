"""Reproduce [Goldsteen22 §4]: agreement against NCP (Figures 2 and 3), Table 2 of GSS, disclosure risk.

    python benchmarks/papers/reproduce_apt.py

Adult, Nursery, GSS and Loan, with real categories; a random forest, boosted trees (scikit-learn's, for XGBoost) and a
network of one hidden layer of 100, each with its one-hot encoding and scaling inside. Four disjoint subsets as in §4.1:
40% train the model, 20% the tree, 10% choose, and the rest validates: 20% here, 10% in what ModelGuided reports.
Attributes that are missing in more than half of the records are left out; the loaders leave out attributes that reveal
the label. All results go to results/reproduce_apt.json.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import read_options, run_sections

ASKED = read_options(
    __name__,
    __doc__,
    ("gss/gss_happiness.csv.gz", "loan/lending_club.csv.gz", "nursery/nursery.data.gz"),
    sections=True,
)

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from data import load_gss, load_loan, load_nursery
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import modicum as md

TARGETS = (0.98, 1.0)
PAPER = {  # [Goldsteen22 Table 2 and §4.2]
    "ncp": {"0.98": 0.189703, "1.0": 0.174658},
    "distinct": {"raw": 2085, "1.0": 2054, "0.98": 222},
    "records": 2446,
    "printed_risk": {"raw": 0.788, "1.0": 0.771, "0.98": 0.047},
}
TITLES = {"adult": "Adult", "nursery": "Nursery", "gss": "GSS", "loan": "Loan"}
LOADERS = {
    "adult": md.datasets.load_adult,
    "nursery": load_nursery,
    "gss": load_gss,
    "loan": load_loan,
}


def models() -> dict[str, Any]:
    estimators = {
        "random forest": RandomForestClassifier(100, min_samples_leaf=3, n_jobs=2, random_state=0),
        "boosted trees": HistGradientBoostingClassifier(random_state=0),
        "network": MLPClassifier((100,), early_stopping=True, random_state=0),
    }
    return {name: make_pipeline(prepared(), estimator) for name, estimator in estimators.items()}


def prepared() -> Any:
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer(
        (numbers, make_column_selector(dtype_include=np.number)),
        (hot, make_column_selector(dtype_exclude=np.number)),
    )


class Task:
    """One dataset with its subsets."""

    def __init__(self, name: str) -> None:
        data = LOADERS[name]()
        X = data.X.loc[:, data.X.isna().mean() <= 0.5]
        self.name, self.y, self.schema = name, data.y, data.schema.select(list(X.columns))
        order = np.random.default_rng(0).permutation(len(X))
        parts = np.split(order, [int(0.4 * len(X)), int(0.8 * len(X))])
        self.train, self.given, self.validation = (X.iloc[part] for part in parts)
        self.y_train, _, self.y_validation = (data.y.iloc[part] for part in parts)

    def fitted(self, model: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return model.fit(self.train, self.y_train)

    def guided(self, model: Any, **options: Any) -> tuple[md.ModelGuided, float]:
        """Fit the minimizer, and measure its time."""
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # cells of people, and a constant on Loan
            found = md.ModelGuided(model, schema=self.schema, progress=False, **options).fit(self.given)
        return found, time.perf_counter() - start

    def judged(self, model: Any, g: Any) -> dict[str, float]:
        """Evaluate an artifact on the validation set."""
        codes = g.transform(self.validation, output="codes")
        predictions = model.predict(g.transform(self.validation, output="values"))
        return {
            "agreement": float((predictions == self.predictions).mean()),
            "ncp": md.measures.ncp(g, self.validation).gcp,
            "disclosure_risk": md.measures.disclosure_risk(codes) if len(g.needed) else 1 / len(codes),
        }


def figures(name: str) -> dict:
    """Figures 2 and 3 for one dataset: the whole curves, and each search's result for each target."""
    task = Task(name)
    found = {"rows": len(task.y), "attributes": task.given.shape[1], "models": {}}
    for kind, model in models().items():
        task.fitted(model)
        task.predictions = model.predict(task.validation)
        own: dict[str, Any] = {"accuracy": float((task.predictions == task.y_validation).mean())}
        own["null_agreement"] = float((task.predictions[:, None] == np.unique(task.predictions)).mean(axis=0).max())
        for target in TARGETS:
            own[f"{target}"] = {search: searched(task, model, target, search) for search in ("best", "paper")}
        guided, own["curve_seconds"] = task.guided(model, target_agreement=1.0)
        points = [task.judged(model, point.generalization) for point in guided.path_]
        own["curve"] = [[round(p["ncp"], 4), round(p["agreement"], 4)] for p in points]
        own["cells"] = {
            "made up": cells(task, model),
            "actual records": cells(task, model, representatives="record"),
        }
        own["generalizer"] = {"tree": own["0.98"]["best"], "clusters": clustered(task, model)}
        found["models"][kind] = own
        show(name, kind, own)
    return found


def searched(task: Task, model: Any, target: float, search: str) -> dict:
    guided, seconds = task.guided(model, target_agreement=target, search=search)
    return {
        "seconds": seconds,
        "global": task.judged(model, guided.generalization_),
        "cells": task.judged(model, guided.cells_),
        "kept_in_cells": len(guided.cells_.kept),
    }


def cells(task: Task, model: Any, **options: Any) -> dict:
    """Evaluate the cells for target 0.98, with one kind of representatives or the other."""
    guided, _ = task.guided(model, target_agreement=0.98, **options)
    return task.judged(model, guided.cells_) | {"cells": guided.cells_.n_cells, "kept": len(guided.cells_.kept)}


def clustered(task: Task, model: Any) -> dict:
    guided, seconds = task.guided(model, target_agreement=0.98, generalizer="clusters")
    return {
        "seconds": seconds,
        "global": task.judged(model, guided.generalization_),
        "cells": task.judged(model, guided.cells_),
    }


def show(name: str, kind: str, own: dict) -> None:
    print(f"{name}, {kind}: accuracy {own['accuracy']:.3f}, one class for all {own['null_agreement']:.3f}")
    for target in TARGETS:
        for search, one in own[f"{target}"].items():
            shown = "; ".join(
                f"{where} {one[where]['agreement']:.4f} NCP {one[where]['ncp']:.3f}" for where in ("global", "cells")
            )
            print(f"  target {target:g}, {search}: {shown}; {one['seconds']:.1f} s")
    for which, one in own["cells"].items():
        print(f"  cells for 0.98, {which}: {one['agreement']:.4f} NCP {one['ncp']:.3f}")
    one = own["generalizer"]["clusters"]
    print(
        f"  target 0.98, clusters: global {one['global']['agreement']:.4f} NCP {one['global']['ncp']:.3f}", flush=True
    )


def table_2() -> dict:
    """GSS with a network: what is collected at 2% loss and at none, NCP, and the disclosure risk before and after."""
    task = Task("gss")
    model = task.fitted(models()["network"])
    task.predictions = model.predict(task.validation)
    raw = md.measures.disclosure_risk(task.validation)
    found: dict[str, Any] = {"paper": PAPER, "records": len(task.validation), "raw_risk": raw}
    print(f"GSS, network: {len(task.validation):,} records; risk of raw data {raw:.3f}")
    for target in TARGETS:
        guided, _ = task.guided(model, target_agreement=target)
        g = guided.generalization_
        own = task.judged(model, g) | {"cells": task.judged(model, guided.cells_)}
        own["distinct"] = round(own["disclosure_risk"] * len(task.validation))
        own["buckets"] = {n: list(labels) if len(labels) <= 12 else len(labels) for n, labels in g.buckets.items()}
        own["not_needed"] = [n for n in g.names if n not in g.needed]
        found[f"{target}"] = own
        print(
            f"target {target:g}: agreement {own['agreement']:.4f}, NCP {own['ncp']:.3f} (paper: "
            f"{PAPER['ncp'][f'{target}']:.3f}), risk {own['disclosure_risk']:.3f}"
        )
        print(g.describe(), flush=True)
    for key, distinct in PAPER["distinct"].items():
        print(
            f"paper, {key}: {distinct} of {PAPER['records']} is {distinct / PAPER['records']:.3f} by equation (4); "
            f"printed {PAPER['printed_risk'][key]}"
        )
    return found


def table(figures: dict[str, dict]) -> str:
    """Make the table of each search's results for docs/model-guided.md."""
    lines = [
        "| data | model (accuracy) | target | buckets: NCP (agreement) | cells | paper's search, buckets | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in LOADERS:
        for kind, own in figures[name]["models"].items():
            for target in TARGETS:
                best, paper = own[f"{target}"]["best"], own[f"{target}"]["paper"]
                cells = [best["global"], best["cells"], paper["global"]]
                shown = [f"{one['ncp']:.3f} ({one['agreement']:.3f})" for one in cells]
                row = [TITLES[name], f"{kind} ({own['accuracy']:.3f})", f"{target:g}", *shown, f"{best['seconds']:.1f}"]
                lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def orders() -> dict:
    """§3.2, third option: questions and NCP of a questionnaire in four orders, for boosted trees and target 0.9."""
    found = {}
    for name in ("adult", "nursery", "gss"):
        task = Task(name)
        model = task.fitted(models()["boosted trees"])
        cells = task.guided(model, target_agreement=0.9)[0].cells_
        start = time.perf_counter()
        compared = md.measures.compare_orders(md.Questionnaire(cells), task.validation)
        found[name] = {
            "cells": cells.n_cells,
            "attributes": len(cells.needed),
            "told_at_once": md.measures.ncp(cells, task.validation).gcp,
            "seconds": time.perf_counter() - start,
            "orders": {order.name: order.to_dict() for order in compared},
        }
        shown = "; ".join(f"{o.name} {o.questions:.2f} questions, NCP {o.ncp:.3f}" for o in compared)
        print(f"{name}: {cells.n_cells} cells, {len(cells.needed)} attributes; {shown}", flush=True)
    return found


def orders_table(figures: dict[str, dict]) -> str:
    """Make the table of the orders."""
    names = ("fewest questions", "least told", "cheapest first", "random")
    lines = [f"| data | cells | attributes | {' | '.join(names)} |", "|---|---|---|---|---|---|---|"]
    for name in ("adult", "nursery", "gss"):
        own = figures[name]
        each = [f"{own['orders'][o]['questions']:.2f} ({own['orders'][o]['ncp']:.3f})" for o in names]
        lines.append(f"| {TITLES[name]} | {own['cells']} | {own['attributes']} | {' | '.join(each)} |")
    return "\n".join(lines)


SECTIONS = {**{name: partial(figures, name) for name in LOADERS}, "table_2": table_2, "orders": orders}


def quick() -> dict[str, float]:
    """Run boosted trees on Nursery."""
    task, model = Task("nursery"), models()["boosted trees"]
    task.predictions = task.fitted(model).predict(task.validation)
    own = searched(task, model, 0.98, "best")["global"]
    path = 'nursery.models."boosted trees"'
    accuracy = float((task.predictions == task.y_validation).mean())
    return {f"{path}.accuracy": accuracy} | {
        f'{path}."0.98".best.global.{name}': own[name] for name in ("agreement", "ncp")
    }


if __name__ == "__main__":
    run_sections("reproduce_apt", SECTIONS, ASKED)
