"""A1 with its whole portfolio on every personal attribute, against one boosted-tree fit on all raw rows.

    python benchmarks/speed/attack.py

Employment, a PAT generalization of 20 leaves; 60% of the rows are known, 30% breached. The paper's network also runs
alone on the same rows: the portfolio must not be weaker, except by chance, because it is chosen on other records.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, judged, read_options, seconds, write

read_options(__name__, __doc__, ("acs/ny2024.parquet",))

from data import load_acs
from sklearn.ensemble import HistGradientBoostingClassifier

import modicum as md
from modicum.learners.portfolio import NETWORK
from modicum.table.codes import Coder
from modicum.table.splits import split_rows


def attack() -> dict:
    data = load_acs("employment")
    parts = split_rows(data.y)
    known, breached = data.X.iloc[parts.train], data.X.iloc[parts.test]
    g = md.PrivacyTree(max_leaves=20, schema=data.schema).fit(known, data.y.iloc[parts.train]).generalization_
    raw = Coder.fit(data.X, data.schema).encode(data.X)
    whole = md.attacks.Reconstruction(n_jobs=-1)
    alone = md.attacks.Reconstruction(members=(NETWORK,), n_jobs=-1)
    baseline = seconds(lambda: HistGradientBoostingClassifier().fit(raw, data.y), 3)
    ours = seconds(lambda: whole.run(g, known=known, breached=breached), 3)
    found = whole.run(g, known=known, breached=breached)
    network = alone.run(g, known=known, breached=breached)
    print(
        f"A1, {len(found.by_attribute)} attributes / one boosted-tree fit on {len(raw):,} raw rows, employment: "
        f"{ours:.2f} s / {baseline:.2f} s = {ours / baseline:.2f} {judged(ours / baseline, 3)}"
    )
    print(
        f"A1 error of the portfolio, employment: {found.error:.5f}; the paper's network alone {network.error:.5f} "
        f"({found.error - network.error:+.6f}) {judged(found.error - network.error, 0.0001)}; "
        f"naive guess {found.naive:.5f}"
    )
    return {
        "rows": len(raw),
        "attributes": len(found.by_attribute),
        "distinct_z": g.describe(known).groups,
        "seconds": ours,
        "boosted_trees_seconds": baseline,
        "ratio": ours / baseline,
        "target": 3,
        "error": found.error,
        "network_error": network.error,
        "naive_error": found.naive,
        "chosen": {name: result.method for name, result in found.by_attribute.items()},
    }


def quick() -> dict[str, float]:
    found = attack()
    return {name: found[name] for name in ("error", "network_error", "naive_error")} | {"ratio": Speed(found["ratio"])}


if __name__ == "__main__":
    write("attack", attack())
