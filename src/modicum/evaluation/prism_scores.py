"""How many records, and how many of each label, a classifier predicts right, with intervals that count persons."""

from typing import Any

import numpy as np
import pandas as pd

from modicum.attacks import Estimate
from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, mean_interval
from modicum.table.roles import unit_codes


def _scores(right: Any, truth: Any, units: Any, random_state: int) -> dict[str, Estimate]:
    """How many records, and how many of each label, are predicted right."""
    right, labels = right.astype(np.float64), pd.factorize(truth)[0]
    shares = np.bincount(labels) / len(labels)
    return {
        "accuracy": Estimate(float(right.mean()), mean_interval(right, units), float(shares.max())),
        "balanced_accuracy": Estimate(
            _balanced(labels, right), _balanced_interval(labels, right, units, random_state), 1 / len(shares)
        ),
    }


def _balanced(labels: Any, right: Any, draws: Any = None) -> float:
    """The mean over the labels of the share that is right."""
    many = np.bincount(labels, draws)
    hits = np.bincount(labels, right if draws is None else right * draws)
    return float(np.mean(hits[many > 0] / many[many > 0]))


def _balanced_interval(labels: Any, right: Any, units: Any, random_state: int) -> Interval:
    """By resampling persons; the mean of the labels' own intervals where a label has too few or all are right."""
    people = np.arange(len(labels)) if units is None else units
    of_label = [labels == label for label in range(int(labels.max()) + 1)]
    if min(len(np.unique(people[each])) for each in of_label) >= ENOUGH_UNITS:
        drawn = Resampling(len(right), units, random_state=random_state)
        low, high = drawn.interval(lambda draws: _balanced(labels, right, draws))
        if low < high:
            return low, high
    ends = [mean_interval(right[each], None if units is None else unit_codes(units[each])) for each in of_label]
    return float(np.mean([low for low, _ in ends])), float(np.mean([high for _, high in ends]))
