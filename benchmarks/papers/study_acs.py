"""The paper's main experiment on ACS New York: fronts of all minimizers [Staab24 Figure 4], Figures 8, 10, 12 and 13.

    python benchmarks/papers/study_acs.py

Employment, income and public coverage. Learned on 60%, chosen on 10%, reported on 30%. Needs PyTorch.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import read_options

ASKED = read_options(
    __name__,
    __doc__,
    ("acs/ny2024.parquet",),
    sections=True,
    flags={"--resume": "go on with a study that was stopped", "--only=": "run these minimizers alone, by commas"},
)

from dataclasses import replace
from functools import partial

from data import load_acs
from papers.vdm.studies import SEEDS, compared, paired_interval, run_studies, study_of

import modicum as md
from modicum.evaluation.study.study_result import Study
from modicum.measures.front import hypervolume, on_front

TASKS = ("employment", "income", "public_coverage")
SIZES = (1.0, 0.3, 0.1, 0.05, 0.01, 0.003)


def training_sizes(data: md.datasets.Dataset) -> dict:
    """Figure 8: PAT learned from ever smaller parts of the training data."""
    found = study_of(
        "sizes", data, ASKED.resume, minimizers=["PrivacyTree"], seeds=SEEDS, train_sizes=SIZES, fronts_of="all"
    )
    volumes = {size: found.hypervolume(size)["PrivacyTree"] for size in SIZES}
    whole, small = volumes[1.0], volumes[0.05]
    width = (whole.interval[1] - whole.interval[0]) / 2
    differs, ends = paired_interval(whole.by_seed, small.by_seed)
    print("training size, employment, PAT:")
    for size, volume in volumes.items():
        low, high = volume.interval
        print(f"  {size:g} of the training part: hypervolume {volume.mean:.4f} ({low:.4f} to {high:.4f})")
    is_same = abs(differs) < width
    print(
        f"  5% against all: {differs:+.4f} ({ends[0]:+.4f} to {ends[1]:+.4f}); half the interval, {width:.4f}, is "
        f"{width / whole.mean:.1%} of the hypervolume (target: difference below it: {'ok' if is_same else 'MISSED'}; "
        f"below 5%: {'ok' if width < 0.05 * whole.mean else 'MISSED'})"
    )
    return {
        "sizes": {
            f"{size:g}": {"mean": v.mean, "interval": v.interval, "by_seed": v.by_seed} for size, v in volumes.items()
        },
        "difference_at_5%": differs,
        "difference_interval": ends,
        "interval_half_width": width,
        "is_within_interval": is_same,
        "is_interval_below_5%": width < 0.05 * whole.mean,
    }


def one_attribute(data: md.datasets.Dataset) -> dict:
    """Figure 10: the error about one attribute, if it alone or all attributes are protected."""
    found = {}
    for minimizer in ("PrivacyTree", "AdversarialTraining"):
        everything = study_of("employment", data, True, minimizers=[minimizer], seeds=1, fronts_of="each")
        for name in ("MAR", "SEX"):
            schema = data.schema.with_roles(personal=[name])
            alone = study_of(
                f"only-{name}-{minimizer}", replace(data, schema=schema), ASKED.resume, minimizers=[minimizer], seeds=1
            )
            volumes = [_volume_about(name, study) for study in (everything, alone)]
            found[f"{minimizer} {name}"] = {"all": volumes[0], "alone": volumes[1]}
            print(f"protecting {name}, {minimizer}: hypervolume {volumes[0]:.4f} with all, {volumes[1]:.4f} alone")
    return found


def _volume_about(name: str, study: Study) -> float:
    """Compute the hypervolume of a study's candidates in the error about one attribute, by counts."""
    limits = study.limits[study.seed].test
    points = {
        part: [(c.scores(part, False).error, c.scores(part, False).risk[name]) for c in study.of()]
        for part in ("validation", "test")
    }
    chosen = [p for p, is_on in zip(points["test"], on_front(points["validation"]), strict=True) if is_on]
    naive = max(error for _, error in points["test"])  # if nothing or almost nothing is collected
    return hypervolume(chosen, type(limits)(limits.raw_error, limits.majority_error, naive))


def selection_scores(data: md.datasets.Dataset) -> dict:
    """Figure 12: feature selection by ANOVA, mutual information, χ² and stepwise removal."""
    scores = ("anova", "mutual_information", "chi2", "stepwise")
    found = study_of(
        "scores",
        data,
        ASKED.resume,
        minimizers=["FeatureSelection"],
        grids={"FeatureSelection": {"score_func": scores}},
        seeds=1,
    )
    limits = found.limits[found.seed].test
    volumes, sets = {}, {}
    for score in scores:
        # A set of attributes that an earlier score also chose is one candidate; it counts for both.
        own = {c.parameters["k"]: c for c in found.of()} | {
            c.parameters["k"]: c for c in found.of() if c.parameters["score_func"] == score
        }
        volumes[score] = hypervolume([c.point("test", judged=False) for c in own.values()], limits)
        sets[score] = {keep: c.generalization.needed for keep, c in own.items()}
    for score, volume in volumes.items():
        print(f"feature selection by {score}, income: hypervolume {volume:.4f}")
    return {"hypervolume": volumes, "kept": sets}


def task(name: str) -> md.datasets.Dataset:
    return load_acs(name)


SECTIONS = {
    **{name: partial(lambda name: compared(name, task(name), ASKED), name) for name in TASKS},  # Figure 13: its seeds
    "figure_8": lambda: training_sizes(task("employment")),
    "figure_10": lambda: one_attribute(task("employment")),
    "figure_12": lambda: selection_scores(task("income")),
}


def quick() -> dict[str, float]:
    """Run PAT on the first split of employment."""
    found = study_of("canary", task("employment"), minimizers=["PrivacyTree"], seeds=1, fronts_of="each")
    return {"employment.minimizers.PrivacyTree.hypervolume_by_seed.0": found.hypervolume()["PrivacyTree"].by_seed[0]}


if __name__ == "__main__":
    run_studies("study_acs", SECTIONS, ASKED)
