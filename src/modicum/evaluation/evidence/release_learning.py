"""Released records beside the raw ones: what a model that learns from them loses, and what it tells of whom it saw.

An anatomized release is tied to its records and tried on part of them in the same way.
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
from modicum.evaluation._utility import BucketModel, Utility, compare_utility, group_names, model_on, repeat_shares
from modicum.generalization.core import raw_generalization
from modicum.table.estimator_input import person_codes
from modicum.table.schema import Schema
from modicum.table.splits import TEST, split_rows
from modicum.table.targets import Labels, label_values
from modicum.typing import Codes, Floats

# A release beside the records that it was made of, and one made alike of part of them


@dataclass(frozen=True)
class ReleasedRecords:
    """A release beside its records.

    Attributes
    ----------
    raw, y : the full records and their label
    rows : which full record each released one is
    persons : whose each full record is, where a column says so
    random_state : the seed of the evidence, not that of the groups
    """

    raw: nw.DataFrame[Any]
    y: Any
    rows: Codes
    persons: Codes | None
    random_state: int

    @property
    def released_raw(self) -> nw.DataFrame[Any]:
        """The full records of those who were released, in the release's order."""
        return self.raw[self.rows.tolist()]

    @property
    def released_persons(self) -> Codes | None:
        """Whose each released record is."""
        return None if self.persons is None else np.unique(self.persons[self.rows], return_inverse=True)[1]


def find_label(y: Any, raw: nw.DataFrame[Any], label: str | None) -> Any:
    """The label of the full records: as it is given, or the column of that name; one without a value is refused."""
    if y is None and label is not None and label in raw.columns:
        y = raw[label].to_native()
    if y is not None:
        label_values(y, len(raw))
    return y


@contextmanager
def making_trial() -> Iterator[None]:
    """Make a release that nobody sees, to test with; where it cannot be made, there is no trial."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # it is not published
        try:
            yield
        except ModicumError as error:
            raise NoTrialError(f"A release of part of the records, to test with, cannot be made: {error}") from None


# What a model learns from a release

QUICK = 4_000  # records of a side that membership inference looks at


@dataclass(frozen=True)
class Lesson:
    """Records to learn from, released and raw, and records to be tested on.

    Attributes
    ----------
    released, raw : records that stand for the same people, and their labels
    rows : which raw record each released one is; those left out have no part in the release
    test : full records that nothing was learned from
    schema : their kinds and roles; the label is none of the features
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
        """How many people the test records are of."""
        whose = person_codes(self.schema, self.test)
        return len(self.test) if whose is None else int(whose.max()) + 1


@dataclass(frozen=True)
class Learned:
    """Both models, what they learned from, and what the test shows of them."""

    lesson: Lesson
    utility: Utility
    models: dict[str, "Answering"]
    labels: Labels


class Answering:
    """A model whose classes are numbers, as attacks on models ask it."""

    def __init__(self, model: BucketModel, classes: int) -> None:
        self.model = model
        self.classes_ = np.arange(classes)

    def predict_proba(self, X: Any) -> Floats:
        return self.model.predict_proba(X)


class NoTrialError(DataError):
    """The second release, by which prediction is tested, cannot be made; all else can still be measured."""


def hold_out(y: Any, persons: Any, random_state: int) -> tuple[Codes, Codes]:
    """Rows to learn from and rows to test on, 70 to 30, a person's rows together."""
    try:
        parts = split_rows(y, persons=persons, validation=0.0, test=TEST, random_state=random_state)
    except DataError as error:
        raise NoTrialError(f"No records can be held out to test with: {error}") from None
    train = np.sort(np.concatenate([parts.train, parts.validation]))
    if not len(parts.test) or len(pd.unique(y[train])) < 2:
        raise NoTrialError("There are too few records to hold some of them out for a test.")
    return train, parts.test


def train_and_compare(lesson: Lesson, estimator: Any, by: Any, label_bins: int | None, random_state: int) -> Learned:
    """Train on both kinds of records, and compare on the test records."""
    if not len(lesson.test):
        raise DataError("The test data has no rows.")
    labels = Labels.fit(lesson.raw_label, label_bins, name=lesson.label)
    own, raw = (labels.encode(label_values(y)) for y in (lesson.released_label, lesson.raw_label))
    truth, classes = labels.encode(label_values(lesson.test_label, len(lesson.test))), len(labels)
    g = raw_generalization(lesson.raw, lesson.schema)
    fitted = {
        "minimized": model_on(g, estimator, classes, random_state).fit(lesson.released, own),
        "raw": model_on(g, estimator, classes, random_state).fit(lesson.raw, raw),
    }
    chances = {name: model.predict_proba(lesson.test) for name, model in fitted.items()}
    chances["majority"] = repeat_shares(raw, classes, len(lesson.test))
    utility = compare_utility(
        chances,
        truth,
        persons=person_codes(lesson.schema, lesson.test),
        groups=None if by is None else group_names(by, lesson.test, lesson.schema),
        trained_on=len(own),
        estimator=estimator,
        random_state=random_state,
    )
    return Learned(lesson, utility, {name: Answering(model, classes) for name, model in fitted.items()}, labels)


def attack_membership(found: Learned, random_state: int) -> dict[str, MembershipResult]:
    """Whether each model tells whose raw records it, or what was released of them, was trained on.

    Members are those whose records were released: whoever was left out taught the model on the release nothing.
    """
    lesson, random = found.lesson, np.random.default_rng(random_state)
    members = lesson.raw[lesson.rows.tolist()], label_values(lesson.raw_label)[lesson.rows]
    given = [(frame, found.labels.encode(label_values(y))) for frame, y in (members, (lesson.test, lesson.test_label))]
    there = [random.permutation(np.flatnonzero(codes >= 0)) for _, codes in given]
    many = min(QUICK, *map(len, there))  # of either side, so that half of the attacked are members
    sides, persons = [], []
    for (frame, codes), drawn in zip(given, there, strict=True):
        rows = np.sort(drawn[:many])
        sides.append((frame[rows.tolist()].to_native(), codes[rows]))
        whose = person_codes(lesson.schema, frame)
        persons.append(None if whose is None else [f"{len(sides)} {each}" for each in whose[rows].tolist()])
    attack = MembershipInference("strongest", random_state=random_state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # counted in the result, which the report tells
        return {
            name: attack.run(model, sides[0], sides[1], persons=None if persons[0] is None else tuple(persons))
            for name, model in found.models.items()
        }
