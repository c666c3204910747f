"""How good predictions are: error, log-loss, AUC; on records that may count several times (for resampling)."""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.table.values import Codes, Floats

_FLOOR = 1e-6  # a class given no chance at all costs this much, not infinity


class Predictions:
    """One model's chances on the test records, prepared so that scores of a resample are quick."""

    def __init__(self, chances: Floats, y: Codes) -> None:
        rows = np.arange(len(y))
        known = y >= 0
        own = np.where(known, chances[rows, np.maximum(y, 0)], 0.0)
        self.wrong = (chances.argmax(axis=1) != y).astype(np.float64)
        self.loss = -np.log(np.clip(own, _FLOOR, 1))
        self._chances, self._y = chances, y

    @cached_property
    def _ranks(self) -> list["_Ranking"]:
        return [_Ranking(self._chances[:, c], self._y == c) for c in _ranked_classes(self._chances, self._y)]

    def error(self, draws: Any = None) -> float:
        """Share of records whose most likely class is not theirs."""
        return float(np.average(self.wrong, weights=draws))

    def log_loss(self, draws: Any = None) -> float:
        """Mean of -ln(chance given to the true class); chances count as at least one in a million."""
        return float(np.average(self.loss, weights=draws))

    def auc(self, draws: Any = None) -> float:
        """Area under the ROC curve; with several classes the mean over one class against the rest."""
        found = [ranking.auc(draws) for ranking in self._ranks]
        return float(np.mean(found)) if found else float("nan")


def skill_kept(minimized: float, raw: float, majority: float) -> float:
    """Skill kept: (L_majority − L_minimized) / (L_majority − L_raw)."""
    return (majority - minimized) / (majority - raw) if majority > raw else float("nan")


def _ranked_classes(chances: Floats, y: Codes) -> list[int]:
    """The classes with both members and others among the records; for two classes the second alone."""
    classes = [1] if chances.shape[1] == 2 else list(range(chances.shape[1]))
    return [c for c in classes if 0 < np.count_nonzero(y == c) < len(y)]


class _Ranking:
    """Records in groups of equal score."""

    def __init__(self, score: Floats, positive: npt.NDArray[np.bool_]) -> None:
        _, self.group = np.unique(score, return_inverse=True)
        self.positive = positive.astype(np.float64)

    def auc(self, draws: Any = None) -> float:
        weight = np.ones(len(self.group)) if draws is None else draws
        up = np.bincount(self.group, weights=weight * self.positive)
        down = np.bincount(self.group, weights=weight * (1 - self.positive))
        if not up.sum() or not down.sum():
            return float("nan")
        below = np.cumsum(down) - down
        return float((up * (below + down / 2)).sum() / (up.sum() * down.sum()))
