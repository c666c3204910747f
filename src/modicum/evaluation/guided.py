"""Model-guided minimization where only labels are given: boosted trees on raw records are the model (papers/0 §6)."""

from collections.abc import Mapping
from functools import cached_property, reduce
from typing import Any

import numpy as np

from modicum.generalization import Generalization
from modicum.generalization.core import raw_generalization
from modicum.learners.boosting import RecordTrees
from modicum.minimizers import ModelGuided
from modicum.table.schema import Schema
from modicum.table.targets import Labels, label_name, label_values


class Guide:
    """Boosted trees on raw records, without what the schema forbids, and minimizers that are guided by them.

    Parameters
    ----------
    X, y : records and labels
    schema : Schema
    weights : how much each attribute counts in the loss
    label_bins : for a numeric label
    seed : of the trees and of the minimizers
    """

    def __init__(
        self, X: Any, y: Any, schema: Schema, weights: Mapping[str, float] | None, label_bins: int | None, seed: int
    ) -> None:
        values = label_values(y, len(X))
        classes = Labels.fit(values, label_bins, None, name=label_name(y)).encode(values)
        forbidden = [a.name for a in schema.attributes if a.forbidden]
        raw = reduce(Generalization.drop, forbidden, raw_generalization(X, schema))
        self._trees = RecordTrees(raw, int(classes.max()) + 1, seed).fit(X, classes)
        self._X = X
        self._shared: dict[str, Any] = {"schema": schema, "weights": weights, "random_state": seed, "progress": False}

    def __call__(self, X: Any) -> Any:
        """The class that the trees hold most likely."""
        return self._trees.predict_proba(X).argmax(axis=1)

    @cached_property
    def is_constant(self) -> bool:
        """Whether they know one answer alone, which guides nobody."""
        return len(np.unique(self(self._X))) < 2

    def minimized(self, **options: Any) -> ModelGuided:
        """A minimizer guided by them, fitted to the same records; options as for `ModelGuided`."""
        return ModelGuided(self, **options, **self._shared).fit(self._X)
