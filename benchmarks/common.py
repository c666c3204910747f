"""The common parts of all benchmarks: command line, timing, the machine, and the file of results."""

import argparse
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from loaded_code import hash_loaded

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
ALL = "all"  # the run of a benchmark without sections
_START = time.perf_counter()
_MODULES = {"scikit-learn": "sklearn"}
_ELSEWHERE: dict[str, tuple[str, ...]] = {}  # by benchmark, the packages that its other processes load
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "polars", "narwhals", "numba", "duckdb")

os.environ.setdefault("MODICUM_DATA", str(ROOT.parent / "shared" / "data"))


class Speed(float):
    """A time among the figures of a `quick()`: it agrees with the stored one within a factor."""

    factor = 2.0


def read_options(
    module: str,
    about: str,
    reads: Sequence[str] = (),
    sections: bool = False,
    flags: Mapping[str, str] | None = None,
    elsewhere: Sequence[str] = (),
) -> argparse.Namespace:
    """Read a benchmark's command line; return the defaults if the module is imported.

    Call it before the slow imports, so that `--help` answers at once with what is measured, read and written, and how
    long that took.

    Parameters
    ----------
    module : str
        The benchmark's `__name__`.
    about : str
        Its docstring.
    reads : sequence of str
        Files in the folder that MODICUM_DATA names.
    sections : bool
        Whether sections can be run alone, see `run_sections`.
    flags : mapping of str to str
        Options with their help; an option that takes a value ends with "=".
    elsewhere : sequence of str
        Packages and modules that other processes load for the benchmark; its result depends on them too.
    """
    is_run = module == "__main__"
    _ELSEWHERE[Path(sys.argv[0]).stem if is_run else module.rpartition(".")[2]] = tuple(elsewhere)
    parser = argparse.ArgumentParser(
        description=about,
        epilog=_describe(Path(sys.argv[0]).stem, reads) if is_run else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if sections:
        parser.add_argument("sections", nargs="*", metavar="section", help="run only these sections")
    for flag, text in (flags or {}).items():
        parser.add_argument(flag.rstrip("="), help=text, **({} if flag.endswith("=") else {"action": "store_true"}))
    return parser.parse_args(None if is_run else [])


def list_elsewhere(name: str) -> tuple[str, ...]:
    """List the packages that a benchmark's other processes load."""
    return _ELSEWHERE.get(name, ())


def _describe(name: str, reads: Sequence[str]) -> str:
    """Describe what a benchmark reads and writes, and how long each part took in the last run."""
    path = RESULTS / f"{name}.json"
    times = _read_times(json.loads(path.read_text())) if path.exists() else {}
    took = ", ".join(f"{part} {taken:,.0f} s" for part, taken in times.items()) or "not recorded"
    return (
        f"reads:  {', '.join(reads) or 'only the embedded data'}{' of the folder MODICUM_DATA' if reads else ''}\n"
        f"writes: benchmarks/results/{name}.json; then benchmarks/claims/check.py --write renews the pages\n"
        f"took:   {took}"
    )


def _read_times(result: dict[str, Any]) -> dict[str, float]:
    """Return the recorded seconds of each part; for an older result those of its sections."""
    if "runs" in result:
        return {part: run["seconds"] for part, run in result["runs"].items()}
    figures = result["figures"] if isinstance(result["figures"], dict) else {}
    return {part: own["seconds"] for part, own in figures.items() if isinstance(own, dict) and "machine" in own
            and isinstance(own.get("seconds"), float)}  # fmt: skip


def seconds(run: Callable[[], Any], repeat: int = 5) -> float:
    """Return the median time of a call, after one warm-up call (compilation, caches)."""
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def machine() -> dict[str, Any]:
    """Return the machine and the versions with which the figures are measured."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {
            name: importlib.metadata.version(name) for name in _PACKAGES if find_spec(_MODULES.get(name, name))
        },
        "commit": commit(),
    }


def commit() -> str:
    """Return the commit of this checkout; for a copy without history, MODICUM_COMMIT names it."""
    if named := os.environ.get("MODICUM_COMMIT"):
        return named
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def write(name: str, figures: Any, parts: Sequence[str] = (ALL,), start: float = _START) -> None:
    """Write figures to results/NAME.json with their machine; for the new parts also their time and code."""
    path = RESULTS / f"{name}.json"
    known = json.loads(path.read_text()) if ALL not in parts and path.exists() else {}
    run = {"commit": commit(), "seconds": round(time.perf_counter() - start, 1)}
    run["code"] = hash_loaded(list_elsewhere(name))
    runs = known.get("runs", {}) | dict.fromkeys(parts, run)
    write_result(name, known | {"machine": machine(), "figures": figures, "runs": runs})


def write_result(name: str, result: dict[str, Any]) -> None:
    """Write a file of results."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def figures_of(name: str) -> Any:
    """Return the figures written last; an empty dict if there are none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text())["figures"] if path.exists() else {}


def run_sections(
    name: str,
    sections: Mapping[str, Callable[[], dict]],
    asked: argparse.Namespace,
    join: Callable[[dict, dict], dict] | None = None,
    complete: Callable[[dict], dict] | None = None,
) -> None:
    """Run the requested sections, or all; write each when it is finished, with its commit.

    `join` combines a section's earlier and new figures, if only a part was measured again; `complete` adds derived
    figures.
    """
    if unknown := set(asked.sections) - sections.keys():
        raise SystemExit(f"There is no section {', '.join(sorted(unknown))}; there are {', '.join(sections)}.")
    found = figures_of(name) if asked.sections or join else {}
    for section in asked.sections or sections:
        here, start = machine(), time.perf_counter()
        where = {key: here[key] for key in ("commit", "cpu", "cores")}
        # The seconds of a resumed section cover only its last run.
        new = sections[section]() | {"machine": where, "resumed": getattr(asked, "resume", False)}
        found[section] = join(found[section], new) if join else new
        write(name, complete(found) if complete else found, [section], start)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Return rows of cells as a Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def judged(value: float, target: float) -> str:
    """Say whether a target is met: 'ok' or 'MISSED'."""
    return f"(target ≤ {target:g}: {'ok' if value <= target else 'MISSED'})"
