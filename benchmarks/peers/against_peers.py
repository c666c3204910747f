"""Anonymizers, measures and attacks of other libraries and ours, on Adult; each library in its own environment.

    OMP_NUM_THREADS=1 python benchmarks/peers/against_peers.py

All 48,842 records; a missing category is the word "?" for both sides. Both run on one core and are timed inside their
own process around their own call: a peer once, ours as the median of five after a warm-up that compiles. The docstring
of each script in benchmarks/peers/workers describes what the peer computes, from its source.

- toolkit: ai-privacy-toolkit's anonymizer and `AccuracyGuided`, guided by the labels, k = 100, all 12 attributes. Time
  on all records; then 5 splits: 70% are anonymized, a random forest and a decision tree learn from them and predict the
  raw 30%. At least 10 times faster, and no less accurate on average.
- anonypy: its Mondrian and ours, k = 50 on 7 quasi-identifiers. At least 20 times faster, lower NCP. One function
  computes both NCPs from the groups.
- pycanon: k, ℓ and t. All twelve attributes as quasi-identifiers make thousands of groups, which takes time (t on 5,000
  records); two make few groups, with values inside their ranges. Same values, at least 50 times faster on all.
- art: ART's membership inference with a random forest and ours, on the same 5 random forests; both learn from the same
  known half and are tested on the same other half. At least as strong in accuracy and AUC, on average.

The interval of a difference is that of a mean over splits that share records.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, read_options, run_sections, seconds

ASKED = read_options(__name__, __doc__, sections=True)

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from peers.environments import ANONYPY, ART, PYCANON, TOOLKIT, ask, columns, table
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from targets import difference, faster, target

import modicum as md

SEEDS = 5
TRAIN = 0.7
K_TOOLKIT, K_ANONYPY = 100, 50
SEVEN = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
MEASURED = {
    "all": (list(md.datasets.load_adult().X.columns), ["income"]),
    "two": (["race", "sex"], ["occupation", "hours-per-week"]),
}
T_ROWS = 5_000
TARGET_ROWS = 10_000  # members of an attacked model, and as many others


def adult() -> tuple[pd.DataFrame, np.ndarray]:
    """Return Adult with "?" for missing categories, and the labels as 0 and 1."""
    data = md.datasets.load_adult()
    return data.X.fillna(dict.fromkeys(categorical(data.X), "?")), (data.y == ">50K").to_numpy(int)


def categorical(X: pd.DataFrame) -> list[str]:
    return [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name])]


def toolkit() -> dict:
    """Compare label-guided anonymization."""
    X, y = adult()
    print(f"ai-privacy-toolkit, k = {K_TOOLKIT}, {X.shape[1]} quasi-identifiers, {len(X):,} records")
    theirs, versions, _ = by_toolkit(X, y)
    ours = seconds(lambda: guided(X, y))
    accuracies = [retrained(X, y, seed) for seed in range(SEEDS)]
    models = list(accuracies[0]["ours"])
    return {
        "k": K_TOOLKIT,
        "seconds": {"ours": ours, "theirs": theirs},
        "versions": versions,
        "seeds": accuracies,
        "targets": [
            faster(theirs, ours, 10),
            *(difference(f"{m} retrained:", *(at(accuracies, side, m) for side in ("ours", "theirs"))) for m in models),
        ],
    }


def at(found: list[dict], *keys: str) -> list[float]:
    """Return one figure of each seed."""
    for key in keys:
        found = [one[key] for one in found]
    return found


def by_toolkit(X: pd.DataFrame, y: np.ndarray) -> tuple[float, dict, pd.DataFrame]:
    options = {"k": K_TOOLKIT, "quasi_identifiers": list(X.columns), "categorical": categorical(X)}
    answer = ask(TOOLKIT, "anonymize.py", columns(X) | {"labels": y}, **options)
    return answer.found["seconds"], answer.found["versions"], table(answer.arrays)


def guided(X: pd.DataFrame, y: np.ndarray) -> pd.DataFrame:
    return md.AccuracyGuided(k=K_TOOLKIT, quasi_identifiers=list(X.columns)).fit_transform(X, y)


def learners(seed: int) -> dict[str, Any]:
    return {
        "random forest": prepared(RandomForestClassifier(100, random_state=seed)),
        "decision tree": prepared(DecisionTreeClassifier(random_state=seed)),
    }


def prepared(model: Any) -> Any:
    hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = make_column_transformer((hot, make_column_selector(dtype_exclude=np.number)), remainder="passthrough")
    return make_pipeline(parts, model)


def retrained(X: pd.DataFrame, y: np.ndarray, seed: int) -> dict:
    """Compute the accuracy on raw records of models trained on anonymized or on raw records."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = np.split(order, [round(TRAIN * len(X))])
    X_train, y_train = X.iloc[train].reset_index(drop=True), y[train]
    tables = {"ours": guided(X_train, y_train), "theirs": by_toolkit(X_train, y_train)[2], "raw": X_train}
    accuracy = {
        name: {
            kind: float((clone(model).fit(Z, y_train).predict(X.iloc[test]) == y[test]).mean())
            for kind, model in learners(seed).items()
        }
        for name, Z in tables.items()
    }
    return accuracy | {"majority": float(1 - y[test].mean())}


def anonypy() -> dict:
    """Mondrian."""
    X, y = adult()
    print(f"anonypy's Mondrian, k = {K_ANONYPY}, {len(SEVEN)} quasi-identifiers, {len(X):,} records")
    options = {"k": K_ANONYPY, "quasi_identifiers": SEVEN, "categorical": categorical(X[SEVEN])}
    labelled = X[SEVEN].assign(income=np.where(y, ">50K", "<=50K"))
    answer = ask(ANONYPY, "mondrian.py", columns(labelled), sensitive="income", **options)
    ours = seconds(lambda: md.Mondrian(k=K_ANONYPY, quasi_identifiers=SEVEN).fit_transform(X))
    release = md.Mondrian(k=K_ANONYPY, quasi_identifiers=SEVEN, output="ranges").fit(X).release_
    classes = {"ours": release.classes, "theirs": answer.arrays["classes"]}
    found = {side: groups(X[SEVEN], numbers) for side, numbers in classes.items()}
    lost = {side: own["ncp"] for side, own in found.items()}
    return {
        "k": K_ANONYPY,
        "seconds": {"ours": ours, "theirs": answer.found["seconds"], "partition": answer.found["partition_seconds"]},
        "versions": answer.found["versions"],
        "groups": found,
        "ncp_of_release": float(release.ncp),
        "targets": [
            faster(answer.found["seconds"], ours, 20),
            target(
                f"NCP {lost['ours']:.4f} against {lost['theirs']:.4f} (target: lower)", lost["ours"] < lost["theirs"]
            ),
        ],
    }


def groups(X: pd.DataFrame, classes: np.ndarray) -> dict[str, float]:
    """Return the number of groups, the size of the smallest, and their NCP.

    NCP is the mean over records and attributes of the span of a record's group: a number's range over that of the whole
    table, or the share of a category's values that occur in the group, with 0 for a single value.
    """
    sizes = np.bincount(classes)
    spans = [spanned(X[name].groupby(classes), X[name]) for name in X.columns]
    return {
        "groups": int((sizes > 0).sum()),
        "smallest": int(sizes[sizes > 0].min()),
        "ncp": float(np.mean([np.average(span, weights=sizes[span.index]) for span in spans])),
    }


def spanned(grouped: Any, whole: pd.Series) -> pd.Series:
    if pd.api.types.is_numeric_dtype(whole):
        return (grouped.max() - grouped.min()) / (whole.max() - whole.min())
    distinct = grouped.nunique()
    return (distinct / whole.nunique()).where(distinct > 1, 0.0)


def pycanon() -> dict:
    """Compare k, ℓ and t."""
    X, y = adult()
    frame, found = X.assign(income=np.where(y, ">50K", "<=50K")), {}
    for name, (given, sensitive) in MEASURED.items():
        print(f"pycanon, {len(given)} quasi-identifiers, {len(frame):,} records, {T_ROWS:,} for t")
        options = {"quasi_identifiers": given, "sensitive": sensitive, "t_rows": T_ROWS}
        theirs = ask(PYCANON, "measure.py", columns(frame), **options).found
        found[name] = measured(frame, given, sensitive, theirs, times=50 if name == "all" else 0)
        found[name]["versions"] = theirs["versions"]
    return found | {"targets": [one for own in found.values() for one in own["targets"]]}


def measured(frame: pd.DataFrame, given: list[str], sensitive: list[str], theirs: dict, times: float) -> dict:
    """Compute each measure by both; the target of speed applies unless `times` is 0."""
    few = frame[:T_ROWS]
    both = {"k": (lambda: md.measures.k_anonymity(frame, given), theirs["k"])}
    for one in sensitive:
        both[f"ℓ of {one}"] = (lambda one=one: md.measures.l_diversity(frame, given, one), theirs["l"][one])
        both[f"t of {one}"] = (lambda one=one: md.measures.t_closeness(few, given, one), theirs["t"][one])
    found: dict[str, Any] = {"targets": []}
    for name, (call, their) in both.items():
        found[name] = {"ours": with_seconds(call), "theirs": their}
        values = [found[name][side]["value"] for side in ("ours", "theirs")]
        same = target(f"{name}: {values[0]:.6g} against {values[1]:.6g} (target: the same)", np.isclose(*values, 1e-9))
        found["targets"].append(same)
        if times:
            found["targets"].append(faster(their["seconds"], found[name]["ours"]["seconds"], times, f"{name}: "))
    return found


def with_seconds(call: Callable[[], Any]) -> dict[str, float]:
    return {"value": float(call()), "seconds": seconds(call)}


def art() -> dict:
    """Compare membership inference."""
    X, y = adult()
    alone = ~X.assign(label=y).duplicated().to_numpy()  # so that no record is on both sides
    print(f"ART's membership inference, {SEEDS} random forests of {TARGET_ROWS:,} records")
    runs = [attacked(X[alone], y[alone], seed) for seed in range(SEEDS)]
    strengths = {
        measure: difference(f"{measure}:", *(at(runs, side, measure) for side in ("ours", "theirs")))
        for measure in ("accuracy", "auc")
    }
    return {"seeds": runs, "targets": list(strengths.values())}


def attacked(X: pd.DataFrame, y: np.ndarray, seed: int) -> dict:
    """Run both attacks on one random forest."""
    order = np.random.default_rng(seed).permutation(len(X))
    members, others = ((X.iloc[rows], y[rows]) for rows in (order[:TARGET_ROWS], order[TARGET_ROWS : 2 * TARGET_ROWS]))
    model = learners(seed)["random forest"].fit(*members)
    result = md.attacks.MembershipInference("forest", random_state=seed).run(model, members=members, others=others)
    answers = result.answers
    theirs = by_art(model, members, others, answers.rows[answers.member], answers.rows[~answers.member], seed)
    accuracy = {"train": model.score(*members), "test": model.score(*others)}
    ours = {"accuracy": result.accuracy.value, "auc": roc_auc_score(answers.member, answers.scores)}
    return {"model": accuracy, "ours": ours | {"seconds": result.seconds}, "theirs": theirs}


def by_art(model: Any, members: Any, others: Any, of_members: np.ndarray, of_others: np.ndarray, seed: int) -> dict:
    """Run ART's attack on the model's predictions, for the rows that ours attacked; all others are known."""
    arrays = {}
    for name, (X, y), rows in (("members", members, of_members), ("others", others, of_others)):
        scores = model.predict_proba(X)
        known = np.setdiff1d(np.arange(len(X)), rows)
        for side, chosen in ((name, rows), (f"known_{name}", known)):
            arrays |= {f"{side}_scores": scores[chosen], f"{side}_labels": y[chosen]}
    answer = ask(ART, "membership.py", arrays, seed=seed)
    sure = answer.arrays
    member = np.repeat([1, 0], [len(sure["members"]), len(sure["others"])])
    auc = roc_auc_score(member, np.concatenate([sure["members"], sure["others"]]))
    return answer.found | {"auc": auc}


NAMES = {"toolkit": "ai-privacy-toolkit", "anonypy": "anonypy", "pycanon": "pycanon", "art": "ART"}


def summary(figures: dict) -> str:
    """Make the table of all targets and results for docs/anonymization.md."""
    lines = ["| library | ours, theirs and the target | |", "|---|---|---|"]
    targets = [(name, one) for section, name in NAMES.items() for one in figures[section]["targets"]]
    return "\n".join(
        lines
        + [f"| {name} | {one['target']} | {'reached' if one['reached'] else '**missed**'} |" for name, one in targets]
    )


def quick() -> dict[str, float]:
    """Run and time only modicum."""
    X, y = adult()
    release = md.Mondrian(k=K_ANONYPY, quasi_identifiers=SEVEN, output="ranges").fit(X).release_
    own, k = groups(X[SEVEN], release.classes), md.measures.k_anonymity(X, MEASURED["two"][0])
    return {
        **{f"anonypy.groups.ours.{name}": value for name, value in own.items()},
        "pycanon.two.k.ours.value": float(k),
        "toolkit.seconds.ours": Speed(seconds(lambda: guided(X, y))),
    }


if __name__ == "__main__":
    sections = {"toolkit": toolkit, "anonypy": anonypy, "pycanon": pycanon, "art": art}
    run_sections("against_peers", sections, ASKED)
