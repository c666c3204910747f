"""DP-SGD on raw and on minimized Adult at the same ε: do minimization and differential privacy combine well?

    OMP_NUM_THREADS=1 python benchmarks/papers/dp_on_minimized.py

[Staab24 §9] expects so. Three splits: PAT (`PrivacyTree(max_leaves=20, privacy=0.3)`) learns from a fifth of the
records what to collect, half of the records train the network, the rest test it. PAT never sees the training records,
so ε holds for them in full; δ is one over their number. Raw categories are one-hot over the domain of the data set,
numbers are scaled by the limits of their questions; minimized records are one-hot over the buckets. For comparison,
scikit-learn trains the same network (one hidden layer of 50) without noise. The difference is minimized minus raw, with
its interval over the splits. The network's settings were chosen on 16,000 other raw records at ε = 1 and 8.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import read_options, write

read_options(__name__, __doc__)

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

import modicum as md
from modicum.learners import PrivateNetwork
from modicum.measures.intervals import seeds_interval

EPSILONS = (0.5, 1, 3, 8)
SEEDS = 3
DESIGN, TRAIN = 0.2, 0.5
SETTINGS = 16_000  # records that chose the settings
LIMITS = {"age": 100, "hours-per-week": 100, "capital-gain": 99_999, "capital-loss": 4_356}
AMOUNTS = ("capital-gain", "capital-loss")  # most are 0 and some are large: their logarithm


def raw(X: pd.DataFrame) -> np.ndarray:
    """Encode numbers from 0 to 1, everything else one-hot; missing values get their own column."""
    numbers = [np.log1p(X[n]) / np.log1p(m) if n in AMOUNTS else X[n] / m for n, m in LIMITS.items()]
    return np.column_stack([*numbers, pd.get_dummies(X.drop(columns=list(LIMITS)), dummy_na=True)]).astype(float)


def minimized(X: pd.DataFrame, g: md.Generalization) -> np.ndarray:
    Z = g.transform(X)
    return g.encoder().fit_transform(Z).toarray()


def judged(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    chance = model.predict_proba(X)[:, 1]
    return {"accuracy": float(((chance > 0.5) == y).mean()), "auc": float(roc_auc_score(y, chance))}


def without_noise(X: np.ndarray, y: np.ndarray, seed: int) -> MLPClassifier:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as many epochs as the private network
        model = MLPClassifier((50,), batch_size=512, learning_rate_init=0.01, max_iter=10, random_state=seed)
        return model.fit(X, y)


def split(seed: int, epsilons: Sequence[float] = EPSILONS) -> dict[str, Any]:
    """Run one split: every ε on both tables."""
    data = md.datasets.load_adult()
    X, y = data.X, (data.y == ">50K").to_numpy(int)
    order = np.random.default_rng(seed).permutation(np.random.default_rng(99).permutation(len(X))[SETTINGS:])
    design, train, test = np.split(order, [int(DESIGN * len(order)), int((DESIGN + TRAIN) * len(order))])
    tree = md.PrivacyTree(max_leaves=20, privacy=0.3, schema=data.schema)
    g = tree.fit(X.iloc[design], data.y.iloc[design]).generalization_
    found: dict[str, Any] = {"majority": float(1 - y[test].mean()), "needed": list(g.needed), "buckets": g.n_buckets}
    for name, table in (("raw", raw(X)), ("minimized", minimized(X, g))):
        plain = without_noise(table[train], y[train], seed)
        found[name] = {"columns": table.shape[1], "none": judged(plain, table[test], y[test])}
        for epsilon in epsilons:
            network = PrivateNetwork(epsilon, 1 / len(train), random_state=seed).fit(table[train], y[train])
            spent = {"epsilon": network.epsilon_, "delta": network.delta_, "noise": network.noise_multiplier_}
            found[name][f"{epsilon:g}"] = judged(network, table[test], y[test]) | spent
    return found


def compared(runs: list[dict], key: str) -> dict[str, Any]:
    """Summarize both tables at one ε: means over the splits, and the effect of minimization."""
    found: dict[str, Any] = {}
    for measure in ("accuracy", "auc"):
        values = {side: [run[side][key][measure] for run in runs] for side in ("raw", "minimized")}
        change = [a - b for a, b in zip(values["minimized"], values["raw"], strict=True)]
        means = {side: float(np.mean(each)) for side, each in values.items()}
        found[measure] = means | {"difference": float(np.mean(change)), "interval": seeds_interval(change)}
    return found


def describe(key: str, found: dict[str, Any]) -> str:
    parts = [
        f"{measure} {own['raw']:.4f} raw, {own['minimized']:.4f} minimized, {own['difference']:+.4f} "
        f"[{own['interval'][0]:+.4f}, {own['interval'][1]:+.4f}]"
        for measure, own in found.items()
    ]
    return f"{'no noise' if key == 'none' else 'ε = ' + key:>9}: {'; '.join(parts)}"


def main() -> None:
    runs = [split(seed) for seed in range(SEEDS)]
    summary = {key: compared(runs, key) for key in ("none", *(f"{epsilon:g}" for epsilon in EPSILONS))}
    for key, found in summary.items():
        print(describe(key, found), flush=True)
    lost = {measure: noise_costs(summary, measure) for measure in ("accuracy", "auc")}
    for measure, own in lost.items():
        each = (f"ε = {key}: {cost['raw']:.4f} raw, {cost['minimized']:.4f} minimized" for key, cost in own.items())
        print(f"{measure} lost to noise: {'; '.join(each)}", flush=True)
    write("dp_on_minimized", {"splits": runs, "summary": summary, "lost_to_noise": lost})


def noise_costs(summary: dict[str, dict], measure: str) -> dict[str, dict[str, float]]:
    """Compute the loss of each table through the noise of each ε."""
    plain = summary["none"][measure]
    return {
        key: {side: plain[side] - own[measure][side] for side in ("raw", "minimized")}
        for key, own in summary.items()
        if key != "none"
    }


def table(figures: dict) -> str:
    """Make the table of accuracy and AUC for each ε for docs/anonymization.md."""
    lines = ["| ε | accuracy, raw | accuracy, minimized | AUC, raw | AUC, minimized |", "|---|---|---|---|---|"]
    for key, own in figures["summary"].items():
        cells = [f"{own[measure][side]:.4f}" for measure in ("accuracy", "auc") for side in ("raw", "minimized")]
        lines.append(f"| {' | '.join(['no noise' if key == 'none' else key, *cells])} |")
    return "\n".join(lines)


def quick() -> dict[str, float]:
    """Run the first split, without noise and at ε = 1."""
    own = split(0, (1,))
    return {"splits.0.buckets": own["buckets"]} | {
        f"splits.0.{table}.{epsilon}.accuracy": own[table][epsilon]["accuracy"]
        for table in ("raw", "minimized")
        for epsilon in ("none", "1")
    }


if __name__ == "__main__":
    main()
