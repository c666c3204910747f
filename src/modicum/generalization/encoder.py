"""Buckets as numbers for a scikit-learn model: one-hot, with categories fixed by the artifact."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from modicum.generalization.bins import AnyPartition, FullDetail


def bucket_encoder(partitions: Sequence[AnyPartition]) -> Any:
    """An unfitted transformer: one-hot buckets, scaled numbers; a constant where nothing is collected."""
    if not partitions:
        return FunctionTransformer(_constant)
    coarse = [p for p in partitions if not isinstance(p, FullDetail)]
    plain = [p.name for p in partitions if isinstance(p, FullDetail)]
    categories = [np.array(p.labels, dtype=object) for p in coarse]
    steps: list[tuple[str, Any, list[str]]] = []
    if coarse:
        # An object array: scikit-learn then compares labels as they are, whatever the frame's library.
        steps.append(
            ("buckets", OneHotEncoder(categories=categories, handle_unknown="error"), [p.name for p in coarse])
        )
    if plain:
        steps.append(("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), plain))
    return ColumnTransformer(steps)


def _constant(X: Any) -> np.ndarray:
    return np.zeros((len(X), 1))
