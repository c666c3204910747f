"""One step of `scale.py`, alone in its own process, so that its peak memory can be measured.

    python benchmarks/speed/scale_step.py fit duckdb TABLE ARTIFACT OUT

Prints one line of JSON: the seconds of the step (after a warm-up on a small table), the peak memory of the process, and
the result, for comparison.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import json
import resource
import tempfile
import time
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import duckdb
from speed.scale_data import LABEL, people, schema

import modicum as md
from modicum.engines.file_tables import open_table
from modicum.engines.partitioned_writing import write

LEAVES, PRIVACY = 20, 0.5


def fit(table: Any, artifact: Path, out: Path) -> dict:
    """PAT from counts."""
    pat = md.PrivacyTree(max_leaves=LEAVES, privacy=PRIVACY, schema=schema()).fit(table, LABEL)
    pat.generalization_.save(out)
    artifact_bytes = sha256(out.read_bytes()).hexdigest()
    return {"leaves": pat.tree_.n_leaves, "buckets": pat.generalization_.n_buckets, "artifact": artifact_bytes}


def apply(table: Any, artifact: Path, out: Path) -> dict:
    """Write the artifact's buckets and the label as Parquet."""
    g = md.load(artifact)
    write(g.transform(table), out)
    return {}


def select(table: Any, artifact: Path, out: Path) -> dict:
    """Write the same columns unchanged as Parquet: the cost of any pass through the engine."""
    write(table.select(*md.load(artifact).needed), out)
    return {}


def single_out(table: Any, artifact: Path, out: Path) -> dict:
    """A8: who is alone."""
    found = md.attacks.SinglingOut().run(md.load(artifact), breached=table).to_dict()
    return {name: value for name, value in found.items() if name != "seconds"}


STEPS: dict[str, Callable[[Any, Path, Path], dict]] = {"fit": fit, "apply": apply, "select": select, "a8": single_out}


def summarize(out: Path) -> dict:
    """Return the number of written records and the sum of their hashes, which does not depend on their order."""
    files = str(out / "**" / "*.parquet") if out.is_dir() else str(out)
    query = "SELECT count(*), sum(hash(z)::HUGEINT)::VARCHAR FROM read_parquet(?) AS z"
    with duckdb.connect() as connection:
        rows, hashes = connection.execute(query, [files]).fetchall()[0]
    return {"rows": rows, "hashes": hashes}


def main(step: str, engine: str, table: str, artifact: str, out: str) -> None:
    with open_table(people(1_000), engine) as small, tempfile.TemporaryDirectory() as folder:
        STEPS[step](small.native, Path(artifact), Path(folder) / "out.parquet")
    with open_table(table, engine) as large:
        start = time.perf_counter()
        found = STEPS[step](large.native, Path(artifact), Path(out))
        seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1024 if sys.platform == "linux" else 1)
    if step in ("apply", "select"):
        found = summarize(Path(out))
    print(json.dumps({"seconds": seconds, "peak_bytes": peak, "found": found}))


if __name__ == "__main__":
    main(*sys.argv[1:])
