"""A synthetic set as in [Barbato25 §5.1]: 40,000 records of 13 ternary attributes, sensitive attribute and label
binary.

Products of attributes reveal the sensitive attribute (three pairs and a triple, whose members reveal nothing alone),
and two attributes reveal a little each by itself; every attribute affects the label. The best possible accuracy of an
adversary who knows all this is computed from the true probabilities.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

SEED = 20261116
ROWS = 40_000
NAMES = [f"a{j}" for j in range(1, 14)]
CHANNELS = {
    ("a1", "a7"): 1.25,
    ("a2", "a12"): 1.25,
    ("a3", "a13"): 1.25,
    ("a4", "a9", "a10"): 1.6,
    ("a6",): 0.3,
    ("a8",): 0.3,
}
SHIFT = 0.13  # makes 52% of the sensitive values positive
EFFECTS = dict(zip(NAMES, 1.6 * 0.80 ** np.arange(13), strict=True))  # of each attribute on the label


@dataclass(frozen=True)
class Synthetic:
    """The records, and the best possible share of sensitive values guessed from all predictors."""

    X: pd.DataFrame
    y: pd.Series
    best: float


def synthetic(rows: int = ROWS, seed: int = SEED) -> Synthetic:
    """Draw the records; `best` is the mean of max(p, 1 − p) over them, with the true probabilities p."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(random.integers(-1, 2, (rows, len(NAMES))), columns=NAMES)
    odds = SHIFT + sum(size * X[list(names)].prod(axis=1) for names, size in CHANNELS.items())
    chance = 1 / (1 + np.exp(-odds))
    score = sum(size * X[name] for name, size in EFFECTS.items()) + random.logistic(size=rows)
    sensitive = np.where(random.random(rows) < chance, "yes", "no")
    y = pd.Series(np.where(score > np.median(score), "good", "bad"), name="label")
    return Synthetic(X.assign(sensitive=sensitive), y, float(np.maximum(chance, 1 - chance).mean()))
