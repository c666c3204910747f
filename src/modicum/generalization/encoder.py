"""Encode buckets for a scikit-learn model: one-hot, with categories fixed by the artifact."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from modicum.generalization.bins import AnyPartition, FullDetail
from modicum.table.frames import as_frame, column, numbers
from modicum.table.schema import Attribute


def bucket_encoder(partitions: Sequence[AnyPartition]) -> Any:
    """Return an unfitted transformer: one-hot buckets and scaled numbers; a constant if nothing is collected."""
    if not partitions:
        return FunctionTransformer(_constant)
    coarse = [p for p in partitions if not isinstance(p, FullDetail)]
    plain = [p.name for p in partitions if isinstance(p, FullDetail) and p.attribute.kind == "number"]
    dates = [p for p in partitions if isinstance(p, FullDetail) and p.attribute.kind == "date"]
    categories = [np.array(p.labels, dtype=object) for p in coarse]
    steps: list[tuple[str, Any, list[str]]] = []
    if coarse:
        # With an object array scikit-learn compares labels exactly, whatever the frame's library.
        steps.append(
            ("buckets", OneHotEncoder(categories=categories, handle_unknown="error"), [p.name for p in coarse])
        )
    if plain:
        steps.append(("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), plain))
    for partition in dates:
        scaled = make_pipeline(_DateSeconds(partition.name), SimpleImputer(add_indicator=True), StandardScaler())
        steps.append((f"date {len(steps)}", scaled, [partition.name]))
    return ColumnTransformer(steps)


class _DateSeconds(TransformerMixin, BaseEstimator):
    """Convert a column of dates to seconds, NaN if missing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fit(self, X: Any, y: Any = None) -> "_DateSeconds":
        return self

    def transform(self, X: Any) -> np.ndarray:
        return numbers(column(as_frame(X), self.name), Attribute(name=self.name, kind="date"))[:, None]

    def __sklearn_is_fitted__(self) -> bool:
        return True


def _constant(X: Any) -> np.ndarray:
    return np.zeros((len(X), 1))
