"""How many records, and how many of each label, a classifier predicts right, with intervals that count persons."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from modicum.attacks import Estimate
from modicum.measures.intervals import ENOUGH_UNITS, Interval, Resampling, mean_interval
from modicum.table.roles import unit_codes


def scores(right: Any, truth: Any, units: Any, random_state: int) -> dict[str, Estimate]:
    """How many records, and how many of each label, are predicted right."""
    right, labels = right.astype(np.float64), pd.factorize(truth)[0]
    shares = np.bincount(labels) / len(labels)
    return {
        "accuracy": Estimate(float(right.mean()), mean_interval(right, units), float(shares.max())),
        "balanced_accuracy": Estimate(
            balanced(labels, right), balanced_interval(labels, right, units, random_state), 1 / len(shares)
        ),
    }


def balanced(labels: Any, values: Any, draws: Any = None) -> float:
    """The mean over the labels of their records' mean, such as the share that is right."""
    many = np.bincount(labels, draws)
    hits = np.bincount(labels, values if draws is None else values * draws)
    return float(np.mean(hits[many > 0] / many[many > 0]))


def balanced_interval(
    labels: Any, values: Any, units: Any, random_state: int, of_label: Callable[..., Interval] = mean_interval
) -> Interval:
    """By resampling persons; the mean of the labels' own intervals where a label has too few or none differ."""
    people = np.arange(len(labels)) if units is None else units
    each_label = [labels == label for label in range(int(labels.max()) + 1)]
    if min(len(np.unique(people[each])) for each in each_label) >= ENOUGH_UNITS:
        drawn = Resampling(len(values), units, random_state=random_state)
        low, high = drawn.interval(lambda draws: balanced(labels, values, draws))
        if low < high:
            return low, high
    ends = [of_label(values[each], None if units is None else unit_codes(units[each])) for each in each_label]
    return float(np.mean([low for low, _ in ends])), float(np.mean([high for _, high in ends]))
