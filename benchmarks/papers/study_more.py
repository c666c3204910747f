"""The paper's further datasets: fronts of all minimizers [Staab24 Figure 11], and Adult.

    python benchmarks/papers/study_more.py

Health, Health pruned, Loan, Crime and Adult. Learned on 60%, chosen on 10%, reported on 30%. Needs PyTorch.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import read_options

ASKED = read_options(
    __name__,
    __doc__,
    ("crime/communities.data.gz", "crime/communities.names", "health/health.csv.zip", "loan/lending_club.csv.gz"),
    sections=True,
    flags={"--resume": "go on with a study that was stopped", "--only=": "run these minimizers alone, by commas"},
)

from functools import partial

from data import load_crime, load_health, load_loan
from papers.vdm.studies import compared, run_studies, study_of

import modicum as md

LOADERS = {
    "adult": md.datasets.load_adult,
    "crime": load_crime,
    "loan": load_loan,
    "health_pruned": partial(load_health, pruned=True),
    "health": load_health,
}
# 124 attributes: 30,000 rows already take ten minutes for the neural minimizers alone, on two cores.
SOME = {"health": {"rows": 30_000, "seeds": 1, "minimizers": "all"}}
SECTIONS = {
    name: partial(lambda name, load: compared(name, load(), ASKED, **SOME.get(name, {})), name, load)
    for name, load in LOADERS.items()
}


def quick() -> dict[str, float]:
    """Run PAT on the first split of Adult."""
    found = study_of("canary", LOADERS["adult"](), minimizers=["PrivacyTree"], seeds=1, fronts_of="each")
    return {"adult.minimizers.PrivacyTree.hypervolume_by_seed.0": found.hypervolume()["PrivacyTree"].by_seed[0]}


if __name__ == "__main__":
    run_studies("study_more", SECTIONS, ASKED)
