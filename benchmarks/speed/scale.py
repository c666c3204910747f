"""Fit, apply and A8 where the data lives: 1, 10 and 100 million records in DuckDB, and the same 10 million in Spark.

    python benchmarks/speed/scale.py

Every step runs three times, each in its own process; the median counts. `apply` is compared with a plain SELECT of the
same columns, written to Parquet by the same engine in the same run. Targets: at most 4 GB of memory at 100 million;
apply at most twice the SELECT; at 100 million at most 11 times the seconds of 10 million; Spark finds the same.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, Speed, figures_of, machine, read_options, run_sections

ASKED = read_options(
    __name__,
    __doc__,
    ("acs/ny2024.parquet",),
    sections=True,
    flags={"--steps=": "measure these steps again (fit, apply, select, a8), separated by commas; keep the others"},
    elsewhere=(
        "speed.scale_step",
        "modicum.engines",
        "modicum.generalization",
        "modicum.table",
        "modicum.trees",
        "modicum.minimizers",
        "modicum.attacks.singling_out",
    ),
)

import json
import shutil
import statistics
import subprocess

from speed.scale_data import FOLDER, people
from targets import target

SIZES = (1_000_000, 10_000_000, 100_000_000)
STEPS = ("fit", "apply", "select", "a8")
REPEAT = 3
MOST_BYTES, MOST_OF_SELECT, MOST_TIMES = 4e9, 2.0, 11.0
CORES = 2  # for each engine
BILLIONS, CLUSTER = 10_000_000_000, 400  # rows and cores of the extrapolation
NAMES = {
    "fit": "fit PAT (20 leaves) from counts",
    "apply": "apply, Parquet to Parquet",
    "select": "a plain SELECT of the same columns",
    "a8": "A8 (who is alone)",
}
ARTIFACT = FOLDER / "artifact.json"
ANEW = ASKED.steps.split(",") if ASKED.steps else []
KNOWN = figures_of("scale") if ANEW else {}  # figures of the other steps, read before any is written


def step(name: str, engine: str, rows: int, repeat: int = REPEAT) -> dict:
    """Return the median seconds and the highest peak memory of one step, and its result."""
    runs = [_once(name, engine, rows) for _ in range(repeat)]
    found = {
        "commit": machine()["commit"],
        "seconds": statistics.median(run["seconds"] for run in runs),
        "all_seconds": [run["seconds"] for run in runs],
        "peak_bytes": max(run["peak_bytes"] for run in runs),
        "found": runs[0]["found"],
    }
    if any(run["found"] != found["found"] for run in runs):
        raise SystemExit(f"{name} on {engine} does not find the same every time.")
    peak = f", peak {found['peak_bytes'] / 1e9:.2f} GB" if engine == "duckdb" else ""
    print(f"{engine} {rows:>11,} rows  {name:6} {found['seconds']:8.2f} s{peak}", flush=True)
    return found


def _once(name: str, engine: str, rows: int) -> dict:
    out = FOLDER / ("artifact.json" if name == "fit" else "out.parquet")
    _remove(out)
    script = Path(__file__).with_name("scale_step.py")
    command = [sys.executable, str(script), name, engine, str(people(rows)), str(ARTIFACT), str(out)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if result.returncode:
        raise SystemExit(f"{name} on {engine} failed:\n{result.stderr[-3000:]}")
    _remove(FOLDER / "out.parquet")
    return json.loads(result.stdout.splitlines()[-1])


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def duckdb() -> dict:
    known = KNOWN["duckdb"]["rows"] if ANEW else {}
    found = {
        str(rows): {
            name: known[str(rows)][name] if ANEW and name not in ANEW else step(name, "duckdb", rows) for name in STEPS
        }
        for rows in SIZES
    }
    most, tenth = str(SIZES[-1]), str(SIZES[-2])
    peaks = {name: found[most][name]["peak_bytes"] for name in STEPS}
    ratios = {rows: of["apply"]["seconds"] / of["select"]["seconds"] for rows, of in found.items()}
    times = {name: found[most][name]["seconds"] / found[tenth][name]["seconds"] for name in STEPS}
    highest = max(peaks, key=lambda name: peaks[name])
    slowest = max((name for name in STEPS if name != "select"), key=lambda name: times[name])
    worst = max(ratios, key=lambda rows: ratios[rows])
    targets = [
        target(
            f"peak memory at {SIZES[-1]:,} rows {peaks[highest] / 1e9:.2f} GB ({highest}; target ≤ 4 GB)",
            peaks[highest] <= MOST_BYTES,
        ),
        target(
            f"apply takes {ratios[worst]:.2f} times the SELECT at {int(worst):,} rows (target ≤ {MOST_OF_SELECT:g})",
            ratios[worst] <= MOST_OF_SELECT,
        ),
        target(
            f"ten times the rows take {times[slowest]:.1f} times the seconds ({slowest}; target ≤ {MOST_TIMES:g})",
            times[slowest] <= MOST_TIMES,
        ),
    ]
    return {"rows": found, "apply_by_select": ratios, "hundred_by_ten": times, "targets": targets}


def spark() -> dict:
    """Run the same steps in a local Spark session with two workers, and compare their results."""
    rows = SIZES[-2]
    known = KNOWN["spark"] if ANEW else {}
    found, same = {}, []
    for name, old in zip(STEPS, known.get("targets", STEPS), strict=True):
        if ANEW and name not in ANEW:
            found[name] = known["steps"][name]
            same.append(old)
            continue
        found[name] = step(name, "spark", rows, repeat=1)
        single = step(name, "duckdb", rows, repeat=1)
        found[name]["duckdb_seconds"] = single["seconds"]
        same.append(target(f"{name} finds in Spark what it finds in DuckDB", found[name]["found"] == single["found"]))
    return {"rows": rows, "steps": found, "targets": same}


def speed(figures: dict) -> str:
    """Make the table of seconds by rows, with the peak memory."""
    lines = [
        "| step | 1 million | 10 million | 100 million | peak memory at 100 million | 10 million in Spark |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    by_rows = figures["duckdb"]["rows"]
    for name in STEPS:
        own = [f"{by_rows[str(rows)][name]['seconds']:.1f} s" for rows in SIZES]
        peak = by_rows[str(SIZES[-1])][name]["peak_bytes"] / 1e9
        in_spark = figures["spark"]["steps"][name]["seconds"]
        lines.append(f"| {NAMES[name]} | {' | '.join(own)} | {peak:.1f} GB | {in_spark:.1f} s |")
    return "\n".join(lines)


def cost(figures: dict) -> str:
    """Make the table of microseconds per row and core, extrapolated to very many rows and cores."""
    lines = [
        "| step | DuckDB, µs a row and core | Spark, µs a row and core | ten billion rows, 400 cores of Spark |",
        "|---|---:|---:|---:|",
    ]
    own, there = figures["duckdb"]["rows"][str(SIZES[-1])], figures["spark"]
    for name in STEPS:
        here = own[name]["seconds"] * CORES / SIZES[-1] * 1e6
        spark = there["steps"][name]["seconds"] * CORES / there["rows"] * 1e6
        minutes = spark / 1e6 * BILLIONS / CLUSTER / 60
        lines.append(f"| {NAMES[name]} | {here:.2f} | {spark:.2f} | {minutes:.1f} minutes |")
    return "\n".join(lines)


def quick() -> dict[str, float]:
    """Run each step once on the smallest table."""
    found = {name: step(name, "duckdb", SIZES[0], repeat=1) for name in STEPS}
    path = f"duckdb.rows.{SIZES[0]}"
    same = {f"{path}.fit.found.{name}": found["fit"]["found"][name] for name in ("leaves", "buckets")}
    same[f"{path}.a8.found.unique"] = found["a8"]["found"]["unique"]
    return same | {f"{path}.{name}.seconds": Speed(found[name]["seconds"]) for name in STEPS}


if __name__ == "__main__":
    run_sections("scale", {"duckdb": duckdb, "spark": spark}, ASKED)
