"""Model-guided minimization where only labels are given: boosted trees on raw records are the model (papers/0 §6)."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from modicum.generalization import Generalization
from modicum.generalization.raw import raw_generalization
from modicum.learners.record_trees import RecordTrees
from modicum.minimizers import ModelGuided
from modicum.minimizers.model_guided import GuidedPoint
from modicum.table.labels import Labels, label_name, label_values
from modicum.table.schema import Schema

_TARGET = 0.8  # down to it the path goes in small steps


class _Trees:
    """Boosted trees as a function of frames: the class that they hold most likely."""

    def __init__(self, X: Any, y: Any, schema: Schema, label_bins: int | None, seed: int) -> None:
        values = label_values(y, len(X))
        labels = Labels.fit(values, label_bins, None, name=label_name(y))
        classes = labels.encode(values)
        forbidden = [a.name for a in schema.attributes if a.forbidden]
        raw = reduce(Generalization.drop, forbidden, raw_generalization(X, schema))
        self.trees = RecordTrees(raw, int(classes.max()) + 1, seed).fit(X, classes)

    def __call__(self, X: Any) -> Any:
        return self.trees.predict_proba(X).argmax(axis=1)


def guided_path(
    X: Any,
    y: Any,
    schema: Schema,
    weights: Mapping[str, float] | None,
    label_bins: int | None,
    max_depth: int,
    seed: int,
) -> list[GuidedPoint]:
    """The whole path of the better search, from full detail to nothing; none where the model knows one answer alone."""
    model = _Trees(X, y, schema, label_bins, seed)
    if len(np.unique(model(X))) < 2:
        return []
    guided = ModelGuided(
        model,
        target_agreement=_TARGET,
        max_depth=max_depth,
        weights=weights,
        schema=schema,
        random_state=seed,
        progress=False,
    )
    return guided.fit(X).path_


def apt(
    X: Any,
    y: Any,
    schema: Schema,
    weights: Mapping[str, float] | None,
    label_bins: int | None,
    max_depth: int,
    targets: Sequence[float],
    seed: int,
) -> dict[float, Generalization]:
    """The paper's search, once for each target; none where the model knows one answer alone."""
    model = _Trees(X, y, schema, label_bins, seed)
    if len(np.unique(model(X))) < 2:
        return {}
    found = {}
    for target in targets:
        guided = ModelGuided(
            model,
            target_agreement=target,
            search="paper",
            max_depth=max_depth,
            weights=weights,
            schema=schema,
            random_state=seed,
            progress=False,
        )
        found[target] = guided.fit(X).generalization_
    return found
