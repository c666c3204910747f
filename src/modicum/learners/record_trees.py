"""Boosted trees on records: the classifier that results are judged by, and the teacher of who merges buckets."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.ensemble import HistGradientBoostingClassifier

from modicum.generalization import Generalization
from modicum.generalization.bins import Dropped, FullDetail, Groups
from modicum.learners.inputs import Inputs
from modicum.table.codes import Weights
from modicum.table.frames import as_frame
from modicum.table.roles import person_codes
from modicum.table.values import Codes, Floats

_STOPPABLE = 20  # records of a class from which some can be set aside


class RecordTrees:
    """scikit-learn's boosted trees on bucket codes and plain numbers, stopped on a tenth of the records.

    They count rows, so they are given the records. Without stopping they overfit small tables, raw ones above all,
    which would flatter the minimized data; without L2 they diverge where a class has a handful of records.
    """

    def __init__(self, g: Generalization, n_classes: int, random_state: int) -> None:
        self.g = g
        self.n_classes = n_classes
        shown = [p for p in g.partitions if not isinstance(p, Dropped)]
        # Columns as in `_matrix`: buckets first, plain numbers after them.
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

    def _matrix(self, X: Any) -> Floats:
        inputs = Inputs.of(self.g, X)
        return np.hstack([inputs.codes, inputs.numbers])

    def fit(self, X: Any, y: Codes, records: Weights | None = None) -> "RecordTrees":
        """Learn the class numbers y; `records` says how many records each row stands for."""
        counts = np.bincount(y, weights=records, minlength=self.n_classes)
        self.share = counts / counts.sum()
        if self.is_constant:
            return self
        rows, aside = self._matrix(X), self._set_aside(X, y)
        weights = {} if records is None else {"sample_weight": records[~aside], "sample_weight_val": records[aside]}
        if aside.any():
            self.model.set_params(early_stopping=True)
            self.model.fit(rows[~aside], y[~aside], X_val=rows[aside], y_val=y[aside], **weights)
        else:
            self.model.set_params(early_stopping=False).fit(rows, y, sample_weight=records)
        return self

    def _set_aside(self, X: Any, y: Codes) -> npt.NDArray[np.bool_]:
        """A tenth of the persons, to stop the boosting in time; none of a rare class, and no class whole."""
        persons = person_codes(self.g.schema, as_frame(X))
        units = np.arange(len(y)) if persons is None else persons
        many = int(units.max()) + 1
        drawn = np.random.default_rng(self.random_state).permutation(many) < many // 10
        aside = drawn[units] & (np.bincount(y)[y] >= _STOPPABLE)
        return np.asarray(aside & np.isin(y, y[~aside]))

    def predict_proba(self, X: Any) -> Floats:
        if self.is_constant:
            return np.tile(self.share, (len(X), 1))
        # Thousands of records share a handful of distinct rows.
        inputs, cells = Inputs.of(self.g, X).distinct()
        rows = np.hstack([inputs.codes, inputs.numbers])
        return all_classes(self.model.predict_proba(rows), self.model.classes_, self.n_classes)[cells]


def all_classes(found: Floats, classes: Any, n_classes: int) -> Floats:
    """A column for every class, also one that the training rows did not have."""
    chances = np.zeros((len(found), n_classes))
    chances[:, np.asarray(classes, dtype=np.int64)] = found
    return chances
