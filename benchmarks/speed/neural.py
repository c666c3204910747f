"""What a sweep of a neural minimizer takes: nine values of `privacy` trained side by side, on a CPU and on a GPU.

    python benchmarks/speed/neural.py

Employment, 60% of the rows, the grids of the study. A GPU where there is one; figures of a device that is not here are
kept as they were measured last.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import json
import os
import time

import torch
from common import RESULTS, machine, write
from data import load_acs

import modicum as md
from modicum.evaluation.study.grids import GRIDS, NEURAL
from modicum.table.splits import split_rows


def sweeps(device: str) -> dict:
    data = load_acs("employment")
    rows = split_rows(data.y).train
    X, y = data.X.iloc[rows], data.y.iloc[rows]
    found = {
        "device": torch.cuda.get_device_name() if device == "cuda" else machine()["cpu"],
        "torch": torch.__version__,
    }
    for name in NEURAL:
        method = getattr(md, name)(schema=data.schema, device=device, progress=False)
        privacy = GRIDS[name]["privacy"]
        method.fit_path(X[:2_000], y[:2_000], privacy[:1])  # kernels are loaded
        seconds = {}
        for values in (privacy[:1], privacy):
            start = time.perf_counter()
            method.fit_path(X, y, values)
            seconds[f"{len(values)} of privacy"] = time.perf_counter() - start
        found[name] = seconds
        print(f"{name} on {found['device']}: {', '.join(f'{k} {v:.1f} s' for k, v in seconds.items())}", flush=True)
    return found


def neural() -> dict:
    path = RESULTS / "neural.json"
    known = json.loads(path.read_text())["figures"] if path.exists() else {}
    devices = ["cpu"] if not torch.cuda.is_available() else os.environ.get("DEVICES", "cpu,cuda").split(",")
    return known | {device: sweeps(device) for device in devices}


if __name__ == "__main__":
    write("neural", neural())
