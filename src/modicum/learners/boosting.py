"""Boosted trees whose leaves hold one score per value: a target of many values still takes one tree a step."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.tree import DecisionTreeRegressor

from modicum.learners.frequent import Frequent
from modicum.learners.inputs import Counts, Inputs, Scores

_MOST_VALUES = 64
_MOST_CELLS = 10_000


class BoostedTrees:
    """Multinomial gradient boosting (Friedman 2001) on cells with counts.

    Each step fits one regression tree to what the current chances miss, n_zv/n_z − p_v(z), weighted by n_z, and moves
    the scores of each leaf by a damped Newton step. A leaf holds at least `min_records` of the records it learns from,
    however few cells these are. Targets with more than 64 values learn the most frequent 64 and share the rest out by
    frequency. Of more than 10,000 cells a random part is kept: cell z with chance π_z = min(1, 10,000 · n_z/n), at
    weight n_z/π_z.
    """

    def __init__(self, steps: int = 30, rate: float = 0.3, depth: int = 5, min_records: float = 20) -> None:
        self.steps = steps
        self.rate = rate
        self.depth = depth
        self.min_records = min_records

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "BoostedTrees":
        kept, scale = _drawn(np.asarray(counts[0].sum(axis=1), dtype=np.float64))
        X = _matrix(inputs[kept])
        self._targets = [_Booster(self, X, table, kept, scale) for table in counts]
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """The chance of each value, one table per target."""
        X = _matrix(inputs)
        return [booster.predict(X) for booster in self._targets]


def _drawn(records: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The cells to learn from, and what each one's records count."""
    if len(records) <= _MOST_CELLS:
        return np.arange(len(records)), np.ones(len(records))
    chance = np.minimum(1, _MOST_CELLS * records / records.sum())
    kept = np.flatnonzero(np.random.default_rng(0).random(len(records)) < chance)
    return kept, 1 / chance[kept]


def _matrix(inputs: Inputs) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(np.hstack([inputs.codes, inputs.numbers]), dtype=np.float32)


class _Booster:
    """The trees of one target."""

    def __init__(
        self,
        settings: BoostedTrees,
        X: npt.NDArray[np.float32],
        table: Counts,
        kept: npt.NDArray[np.int64],
        scale: npt.NDArray[np.float64],
    ) -> None:
        self.frequent = Frequent(table, _MOST_VALUES)
        self.start = np.log(self.frequent.places)
        self.trees: list[tuple[DecisionTreeRegressor, npt.NDArray[np.float64]]] = []
        least = settings.min_records * float(scale.max(initial=1.0))
        self._grow(settings, X, self.frequent.pooled(table)[kept].toarray() * scale[:, None], least)

    def _grow(
        self, settings: BoostedTrees, X: npt.NDArray[np.float32], wanted: npt.NDArray[np.float64], least: float
    ) -> None:
        n = wanted.sum(axis=1)
        filled = n > 0
        X, wanted, n = X[filled], wanted[filled], n[filled]
        if X.shape[1] == 0 or not len(X):
            return
        scores = np.tile(self.start, (len(X), 1))
        for _ in range(settings.steps):
            chances = _softmax(scores)
            missed = wanted / n[:, None] - chances
            tree = DecisionTreeRegressor(
                max_depth=settings.depth,
                min_weight_fraction_leaf=min(0.5, least / n.sum()),
                random_state=0,
            ).fit(X, missed, sample_weight=n, check_input=False)  # small trees would spend half their time on checks
            leaf = tree.tree_.apply(X)
            moves = _newton(leaf, tree.tree_.node_count, missed, chances, n) * settings.rate
            scores += moves[leaf]
            self.trees.append((tree, moves))
            if tree.tree_.node_count == 1:
                break

    def predict(self, X: npt.NDArray[np.float32]) -> Scores:
        scores = np.tile(self.start, (len(X), 1))
        for tree, moves in self.trees:
            scores += moves[tree.tree_.apply(X)]
        return self.frequent.spread(_softmax(scores))


def _newton(leaf: Any, nodes: int, missed: Any, chances: Any, n: Any) -> npt.NDArray[np.float64]:
    """The Newton step of each leaf and value: Σ n·missed / Σ n·p(1−p), bounded where a leaf is nearly pure."""
    inside = csr_array((n, (leaf, np.arange(len(leaf)))), shape=(nodes, len(leaf)))
    return np.clip((inside @ missed) / (inside @ (chances * (1 - chances)) + 1.0), -4, 4)


def _softmax(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
