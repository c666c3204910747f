"""What every benchmark shares: timing, the machine, and the file its figures go to."""

import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
_MODULES = {"scikit-learn": "sklearn"}
_PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "polars", "narwhals", "numba", "duckdb")

os.environ.setdefault("MODICUM_DATA", str(ROOT.parent / "shared" / "data"))


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
        "commit": os.environ.get("MODICUM_COMMIT") or _commit(),
    }


def _commit() -> str:
    """The commit of this checkout; a copy without its history names it in MODICUM_COMMIT."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout.strip()


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def write(name: str, figures: Any) -> None:
    """The figures with their machine, as benchmarks/results/NAME.json."""
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"machine": machine(), "figures": figures}, indent=1)
    (RESULTS / f"{name}.json").write_text(text + "\n")


def figures_of(name: str) -> Any:
    """The figures that were written last."""
    return json.loads((RESULTS / f"{name}.json").read_text())["figures"]


def run_sections(
    name: str, sections: Mapping[str, Callable[[], dict]], join: Callable[[dict, dict], dict] | None = None
) -> None:
    """Run the sections named on the command line, or all; write each when it is finished, with its commit.

    `join` makes one section of what was found before and what is new, where only a part was measured again.
    """
    path = RESULTS / f"{name}.json"
    asked = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    found = json.loads(path.read_text())["figures"] if (asked or join) and path.exists() else {}
    for section in asked or sections:
        here = machine()
        where = {key: here[key] for key in ("commit", "cpu", "cores")}
        # Seconds of a resumed section are those of its last run alone.
        new = sections[section]() | {"machine": where, "resumed": "--resume" in sys.argv}
        found[section] = join(found[section], new) if join else new
        write(name, found)


def write_table(page: str, script: str, table: str, end: str | None = None) -> None:
    """A table in docs/PAGE, between the two marks of the script (and its argument) that wrote it."""
    path = ROOT / "docs" / page
    start, end = f"<!-- table: written by benchmarks/{script} -->", f"<!-- end of {end or script.split()[0]} -->"
    before, rest = path.read_text(encoding="utf-8").split(start)
    path.write_text(f"{before}{start}\n\n{table}\n\n{end}{rest.split(end, 1)[1]}", encoding="utf-8")


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """Lines of cells as a table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def judged(value: float, target: float) -> str:
    """'ok' or 'MISSED' beside a target."""
    return f"(target ≤ {target:g}: {'ok' if value <= target else 'MISSED'})"
