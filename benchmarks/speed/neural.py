"""Time for a sweep of a neural minimizer: nine values of `privacy` trained together, on a CPU and on a GPU.

    python benchmarks/speed/neural.py

Employment, 60% of the rows, the grids of the study. Uses a GPU if there is one; the stored figures of an absent device
stay.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, machine, read_options, run_sections

ASKED = read_options(__name__, __doc__, ("acs/ny2024.parquet",), sections=True)

import time
from collections.abc import Sequence
from functools import partial

import torch
from data import load_acs

import modicum as md
from modicum.evaluation.study.grids import GRIDS, NEURAL
from modicum.table.splits import split_rows


def sweeps(device: str, names: Sequence[str] = NEURAL, only_one: bool = False) -> dict:
    data = load_acs("employment")
    rows = split_rows(data.y).train
    X, y = data.X.iloc[rows], data.y.iloc[rows]
    here = machine()
    found = {
        "device": torch.cuda.get_device_name() if device == "cuda" else here["cpu"],
        "torch": torch.__version__,
        "measured_on": {"commit": here["commit"], "machine": f"{here['cores']} cores of {here['cpu']}"},
    }
    for name in names:
        method = getattr(md, name)(schema=data.schema, device=device, progress=False)
        privacy = GRIDS[name]["privacy"]
        method.fit_path(X[:2_000], y[:2_000], privacy[:1])  # kernels are loaded
        seconds = {}
        for chosen in (privacy[:1],) if only_one else (privacy[:1], privacy):
            start = time.perf_counter()
            method.fit_path(X, y, chosen)
            seconds[f"{len(chosen)} of privacy"] = time.perf_counter() - start
        found[name] = seconds
        print(f"{name} on {found['device']}: {', '.join(f'{k} {v:.1f} s' for k, v in seconds.items())}", flush=True)
    return found


SECTIONS = {
    device: partial(sweeps, device) for device in ("cpu", "cuda") if device == "cpu" or torch.cuda.is_available()
}


def quick() -> dict[str, float]:
    """Run adversarial training with one value on the CPU."""
    found = sweeps("cpu", ("AdversarialTraining",), only_one=True)
    return {'cpu.AdversarialTraining."1 of privacy"': Speed(found["AdversarialTraining"]["1 of privacy"])}


if __name__ == "__main__":
    run_sections("neural", SECTIONS, ASKED)
