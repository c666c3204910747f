"""Time of anonymizers on a million records, as a multiple of sorting the same table once.

    OMP_NUM_THREADS=1 python benchmarks/speed/anonymizers_speed.py

A made-up table of 1,000,000 records and 8 quasi-identifiers: five numbers (three of them with thousands of values), an
age and two categories, one number with missing values. The baseline is one `numpy.lexsort` of its codes in the same
run. We time all of `fit`, including the measures of the release. Mondrian, k = 10: at most 40 times the baseline.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, judged, read_options, seconds, write

read_options(__name__, __doc__)

import numpy as np
import pandas as pd

import modicum as md

ROWS, K, MOST = 1_000_000, 10, 40.0
METHODS = ("Mondrian", "RPlusTree", "Hilbert")


def table(n: int, seed: int = 0) -> pd.DataFrame:
    """Make numbers, categories and missing values; some columns depend on each other."""
    random = np.random.default_rng(seed)
    age = random.integers(18, 91, n)
    income = np.round(random.lognormal(10 + age / 90, 0.8), -1)
    debt = np.where(random.uniform(size=n) < 0.2, np.nan, np.round(income * random.uniform(0, 2, n), -2))
    return pd.DataFrame(
        {
            "age": age,
            "income": income,
            "debt": debt,
            "hours": random.integers(1, 99, n),
            "height": np.round(random.normal(170, 10, n)),
            "score": np.round(random.normal(size=n), 3),
            "job": random.choice([f"job {i}" for i in range(40)], n),
            "region": random.choice(["north", "east", "south", "west"], n, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def measured(names: tuple[str, ...] = METHODS) -> dict:
    X = table(ROWS)
    codes = np.column_stack([pd.factorize(X[name], sort=True)[0] for name in X.columns])
    sort = seconds(lambda: np.lexsort(codes.T), repeat=3)
    print(f"one lexsort of {ROWS:,} × {X.shape[1]}: {sort:.2f} s")
    found = {}
    for name in names:
        kind = getattr(md, name)
        kind(k=K).fit(X[:1_000])  # compiles
        release = []
        taken = seconds(lambda kind=kind, kept=release: kept.append(kind(k=K).fit(X).release_), repeat=1)
        found[name] = {"seconds": taken, "times_lexsort": taken / sort, "ncp": release[-1].ncp, "k": release[-1].k}
        aim = judged(taken / sort, MOST) if name == "Mondrian" else ""
        print(
            f"{name:10} {taken:6.1f} s, {taken / sort:5.1f} times the sort, NCP {release[-1].ncp:.3f} {aim}", flush=True
        )
    return {"rows": ROWS, "attributes": X.shape[1], "k": K, "lexsort": sort, "methods": found}


def quick() -> dict[str, float]:
    """Run only Mondrian."""
    own = measured(("Mondrian",))["methods"]["Mondrian"]
    same = {f"methods.Mondrian.{name}": own[name] for name in ("ncp", "k")}
    return same | {"methods.Mondrian.times_lexsort": Speed(own["times_lexsort"])}


if __name__ == "__main__":
    write("anonymizers_speed", measured())
