"""Boosted trees: on distinct rows with counts, with one tree per step for all values; and on records."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.tree import DecisionTreeRegressor

from modicum.generalization import Generalization
from modicum.generalization.bins import Dropped, FullDetail, Groups
from modicum.learners.inputs import Counts, Frequent, Inputs, Scores
from modicum.table.codes import Weights
from modicum.table.estimator_input import person_codes
from modicum.table.frames import as_frame
from modicum.typing import Codes, Floats

_MOST_VALUES = 64
_MOST_CELLS = 10_000


class BoostedTrees:
    """Multinomial gradient boosting (Friedman 2001) on cells with counts.

    Each step fits one regression tree to the residuals n_zv/n_z − p_v(z), weighted by n_z, and moves the scores of each
    leaf by a damped Newton step. A leaf holds at least `min_records` training records, in any number of cells. Targets
    with more than 64 values learn the most frequent 64; the others share one chance by frequency. Of more than 10,000
    cells a random part is used: cell z with chance π_z = min(1, 10,000 · n_z/n), at weight n_z/π_z.
    """

    def __init__(self, steps: int = 30, rate: float = 0.3, depth: int = 5, min_records: float = 20) -> None:
        self.steps = steps
        self.rate = rate
        self.depth = depth
        self.min_records = min_records

    def fit(self, inputs: Inputs, counts: Sequence[Counts]) -> "BoostedTrees":
        kept, scale = _draw_cells(np.asarray(counts[0].sum(axis=1), dtype=np.float64))
        X = _matrix(inputs[kept])
        self._targets = [_Booster(self, X, table, kept, scale) for table in counts]
        return self

    def predict(self, inputs: Inputs) -> list[Scores]:
        """Return the chance of each value, one table per target."""
        X = _matrix(inputs)
        return [booster.predict(X) for booster in self._targets]


def _draw_cells(records: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the cells to learn from, and the weight of each cell's records."""
    if len(records) <= _MOST_CELLS:
        return np.arange(len(records)), np.ones(len(records))
    chance = np.minimum(1, _MOST_CELLS * records / records.sum())
    kept = np.flatnonzero(np.random.default_rng(0).random(len(records)) < chance)
    return kept, 1 / chance[kept]


def _rows(inputs: Inputs) -> Floats:
    """Join codes and plain numbers, in this order."""
    return np.hstack([inputs.codes, inputs.numbers])


def _matrix(inputs: Inputs) -> npt.NDArray[np.float32]:
    return np.ascontiguousarray(_rows(inputs), dtype=np.float32)


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
        self._grow(settings, X, self.frequent.pool_counts(table)[kept].toarray() * scale[:, None], least)

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
            residuals = wanted / n[:, None] - chances
            tree = DecisionTreeRegressor(
                max_depth=settings.depth,
                min_weight_fraction_leaf=min(0.5, least / n.sum()),
                random_state=0,
            ).fit(X, residuals, sample_weight=n, check_input=False)  # checks would take half the time of a small tree
            leaf = tree.tree_.apply(X)
            moves = _newton(leaf, tree.tree_.node_count, residuals, chances, n) * settings.rate
            scores += moves[leaf]
            self.trees.append((tree, moves))
            if tree.tree_.node_count == 1:
                break

    def predict(self, X: npt.NDArray[np.float32]) -> Scores:
        scores = np.tile(self.start, (len(X), 1))
        for tree, moves in self.trees:
            scores += moves[tree.tree_.apply(X)]
        return self.frequent.spread(_softmax(scores))


def _newton(leaf: Any, nodes: int, residuals: Any, chances: Any, n: Any) -> npt.NDArray[np.float64]:
    """Return the Newton step of each leaf and value: Σ n·residual / Σ n·p(1−p), bounded for nearly pure leaves."""
    inside = csr_array((n, (leaf, np.arange(len(leaf)))), shape=(nodes, len(leaf)))
    return np.clip((inside @ residuals) / (inside @ (chances * (1 - chances)) + 1.0), -4, 4)


def _softmax(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


# Boosted trees on records: the classifier that measures utility, and the one that guides merging.

_STOPPABLE = 20  # records of a class needed to set some aside


class RecordTrees:
    """scikit-learn's boosted trees on bucket codes and plain numbers, with early stopping on a tenth of the records.

    They train on records, not on counts. Without early stopping they overfit small tables, especially raw ones, so that
    minimized data would look too good. Without L2 they diverge if a class has very few records.
    """

    def __init__(self, g: Generalization, n_classes: int, random_state: int) -> None:
        self.g = g
        self.n_classes = n_classes
        shown = [p for p in g.partitions if not isinstance(p, Dropped)]
        # Columns as in `_rows`: buckets first, plain numbers after them.
        coarse = [p for p in shown if not isinstance(p, FullDetail)]
        nominal = [isinstance(p, Groups) and p.attribute.kind == "category" and len(p.labels) < 255 for p in coarse]
        self.model = HistGradientBoostingClassifier(
            categorical_features=nominal + [False] * (len(shown) - len(coarse)) if any(nominal) else None,
            max_iter=200,
            l2_regularization=1.0,
            random_state=random_state,
        )
        self.random_state = random_state
        self.is_constant = not shown

    def fit(self, X: Any, y: Codes, records: Weights | None = None) -> "RecordTrees":
        """Learn the class numbers y; `records` is the number of records that each row represents."""
        counts = np.bincount(y, weights=records, minlength=self.n_classes)
        self.share = counts / counts.sum()
        if self.is_constant:
            return self
        rows, aside = _rows(Inputs.of(self.g, X)), self._set_aside(X, y)
        weights = {} if records is None else {"sample_weight": records[~aside], "sample_weight_val": records[aside]}
        if aside.any():
            self.model.set_params(early_stopping=True)
            self.model.fit(rows[~aside], y[~aside], X_val=rows[aside], y_val=y[aside], **weights)
        else:
            self.model.set_params(early_stopping=False).fit(rows, y, sample_weight=records)
        return self

    def _set_aside(self, X: Any, y: Codes) -> npt.NDArray[np.bool_]:
        """Choose a tenth of the persons for early stopping; none of a rare class, and never all of a class."""
        persons = person_codes(self.g.schema, as_frame(X))
        units = np.arange(len(y)) if persons is None else persons
        n_units = int(units.max()) + 1
        drawn = np.random.default_rng(self.random_state).permutation(n_units) < n_units // 10
        aside = drawn[units] & (np.bincount(y)[y] >= _STOPPABLE)
        return np.asarray(aside & np.isin(y, y[~aside]))

    def predict_proba(self, X: Any) -> Floats:
        if self.is_constant:
            return np.tile(self.share, (len(X), 1))
        # Thousands of records share a handful of distinct rows.
        inputs, cells = Inputs.of(self.g, X).distinct()
        chances = self.model.predict_proba(_rows(inputs))
        return all_classes(chances, self.model.classes_, self.n_classes)[cells]


def all_classes(found: Floats, classes: Any, n_classes: int) -> Floats:
    """Add columns of 0 for classes that the training rows did not have."""
    chances = np.zeros((len(found), n_classes))
    chances[:, np.asarray(classes, dtype=np.int64)] = found
    return chances
