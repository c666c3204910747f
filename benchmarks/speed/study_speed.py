"""The default study of employment, against one boosted-tree fit on all its raw rows.

    python benchmarks/speed/study_speed.py

Five minimizers over their grids, one seed, the front judged, on all cores; nothing is reused from an earlier run.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, judged, read_options, seconds, write

read_options(__name__, __doc__, ("acs/ny2024.parquet",))

import statistics
import time

from data import load_acs
from sklearn.ensemble import HistGradientBoostingClassifier

import modicum as md
from modicum.table.codes import Coder


def study_speed(rounds: int = 3) -> dict:
    data = load_acs("employment")
    raw = Coder.fit(data.X, data.schema).encode(data.X)
    md.study(data.X[:3_000], data.y[:3_000], schema=data.schema, seeds=1, progress=False)  # compiles
    fits, runs = [], []
    for _ in range(rounds):  # alternating, so that a slower machine affects both
        fits.append(seconds(lambda: HistGradientBoostingClassifier().fit(raw, data.y), 3))
        start = time.perf_counter()
        found = md.study(data.X, data.y, schema=data.schema, n_jobs=-1, progress=False)
        runs.append(time.perf_counter() - start)
    ours, baseline = statistics.median(runs), statistics.median(fits)
    ratio = ours / baseline
    table = found.table()
    print(
        f"default study / one boosted-tree fit on {len(raw):,} raw rows, employment: {ours:.1f} s / {baseline:.2f} s = "
        f"{ratio:.1f} {judged(ratio, 40)}; {len(table)} candidates, {int(table.judged.sum())} judged, "
        f"{len(found.limits)} seeds"
    )
    return {
        "rows": len(raw),
        "seconds": ours,
        "all_seconds": runs,
        "boosted_trees_seconds": baseline,
        "all_boosted_trees_seconds": fits,
        "ratio": ratio,
        "target": 40,
        "candidates": len(table),
        "judged": int(table.judged.sum()),
        "seeds": len(found.limits),
        "hypervolume": {name: volume.mean for name, volume in found.hypervolume().items()},
    }


def quick() -> dict[str, float]:
    """Run one study instead of three."""
    found = study_speed(rounds=1)
    same = {"candidates": found["candidates"], "hypervolume.PrivacyTree": found["hypervolume"]["PrivacyTree"]}
    return same | {"ratio": Speed(found["ratio"])}


if __name__ == "__main__":
    write("study_speed", study_speed())
