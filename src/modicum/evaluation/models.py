"""Classifiers on what a generalization shows."""

import inspect
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from modicum.errors import ParameterError, quoted
from modicum.generalization import Generalization
from modicum.generalization.bins import FullDetail
from modicum.learners.boosting import RecordTrees, all_classes
from modicum.learners.inputs import Inputs, chunks
from modicum.learners.portfolio import NETWORK, NEURAL, TREES, Portfolio, Question
from modicum.table.codes import group_rows
from modicum.table.frames import as_frame
from modicum.table.roles import person_codes
from modicum.table.values import Codes, Floats

# Parameters by which a learner counts or splits rows: on distinct rows with weights it would train differently.
_COUNTS_ROWS = {
    "batch_size", "bootstrap", "cv", "early_stopping", "max_samples", "min_samples_leaf", "min_samples_split",
    "n_neighbors", "probability", "subsample", "validation_fraction",
}  # fmt: skip


class Model(Protocol):
    """Something that learns class numbers from records and gives each class a chance."""

    def fit(self, X: Any, y: Codes) -> Any: ...

    def predict_proba(self, X: Any) -> Floats: ...


def model_on(g: Generalization, estimator: Any, n_classes: int, random_state: int) -> Model:
    """The estimator, ready to learn from records as `g` shows them."""
    if isinstance(estimator, str):
        if estimator == TREES:
            return RecordTrees(g, n_classes, random_state)
        if estimator in (NETWORK, *NEURAL):
            return _Network(g, estimator, n_classes, random_state)
    elif not isinstance(estimator, type) and hasattr(estimator, "fit") and hasattr(estimator, "predict_proba"):
        return _Pipeline(g, estimator, n_classes)
    raise ParameterError(
        f"The 'estimator' parameter must be {quoted((TREES, NETWORK, *NEURAL), limit=9)}, or a scikit-learn classifier "
        f"with predict_proba. Got {estimator!r} instead."
    )


def counts_rows(estimator: Any) -> bool:
    """Whether a learner must see every record: it takes no weights, or a parameter of it or its parts counts rows."""
    parameters = {name.split("__")[-1] for name in estimator.get_params()}
    return "sample_weight" not in inspect.signature(estimator.fit).parameters or bool(_COUNTS_ROWS & parameters)


class _Network:
    """A network on distinct z with counts, its L2 tuned on a fifth of the records (papers/0 Appendix F)."""

    def __init__(self, g: Generalization, member: str, n_classes: int, random_state: int) -> None:
        self.g = g
        self.n_classes = n_classes
        self.portfolio = Portfolio((member,), random_state)

    def fit(self, X: Any, y: Codes) -> "_Network":
        inputs, cells = Inputs.of(self.g, X).distinct()
        self.portfolio.fit(inputs, cells, [Question(y, self.n_classes)], person_codes(self.g.schema, as_frame(X)))
        return self

    def predict_proba(self, X: Any) -> Floats:
        inputs, cells = Inputs.of(self.g, X).distinct()
        parts = [self.portfolio.predict(inputs[rows])[0] for rows in chunks(len(inputs), inputs.width)]
        return np.vstack(parts)[cells].astype(np.float64)


class _Pipeline:
    """Any scikit-learn classifier behind `g.encoder()`, on distinct (z, y) with counts where that is the same."""

    def __init__(self, g: Generalization, estimator: Any, n_classes: int) -> None:
        self.g = g
        self.n_classes = n_classes
        # The encoder's scaling of plain numbers takes no weights.
        self.by_rows = counts_rows(estimator) or any(isinstance(p, FullDetail) for p in g.partitions)
        self.model = make_pipeline(g.encoder(), clone(estimator))

    def fit(self, X: Any, y: Codes) -> "_Pipeline":
        frame = as_frame(X, self.g.names)
        if self.by_rows:
            self.model.fit(self._shown(frame), y)
            return self
        groups = group_rows(np.column_stack([self.g.codes(frame), y]))
        _, first, counts = np.unique(groups, return_index=True, return_counts=True)
        last = self.model.steps[-1][0]
        self.model.fit(self._shown(frame[first.tolist()]), y[first], **{f"{last}__sample_weight": counts})
        return self

    def predict_proba(self, X: Any) -> Floats:
        found = self.model.predict_proba(self._shown(as_frame(X, self.g.names)))
        return all_classes(found, self.model.classes_, self.n_classes)

    def _shown(self, frame: Any) -> Any:
        """Labels as a pandas frame, which keeps its rows even where nothing is collected."""
        return self.g.transform(frame.to_pandas())
