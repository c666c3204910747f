"""Boosted trees whose leaves hold one score per value: a target of many values still takes one tree a step."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.tree import DecisionTreeRegressor

from modicum.learners.inputs import Counts, Inputs, Scores

_MOST_VALUES = 64  # of a target; rarer ones are told apart by their share alone
_MOST_CELLS = 5_000


class BoostedTrees:
    """Multinomial gradient boosting (Friedman 2001) on cells with counts.

    Each step fits one regression tree to what the current chances miss, n_zv/n_z − p_v(z), weighted by n_z, and moves
    the scores of each leaf by a damped Newton step. A leaf holds at least `min_records` records, however few cells
    these are. Targets with more than 64 values learn the most frequent 64 and share the rest out by frequency.
    """

    def __init__(self, steps: int = 30, rate: float = 0.3, depth: int = 5, min_records: float = 20) -> None:
        self.steps = steps
        self.rate = rate
        self.depth = depth
        self.min_records = min_records

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "BoostedTrees":
        kept = _heaviest(counts)
        X = _matrix(inputs[kept])
        self._targets = [_Booster(self, X, table[kept]) for table in counts]
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """The chance of each value, one table per target."""
        X = _matrix(inputs)
        return [booster.predict(X) for booster in self._targets]


def _heaviest(counts: Sequence[Counts]) -> npt.NDArray[np.int64]:
    """The cells with most records, where there are too many to boost on all."""
    n = counts[0].shape[0]
    if n <= _MOST_CELLS:
        return np.arange(n)
    records = np.asarray(counts[0].sum(axis=1))
    return np.sort(np.argsort(-records, kind="stable")[:_MOST_CELLS])


def _matrix(inputs: Inputs) -> npt.NDArray[np.float32]:
    return np.hstack([inputs.codes, inputs.numbers]).astype(np.float32)


class _Booster:
    """The trees of one target."""

    def __init__(self, settings: BoostedTrees, X: npt.NDArray[np.float32], table: Counts) -> None:
        total = np.asarray(table.sum(axis=0), dtype=np.float64)
        self.share = (total + 1e-9) / (total + 1e-9).sum()
        self.values = np.sort(np.argsort(-total, kind="stable")[:_MOST_VALUES])
        self.rest = np.setdiff1d(np.arange(len(total)), self.values)
        wanted: Any = table[:, self.values].toarray()
        if len(self.rest):
            wanted = np.column_stack([wanted, np.asarray(table[:, self.rest].sum(axis=1))])
        self.trees: list[tuple[DecisionTreeRegressor, npt.NDArray[np.float64]]] = []
        self.start = np.log(np.append(self.share[self.values], [self.share[self.rest].sum()] * (len(self.rest) > 0)))
        self._grow(settings, X, wanted)

    def _grow(self, settings: BoostedTrees, X: npt.NDArray[np.float32], wanted: npt.NDArray[np.float64]) -> None:
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
                min_weight_fraction_leaf=min(0.5, settings.min_records / n.sum()),
                random_state=0,
            ).fit(X, missed, sample_weight=n)
            leaf = tree.apply(X)
            moves = _newton(leaf, tree.tree_.node_count, missed, chances, n) * settings.rate
            scores += moves[leaf]
            self.trees.append((tree, moves))
            if tree.tree_.node_count == 1:
                break

    def predict(self, X: npt.NDArray[np.float32]) -> Scores:
        scores = np.tile(self.start, (len(X), 1))
        for tree, moves in self.trees:
            scores += moves[tree.apply(X)]
        found = _softmax(scores)
        chances = np.empty((len(X), len(self.share)), dtype=np.float32)
        chances[:, self.values] = found[:, : len(self.values)]
        if len(self.rest):
            spread = self.share[self.rest] / self.share[self.rest].sum()
            chances[:, self.rest] = found[:, -1:] * spread
        return chances


def _newton(leaf: Any, nodes: int, missed: Any, chances: Any, n: Any) -> npt.NDArray[np.float64]:
    """The Newton step of each leaf and value: Σ n·missed / Σ n·p(1−p), bounded where a leaf is nearly pure."""
    inside = csr_array((n, (leaf, np.arange(len(leaf)))), shape=(nodes, len(leaf)))
    return np.clip((inside @ missed) / (inside @ (chances * (1 - chances)) + 1.0), -4, 4)


def _softmax(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)
