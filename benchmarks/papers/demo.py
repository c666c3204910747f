"""The results of `modicum demo`: the figures in README, read from the report that the command writes.

    python benchmarks/papers/demo.py

It runs the command itself, with its own seed; nothing is computed again.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import read_options, write

read_options(__name__, __doc__)

import contextlib
import io
import json
import tempfile
from typing import Any

from modicum.cli.commands.demo import demo


def read_figures(report: dict[str, Any]) -> dict[str, Any]:
    """Return what is asked, what the prediction loses, and the adversary's error, from the report's content."""
    collected, utility, attack, certificate = (report[k] for k in ("collected", "utility", "attack", "certificate"))
    return {
        "attributes": collected["attributes"],
        "personal": sum(one["personal"] for one in report["attributes"]),
        "asked": collected["needed"],
        "not_asked": collected["attributes"] - collected["needed"],
        "in_full_detail": collected["in_full_detail"],
        "buckets": collected["buckets"],
        "groups": collected["groups"],
        "records": collected["records"],
        "names_not_asked": [one["name"] for one in report["attributes"] if one["n_buckets"] == 1],
        "error": utility["error"],
        "raw_error": utility["raw_error"],
        "majority_error": utility["majority_error"],
        "skill_kept": utility["skill_kept"],
        "skill_interval": utility["skill_interval"],
        "adversary_error": attack["error"],
        "adversary_interval": attack["interval"],
        "naive_error": attack["naive"],
        "raw_data_error": attack["raw"],
        "most_exposed": attack["worst"],
        "certified_error": certificate["mean_error"],
        "confidence": certificate["confidence"],
    }


def figures() -> dict[str, Any]:
    """Run the demo silently in its own folder."""
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        demo(Path(folder))
        found = read_figures(json.loads((Path(folder) / "report.json").read_text(encoding="utf-8")))
    print(
        f"asked {found['asked']} of {found['attributes']} attributes; skill kept {found['skill_kept']:.1%}; "
        f"adversary's error {found['adversary_error']:.1%}, naive {found['naive_error']:.1%}"
    )
    return found


def quick() -> dict[str, float]:
    found = figures()
    names = ("asked", "attributes", "buckets", "skill_kept", "adversary_error", "naive_error", "certified_error")
    return {name: found[name] for name in names}


if __name__ == "__main__":
    write("demo", figures())
