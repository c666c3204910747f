"""MergePath against PAT's full grid and every other minimizer, at the same classifier error [Staab24 §9].

    python benchmarks/papers/beyond_pat.py

Employment, income, public coverage, Adult, Loan, Health pruned, Bank and NIST, five splits each. Every candidate is
learned on 60% of the records and screened by counts. On 10% the most private candidate is chosen whose boosted trees
are within +0.005, +0.01 and +0.02 of raw data's error or, if the majority guess is wrong for fewer than one in five,
keep 0.95, 0.9 and 0.8 of the skill. The chosen candidates are reported on the other 30%: the portfolio's error, the
certificate, buckets and groups. Finished parts are stored in build/beyond_pat; --resume continues with them. The neural
minimizers need PyTorch.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import ROOT, figures_of, machine, read_options, write
from common import judged as word

ASKED = read_options(
    __name__,
    __doc__,
    (
        "acs/ny2024.parquet",
        "loan/lending_club.csv.gz",
        "health/health.csv.zip",
        "bank/bank-full.csv.gz",
        "nist/national2018.csv.gz",
    ),
    sections=True,
    flags={
        "--workers=": "processes, 2 by default",
        "--resume": "continue with the parts in build/beyond_pat",
        "--no-neural": "leave out minimizers that need PyTorch",
    },
    elsewhere=(
        "modicum.attacks",
        "modicum.evaluation.study",
        "modicum.generalization",
        "modicum.learners",
        "modicum.minimizers",
        "modicum.table",
        "modicum.trees",
    ),
)

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import lru_cache, partial
from typing import Any

import numpy as np
from data import load_acs, load_bank, load_health, load_loan, load_nist
from papers.vdm.studies import SEEDS, with_persons

import modicum as md
from modicum.evaluation._utility import model_on
from modicum.evaluation.study.grids import DEFAULT, NEURAL, Context, jobs
from modicum.evaluation.study.judges import judge_generalization, screen_generalization
from modicum.evaluation.study.study_data import SeedData, StudyData
from modicum.generalization import Generalization
from modicum.generalization.description import count_asked_buckets
from modicum.learners.portfolio import TREES
from modicum.measures.intervals import seeds_interval
from modicum.measures.scores import compute_skill_kept
from modicum.table.atomic_writing import replacing

LOADERS = {
    "employment": partial(load_acs, "employment"),
    "income": partial(load_acs, "income"),
    "public_coverage": partial(load_acs, "public_coverage"),
    "adult": md.datasets.load_adult,
    "loan": load_loan,
    "health_pruned": partial(load_health, pruned=True),
    "bank": load_bank,
    "nist": load_nist,
}
ENTRANTS = ("MergePath", "PrivacyTree", "others")
MADE_BY = {
    **{name: (name,) for name in ("MergePath", "PrivacyTree")},
    "others": tuple(name for name in DEFAULT if name not in ("MergePath", "PrivacyTree")),
    **{name: (name,) for name in NEURAL},
}
GRID = {"MergePath": {"mix": (0.1, 0.5, 0.9), "points": (100,)}}  # three runs; the other minimizers as in a study
STEPS, KEPT = (0.005, 0.01, 0.02), (0.95, 0.9, 0.8)
UNBALANCED = 0.2  # of the majority guess's error
CONFIDENCE = 0.99
FOLDER = ROOT / "build" / "beyond_pat"


@lru_cache(maxsize=1)
def data_of(name: str, seed: int) -> SeedData:
    loaded = LOADERS[name]()
    found = StudyData(with_persons(loaded), loaded.y, loaded.schema, None, None).split_by_seed(seed)
    found.prepare()
    return found


# Candidates


def candidates(name: str, seed: int, made_by: str) -> list[dict]:
    """Return all candidates of some minimizers on the training part, screened by counts."""
    data = data_of(name, seed)
    rows, whole = data.parts.train, data.whole
    X, y = whole.frame[rows].to_native(), whole.label[rows]
    found = []
    for job in jobs(MADE_BY[made_by], GRID):
        start = time.perf_counter()
        candidates_made = job.make(X, y, Context(whole.schema, None, None, seed))
        seconds = (time.perf_counter() - start) / len(candidates_made)
        for parameters, g in candidates_made:
            scores = screen_generalization(g, data)
            one = {"minimizer": job.minimizer, "parameters": parameters, "artifact": g.to_dict()}
            found.append(one | {"screened": asdict(scores), "seconds": seconds + scores.seconds})
    return found


# The choice, on validation records


def chosen(name: str, seed: int, own: list[dict], targets: Sequence[float] = ()) -> dict:
    """For every target, choose the most private candidate on validation records, and evaluate it on test records."""
    data = data_of(name, seed)
    raw, majority = data.raw_model(), data.majority()
    is_unbalanced = _majority_error(data) < UNBALANCED
    tried = _Tried(data, raw[0], majority[0])
    own = sorted(own, key=lambda c: -_adversary(data, c["screened"]["validation"]["risk"]))
    cells = {}
    for target in targets or (KEPT if is_unbalanced else STEPS):
        best = next((c for c in own if tried.is_within(c, target, is_unbalanced)), None)
        cells[f"{target:g}"] = None if best is None else _judged(best, data, raw[1], majority[1])
    return {
        "unbalanced": is_unbalanced,
        "raw_error": raw[1].error(),
        "majority_error": majority[1].error(),
        "naive_adversary": data.naive_adversary(data.parts.test),
        "candidates": len(own),
        "cells": cells,
    }


def _majority_error(data: SeedData) -> float:
    """Compute it on all records, so that every split has the same targets."""
    return 1 - np.unique(data.whole.label, return_counts=True)[1].max() / len(data.whole.label)


class _Tried:
    """Boosted trees on validation records, computed at most once for each candidate."""

    def __init__(self, data: SeedData, raw: Any, majority: Any) -> None:
        self.data, self.raw, self.majority = data, raw, majority
        self.known: dict[str, tuple[float, float]] = {}

    def is_within(self, candidate: dict, target: float, by_skill: bool) -> bool:
        scores = candidate["screened"]["validation"]
        kept = compute_skill_kept(scores["log_loss"], self.raw.log_loss(), self.majority.log_loss())
        # Screening uses fewer trees; candidates far from the target are not tried.
        if (by_skill and kept < target - 0.2) or (not by_skill and scores["error"] > self.raw.error() + target + 0.03):
            return False
        key = json.dumps(candidate["artifact"])
        if key not in self.known:
            data = self.data
            model = model_on(Generalization.from_dict(candidate["artifact"]), TREES, len(data.labels), data.seed)
            p, _ = data.predictions(model.fit(data.train, data.classes[data.parts.train]))
            kept = compute_skill_kept(p.log_loss(), self.raw.log_loss(), self.majority.log_loss())
            self.known[key] = (p.error(), kept)
        error, kept = self.known[key]
        return kept >= target if by_skill else error <= self.raw.error() + target


def _judged(candidate: dict, data: SeedData, raw: Any, majority: Any) -> dict:
    g = Generalization.from_dict(candidate["artifact"])
    word = judge_generalization(g, data, CONFIDENCE)
    return {
        "minimizer": candidate["minimizer"],
        "parameters": candidate["parameters"],
        "error_above_raw": word.test.error - raw.error(),
        "skill_kept": compute_skill_kept(word.test.log_loss, raw.log_loss(), majority.log_loss()),
        "adversary_error": _adversary(data, word.test.risk),
        "adversary_interval": word.adversary_interval,
        "certified_accuracy": word.certificate.mean,
        "buckets": count_asked_buckets(g),
        "attributes": len(g.needed),
        "groups": candidate["screened"]["groups"],
        "smallest_group": candidate["screened"]["smallest_group"],
    }


def _adversary(data: SeedData, risk: dict[str, float]) -> float:
    return sum(data.whole.weights[name] * error for name, error in risk.items())


# Pieces of work


def _keys(entrant: str) -> list[str]:
    return [key for key in MADE_BY if key == entrant or (entrant == "others" and key in NEURAL)]


def _path(name: str, seed: int, key: str) -> Any:
    return FOLDER / f"{name}-{seed}-{key}.json"


def _piece(name: str, seed: int, key: str) -> Any:
    path = _path(name, seed, key)
    return json.loads(path.read_text()) if path.exists() else []


def _work(name: str, seed: int, key: str) -> str:
    start = time.perf_counter()
    entrant = key.removeprefix("chosen-")
    if entrant == key:
        found: Any = candidates(name, seed, key)
    else:
        found = chosen(name, seed, [c for made_by in _keys(entrant) for c in _piece(name, seed, made_by)])
    with replacing(_path(name, seed, key)) as path:
        Path(path).write_text(json.dumps(found, default=float))
    return f"{name} {seed} {key}: {time.perf_counter() - start:.0f} s"


def run(names: list[str], workers: int, keys: list[str]) -> set[str]:
    """Make all missing pieces, first candidates, then the choice for each split; return their datasets."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    worked = set()
    for stage in (keys, [f"chosen-{entrant}" for entrant in ENTRANTS]):
        todo = [(n, s, k) for k in stage for s in range(SEEDS) for n in names if not _path(n, s, k).exists()]
        worked |= {name for name, *_ in todo}
        with ProcessPoolExecutor(workers) as pool:
            for done in as_completed([pool.submit(_work, *piece) for piece in todo]):
                print(done.result(), flush=True)
    return worked


# The table


def _split(name: str, seed: int) -> dict:
    """Read one split's limits and every entrant's cells."""
    found = {entrant: _piece(name, seed, f"chosen-{entrant}") for entrant in ENTRANTS}
    return found["MergePath"] | {"entrants": {entrant: one["cells"] for entrant, one in found.items()}}


def figures(name: str) -> dict:
    """Summarize one dataset's cells: means over the splits with intervals, and MergePath against PAT by split."""
    splits = [_split(name, seed) for seed in range(SEEDS)]
    targets = KEPT if splits[0]["unbalanced"] else STEPS
    limits = {k: float(np.mean([s[k] for s in splits])) for k in ("raw_error", "majority_error", "naive_adversary")}
    found: dict[str, Any] = {"target": "skill kept" if splits[0]["unbalanced"] else "error above raw", **limits}
    found["cells"] = {f"{t:g}": _cell(splits, f"{t:g}") for t in targets}
    return found


def _cell(splits: list[dict], target: str) -> dict:
    entrants: dict[str, Any] = {}
    for entrant in ENTRANTS:
        there = [s["entrants"][entrant][target] for s in splits if s["entrants"][entrant][target] is not None]
        entrants[entrant] = {"splits_within": len(there), "chosen": sorted({c["minimizer"] for c in there})}
        for key in (
            "adversary_error", "error_above_raw", "skill_kept", "certified_accuracy", "buckets", "groups",
            "smallest_group",
        ):  # fmt: skip
            values = [float(c[key]) for c in there]
            entrants[entrant][key] = float(np.mean(values)) if values else None
            entrants[entrant][f"{key}_interval"] = seeds_interval(values) if len(values) > 1 else None
    return {"entrants": entrants, **_against_pat(splits, target)}


def _against_pat(splits: list[dict], target: str) -> dict:
    """Compute MergePath minus PAT, and minus the others, on the splits where both are within the target."""
    both = _pairs(splits, target, "PrivacyTree")
    ahead = [mine["adversary_error"] - pat["adversary_error"] for _, mine, pat in both]
    room = [max(naive - pat["adversary_error"], 1e-9) for naive, _, pat in both]
    others = [mine["adversary_error"] - other["adversary_error"] for _, mine, other in _pairs(splits, target, "others")]
    return {
        "both_within": len(both),
        "ahead_of_pat": float(np.mean(ahead)) if both else None,
        "ahead_interval": seeds_interval(ahead) if len(both) > 1 else None,
        "distance_closed": float(sum(ahead) / sum(room)) if both else None,
        "share_of_buckets": float(np.mean([m["buckets"] / max(1, p["buckets"]) for _, m, p in both])) if both else None,
        "error_beyond_pat": float(np.mean([m["error_above_raw"] - p["error_above_raw"] for _, m, p in both]))
        if both
        else None,
        "ahead_of_others": float(np.mean(others)) if others else None,
    }


def _pairs(splits: list[dict], target: str, other: str) -> list[tuple[float, dict, dict]]:
    """Return the naive adversary's error, MergePath's cell and the other's, for every split that has both."""
    found = [(s["naive_adversary"], s["entrants"]["MergePath"][target], s["entrants"][other][target]) for s in splits]
    return [(naive, mine, theirs) for naive, mine, theirs in found if mine is not None and theirs is not None]


def summary(found: dict[str, dict]) -> dict:
    """Check the goals over all cells: never behind PAT, a quarter of its distance closed, half of its buckets.

    MergePath also counts as behind if it meets the target on fewer splits.
    """
    cells = {f"{name} {t}": cell for name, one in found.items() for t, cell in one["cells"].items()}
    compared = [cell for cell in cells.values() if cell["ahead_of_pat"] is not None]
    within = {e: {n: c["entrants"][e]["splits_within"] for n, c in cells.items()} for e in ENTRANTS}
    fewer = {e: {n for n in cells if within["MergePath"][n] < within[e][n]} for e in ("PrivacyTree", "others")}

    def behind(key: str, entrant: str) -> list[str]:
        return [n for n, c in cells.items() if n in fewer[entrant] or (c[key] is not None and c[key] < 0)]

    def mean(key: str) -> float | None:
        return float(np.mean([cell[key] for cell in compared])) if compared else None

    return {
        "cells": len(cells),
        "compared": len(compared),
        "behind_pat": behind("ahead_of_pat", "PrivacyTree"),
        "behind_others": behind("ahead_of_others", "others"),
        "only_merge_path_within": [n for n in cells if within["MergePath"][n] and not within["PrivacyTree"][n]],
        "mean_distance_closed": mean("distance_closed"),
        "mean_share_of_buckets": mean("share_of_buckets"),
        "mean_error_beyond_pat": mean("error_beyond_pat"),
    }


def show(name: str, one: dict) -> None:
    print(
        f"{name}: raw error {one['raw_error']:.4f}, majority {one['majority_error']:.4f}, naive adversary "
        f"{one['naive_adversary']:.4f}; by {one['target']}"
    )
    for target, cell in one["cells"].items():
        words = []
        for entrant, e in cell["entrants"].items():
            if e["adversary_error"] is None:
                words.append(f"{entrant} –")
            else:
                words.append(
                    f"{entrant} {e['adversary_error']:.4f} ({e['buckets']:.0f} buckets, {e['groups']:.0f} z, "
                    f"certified {e['certified_accuracy']:.3f}, {e['splits_within']} of {SEEDS})"
                )
        closed = "" if cell["distance_closed"] is None else f"; closes {cell['distance_closed']:.0%}"
        print(f"  {target}: {'; '.join(words)}{closed}", flush=True)


NAMES = {
    "employment": "ACS employment",
    "income": "ACS income",
    "public_coverage": "ACS public coverage",
    "adult": "Adult",
    "loan": "Loan",
    "health_pruned": "Health, pruned",
    "bank": "Bank",
    "nist": "NIST",
}


def table(datasets: dict[str, dict]) -> str:
    """Make the table of the cells for docs/merge-path.md."""
    lines = [
        "| data (naive adversary) | target | PAT (buckets, combinations) | MergePath | lead | closes | others |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, one in datasets.items():
        for target, cell in one["cells"].items():
            shown = f"{float(target):.0%} of skill" if one["target"] == "skill kept" else f"+{target}"
            pat, mine, others = (_shown(cell["entrants"][e]) for e in ("PrivacyTree", "MergePath", "others"))
            lead, closed = "–", "–"
            if cell["ahead_of_pat"] is not None:
                ends = cell["ahead_interval"]
                between = "" if ends is None else f" ({ends[0]:+.3f} to {ends[1]:+.3f})"
                lead, closed = f"{cell['ahead_of_pat']:+.3f}{between}", f"{cell['distance_closed']:.0%}"
            row = [f"{NAMES[name]} ({one['naive_adversary']:.3f})", shown, pat, mine, lead, closed, others]
            lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines)


def _shown(entrant: dict) -> str:
    if entrant["adversary_error"] is None:
        return "–"
    few = "" if entrant["splits_within"] == SEEDS else f"; {entrant['splits_within']} of {SEEDS} splits"
    return f"{entrant['adversary_error']:.3f} ({entrant['buckets']:.0f}, {entrant['groups']:.0f}{few})"


# Speed


def speed(name: str) -> dict:
    """Time MergePath's whole path, PAT's sweep judged by counts, and MergePath with the choice of a point."""
    data = data_of(name, 0)
    rows, whole = data.parts.train, data.whole
    X, y, schema = whole.frame[rows].to_native(), whole.label[rows], whole.schema
    md.MergePath(schema=schema, progress=False).fit(X[:3000], y[:3000])  # compiles
    md.PrivacyTree(schema=schema).fit(X[:3000], y[:3000])
    start = time.perf_counter()
    sweep = [g for job in jobs("PrivacyTree", None) for _, g in job.make(X, y, Context(schema, None, None, 0))]
    for g in sweep:
        screen_generalization(g, data)
    pat = time.perf_counter() - start
    start = time.perf_counter()
    points = md.MergePath(schema=schema, progress=False).fit_path(X, y)
    path = time.perf_counter() - start
    start = time.perf_counter()
    md.MergePath(schema=schema, progress=False, keep=0.9).fit(X, y)
    with_choice = time.perf_counter() - start
    print(
        f"{name}, {len(X):,} records, an attribute of {max(whole.columns.sizes().values()):,} values: a path of "
        f"{len(points)} points {path:.1f} s, PAT's {len(sweep)} candidates judged by counts {pat:.1f} s; ratio "
        f"{path / pat:.2f} {word(path / pat, 1)}; with the choice for keep=0.9 {with_choice:.1f} s",
        flush=True,
    )
    return {
        "records": len(X),
        "seconds": path,
        "with_choice_seconds": with_choice,
        "pat_sweep_seconds": pat,
        "pat_candidates": len(sweep),
        "ratio": path / pat,
        "points": len(points),
    }


def _sections(names: list[str]) -> Iterator[tuple[str, dict]]:
    for name in names:
        if all(_piece(name, seed, f"chosen-{entrant}") for seed in range(SEEDS) for entrant in ENTRANTS):
            one = figures(name)
            show(name, one)
            yield name, one


def main() -> None:
    known, here = figures_of("beyond_pat"), machine()
    where = {key: here[key] for key in ("commit", "cpu", "cores")}
    if ASKED.sections == ["speed"]:
        write("beyond_pat", known | {"speed": {name: speed(name) for name in LOADERS} | {"machine": where}}, ["speed"])
        return
    if not ASKED.resume:
        shutil.rmtree(FOLDER, ignore_errors=True)
    keys = [key for key in MADE_BY if not ASKED.no_neural or key not in NEURAL]
    names = ASKED.sections or list(LOADERS)
    worked = run(names, int(ASKED.workers or 2), keys)
    datasets = known.get("datasets", {})
    for name, one in _sections(names):
        measured_at = datasets.get(name, {}).get("machine")
        datasets[name] = one | {"machine": where if measured_at is None or name in worked else measured_at}
    goals = summary(datasets)
    print(json.dumps(goals, indent=1))
    parts = [f"datasets.{name}" for name in worked]
    write("beyond_pat", known | {"datasets": datasets, "goals": goals}, parts)


def quick() -> dict[str, float]:
    """Run MergePath on Adult at the strictest target, on its five splits."""
    name, key = "adult", "MergePath"
    splits = [chosen(name, seed, candidates(name, seed, key), (STEPS[-1],)) for seed in range(SEEDS)]
    own = [split["cells"][f"{STEPS[-1]:g}"] for split in splits]
    path = f'datasets.{name}.cells."{STEPS[-1]:g}".entrants.{key}'
    return {
        f"{path}.{figure}": float(np.mean([each[figure] for each in own]))
        for figure in ("adversary_error", "error_above_raw", "certified_accuracy")
    } | {f"datasets.{name}.naive_adversary": float(np.mean([split["naive_adversary"] for split in splits]))}


if __name__ == "__main__":
    main()
