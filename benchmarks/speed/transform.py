"""`transform_codes` on ten million coded rows against numpy's gather, and `modicum apply`'s memory as a file grows.

python benchmarks/speed/transform.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import Speed, judged, read_options, seconds, write

read_options(
    __name__,
    __doc__,
    ("acs/ny2024.parquet",),
    elsewhere=(
        "modicum.cli.main",
        "modicum.cli.commands.apply",
        "modicum.engines",
        "modicum.generalization",
        "modicum.table",
    ),
)

import subprocess
import tempfile

import numpy as np
from data import load_acs

import modicum as md

ROWS = 10_000_000
SMALL, LARGE = 500_000, 5_000_000


def coded() -> dict:
    data = load_acs("employment")
    pat = md.PrivacyTree(max_leaves=20, schema=data.schema).fit(data.X, data.y)
    g, coder = pat.generalization_, pat.coder_
    codes = coder.encode(data.X)[np.random.default_rng(0).integers(0, len(data.X), ROWS)]
    table = np.arange(max(coder.sizes), dtype=np.uint16)
    ours = seconds(lambda: g.transform_codes(codes, coder), 3)
    gather = seconds(lambda: table[codes], 3)
    print(
        f"transform / numpy's gather, {ROWS:,} coded rows × {codes.shape[1]}: {ours:.2f} s / {gather:.2f} s = "
        f"{ours / gather:.2f} {judged(ours / gather, 3)}"
    )
    return {"rows": ROWS, "attributes": codes.shape[1], "seconds": ours, "gather_seconds": gather, "target": 3}


def streamed() -> dict:
    """Measure the command's peak memory on a small file and on one ten times larger."""
    data = load_acs("employment")
    g = md.PrivacyTree(max_leaves=20, schema=data.schema).fit(data.X, data.y).generalization_
    with tempfile.TemporaryDirectory() as folder:
        g.save(Path(folder) / "g.json")
        peaks = {n: _peak(Path(folder), data.X.sample(n, replace=True, random_state=0)) for n in (SMALL, LARGE)}
    ratio = peaks[LARGE] / peaks[SMALL]
    print(
        f"apply's peak memory, {LARGE:,} rows / {SMALL:,} rows (CSV to Parquet): {peaks[LARGE] / 1e6:.0f} MB / "
        f"{peaks[SMALL] / 1e6:.0f} MB = {ratio:.2f} {judged(ratio, 2)}"
    )
    return {"rows": [SMALL, LARGE], "peak_bytes": [peaks[SMALL], peaks[LARGE]], "ratio": ratio, "target": 2}


def _peak(folder: Path, table) -> int:
    table.to_csv(folder / "t.csv", index=False)
    command = f"""
import resource, sys
sys.argv = ["modicum", "apply", "{folder}/g.json", "{folder}/t.csv", "-o", "{folder}/z.parquet"]
from modicum.cli.main import app
app(standalone_mode=False)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    result = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=True)
    return int(result.stdout.split()[-1]) * (1024 if sys.platform == "linux" else 1)


def quick() -> dict[str, float]:
    return {"coded.seconds": Speed(coded()["seconds"])}


if __name__ == "__main__":
    write("transform", {"coded": coded(), "apply": streamed()})
