"""Run a quick form of a benchmark, to see whether its result is still valid after a change of code.

    python benchmarks/claims/canary.py pat demo     # these results
    python benchmarks/claims/canary.py --all-stale  # every result whose code has changed

A benchmark's `quick()` computes some figures of its result again, by their paths: one split, one seed, minutes at most.
If all agree with the result, the result records the new code as `canary`; otherwise nothing is written, and the figures
that moved are printed. A figure must agree within its interval or within half the range of its splits, if the result
has one of these. A whole number must be the same, a time within a factor (`common.Speed`), and all else within 1%.
"""

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from claims import values
from claims.staleness import find_stale
from loaded_code import ROOT, hash_file, hash_loaded

CLOSE = 0.01


class Compared(NamedTuple):
    """A new figure, the stored one, the tolerance, and whether they agree."""

    found: float
    stored: float
    within: float
    agrees: bool


def compare(name: str, path: str, found: float) -> Compared:
    """Compare a figure with that of the result."""
    stored = values.value_of(name, path)
    if isinstance(found, common.Speed):
        return Compared(found, stored, found.factor, stored / found.factor <= found <= stored * found.factor)
    within = find_tolerance(name, path, stored)
    return Compared(found, stored, within, abs(found - stored) <= within)


def find_tolerance(name: str, path: str, stored: float) -> float:
    """Return the tolerance for a figure: by its interval, by the range of the splits, or by its size."""
    segments = re.findall(values._SEGMENT, path)
    key = segments[-1].strip('"')
    around = values.value_of(name, ".".join(segments[:-1])) if len(segments) > 1 else values.figures_of(name)
    if isinstance(around, list) or all(str(other).isdigit() for other in around):  # one for each split
        splits = around if isinstance(around, list) else list(around.values())
        if all(isinstance(one, float) for one in splits):
            return (max(splits) - min(splits)) / 2
    elif interval := next((around[each] for each in _name_intervals(key) if around.get(each)), None):
        low, high = interval
        if low <= stored <= high:
            return (high - low) / 2
    return 0 if isinstance(stored, int) else CLOSE * abs(stored)


def _name_intervals(key: str) -> tuple[str, ...]:
    return f"{key}_interval", f"{key.rpartition('_')[0]}_interval", "interval"


def run(name: str) -> bool:
    """Run one canary and return whether it agrees; if so, record it in the result."""
    start = time.perf_counter()
    found = importlib.import_module(f"{_script(name).parent.name}.{name}").quick()
    compared = {path: compare(name, path, value) for path, value in found.items()}
    for path, one in compared.items():
        state = "agrees" if one.agrees else "MOVED"
        print(f"{name}: {path} {one.found:.6g}, the result has {one.stored:.6g} (within {one.within:.3g}): {state}")
    agrees = all(one.agrees for one in compared.values())
    if agrees:
        seconds = round(time.perf_counter() - start, 1)
        _keep(name, {path: one._asdict() for path, one in compared.items()}, seconds)
    return agrees


def _keep(name: str, figures: dict[str, Any], seconds: float) -> None:
    result = json.loads((common.RESULTS / f"{name}.json").read_text())
    known = {path for run in result.get("runs", {}).values() for path in run.get("code", {}) if (ROOT / path).exists()}
    code = {path: hash_file(ROOT / path) for path in known} | hash_loaded(common.list_elsewhere(name))
    where = {"commit": common.commit(), "date": date.today().isoformat(), "seconds": seconds}
    common.write_result(name, result | {"canary": {"figures": figures, **where, "code": code}})


def main() -> int:
    """Run the named canaries, each in its own process; return 1 if one did not agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a result")
    parser.add_argument("--all-stale", action="store_true", help="every result whose code has changed")
    parser.add_argument("--here", action="store_true", help="in this process")
    options = parser.parse_args()
    if options.here:
        return min(1, sum(not run(name) for name in options.names))
    names = list(find_stale()) if options.all_stale else options.names
    failed = [name for name in names if _run_apart(name)]
    print(f"measure again: {', '.join(failed)}" if failed else f"{len(names)} results agree")
    return int(bool(failed))


def _run_apart(name: str) -> int:
    """Run a canary with as many threads as its benchmark uses; return its exit status."""
    one = "OMP_NUM_THREADS=1 python" in _script(name).read_text(encoding="utf-8")
    threads = {"OMP_NUM_THREADS": "1"} if one else {}
    return subprocess.run([sys.executable, __file__, name, "--here"], env=os.environ | threads).returncode


def _script(name: str) -> Path:
    (script,) = common.RESULTS.parent.glob(f"*/{name}.py")
    return script


if __name__ == "__main__":
    sys.exit(main())
