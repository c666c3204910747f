"""Compare models trained on released and on raw records: what prediction loses, and whose membership they reveal.

Anatomized releases share how a release is linked to its records and tried on part of them.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.attacks import MembershipInference, MembershipResult, OverlapWarning
from modicum.errors import DataError, ModicumError, PrivacyWarning
from modicum.evaluation._utility import (
    BucketModel,
    Utility,
    compare_utility,
    count_people,
    group_names,
    model_on,
    repeat_shares,
)
from modicum.generalization.core import raw_generalization
from modicum.table.estimator_input import person_codes
from modicum.table.schema import Schema
from modicum.table.splits import TEST, split_rows
from modicum.table.targets import Labels, label_values
from modicum.typing import Codes, Floats

# A release with its original records, and a trial release of part of them


@dataclass(frozen=True)
class ReleasedRecords:
    """A release with its original records.

    Attributes
    ----------
    raw, y : the full records and their label
    rows : the row in `raw` of each released record
    persons : each full record's person, if there is a person column
    random_state : the seed of the evidence, not that of the groups
    """

    raw: nw.DataFrame[Any]
    y: Any
    rows: Codes
    persons: Codes | None
    random_state: int

    @property
    def released_raw(self) -> nw.DataFrame[Any]:
        """The full records of the released people, in the release's order."""
        return self.raw[self.rows.tolist()]

    @property
    def released_persons(self) -> Codes | None:
        """Each released record's person."""
        return None if self.persons is None else np.unique(self.persons[self.rows], return_inverse=True)[1]


def find_label(y: Any, raw: nw.DataFrame[Any], label: str | None) -> Any:
    """Return the label of the full records: as given, or the column with its name; missing labels raise an error."""
    if y is None and label is not None and label in raw.columns:
        y = raw[label].to_native()
    if y is not None:
        label_values(y, len(raw))
    return y


@contextmanager
def making_trial() -> Iterator[None]:
    """Raise `NoTrialError` if a release for testing cannot be made; silence its privacy warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the trial is never published
        try:
            yield
        except ModicumError as error:
            raise NoTrialError(f"A release of part of the records, for testing, cannot be made: {error}") from None


# What a model learns from a release

QUICK = 4_000  # records of each side for membership inference


@dataclass(frozen=True)
class Lesson:
    """Released and raw records to learn from, and records to test on.

    Attributes
    ----------
    released, raw : records of the same people and their labels; `raw` also has the people who were left out
    rows : the row in `raw` of each released record
    test : full records that are used only for testing
    schema : kinds and roles of the columns; the label is not a feature
    label : what is predicted
    """

    released: nw.DataFrame[Any]
    released_label: Any
    rows: Codes
    raw: nw.DataFrame[Any]
    raw_label: Any
    test: nw.DataFrame[Any]
    test_label: Any
    schema: Schema
    label: str

    @property
    def tested(self) -> int:
        """The number of people in the test records."""
        return count_people(len(self.test), person_codes(self.schema, self.test))


@dataclass(frozen=True)
class Learned:
    """Both models, their data and their test results."""

    lesson: Lesson
    utility: Utility
    models: dict[str, "Answering"]
    labels: Labels


class Answering:
    """A model with numbered classes, in the form that attacks on models need."""

    def __init__(self, model: BucketModel, classes: int) -> None:
        self.model = model
        self.classes_ = np.arange(classes)

    def predict_proba(self, X: Any) -> Floats:
        return self.model.predict_proba(X)


class NoTrialError(DataError):
    """The second release, needed to test prediction, cannot be made; everything else can still be measured."""


def hold_out(y: Any, persons: Any, random_state: int) -> tuple[Codes, Codes]:
    """Split rows into 70% to learn from and 30% to test on, keeping each person's rows together."""
    try:
        parts = split_rows(y, persons=persons, validation=0.0, test=TEST, random_state=random_state)
    except DataError as error:
        raise NoTrialError(f"No records can be held out for testing: {error}") from None
    train = np.sort(np.concatenate([parts.train, parts.validation]))
    if not len(parts.test) or len(pd.unique(y[train])) < 2:
        raise NoTrialError("There are too few records to hold some out for testing.")
    return train, parts.test


def train_and_compare(lesson: Lesson, estimator: Any, by: Any, label_bins: int | None, random_state: int) -> Learned:
    """Train on released and on raw records, and compare on the test records."""
    if not len(lesson.test):
        raise DataError("The test data has no rows.")
    labels = Labels.fit(lesson.raw_label, label_bins, name=lesson.label)
    released, raw = (labels.encode(label_values(y)) for y in (lesson.released_label, lesson.raw_label))
    truth, classes = labels.encode(label_values(lesson.test_label, len(lesson.test))), len(labels)
    g = raw_generalization(lesson.raw, lesson.schema)
    fitted = {
        "minimized": model_on(g, estimator, classes, random_state).fit(lesson.released, released),
        "raw": model_on(g, estimator, classes, random_state).fit(lesson.raw, raw),
    }
    chances = {name: model.predict_proba(lesson.test) for name, model in fitted.items()}
    chances["majority"] = repeat_shares(raw, classes, len(lesson.test))
    utility = compare_utility(
        chances,
        truth,
        persons=person_codes(lesson.schema, lesson.test),
        groups=None if by is None else group_names(by, lesson.test, lesson.schema),
        trained_on=len(released),
        estimator=estimator,
        random_state=random_state,
    )
    return Learned(lesson, utility, {name: Answering(model, classes) for name, model in fitted.items()}, labels)


def attack_membership(learned: Learned, random_state: int) -> dict[str, MembershipResult]:
    """Attack both models: infer whose raw records were in the training data, directly or through the release.

    Members are the people whose records were released, because the model on the release learned nothing from others.
    """
    lesson, random = learned.lesson, np.random.default_rng(random_state)
    members = lesson.raw[lesson.rows.tolist()], label_values(lesson.raw_label)[lesson.rows]
    others = lesson.test, lesson.test_label
    both = [(frame, learned.labels.encode(label_values(y))) for frame, y in (members, others)]
    shuffled = [random.permutation(np.flatnonzero(codes >= 0)) for _, codes in both]
    size = min(QUICK, *map(len, shuffled))  # the same for both sides, so that half of the people are members
    sides, persons = [], []
    for (frame, codes), drawn in zip(both, shuffled, strict=True):
        rows = np.sort(drawn[:size])
        sides.append((frame[rows.tolist()].to_native(), codes[rows]))
        people = person_codes(lesson.schema, frame)
        persons.append(None if people is None else [f"{len(sides)} {each}" for each in people[rows].tolist()])
    attack = MembershipInference("strongest", random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # the result counts it, and the report states it
        return {
            name: attack.run(model, sides[0], sides[1], persons=None if persons[0] is None else tuple(persons))
            for name, model in learned.models.items()
        }
