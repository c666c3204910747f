"""What every benchmark shares: its command line, timing, the machine, and the file its figures go to."""

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
    """A figure of time among those of a `quick()`: it agrees with the stored one within a factor."""

    factor = 2.0


def read_options(
    module: str,
    about: str,
    reads: Sequence[str] = (),
    sections: bool = False,
    flags: Mapping[str, str] | None = None,
    elsewhere: Sequence[str] = (),
) -> argparse.Namespace:
    """Read a benchmark's command line; of an imported module return the defaults.

    Call it before the slow imports, so that `--help` answers at once: what is measured, read and written, and how long
    that took.

    Parameters
    ----------
    module : str
        The benchmark's `__name__`.
    about : str
        Its docstring.
    reads : sequence of str
        Files of the folder that MODICUM_DATA names.
    sections : bool
        Whether parts of it can be run alone, see `run_sections`.
    flags : mapping of str to str
        Options with their help; one that takes a value ends with "=".
    elsewhere : sequence of str
        Packages and modules that other processes load for it: its result rests on them as well.
    """
    is_run = module == "__main__"
    _ELSEWHERE[Path(sys.argv[0]).stem if is_run else module.rpartition(".")[2]] = tuple(elsewhere)
    parser = argparse.ArgumentParser(
        description=about,
        epilog=_describe(Path(sys.argv[0]).stem, reads) if is_run else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if sections:
        parser.add_argument("sections", nargs="*", metavar="section", help="run these sections alone")
    for flag, text in (flags or {}).items():
        parser.add_argument(flag.rstrip("="), help=text, **({} if flag.endswith("=") else {"action": "store_true"}))
    return parser.parse_args(None if is_run else [])


def list_elsewhere(name: str) -> tuple[str, ...]:
    """The packages that a benchmark's other processes load."""
    return _ELSEWHERE.get(name, ())


def _describe(name: str, reads: Sequence[str]) -> str:
    """What a benchmark reads and writes, and how long each part of it took when last run."""
    path = RESULTS / f"{name}.json"
    times = _read_times(json.loads(path.read_text())) if path.exists() else {}
    took = ", ".join(f"{part} {taken:,.0f} s" for part, taken in times.items()) or "not recorded"
    return (
        f"reads:  {', '.join(reads) or 'the embedded data alone'}{' of the folder MODICUM_DATA' if reads else ''}\n"
        f"writes: benchmarks/results/{name}.json; then benchmarks/claims/check.py --write renews the pages\n"
        f"took:   {took}"
    )


def _read_times(result: dict[str, Any]) -> dict[str, float]:
    """The seconds of each part, as recorded with it; of an older result those that its sections have."""
    if "runs" in result:
        return {part: run["seconds"] for part, run in result["runs"].items()}
    figures = result["figures"] if isinstance(result["figures"], dict) else {}
    return {part: own["seconds"] for part, own in figures.items() if isinstance(own, dict) and "machine" in own
            and isinstance(own.get("seconds"), float)}  # fmt: skip


def seconds(run: Callable[[], Any], repeat: int = 5) -> float:
    """The median time of a call, after one that does not count (compilation, caches)."""
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def machine() -> dict[str, Any]:
    """Where and with what the figures were measured."""
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
    """The commit of this checkout; a copy without its history names it in MODICUM_COMMIT."""
    if named := os.environ.get("MODICUM_COMMIT"):
        return named
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def write(name: str, figures: Any, parts: Sequence[str] = (ALL,), start: float = _START) -> None:
    """Write figures as results/NAME.json, with their machine; of the new parts how long they took, by which code."""
    path = RESULTS / f"{name}.json"
    known = json.loads(path.read_text()) if ALL not in parts and path.exists() else {}
    run = {"commit": commit(), "seconds": round(time.perf_counter() - start, 1)}
    run["code"] = hash_loaded(list_elsewhere(name))
    runs = known.get("runs", {}) | dict.fromkeys(parts, run)
    write_result(name, known | {"machine": machine(), "figures": figures, "runs": runs})


def write_result(name: str, result: dict[str, Any]) -> None:
    """Write a file of results as it is."""
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")


def figures_of(name: str) -> Any:
    """The figures that were written last; an empty dict where there are none."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text())["figures"] if path.exists() else {}


def run_sections(
    name: str,
    sections: Mapping[str, Callable[[], dict]],
    asked: argparse.Namespace,
    join: Callable[[dict, dict], dict] | None = None,
    complete: Callable[[dict], dict] | None = None,
) -> None:
    """Run the sections that were asked for, or all; write each when it is finished, with its commit.

    `join` makes one section of what was found before and what is new, where only a part was measured again;
    `complete` adds to all figures what follows from them.
    """
    if unknown := set(asked.sections) - sections.keys():
        raise SystemExit(f"There is no section {', '.join(sorted(unknown))}; there are {', '.join(sections)}.")
    found = figures_of(name) if asked.sections or join else {}
    for section in asked.sections or sections:
        here, start = machine(), time.perf_counter()
        where = {key: here[key] for key in ("commit", "cpu", "cores")}
        # Seconds of a resumed section are those of its last run alone.
        new = sections[section]() | {"machine": where, "resumed": getattr(asked, "resume", False)}
        found[section] = join(found[section], new) if join else new
        write(name, complete(found) if complete else found, [section], start)


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Lines of cells as a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def judged(value: float, target: float) -> str:
    """'ok' or 'MISSED' beside a target."""
    return f"(target ≤ {target:g}: {'ok' if value <= target else 'MISSED'})"
