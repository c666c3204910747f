"""What a sweep of a neural minimizer takes: nine values of `privacy` trained side by side, on a CPU and on a GPU.

    python benchmarks/speed/neural.py

Employment, 60% of the rows, the grids of the study. A GPU where there is one; figures of a device that is not here are
kept as they were measured last.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import machine, read_options, run_sections

ASKED = read_options(__name__, __doc__, ("acs/ny2024.parquet",), sections=True)

import time
from functools import partial

import torch
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


SECTIONS = {
    device: partial(sweeps, device) for device in ("cpu", "cuda") if device == "cpu" or torch.cuda.is_available()
}

if __name__ == "__main__":
    run_sections("neural", SECTIONS, ASKED)
