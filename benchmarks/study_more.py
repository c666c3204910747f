"""The paper's further datasets: fronts of all minimizers (papers/0 Figure 11), and Adult.

    python benchmarks/study_more.py [--resume]

Health, Health pruned, Loan, Crime and Adult. Learned on 60%, chosen on 10%, reported on 30%. Needs PyTorch.
"""

from common import write
from studies import compared

import modicum as md


def study_more() -> dict:
    load = {
        "adult": md.datasets.load_adult,
        "crime": md.datasets.load_crime,
        "loan": md.datasets.load_loan,
        "health_pruned": lambda: md.datasets.load_health(pruned=True),
        "health": md.datasets.load_health,
    }
    return {name: compared(name, make()) for name, make in load.items()}


if __name__ == "__main__":
    write("study_more", study_more())
