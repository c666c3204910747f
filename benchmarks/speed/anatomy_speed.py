"""Time to anatomize a million records and to prune the release, as a multiple of sorting the table once.

    OMP_NUM_THREADS=1 python benchmarks/speed/anatomy_speed.py

Records of Adult are drawn with replacement and their numbers shifted a little, so that rows differ; education is
sensitive and ℓ = 3. We time `Anatomy.fit` and then `training_data` of the release. The baseline is one `numpy.lexsort`
of the coded table in the same run. Targets: at most 20 times the baseline, and ten times the rows take at most 12 times
as long.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, read_options, seconds, write

ASKED = read_options(__name__, __doc__, flags={"--tiny": "run on few records and write nothing"})

import resource
from typing import Any

import numpy as np
import pandas as pd
from papers.anatomy.data import Table, adult
from papers.anatomy.variants import release_of
from targets import target

import modicum as md

NAME = "anatomy_speed"
L = 3
ROWS, TINY_ROWS = (100_000, 1_000_000), (2_000, 20_000)
MOST, MOST_TENFOLD = 20.0, 12.0
SHIFTED = {"age": 3, "hours-per-week": 3, "capital-gain": 200, "capital-loss": 50}  # the largest shifts


def drawn(table: Table, rows: int, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Draw this many records, with numbers slightly different from those of Adult."""
    random = np.random.default_rng(seed)
    chosen = random.integers(len(table.X), size=rows)
    X = table.X.iloc[chosen].reset_index(drop=True)
    for name, most in SHIFTED.items():
        moved = X[name] + random.integers(-most, most + 1, rows)
        X[name] = moved.where(X[name] > 0, 0).clip(lower=0)
    return X, table.y.iloc[chosen].reset_index(drop=True)


def timed(table: Table, rows: int, grouping: str) -> dict[str, Any]:
    """Measure the seconds of a sort, of the release and of pruning: medians of three after a warm-up."""
    X, y = drawn(table, rows)
    codes = np.array([pd.factorize(X[name], sort=True)[0] for name in X.columns])
    sort = seconds(lambda: np.lexsort(codes), repeat=3)
    release_seconds = seconds(lambda: release_of(table, X, y, L, 0, grouping), repeat=3)
    release = release_of(table, X, y, L, 0, grouping).release_
    pruned = seconds(lambda: md.anatomy.training_data(release, "pruned", random_state=0), repeat=3)
    return {
        "lexsort": sort,
        "release": release_seconds,
        "pruning": pruned,
        "times_lexsort": (release_seconds + pruned) / sort,
        "l": release.l,
        "left_out": release.suppressed,
        "peak_memory_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "table_gib": codes.nbytes / 2**30,
    }


def measured(sizes: tuple[int, ...] = ROWS) -> dict[str, Any]:
    """Run both ways of making groups on both sizes."""
    table, found = adult(), {}
    for grouping in ("bucketize", "random"):
        own = {str(rows): timed(table, rows, grouping) for rows in sizes}
        few, many = own.values()
        cost = {key: each["release"] + each["pruning"] for key, each in (("few", few), ("many", many))}
        ratio, tenfold = many["times_lexsort"], cost["many"] / cost["few"]
        aims = [
            target(f"{grouping}, {sizes[-1]:,} records: {ratio:.1f} × one lexsort (at most {MOST:g})", ratio <= MOST),
            target(
                f"{grouping}: tenfold rows cost {tenfold:.1f} × (at most {MOST_TENFOLD:g})", tenfold <= MOST_TENFOLD
            ),
        ]
        found[grouping] = {"by_rows": own, "tenfold": tenfold, "targets": aims}
    return {"l": L, "attributes": table.X.shape[1], "sensitive": table.sensitive, "groupings": found}


def quick() -> dict[str, float]:
    """Run one way of making groups on the smaller table."""
    own = timed(adult(), ROWS[0], "bucketize")
    path = f"groupings.bucketize.by_rows.{ROWS[0]}"
    return {f"{path}.left_out": own["left_out"], f"{path}.times_lexsort": Speed(own["times_lexsort"])}


if __name__ == "__main__":
    if ASKED.tiny:
        measured(TINY_ROWS)
    else:
        write(NAME, measured())
