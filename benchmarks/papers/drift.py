"""Is a generalization still good a year later, or in another state? [Staab24 Appendix H]

    python benchmarks/papers/drift.py

NIST's excerpts of 2018 and 2019 (income), and the American Community Survey of New York and New Jersey (employment). A
PAT generalization of 20 leaves is learned on three tenths of the people in the first table; the rest of them are
compared with everyone in the second.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import read_options, write

read_options(
    __name__,
    __doc__,
    ("nist/national2018.csv.gz", "nist/national2019.csv.gz", "acs/ny2024.parquet", "acs/nj2024.parquet"),
)

import time

import numpy as np
import pandas as pd
from data import load_acs, load_nist

import modicum as md
from modicum.datasets import Dataset
from modicum.evaluation import drift
from modicum.table.splits import split_rows


def compared(then: Dataset, now: Dataset) -> dict:
    frames = [data.X if data.persons is None else pd.concat([data.X, data.persons], axis=1) for data in (then, now)]
    parts = split_rows(then.y, persons=then.persons, validation=0, test=0.3)
    fit, rest = parts.test, np.setdiff1d(np.arange(len(then.X)), parts.test)
    g = md.PrivacyTree(max_leaves=20, schema=then.schema).fit(frames[0].iloc[fit], then.y.iloc[fit]).generalization_
    start = time.perf_counter()
    found = drift(g, frames[0].iloc[rest], then.y.iloc[rest], frames[1], now.y, progress=False)
    took = time.perf_counter() - start
    print(f"{then.name} → {now.name}: {len(rest):,} and {len(now.X):,} records in {took:.1f} s")
    changes = {"error": found.error, "raw error": found.raw_error, "gap": found.gap, "frozen": found.frozen}
    changes |= {"adversary": found.risk.error, "naive": found.risk.naive, "gain": found.risk.gain}
    for name, c in changes.items():
        low, high = c.interval
        moved = f"{c.then:.4f} → {c.now:.4f}, {c.difference:+.4f} ({low:+.4f} to {high:+.4f})"
        print(f"  {name}: {moved}, p = {c.p_value:.2g}")
    print(*(f"  {line}" for line in [found.sentence, *found.notes]), sep="\n")
    return {"then": then.name, "now": now.name, "records": [len(rest), len(now.X)], "seconds": took} | found.to_dict()


def examples() -> list[dict]:
    years = [load_nist(year) for year in (2018, 2019)]
    states = [load_acs("employment", state) for state in ("ny", "nj")]
    return [compared(*years), compared(*states)]


def quick() -> dict[str, float]:
    """Run NIST's two years."""
    own = compared(load_nist(2018), load_nist(2019))
    kinds = {"error": own["error"], "gap": own["gap"], "risk.error": own["risk"]["error"]}
    return {f"0.{name}.difference": change["difference"] for name, change in kinds.items()}


if __name__ == "__main__":
    write("drift", examples())
