"""All adversaries on one generalization, against one boosted-tree fit on all raw rows.

    python benchmarks/speed/suite.py

Employment, a PAT generalization of 20 leaves, without PyTorch; 60% of the rows are known, 30% breached.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, judged, read_options, seconds, write

read_options(__name__, __doc__, ("acs/ny2024.parquet",))

import statistics

from data import load_acs
from sklearn.ensemble import HistGradientBoostingClassifier

import modicum as md
from modicum.table.codes import Coder
from modicum.table.splits import split_rows


def suite(rounds: int = 4) -> dict:
    data = load_acs("employment")
    parts = split_rows(data.y)
    known, breached = data.X.iloc[parts.train], data.X.iloc[parts.test]
    g = md.PrivacyTree(max_leaves=20, schema=data.schema).fit(known, data.y.iloc[parts.train]).generalization_
    raw = Coder.fit(data.X, data.schema).encode(data.X)
    fits, runs = [], []
    for _ in range(rounds):  # alternating, so that a slower machine affects both; the first suite compiles
        fits.append(seconds(lambda: HistGradientBoostingClassifier().fit(raw, data.y), 3))
        found = md.attacks.suite(g, known, breached, population=20_000_000, n_jobs=-1, progress=False)
        runs.append(found.seconds)
    ours, baseline = statistics.median(runs[1:]), statistics.median(fits)
    ratio = ours / baseline
    print(
        f"all adversaries / one boosted-tree fit on {len(raw):,} raw rows, employment: {ours:.1f} s / "
        f"{baseline:.2f} s = {ratio:.1f} {judged(ratio, 20)}"
    )
    for name, result in found.reconstruction.items():
        print(f"  {name}: error {result.error:.4f}, naive {result.naive:.4f}, most about {result.worst}")
    return {
        "rows": len(raw),
        "breached": len(breached),
        "seconds": ours,
        "all_seconds": runs,
        "all_boosted_trees_seconds": fits,
        "boosted_trees_seconds": baseline,
        "ratio": ratio,
        "target": 20,
        "errors": {name: result.error for name, result in found.reconstruction.items()},
        "naive": found.reconstruction["A1"].naive,
        "confident": {f"{level.percent:g}%": level.error for level in found.confident},
        "linked": found.linkability.linked,
        "linked_at_random": 1 - found.linkability.naive,
        "not_alone": found.singling_out.error,
        "certified_mean_error": {name: 1 - c.mean for name, c in found.certificates.items()},
        "vacuous": {name: c.vacuous for name, c in found.certificates.items()},
    }


def quick() -> dict[str, float]:
    """Run one round after the round that compiles."""
    found = suite(rounds=2)
    return {f"errors.{name}": error for name, error in found["errors"].items()} | {"ratio": Speed(found["ratio"])}


if __name__ == "__main__":
    write("suite", suite())
