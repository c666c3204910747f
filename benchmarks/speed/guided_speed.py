"""Growth of ModelGuided's time from 5,000 to 1,000,000 rows.

    OMP_NUM_THREADS=1 python benchmarks/speed/guided_speed.py

Boosted trees on New York's American Community Survey (employment, 16 attributes, most of them categories). It has fewer
than a million people, so rows are drawn with replacement, and ages and other numbers are moved up or down by one, so
that most rows differ. The time is that of one fit, search and figures together, after a warm-up that compiles.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, judged, read_options, write

read_options(__name__, __doc__, ("acs/ny2024.parquet",))

import time
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from data import load_acs
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import modicum as md

SIZES = ((5_000, 50_000, 500_000), (10_000, 100_000, 1_000_000))
MOST = 13  # the largest factor in time for ten times the rows


def drawn(X: pd.DataFrame, n: int, random: np.random.Generator) -> pd.DataFrame:
    """Draw n rows, with each number one less, the same, or one more."""
    rows = X.iloc[random.integers(0, len(X), n)].reset_index(drop=True)
    for name in rows.select_dtypes(np.number):
        rows[name] = (rows[name] + random.integers(-1, 2, n)).clip(X[name].min(), X[name].max())
    return rows


def trees(X: pd.DataFrame, y: pd.Series) -> Any:
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    prepared = make_column_transformer((codes, make_column_selector(dtype_exclude=np.number)), remainder="passthrough")
    return make_pipeline(prepared, HistGradientBoostingClassifier(random_state=0)).fit(X, y)


def measured(sizes: tuple[tuple[int, ...], ...] = SIZES) -> dict:
    data = load_acs("employment")
    model = trees(data.X[:50_000], data.y[:50_000])
    schema, random = data.schema, np.random.default_rng(0)
    fitted(model, schema, drawn(data.X, 5_000, random))
    found = {}
    for n in sorted(size for group in sizes for size in group):
        found[n] = fitted(model, schema, drawn(data.X, n, random))
        print(
            f"{n:9,} rows: {found[n]['seconds']:6.2f} s, of which the model takes {found[n]['model_seconds']:.2f} s; "
            f"agreement {found[n]['agreement']:.4f}, NCP {found[n]['ncp']:.3f}",
            flush=True,
        )
    steps = {}
    for group in sizes:
        for few, many in pairwise(group):
            ratio = found[many]["seconds"] / found[few]["seconds"]
            steps[f"{few} to {many}"] = ratio
            print(f"{few:9,} to {many:9,} rows: {ratio:5.1f} times as long {judged(ratio, MOST)}")
    return {"runs": found, "tenfold": steps, "most": MOST}


def fitted(model: Any, schema: md.Schema, X: pd.DataFrame) -> dict:
    """Run one fit; return its time, the model's share of it, and the result."""
    spent = [0.0]

    def timed(frame: Any) -> Any:
        start = time.perf_counter()
        found = model.predict(frame)
        spent[0] += time.perf_counter() - start
        return found

    start = time.perf_counter()
    guided = md.ModelGuided(timed, target_agreement=0.98, schema=schema, progress=False).fit(X)
    return {
        "seconds": time.perf_counter() - start,
        "model_seconds": spent[0],
        "leaves": guided.tree_.n_leaves,
        "agreement": guided.held_out_.agreement,
        "ncp": guided.held_out_.loss.gcp,
        "cells_ncp": guided.cells_held_out_.loss.gcp,
    }


def quick() -> dict[str, float]:
    """Run the three smallest tables."""
    found = measured(((5_000, 50_000), (10_000,)))
    same = {f"runs.{n}.{name}": found["runs"][n][name] for n in (5_000, 10_000) for name in ("agreement", "ncp")}
    return same | {'tenfold."5000 to 50000"': Speed(found["tenfold"]["5000 to 50000"])}


if __name__ == "__main__":
    write("guided_speed", measured())
