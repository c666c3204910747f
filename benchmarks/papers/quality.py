"""PAT on employment with `privacy` 0.5 and 20 leaves: error, adversary, certificate, attributes not collected.

    python benchmarks/papers/quality.py

Learned on 60% of the rows, counted on 30%; boosted trees on minimized and on raw data.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from common import read_options, write

read_options(__name__, __doc__, ("acs/ny2024.parquet",))

from data import load_acs

import modicum as md
from modicum.table.splits import split_rows


def quality() -> dict:
    data = load_acs("employment")
    parts = split_rows(data.y)
    train, test = (data.X.iloc[rows] for rows in (parts.train, parts.test))
    y_train, y_test = (data.y.iloc[rows] for rows in (parts.train, parts.test))
    g = md.PrivacyTree(max_leaves=20, privacy=0.5, schema=data.schema).fit(train, y_train).generalization_
    judged = md.evidence(g, train, y_train, test, y_test, depth="quick", n_jobs=-1)
    utility, attack, certificate = judged.utility, judged.attack, judged.certificate
    cost = utility.error - utility.raw_error
    private = attack.error / attack.naive
    left_out = len(g.names) - len(g.needed)
    print(
        f"error above raw data, employment: {utility.error:.4f} - {utility.raw_error:.4f} = {cost:+.4f} "
        f"(target ≤ 0.012: {'ok' if cost <= 0.012 else 'MISSED'}); skill kept {utility.skill_kept:.1%}"
    )
    print(
        f"adversary's error / naive guess's, employment: {attack.error:.4f} / {attack.naive:.4f} = {private:.1%} "
        f"(target ≥ 80%: {'ok' if private >= 0.8 else 'MISSED'}); certified mean accuracy {certificate.mean:.4f} "
        f"(adversary {1 - attack.error:.4f}, naive {1 - attack.naive:.4f})"
    )
    print(
        f"attributes not collected, employment: {left_out} of {len(g.names)} "
        f"(target ≥ 10: {'ok' if left_out >= 10 else 'MISSED'}); {g.n_buckets} buckets"
    )
    return {
        "error": utility.error,
        "raw_error": utility.raw_error,
        "majority_error": utility.majority_error,
        "skill_kept": utility.skill_kept,
        "adversary_error": attack.error,
        "naive_error": attack.naive,
        "adversary_share_of_naive": private,
        "certified_mean_accuracy": certificate.mean,
        "confidence": certificate.confidence,
        "not_collected": left_out,
        "attributes": len(g.names),
        "n_buckets": g.n_buckets,
        "distinct_z": judged.description.groups,
    }


def quick() -> dict[str, float]:
    return quality()


if __name__ == "__main__":
    write("quality", quality())
