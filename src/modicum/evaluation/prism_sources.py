"""The records and settings that evidence on a PriSM classifier was made of, and what they are known by."""

from typing import Any

import numpy as np
import pandas as pd

from modicum.errors import DataError
from modicum.evaluation.prism_comparison import Part, frame_of, units_of
from modicum.prism import PrismClassifier
from modicum.provenance import frame_hash, text_hash, told_settings, versions
from modicum.table.estimator_input import schema_of
from modicum.table.schema import Schema
from modicum.table.targets import label_values
from modicum.table.values import plain


def part_of(model: PrismClassifier, X: Any, y: Any) -> Part:
    """Records with their labels, and whose each is where the model's schema says so."""
    frame = frame_of(model, X)
    if not len(frame):
        raise DataError("There are no records to learn from or to report on.")
    return Part(frame, label_values(y, len(frame)), units_of(model, frame))


def check_parts(model: PrismClassifier, train: Part, test: Part) -> None:
    """Refuse test records that lack a column."""
    schema_of(model, train.frame)
    absent = [name for name in train.frame.columns if name not in test.frame.columns]
    if absent:
        raise DataError(f"The column {absent[0]!r} of the training records is not among the test records.")


def check_same(given: PrismClassifier, trained: PrismClassifier) -> None:
    """Refuse evidence on a fitted model from records that it was not trained on."""
    if not hasattr(given, "predictors_"):
        return
    same = given.predictors_ == trained.predictors_ and given.coef_.shape == trained.coef_.shape
    if not same or not np.allclose(given.coef_, trained.coef_, rtol=1e-4, atol=1e-6):
        raise DataError(
            "The model is fitted, but training on X_train and y_train gives another one: give the records that it was "
            "trained on, or a model that is not fitted."
        )


def provenance(
    model: PrismClassifier, trained: PrismClassifier, train: Part, test: Part, schema: Schema, **settings: Any
) -> dict[str, Any]:
    """Hashes of what went in and of the classifier, versions, and the settings."""
    rule = [trained.predictors_, trained.columns_, trained.coef_.tolist(), trained.intercept_.tolist()]
    return {
        "hashes": {
            "training records": records_hash(train),
            "test records": records_hash(test),
            "schema": text_hash(schema.to_dict()),
            "classifier": text_hash(rule),
        },
        "versions": versions(),
        "settings": plain({**told_settings(model), **settings}),
    }


def records_hash(part: Part) -> str:
    """The SHA-256 of records and of their labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.evaluation.prism_comparison import Part
    >>> from modicum.evaluation.prism_sources import records_hash
    >>> from modicum.table.frames import as_frame
    >>> one, other = (Part(as_frame(pd.DataFrame({"a": [1, b]})), [0, 1], None) for b in (2, 3))
    >>> len(records_hash(one)), records_hash(one) == records_hash(other)
    (64, False)
    """
    labels = pd.DataFrame({"label": pd.Series(np.asarray(part.values))})
    return text_hash([frame_hash(part.frame), frame_hash(labels)])
