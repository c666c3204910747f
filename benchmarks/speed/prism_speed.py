"""PriSM's speed: finding correlations, training compared with one LinearSVC, a million rows; and whether it is exact.

    OMP_NUM_THREADS=1 python benchmarks/speed/prism_speed.py

All results go to results/prism_speed.json.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, read_options, run_sections, seconds

ASKED = read_options(
    __name__,
    __doc__,
    ("bank/bank-full.csv.gz", "bank/bank-binarized.csv.gz", "bank/bank-binarized-names.txt"),
    sections=True,
)

import time
import warnings
from collections import Counter
from itertools import combinations
from typing import Any
from unittest import mock

import numpy as np
from data import load_bank
from papers.prism.data import NAMES, synthetic
from sklearn.svm import SVC, LinearSVC
from targets import target

import modicum as md
import modicum.prism.solver.trainer
from modicum.prism.solver.trainer import LISTED, Problem, Trainer

FORBIDDEN = 20
PROBLEMS = 200


def correlations() -> dict[str, Any]:
    """Test all sets, because no strength reaches 1; the first search compiles and does not count."""
    found = {}
    for title, binarized, size in (("47 binary columns, size 3", True, 3), ("16 attributes, size 5", False, 5)):
        data = load_bank(binarized=binarized)
        sensitive = data.schema.with_role("sensitive")[0]
        options = {"threshold": 1.0, "max_size": size, "groups": "column", "schema": data.schema, "progress": False}
        took = seconds(lambda d=data, s=sensitive, o=options: md.prism.correlations(d.X, s, **o), repeat=3)
        tested = sum(md.prism.correlations(data.X, sensitive, **options).tested)
        found[title] = {"seconds": took, "sets": tested, "rows": len(data.X)}
        found[title] |= target(f"{title}: {tested:,} sets of {len(data.X):,} rows in {took:.2f} s", took < 10)
    return found


def training() -> dict[str, Any]:
    """Train on 13 ternary attributes × 40,000 rows, 20 random forbidden sets, π = 1; compare with one LinearSVC fit."""
    data = synthetic()
    X = data.X[NAMES].to_numpy(dtype=np.float64)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    t = np.where(data.y == "good", 1.0, -1.0)
    random = np.random.default_rng(3)
    forbidden = [tuple(random.choice(13, size=random.integers(2, 5), replace=False)) for _ in range(FORBIDDEN)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        baseline = seconds(lambda: LinearSVC(loss="hinge", random_state=0).fit(X, t), repeat=1)
    units = tuple((j,) for j in range(13))
    few = Problem.of(X[:1_000], t[:1_000, None], np.ones(1_000), units, 1.0, 1000.0, "hinge")
    Trainer(few).solve(3, forbidden, progress=False)  # compiles, and does not count
    found: dict[str, Any] = {"one_linear_svc_fit_s": baseline, "issue_s": {"3": 1.7, "5": 3.9, "8": 2.5}}
    for most in (3, 5, 8):
        start = time.perf_counter()
        problem = Problem.of(X, t[:, None], np.ones(len(t)), units, 1.0, 1000.0, "hinge")
        trained = Trainer(problem).solve(most, forbidden, progress=False)
        took = time.perf_counter() - start
        found[str(most)] = {"seconds": took, "gap": trained.gap, "solves": trained.solves, "times": took / baseline}
        found[str(most)] |= target(
            f"{most} predictors: {took:.2f} s, gap {trained.gap:.1e}, {took / baseline:.1f} fits of LinearSVC",
            trained.gap <= 1e-4,
        )
    return found


def million() -> dict[str, Any]:
    """Train the inner machine on 1,000,000 distinct rows × 100 columns; compare with LinearSVC (squared hinge)."""
    random = np.random.default_rng(0)
    X = random.standard_normal((1_000_000, 100))
    t = np.where(X @ random.standard_normal(100) + 5 * random.logistic(size=len(X)) > 1, 1.0, -1.0)
    start = time.perf_counter()
    problem = Problem.of(X, t[:, None], np.ones(len(t)), tuple((j,) for j in range(100)), 1.0, 1000.0, "hinge")
    trained = Trainer(problem).on_support(range(100))
    took = time.perf_counter() - start
    start = time.perf_counter()
    LinearSVC(dual=False, random_state=0).fit(X, t)
    baseline = time.perf_counter() - start
    sentence = (
        f"1,000,000 × 100: {took:.0f} s, gap {trained.gap:.1e}, {took / baseline:.1f} fits of LinearSVC (squared hinge)"
    )
    return {"seconds": took, "gap": trained.gap, "linear_svc_s": baseline} | target(sentence, trained.gap <= 1e-4)


def exact() -> dict[str, Any]:
    """Compare random small problems with libsvm on every allowed choice; each master proves half of them."""
    worst, wrong, masters = 0.0, 0, Counter[str]()
    for seed in range(PROBLEMS):
        X, t, counts, most, forbidden = _problem(np.random.default_rng(seed))
        problem = Problem.of(X, t[:, None], counts, tuple((j,) for j in range(X.shape[1])), 1.0, 1000.0, "hinge")
        with mock.patch.object(modicum.prism.solver.trainer, "LISTED", LISTED if seed % 2 else 0):
            trained = Trainer(problem).solve(most, forbidden, gap=1e-6, progress=False)
        masters[trained.master] += 1
        best = min(_libsvm(X[:, list(s)], t, counts) for s in _allowed(X.shape[1], most, forbidden))
        off = abs(trained.objective - best) / best
        worst, wrong = max(worst, off), wrong + (off > 1e-5 or trained.stopped)
    text = f"{PROBLEMS} random problems equal enumeration with libsvm; worst difference {worst:.1e}; {dict(masters)}"
    found = {"problems": PROBLEMS, "worst": worst, "wrong": wrong, "masters": dict(masters)}
    return found | target(text, wrong == 0 and len(masters) == 2)


def _problem(random: np.random.Generator) -> tuple[Any, Any, Any, int, list]:
    n, d = int(random.integers(15, 41)), int(random.integers(2, 6))
    X = random.standard_normal((n, d)) if random.random() < 0.5 else random.integers(-1, 2, (n, d)).astype(float)
    t = np.where(X @ random.standard_normal(d) + random.logistic(size=n) > 0, 1.0, -1.0)
    t[:2] = (1.0, -1.0)
    sets = [random.choice(d, size=random.integers(1, d + 1), replace=False) for _ in range(random.integers(0, 4))]
    return X, t, random.integers(1, 4, n).astype(float), int(random.integers(1, d + 1)), [tuple(s) for s in sets]


def _allowed(d: int, most: int, forbidden: list) -> list[tuple[int, ...]]:
    every = [s for size in range(most + 1) for s in combinations(range(d), size)]
    return [s for s in every if not any(set(f) <= set(s) for f in forbidden)]


def _libsvm(X: Any, t: Any, counts: Any) -> float:
    """Return libsvm's objective; without a column, the smaller class pays twice."""
    if not X.shape[1]:
        return float(2 * min(counts[t > 0].sum(), counts[t < 0].sum()))
    machine = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, t, sample_weight=counts)
    w = machine.coef_[0]
    return float(w @ w / 2 + counts @ np.maximum(0, 1 - t * machine.decision_function(X)))


def quick() -> dict[str, float]:
    """Run correlations and training."""
    found, trained = correlations(), training()
    speeds = {f'correlations."{title}".seconds': Speed(own["seconds"]) for title, own in found.items()}
    same = {f'correlations."{title}".sets': own["sets"] for title, own in found.items()}
    return same | speeds | {f"training.{most}.times": Speed(trained[most]["times"]) for most in ("3", "5", "8")}


if __name__ == "__main__":
    sections = {"correlations": correlations, "training": training, "million": million, "exact": exact}
    run_sections("prism_speed", sections, ASKED)
