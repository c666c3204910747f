"""The common parts of the study benchmarks: one study of every minimizer, its figures, and the verdict on PAT."""

import shutil
import time
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from common import ROOT, run_sections

import modicum as md
from modicum.evaluation.study.study_result import Study
from modicum.measures.intervals import seeds_interval
from modicum.table.estimator_input import unit_codes

FOLDER = ROOT / "build" / "studies"
SEEDS = 5


def run_studies(name: str, sections: Mapping[str, Callable[[], dict]], asked: Namespace) -> None:
    """Run the sections; with --only=NAME,NAME only those minimizers, whose rows join the stored rows of the others."""
    run_sections(name, sections, asked, _join if asked.only else None)


def _join(old: dict, new: dict) -> dict:
    """Join a section with rows of minimizers that were measured again, or for the first time, at another commit."""
    if old["limits"] != new["limits"]:
        raise SystemExit("The splits differ from the stored ones, so the rows cannot be compared.")
    for figures in new["minimizers"].values():
        figures["machine"] = new["machine"]
    minimizers = {**old["minimizers"], **new["minimizers"]}
    return {**old, "minimizers": minimizers, "pat": _word_on_pat(minimizers)}


def study_of(name: str, data: Any, resume: bool = False, **options: Any) -> Study:
    """Run a study in its own folder; `resume` continues a stopped study."""
    folder = FOLDER / name
    if not resume:
        shutil.rmtree(folder, ignore_errors=True)
    return md.study(with_persons(data), data.y, schema=data.schema, folder=folder, n_jobs=-1, **options)


def with_persons(data: Any) -> Any:
    """Return the features with the person column, so that a household's rows stay on one side of every split."""
    return data.X if data.persons is None else data.X.assign(**{data.schema.person: data.persons})


def compared(
    name: str, data: Any, asked: Namespace, rows: int | None = None, seeds: int = SEEDS, minimizers: Any = None
) -> dict:
    """Run all minimizers on one dataset: the neural ones with one seed, the others with five; judge each front.

    `rows` limits the number of records, by whole persons, if all would take too long on two cores.
    """
    start = time.perf_counter()
    of = len(data.X)
    data = data if rows is None else _some(data, rows)
    only = asked.only.split(",") if asked.only else None
    every = study_of(name, data, asked.resume, minimizers=only or minimizers or "all", seeds=1, fronts_of="each")
    whole = every
    if not only:
        whole = study_of(name, data, True, minimizers=minimizers or "default", seeds=seeds, fronts_of="each")
    found = {
        "rows": len(data.X),
        "of_rows": of,
        "attributes": data.X.shape[1],
        "personal": len(data.schema.personal),
        "limits": vars(every.limits[every.seed].test),
        "raw_data_barely_predicts": every.is_weak,
        "minimizers": {m: _figures(m, every, whole) for m in every.minimizers},
        "seconds": time.perf_counter() - start,
        "skipped": every.skipped,
    }
    found["pat"] = "" if only else _word_on_pat(found["minimizers"])
    _show(name, found)
    return found


def _some(data: Any, rows: int) -> Any:
    """Return about this many records, those of the first persons."""
    whose = unit_codes(data.persons)
    chosen = np.flatnonzero(whose <= whose[rows])
    parts = {key: getattr(data, key).iloc[chosen] for key in ("X", "y", "persons")}
    return replace(data, **parts)


def _figures(minimizer: str, every: Study, whole: Study) -> dict:
    widest = whole if minimizer in whole.minimizers else every
    volume, in_loss = (widest.hypervolume(utility=utility)[minimizer] for utility in ("error", "log_loss"))
    front = every.pareto(minimizer)
    return {
        "candidates": len(every.of(minimizer)),
        "hypervolume_judged": every.hypervolume()[minimizer].judged,
        "hypervolume_by_counts": volume.mean,
        "hypervolume_interval": volume.interval,
        "hypervolume_by_seed": volume.by_seed,
        "hypervolume_in_log_loss": in_loss.mean,
        "hypervolume_in_log_loss_interval": in_loss.interval,
        "reached": {f"+{step:g}": error for step, error in every.reached()[minimizer].items()},
        "front": [[round(value, 5) for value in c.point("test")] for c in front],
        "seconds": sum(c.seconds for c in every.of(minimizer)),
    }


def _word_on_pat(found: Mapping[str, dict]) -> str:
    """Print whether PAT's hypervolume is the largest, by the judges and by counts, and which are larger if not."""
    words = []
    measures = {
        "hypervolume_judged": "by the judges",
        "hypervolume_by_counts": "by counts",
        "hypervolume_in_log_loss": "in log-loss, by counts",
    }
    for key, how in measures.items():
        own = found["PrivacyTree"][key]
        larger = {name: one[key] for name, one in found.items() if one[key] is not None and one[key] > own}
        leaders = ", ".join(f"{name} has {value:.4f}" for name, value in larger.items()) or "the largest"
        words.append(f"{how}: {own:.4f}, {leaders}")
    return "; ".join(words)


def _show(name: str, found: dict) -> None:
    limits = found["limits"]
    print(
        f"{name}: raw error {limits['raw_error']:.4f}, majority {limits['majority_error']:.4f}, naive adversary "
        f"{limits['naive_adversary']:.4f}; {found['seconds']:.0f} s"
    )
    for minimizer, one in found["minimizers"].items():
        ends = one["hypervolume_interval"]
        spread = "one seed" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}"
        reached = ", ".join(f"{k} {'–' if v is None else format(v, '.4f')}" for k, v in one["reached"].items())
        print(
            f"  {minimizer}: hypervolume {one['hypervolume_judged']:.4f} judged, {one['hypervolume_by_counts']:.4f} by "
            f"counts ({spread}), {one['hypervolume_in_log_loss']:.4f} in log-loss; {reached}; {one['candidates']} "
            f"candidates, {one['seconds']:.0f} s"
        )
    print(f"  PAT {found['pat']}", flush=True)


def paired_interval(a: Mapping[int, float], b: Mapping[int, float]) -> tuple[float, tuple[float, float] | None]:
    """Return the mean difference over seeds and its 95% interval."""
    differences = [b[seed] - a[seed] for seed in a if seed in b]
    return sum(differences) / len(differences), seeds_interval(differences)
