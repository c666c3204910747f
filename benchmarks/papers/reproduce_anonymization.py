"""Reproduce [Goldsteen21 §4]: accuracy against k for four anonymizers, and what anonymous models still leak.

    OMP_NUM_THREADS=1 python benchmarks/papers/reproduce_anonymization.py

- adult_12, adult_10, adult_8, loan: accuracy against k (Figures 2 to 6), each method, each model;
- labels: the tree guided by labels instead of predictions (Figure 8);
- paper: leaves that are not refined, and an actual record for each, as in [Goldsteen21];
- selection: the six attributes that say most about the label, chosen before or after anonymization (§3);
- many_attributes: where it fails, with all attributes of Crime and of Health as quasi-identifiers (§4.2);
- membership: Table 2; attributes: Table 3.

A model is trained on the anonymized 40% and tested on raw records. All results go to
results/reproduce_anonymization.json; --tiny runs everything on 2,000 records and writes nothing.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import figures_of, read_options, run_sections

ASKED = read_options(
    __name__,
    __doc__,
    (
        "loan/lending_club.csv.gz",
        "nursery/nursery.data.gz",
        "crime/communities.data.gz",
        "crime/communities.names",
        "health/health.csv.zip",
    ),
    sections=True,
    flags={"--tiny": "run on 2,000 records and write nothing"},
    elsewhere=(
        "modicum.anonymizers",
        "modicum.attacks",
        "modicum.generalization",
        "modicum.learners",
        "modicum.releases",
        "modicum.table",
    ),
)

import json
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from joblib import Parallel, delayed
from papers.anonymization.attacks import attributes, membership
from papers.anonymization.tables import SWEPT, TABLES, accuracy_table, verdict
from papers.anonymization.training import (
    COMPARED,
    FULL,
    GUIDED,
    LABELS,
    MODELS,
    PAPER,
    SETTINGS,
    TINY,
    Size,
    Split,
    accuracy,
    anonymized,
    fitted,
    split,
)

import modicum as md
from modicum.measures.intervals import seeds_interval

NAME = "reproduce_anonymization"
CUT = {
    "network": "40 epochs instead of the paper's 200",
    "boosted trees": "scikit-learn's HistGradientBoostingClassifier with its defaults, for XGBoost",
    "seeds": "3 splits, on which nothing was chosen; one for the network on all but adult_12, and for Tables 2 and 3",
    "guide": "AccuracyGuided grows its tree on the released 40%, the paper on another 40%",
    "feature selection": "none in the sweeps; the paper selects before anonymizing for all models but networks",
    "adult": "education as an ordered category where the paper has education-num",
    "loan": "40,000 of 119,987 loans, 10 of 14 attributes quasi-identifiers; the paper has 421,095, and 18 of 43",
    "health": "20,000 patients, one year of each",
    "membership": "8,000 members and 8,000 others are given to the adversary, of the 40% each",
    "DP-SGD": "one hidden layer of 100 by DP-Adam in 10 epochs, where the paper's network has three large layers",
    "large network": "40 epochs (the paper does not say how many)",
}
FEW = (2, 10, 50, 100)
KEPT = 6


def together(jobs: Iterable[Any]) -> list[Any]:
    """Return the jobs' results, run by two processes."""
    return list(Parallel(n_jobs=2, batch_size=1)(jobs))


def sweep(name: str, seed: int, method: str, kinds: Iterable[str], ks: Iterable[int], size: Size) -> list[dict]:
    """Run one method on one split: each model's accuracy for each k, and on raw data if a model guides."""
    data, found = split(name, seed, size), []
    guides = kinds if method in (GUIDED, PAPER) else [None]
    for guide in guides:
        model = fitted(guide, *data.train, data.schema, seed, size) if guide else None
        trained = [guide] if guide else kinds
        if model is not None:
            found.append(row(seed, "raw", guide, 1, accuracy(model, data.test)) | {"majority": data.majority})
        for k in ks:
            found += trained_on(data, method, k, model, trained, seed, size)
    return found


def trained_on(data: Split, method: str, k: int, guide: Any, kinds: Iterable[str], seed: int, size: Size) -> list[dict]:
    start = time.perf_counter()
    X, release = anonymized(method, k, data, guide)
    seconds, loss = time.perf_counter() - start, ncp_of(release)
    models = {kind: fitted(kind, X, data.train[1], data.schema, seed, size) for kind in kinds}
    each = {"ncp": loss, "seconds": seconds, "smallest": md.measures.k_anonymity(X, data.quasi_identifiers)}
    return [row(seed, method, kind, k, accuracy(model, data.test)) | each for kind, model in models.items()]


def row(seed: int, method: str, kind: str, k: int, found: float) -> dict[str, Any]:
    return {"seed": seed, "method": method, "model": kind, "k": k, "accuracy": found}


def ncp_of(release: Any) -> float:
    return float(getattr(release.ncp, "gcp", release.ncp))


def swept(name: str, size: Size, methods: Iterable[str], kinds: Iterable[str] = MODELS, ks: Any = None) -> dict:
    """Run every method on every split; return means over the splits with intervals."""
    ks = tuple(ks or size.ks)
    jobs = [
        delayed(sweep)(name, seed, method, affordable(kinds, name, seed, size), ks, size)
        for seed in size.seeds
        for method in methods
    ]
    rows = [each for found in together(jobs) for each in found]
    data = split(name, size.seeds[0], size)
    about = {
        "title": SETTINGS[name].title,
        "train": len(data.train[1]),
        "test": len(data.test[1]),
        "attributes": data.train[0].shape[1],
        "quasi_identifiers": data.quasi_identifiers,
    }
    return about | {"cells": cells(rows)}


def affordable(kinds: Iterable[str], name: str, seed: int, size: Size) -> tuple[str, ...]:
    """Return the kinds to run; the slow network runs on one split, but on all of Adult with all quasi-identifiers."""
    return tuple(kind for kind in kinds if kind != "network" or seed == size.seeds[0] or name == "adult_12")


def cells(rows: list[dict]) -> list[dict]:
    """Make one row for each method, model and k."""
    keys = dict.fromkeys((r["method"], r["model"], r["k"]) for r in rows)
    found = []
    for method, kind, k in keys:
        own = [r for r in rows if (r["method"], r["model"], r["k"]) == (method, kind, k)]
        found.append({"method": method, "model": kind, "k": k} | over_seeds([r["accuracy"] for r in own]))
        for name in {"ncp", "seconds", "smallest", "majority"} & own[0].keys():
            values = [r[name] for r in own]
            found[-1][name] = min(values) if name == "smallest" else sum(values) / len(values)
    return found


def over_seeds(values: list[float]) -> dict[str, Any]:
    return {"accuracy": sum(values) / len(values), "interval": seeds_interval(values), "each": values}


def selection(size: Size) -> dict:
    """Choose the six attributes of Adult that say most about the label, on raw records or on anonymized ones."""
    kinds = ("decision tree", "boosted trees")
    jobs = [delayed(selected)(seed, kind, size) for seed in size.seeds for kind in kinds]
    return {"kept": KEPT, "cells": cells([each for found in together(jobs) for each in found])}


def selected(seed: int, kind: str, size: Size) -> list[dict]:
    data = split("adult_12", seed, size)
    X, y = data.train
    best = best_attributes(X, y, data.schema)
    fewer = Split((X[best], y), data.others, (data.test[0][best], data.test[1]), data.schema.select(best), best)
    models = [fitted(kind, *each.train, each.schema, seed, size) for each in (data, fewer)]
    found = [row(seed, "raw, before", kind, 1, accuracy(models[1], fewer.test))]
    for k in size.ks:
        before = anonymized(GUIDED, k, fewer, models[1])[0]
        found.append(
            row(seed, "before", kind, k, accuracy(fitted(kind, before, y, fewer.schema, seed, size), fewer.test))
        )
        whole = anonymized(GUIDED, k, data, models[0])[0]
        after = best_attributes(whole, y, data.schema)
        model = fitted(kind, whole[after], y, data.schema, seed, size)
        found.append(row(seed, "after", kind, k, accuracy(model, (data.test[0][after], data.test[1]))))
    return found


def best_attributes(X: Any, y: Any, schema: md.Schema) -> list[str]:
    chosen = md.FeatureSelection(k=KEPT, score_func="mutual_information", schema=schema).fit(X, y)
    return list(chosen.generalization_.needed)


def many_attributes(size: Size) -> dict:
    """Use all attributes of two wide tables as quasi-identifiers."""
    kinds = ("boosted trees", "decision tree", "random forest")
    return {name: swept(name, size, (GUIDED, "Mondrian"), kinds, FEW) for name in ("crime", "health")}


def sections(size: Size) -> dict[str, Callable[[], dict]]:
    return {
        **{name: partial(swept, name, size, COMPARED) for name in SWEPT},
        "labels": partial(swept, "adult_12", size, (LABELS,)),
        "paper": partial(swept, "adult_12", size, (PAPER,)),
        "selection": partial(selection, size),
        "many_attributes": partial(many_attributes, size),
        "membership": partial(membership, size),
        "attributes": partial(attributes, size),
    }


def reported(name: str, section: Callable[[], dict]) -> dict:
    """Return a section's figures with its seconds; print the tables that it completes."""
    start = time.perf_counter()
    found = section() | {"seconds": time.perf_counter() - start}
    json.dumps(found)  # so --tiny also tests that the figures can be written
    print(f"\n{name}: {found['seconds']:.0f} s", flush=True)
    show(name, (figures_of(NAME) if not ASKED.tiny else {}) | {name: found})
    return found


def complete(found: dict[str, Any]) -> dict[str, Any]:
    """Add the list of reductions and the verdict on the four methods to all figures."""
    judged = {"verdict": verdict(found["adult_12"])} if "adult_12" in found else {}
    return found | {"cut": CUT} | judged


def show(name: str, found: dict[str, Any]) -> None:
    """Return the tables that a section completes; of a sweep only its own part."""
    if name in SWEPT:
        print(f"\n{accuracy_table({name: found[name]})}", flush=True)
    for mark, (needed, table) in TABLES.items():
        if mark != "accuracy" and name in needed and all(each in found for each in needed):
            print(f"\n{table(found)}", flush=True)


def quick() -> dict[str, float]:
    """Run a decision tree on the first split of Adult, k = 50."""
    data, kind, seed, found = split("adult_12", FULL.seeds[0], FULL), "decision tree", FULL.seeds[0], {}
    guide = fitted(kind, *data.train, data.schema, seed, FULL)
    for method in COMPARED:
        (own,) = trained_on(data, method, 50, guide if method == GUIDED else None, (kind,), seed, FULL)
        found[f"adult_12.cells.{{method={method};model={kind};k=50}}.each.0"] = own["accuracy"]
    return found


if __name__ == "__main__":
    every = {name: partial(reported, name, run) for name, run in sections(TINY if ASKED.tiny else FULL).items()}
    if ASKED.tiny:
        for name in ASKED.sections or every:
            every[name]()
    else:
        run_sections(NAME, every, ASKED, complete=complete)
