"""What a model can learn from, to test a release by: the release itself, or one made alike of part of the records."""

import warnings
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from sklearn.base import clone

from modicum.errors import ModicumError, ParameterError, PrivacyWarning
from modicum.evaluation.release_learning import Learned, Lesson, NoTrialError, hold_out, learned
from modicum.evaluation.release_work import ReleaseWork
from modicum.table.frames import as_frame
from modicum.table.targets import MAX_CLASSES, label_values
from modicum.table.values import Codes


@dataclass(frozen=True)
class Learning:
    """What the models showed, or why there are none."""

    learned: Learned | None
    lesson: Lesson | None
    held_out: bool
    skipped: dict[str, str]


def learning(work: ReleaseWork, X_test: Any, y_test: Any, estimator: Any, by: Any, label_bins: int | None) -> Learning:
    """Train and test, where there is something to predict."""
    if (X_test is None) != (y_test is None):
        raise ParameterError("Give both 'X_test' and 'y_test', or neither.")
    why = _why_not(work, X_test, label_bins)
    if why is None:
        try:
            lesson = _trial(work) if X_test is None else _tested(work, as_frame(X_test), y_test)
        except NoTrialError as error:
            why = str(error)
        else:
            found = learned(lesson, estimator, by, label_bins, work.random_state)
            return Learning(found, lesson, X_test is None, {})
    return Learning(None, None, False, {"utility": why})


def _why_not(work: ReleaseWork, X_test: Any, label_bins: int | None) -> str | None:
    if work.y is None:
        return "No label was given, so no model was trained."
    values = label_values(work.y)
    if len(pd.unique(values)) < 2:
        return "The label has only one value, so there is nothing to predict."
    if values.dtype.kind in "iuf" and len(np.unique(values)) > MAX_CLASSES and label_bins is None:
        return "The label is a number; with 'label_bins' its ranges are predicted."
    if work.owner is None and (X_test is None or work.release.output == "ranges"):
        return "Only the release was given; a model needs the anonymizer that made it."
    return None


def _tested(work: ReleaseWork, test: nw.DataFrame[Any], y_test: Any) -> Lesson:
    """The release itself to learn from, and other records to test on."""
    frame = work.frame
    if work.release.output == "ranges":
        frame, _ = _made_again(work.owner, work.raw.to_native(), work.y)
    return _lesson(work, frame, work.raw, label_values(work.y), work.rows, test, y_test)


def _trial(work: ReleaseWork) -> Lesson:
    """A release of 70% of the records to learn from, and the others to test on."""
    values = label_values(work.y)
    train, test = hold_out(values, work.persons, work.random_state)
    raw = work.raw[train.tolist()]
    frame, rows = _made_again(work.owner, raw.to_native(), values[train])
    return _lesson(work, frame, raw, values[train], rows, work.raw[test.tolist()], values[test])


def _lesson(
    work: ReleaseWork, frame: nw.DataFrame[Any], raw: nw.DataFrame[Any], y: Any, rows: Codes, test: Any, y_test: Any
) -> Lesson:
    features = work.features
    names = features.names
    return Lesson(
        released=frame.select([name for name in names if name in frame.columns]),
        released_label=y[rows],
        rows=rows,
        raw=raw.select(names),
        raw_label=y,
        test=test.select(names),
        test_label=y_test,
        schema=features,
        label=work.label,
    )


def _made_again(owner: Any, X: Any, y: Any) -> tuple[nw.DataFrame[Any], Codes]:
    """A release of these records by the same settings, as values to learn from; and which records it has."""
    again = clone(owner).set_params(output="values")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # it is not published
        try:
            if hasattr(owner, "sample_indices_"):
                again.fit_resample(X, y)
                return as_frame(again.release_.frame), again.sample_indices_
            again.fit(X, y)
        except ModicumError as error:
            raise NoTrialError(f"A release of part of the records, to test with, cannot be made: {error}") from None
    return as_frame(again.release_.frame), np.arange(again.release_.rows)
