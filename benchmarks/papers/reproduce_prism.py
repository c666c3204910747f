"""Reproduce [Barbato25 §5.2]: accuracy (Figure 6) and adversaries (Figure 7) for 3 to 12 predictors.

    OMP_NUM_THREADS=1 python benchmarks/papers/reproduce_prism.py

A synthetic set as §5.1 describes it (`papers/prism/data.py`) and Bank Marketing, binarized and original; thresholds
0.02 and 0.2, π = 1. Bank runs once more with balanced labels, because otherwise the rare label hardly counts.
Correlations, classifiers and adversaries see 70% of the records; accuracy is measured on the others. Every model's
relative gap is stored: 1e-4 or less is proven optimal. All results go to results/reproduce_prism.json.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import read_options, run_sections

ASKED = read_options(
    __name__,
    __doc__,
    ("bank/bank-full.csv.gz", "bank/bank-binarized.csv.gz", "bank/bank-binarized-names.txt"),
    sections=True,
)

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from data import load_bank
from papers.prism.data import SEED, synthetic
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC

import modicum as md
from modicum.evaluation.evidence.prism_cost import PRISM, ModelCost, PrismCost
from modicum.prism.discovery.sides import attribute_columns
from modicum.progress import run_all
from modicum.table.frames import as_frame
from modicum.table.splits import split_rows

PREDICTORS = range(3, 13)
THRESHOLDS = (0.02, 0.2)
GAP = 1e-4
FOLDS = 3  # of the adversary's nested cross-validation, five by default
PAPER = {  # figures in the text of [Barbato25 §5.2]
    "synthetic": {
        "class_frequency": 0.52,
        "prism_loses_at_8_or_more": 0.02,
        "parsimony_loses_as_much_at": 5,
        "adversary_prism_below": 0.58,
        "adversary_svm": 0.72,
        "most_predictors": 9,
    },
    "bank": {
        "prism_loses_at_8_or_more": 0.02,
        "parsimony_loses_as_much_at": 5,
        "mcc_prism": 0.05,
        "mcc_svm": 0.20,
        "most_predictors": 9,
    },
}


def section(
    title: str, load: Callable[[], tuple[Any, Any, Any, str, dict]], paper: str, class_weight: Any = None
) -> dict[str, Any]:
    """Run both thresholds on one table, then attack each set of predictors once."""
    X, y, schema, sensitive, more = load()
    compared = {}
    for threshold in THRESHOLDS:
        start = time.perf_counter()
        compared[threshold] = _compared(X, y, schema, sensitive, threshold, class_weight)
        print(f"{title}, threshold {threshold}: {time.perf_counter() - start:.0f} s", flush=True)
    attacks = _attacked(X, y, schema, sensitive, compared.values())
    return {
        "title": title,
        "sensitive": sensitive,
        "paper": PAPER[paper],
        "one_linear_svc_fit_s": _one_fit(*(part.iloc[_train(y)] for part in (X.drop(columns=sensitive), y))),
        "class_weight": class_weight,
        "thresholds": {str(threshold): _figures(found, attacks) for threshold, found in compared.items()},
        **more,
    }


def _compared(
    X: Any,
    y: Any,
    schema: Any,
    sensitive: str,
    threshold: float,
    class_weight: Any = None,
    predictors: Any = PREDICTORS,
) -> PrismCost:
    model = md.PrismClassifier(
        sensitive, threshold=threshold, class_weight=class_weight, schema=schema, tol=GAP, progress=False
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="At most")
        return md.evaluation.prism_cost(X, y, model, max_predictors=predictors, adversary=False)


def _figures(found: PrismCost, attacks: dict[tuple[str, ...], Any]) -> dict[str, Any]:
    models = [_one(each, attacks[tuple(each.predictors)]) for each in found.models]
    gaps = [each.gap for each in found.models if each.max_predictors is not None]
    print(f"  largest gap {max(gaps):.1e}; at most {found.max_feasible} predictors", flush=True)
    seconds = {name: sum(e.seconds for e in found.models if e.model == name) for name in ("Parsimony", PRISM)}
    return {
        "correlated_sets": len(found.correlations),
        "by_size": np.bincount([len(each) for each in found.correlations.sets], minlength=6)[1:].tolist(),
        "tested": list(found.correlations.tested),
        "max_feasible": found.max_feasible,
        "largest_gap": max(gaps),
        "proven": bool(max(gaps) <= GAP),
        "seconds_of_ten": seconds,
        "models": models,
    }


def _one(each: ModelCost, attack: Any) -> dict[str, Any]:
    found = each.to_dict()
    found.pop("adversaries")
    return found | {"adversary": attack}


def _attacked(X: Any, y: Any, schema: Any, sensitive: str, compared: Any) -> dict[tuple[str, ...], Any]:
    """Run the adversaries on each set of predictors, on the records that trained the classifiers."""
    train = X.iloc[_train(y)]
    choices = {tuple(each.predictors): each for found in compared for each in found.models}
    start = time.perf_counter()
    groups = attribute_columns(as_frame(train), list(train.columns))
    pieces = [partial(_attack, train, schema, sensitive, [c for a in choice for c in groups[a]]) for choice in choices]
    found = run_all(pieces, "attacking")
    print(f"  {len(choices)} sets of predictors attacked in {time.perf_counter() - start:.0f} s", flush=True)
    return dict(zip(choices, found, strict=True))


def _train(y: Any) -> Any:
    """Return the rows that `prism_cost` trains on."""
    return split_rows(y, validation=0.0, test=0.3).train


def _attack(train: Any, schema: Any, sensitive: str, predictors: list[str]) -> dict[str, Any]:
    attack = md.attacks.SensitiveInference(sensitive, folds=FOLDS, schema=schema, n_jobs=-1, progress=False)
    result = attack.run(train, predictors=predictors)
    each = {name: {"accuracy": vars(one.accuracy), "mcc": vars(one.mcc)} for name, one in result.by_adversary.items()}
    return {
        "accuracy": vars(result.accuracy),
        "mcc": vars(result.mcc),
        "class_frequency": result.class_frequency,
        "by_adversary": each,
        "seconds": result.seconds,
    }


def _one_fit(X: Any, y: Any) -> float:
    """Measure the seconds of one LinearSVC fit on the same columns."""
    texts = [name for name in X if X[name].dtype == object or str(X[name].dtype) in ("str", "category")]
    numbers = X.drop(columns=texts).astype(float)
    scaled = ((numbers - numbers.mean()) / numbers.std(ddof=0)).to_numpy()
    hot = OneHotEncoder(sparse_output=False).fit_transform(X[texts]) if texts else np.zeros((len(X), 0))
    columns = np.hstack([scaled, hot])
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about known non-convergence
        LinearSVC(loss="hinge", random_state=0).fit(columns, y)
    return time.perf_counter() - start


def _synthetic() -> tuple[Any, Any, Any, str, dict]:
    data = synthetic()
    share = float((data.X["sensitive"] == "yes").mean())
    more = {"seed": SEED, "best_possible_accuracy": data.best, "share_of_positive_sensitive": share}
    return data.X, data.y, None, "sensitive", more


def _bank(binarized: bool) -> tuple[Any, Any, Any, str, dict]:
    data = load_bank(binarized=binarized)
    sensitive = data.schema.with_role("sensitive")[0]
    return data.X, data.y, data.schema, sensitive, {}


SECTIONS = {
    "synthetic": partial(section, "Synthetic", _synthetic, "synthetic"),
    "bank_binarized": partial(section, "Bank, binarized", partial(_bank, True), "bank"),
    "bank_original": partial(section, "Bank, original", partial(_bank, False), "bank"),
    "bank_balanced": partial(section, "Bank, binarized, classes balanced", partial(_bank, True), "bank", "balanced"),
}


def quick() -> dict[str, float]:
    """Run three predictors of the synthetic set, without adversaries."""
    X, y, schema, sensitive, _ = _synthetic()
    found = _compared(X, y, schema, sensitive, THRESHOLDS[0], predictors=[3])
    path = f'synthetic.thresholds."{THRESHOLDS[0]}"'
    accuracy = {each.model: each.accuracy.value for each in found.models}
    return {f"{path}.correlated_sets": len(found.correlations)} | {
        f"{path}.models.{{model={model};max_predictors=3}}.accuracy.value": accuracy[model]
        for model in ("Parsimony", PRISM)
    }


if __name__ == "__main__":
    run_sections("reproduce_prism", SECTIONS, ASKED)
