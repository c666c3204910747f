"""The minimizer of ai-privacy-toolkit 0.2.1 (Goldsteen et al. 2021) and ours, on Adult.

    OMP_NUM_THREADS=1 python benchmarks/peers/against_ai_privacy_toolkit.py

A random forest is fitted to 10,000 records; each minimizer learns from n others and may change one prediction in
twenty; 10,000 more are held out. Both see the same records and the same forest, fitted twice from the same seed; the
figures say how often the two copies agree. NCP is modicum's measure, computed from the ranges of each.

The toolkit prunes level by level and so keeps more than its target. modicum runs twice: with the same target, and with
a target half a percentage point above what the toolkit kept, so that NCP is compared at no less agreement.

The toolkit needs numpy 1 and scikit-learn 1.3, so a second Python runs it (`peers/workers/minimize.py`). A stub
replaces PyTorch, which the minimizer imports but never calls.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, read_options, seconds, write

read_options(__name__, __doc__)

import numpy as np
import pandas as pd
from peers.environments import TOOLKIT, ask
from sklearn.ensemble import RandomForestClassifier

import modicum as md
from modicum.datasets import load_adult
from modicum.generalization.bins import AnyPartition, FullDetail, Intervals
from modicum.generalization.build import intervals

SIZES = (5_000, 10_000, 20_000)
TARGET, MORE = 0.95, 0.005
ROWS = 10_000  # to fit the forest, and as many held out


def adult_ordinals(n_fit: int, seed: int) -> dict[str, np.ndarray]:
    """Return Adult as numbers, in three disjoint parts: for the forest, for the minimizer, and held out.

    Parameters
    ----------
    n_fit : int
        Records for the minimizer, at most 28,842.
    seed : int
        Seed of the split and of the forest.

    Returns
    -------
    dict
        `model_X`, `model_y`, `fit_X`, `held_X`, `names` and `seed`.
    """
    data = load_adult()
    X, y = ordinals(data.X, list(data.schema["education"].domain)), (data.y == ">50K").to_numpy(int)
    if n_fit > len(X) - 2 * ROWS:
        raise ValueError(f"n_fit must be at most {len(X) - 2 * ROWS}. Got {n_fit} instead.")
    order = np.random.default_rng(seed).permutation(len(X))
    model, fit, held, _ = np.split(order, np.cumsum([ROWS, n_fit, ROWS]))
    values = X.to_numpy(float)
    return {
        "model_X": values[model],
        "model_y": y[model],
        "fit_X": values[fit],
        "held_X": values[held],
        "names": np.array(X.columns, dtype=str),
        "seed": np.array(seed),
    }


def ordinals(X: pd.DataFrame, education: list[str]) -> pd.DataFrame:
    """Keep numbers, and code education from 1 to 16 and other categories by sorted name, with missing last."""
    coded = {}
    for name, values in X.items():
        if name == "education":
            coded["education-num"] = pd.Categorical(values, categories=education).codes + 1
        else:
            coded[name] = values if pd.api.types.is_numeric_dtype(values) else sorted_codes(values)
    return pd.DataFrame(coded)


def sorted_codes(values: pd.Series) -> np.ndarray:
    known = sorted(values.dropna().unique())
    codes = pd.Categorical(values, categories=known).codes
    return np.where(codes < 0, len(known), codes)


def run_peer(arrays: dict[str, np.ndarray]) -> dict:
    """Return the results of `benchmarks/peers/workers/minimize.py`, with the toolkit's output under `log`.

    Parameters
    ----------
    arrays : dict
        The arrays of `adult_ordinals`, and `target`: the share of predictions to keep.
    """
    answer = ask(TOOLKIT, "minimize.py", arrays)
    return answer.found | {"log": answer.log}


def ours(arrays: dict[str, np.ndarray], target: float) -> dict:
    """Return ModelGuided's results for the same forest and the same records, timed after a warm-up that compiles."""
    forest = RandomForestClassifier(n_estimators=50, max_leaf_nodes=64, random_state=int(arrays["seed"]))
    forest.fit(arrays["model_X"], arrays["model_y"])
    found: list[md.ModelGuided] = []

    def fit() -> None:
        found.append(md.ModelGuided(forest, target_agreement=target, progress=False).fit(arrays["fit_X"]))

    taken, guided, held = seconds(fit, repeat=5), found[-1], arrays["held_X"]
    predictions = forest.predict(held)
    transformed = seconds(lambda: guided.feed(held), repeat=3)
    in_cells = forest.predict(guided.cells_.transform(held, output="values"))
    ranges = dict(zip(arrays["names"], (edges(p) for p in guided.generalization_.partitions), strict=True))
    return {
        "target": target,
        "seconds": taken,
        "transform_seconds": transformed,
        "agreement": float((forest.predict(guided.feed(held)) == predictions).mean()),
        "ncp": ncp_of(ranges, arrays),
        "cells": guided.cells_.n_cells,
        "cells_agreement": float((in_cells == predictions).mean()),
        "cells_ncp": md.measures.ncp(guided.cells_, held).gcp,
        "predictions": predictions.tolist(),
    }


def edges(partition: AnyPartition) -> list[float] | None:
    """Return the split points of a partition; None if it does not generalize."""
    if isinstance(partition, FullDetail):
        return None
    return partition.edges.tolist() if isinstance(partition, Intervals) else []


def ncp_of(ranges: dict[str, list[float] | None], arrays: dict[str, np.ndarray]) -> float:
    """Compute modicum's NCP of ranges given by split points, on the held-out records; None is full detail."""
    whole = [md.Attribute(name=str(name), kind="number", storage="integer") for name in arrays["names"]]
    schema = md.Schema(attributes=whole)
    parts = [
        FullDetail(attribute=a) if ranges[a.name] is None else intervals(a, sorted(set(ranges[a.name]))) for a in whole
    ]
    return md.measures.ncp(md.Generalization(schema, parts), pd.DataFrame(arrays["held_X"], columns=schema.names)).gcp


def peer_ranges(found: dict, names: np.ndarray) -> dict[str, list[float] | None]:
    """Return the toolkit's ranges: the split points of each feature; None for untouched features."""
    ranges, untouched = found["generalizations"]["ranges"], found["generalizations"]["untouched"]
    return {str(name): None if name in untouched else ranges.get(str(name), []) for name in names}


def compared(n: int) -> dict:
    """Run both on n records."""
    arrays = adult_ordinals(n, seed=0) | {"target": np.array(TARGET)}
    peer = run_peer(arrays)
    peer["ncp"] = ncp_of(peer_ranges(peer, arrays["names"]), arrays)
    same, matched = ours(arrays, TARGET), ours(arrays, peer["agreement"] + MORE)
    forests = float((np.array(same.pop("predictions")) == np.array(peer["predictions"])).mean())
    del matched["predictions"]
    return {
        "rows": n,
        "toolkit": {k: peer[k] for k in ("seconds", "transform_seconds", "agreement", "ncp", "cells")},
        "same_target": same,
        "as_much_kept": matched,
        "times_faster": peer["seconds"] / same["seconds"],
        "forests_agree": forests,
        "versions": peer["versions"],
    }


def main() -> None:
    figures = []
    print("     n                      fit, seconds  agreement    NCP")
    for n in SIZES:
        found = compared(n)
        figures.append(found)
        toolkit, matched = found["toolkit"], found["as_much_kept"]
        for name in ("toolkit", "same_target", "as_much_kept"):
            own = found[name]
            print(f"{n:6,}  {name:18}  {own['seconds']:12.2f}  {own['agreement']:9.4f}  {own['ncp']:5.3f}", flush=True)
        better = matched["agreement"] >= toolkit["agreement"] and matched["ncp"] > toolkit["ncp"]
        print(
            f"{'':8}{found['times_faster']:.0f} times faster (target 50: {verdict(found['times_faster'] >= 50)}); ",
            end="",
        )
        print(f"no less agreement and more NCP: {verdict(better)}", flush=True)
    write("against_ai_privacy_toolkit", {"target": TARGET, "runs": figures})


def table(figures: dict) -> str:
    """Make the table of the figures for docs/model-guided.md."""
    lines = ["| records | | seconds | agreement | NCP |", "|---|---|---|---|---|"]
    names = {
        "toolkit": "ai-privacy-toolkit 0.2.1",
        "same_target": "modicum, the same target",
        "as_much_kept": "modicum, asked to keep more than the toolkit kept",
    }
    for run in figures["runs"]:
        for key, name in names.items():
            own = run[key]
            faster = "" if key == "toolkit" else f" ({run['toolkit']['seconds'] / own['seconds']:.0f} times faster)"
            row = [
                f"{run['rows']:,}",
                name,
                f"{own['seconds']:.2f}{faster}",
                f"{own['agreement']:.4f}",
                f"{own['ncp']:.3f}",
            ]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def verdict(reached: bool) -> str:
    return "ok" if reached else "MISSED"


def quick() -> dict[str, float]:
    """Run modicum on the fewest records."""
    own = ours(adult_ordinals(SIZES[0], seed=0), TARGET)
    same = {f"runs.0.same_target.{name}": own[name] for name in ("agreement", "ncp", "cells")}
    return same | {"runs.0.same_target.seconds": Speed(own["seconds"])}


if __name__ == "__main__":
    main()
