"""PAT's growth against scikit-learn's tree on the same codes: time as a ratio, memory relative to the coded table.

    python benchmarks/speed/pat.py

Both grow best-first to the same number of leaves with at least 100 records each. PAT does more: it evaluates every
split for all personal attributes, and splits categories by sets of values. Neither time includes coding the table.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, judged, read_options, seconds, write

read_options(__name__, __doc__, ("acs/ny2024.parquet", "loan/lending_club.csv.gz", "health/health.csv.zip"))

import tracemalloc

from data import load_acs, load_health, load_loan
from sklearn.tree import DecisionTreeClassifier

import modicum as md
from modicum.minimizers.base import CodedData

TARGETS = {"employment": (0.5, 1.0), "income": (1.0, 1.5), "loan": (1.5, 3.0), "health": (1.5, 2.0)}
SIZES = (2, 4, 6, 8, 10, 20, 50, 100, 200)  # [Staab24 Appendix F]
PRIVACY = [i / 11 for i in range(12)]


def load(name: str) -> md.datasets.Dataset:
    if name in ("employment", "income"):
        return load_acs(name)
    return load_loan() if name == "loan" else load_health(one_hot=True)


def coded(data: md.datasets.Dataset) -> CodedData:
    return md.PrivacyTree(schema=data.schema)._encode_data(data.X, data.y, None)


def grow(data: CodedData, max_leaves: int, privacy: float = 0.5) -> md.PrivacyTree:
    """Do the steps of `fit` after coding."""
    pat = md.PrivacyTree(max_leaves=max_leaves, privacy=privacy)
    pat._partitions(data)
    return pat


def against_sklearn() -> list[dict]:
    figures = []
    for name, targets in TARGETS.items():
        data = coded(load(name))
        figures += [compare(name, data, *each) for each in zip((20, 200), targets, strict=True)]
    return figures


def compare(name: str, data: CodedData, leaves: int, target: float) -> dict:
    table = data.codes.nbytes
    plain = DecisionTreeClassifier(max_leaf_nodes=leaves, min_samples_leaf=100)
    ours = seconds(lambda: grow(data, leaves), 3)
    theirs = seconds(lambda: plain.fit(data.codes, data.label), 3)
    peak = peak_memory(data, leaves)
    print(
        f"PAT / sklearn tree, {name} {data.codes.shape[0]:,} × {data.codes.shape[1]}, {leaves} leaves: "
        f"{ours:.3f} s / {theirs:.3f} s = {ours / theirs:.2f} {judged(ours / theirs, target)}; "
        f"peak memory {peak / table:.1f} × the coded table ({table / 1e6:.1f} MB)"
    )
    return {
        "task": name,
        "rows": data.codes.shape[0],
        "attributes": data.codes.shape[1],
        "leaves": leaves,
        "seconds": ours,
        "sklearn_seconds": theirs,
        "ratio": ours / theirs,
        "target": target,
        "peak_bytes": peak,
        "table_bytes": table,
    }


def peak_memory(data: CodedData, leaves: int) -> int:
    tracemalloc.start()
    grow(data, leaves)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def sweep() -> dict:
    """Compare 108 generalizations [Staab24 Appendix F] from twelve growths with one 200-leaf tree."""
    data = coded(load("employment"))
    one = seconds(lambda: grow(data, 200), 3)
    grown = []

    def all_of_them() -> None:
        grown.clear()
        for privacy in PRIVACY:
            grown.extend(grow(data, 200, privacy).path(SIZES))

    whole, count = seconds(all_of_them, 3), len(grown)
    print(
        f"{count} generalizations / one 200-leaf tree, employment: {whole:.2f} s / {one:.3f} s = {whole / one:.1f} "
        f"{judged(whole / one, 15)}"
    )
    return {
        "generalizations": count,
        "seconds": whole,
        "one_tree_seconds": one,
        "ratio": whole / one,
        "target": 15,
    }


def quick() -> dict[str, float]:
    """Run employment with 20 leaves."""
    found = compare("employment", coded(load("employment")), 20, TARGETS["employment"][0])
    return {"against_sklearn.0.rows": found["rows"], "against_sklearn.0.ratio": Speed(found["ratio"])}


if __name__ == "__main__":
    write("pat", {"against_sklearn": against_sklearn(), "sweep": sweep()})
