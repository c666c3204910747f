"""The records of a study, read once and split for every seed."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from modicum.errors import DataError
from modicum.evaluation._utility import count_people, model_on, repeat_shares
from modicum.generalization.core import DistinctColumns, raw_generalization
from modicum.learners.portfolio import TREES
from modicum.measures.scores import Predictions
from modicum.table.codes import no_value
from modicum.table.estimator_input import attribute_weights, person_codes, personal_attributes
from modicum.table.frames import as_frame
from modicum.table.schema import Schema
from modicum.table.splits import Split, split_rows
from modicum.table.targets import Labels, Target, label_name, label_values
from modicum.typing import Codes, Floats

LEAST = 100  # validation records needed to distinguish candidates


class StudyData:
    """All records of a study: the frame, the label, the personal attributes, and every column's distinct values."""

    def __init__(
        self, X: Any, y: Any, schema: Schema, weights: Mapping[str, float] | None, label_bins: int | None
    ) -> None:
        self.frame = as_frame(X)
        self.label = label_values(y, len(self.frame), label_name(y))
        self.name = str(getattr(y, "name", None) or schema.label or "the label")
        self.schema = schema
        self.label_bins = label_bins
        self.given_weights = None if weights is None else dict(weights)
        self.attributes = personal_attributes(schema, None)
        self.weights = attribute_weights(self.attributes, weights)
        self.persons = person_codes(schema, self.frame)
        self._check_size()
        schema.check(self.frame)
        Labels.fit(self.label, label_bins, name=self.name)  # raises if the label cannot be predicted
        self.columns = DistinctColumns.of(self.frame, schema)
        empty = [name for name, size in self.columns.sizes().items() if not size]
        if empty:
            raise no_value(schema[empty[0]])

    def _check_size(self) -> None:
        people = count_people(len(self.frame), self.persons)
        if people < 10 * LEAST:
            unit = "records" if self.persons is None else "people"
            raise DataError(
                f"A study needs at least {10 * LEAST:,} {unit}: it learns from 60% of them, chooses on 10% and tests "
                f"on 30%. Got {people:,}."
            )

    def split_by_seed(self, seed: int) -> "SeedData":
        """Split the records with a seed."""
        return SeedData(self, seed, split_rows(self.label, persons=self.persons, random_state=seed))

    def fingerprint(self) -> str:
        """Hash the records, the label, the roles and all settings that affect a result."""
        label = sha256(repr(self.label.tolist()).encode()).hexdigest()
        persons = None if self.persons is None else sha256(self.persons.tobytes()).hexdigest()
        settings = [self.schema.to_dict(), self.weights, self.label_bins, self.name]
        content = [self.columns.fingerprint(), label, persons, settings]
        return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True)
class SeedData:
    """The records of a study with one seed's split into training, validation and test parts."""

    whole: StudyData
    seed: int
    parts: Split

    @cached_property
    def labels(self) -> Labels:
        """The classes of the training part."""
        return Labels.fit(self.whole.label[self.parts.train], self.whole.label_bins, name=self.whole.name)

    @cached_property
    def classes(self) -> Codes:
        """Each record's class number; -1 for a class that is not in the training part."""
        return self.labels.encode(self.whole.label)

    @cached_property
    def train(self) -> Any:
        return self.whole.frame[self.parts.train]

    @cached_property
    def targets(self) -> dict[str, Target]:
        """The values to guess of each personal attribute; bins of numbers come from the training part."""
        return {name: Target.fit(self.train, self.whole.schema[name]) for name in self.whole.attributes}

    @cached_property
    def values(self) -> dict[str, Codes]:
        """Each record's value of each target; -1 for a value that is not in the training part."""
        return {name: target.encode(self.whole.frame) for name, target in self.targets.items()}

    @cached_property
    def naive(self) -> dict[str, int]:
        """The training part's most frequent value of each target."""
        return {name: int(target.counts.argmax()) for name, target in self.targets.items()}

    def prepare(self) -> None:
        """Compute everything that threads share."""
        for name in ("labels", "classes", "train", "targets", "values", "naive"):
            getattr(self, name)

    def sample(self, share: float) -> Codes:
        """Draw a random share of the training part's rows with every class; smaller samples are part of larger ones."""
        rows = np.random.default_rng([self.seed, 8]).permutation(self.parts.train)
        first = np.unique(self.classes[rows], return_index=True)[1]
        return np.union1d(rows[: max(1, round(share * len(rows)))], rows[first])

    def raw_model(self) -> tuple[Predictions, Predictions]:
        """Train boosted trees on raw records, and predict the validation and the test part."""
        g = raw_generalization(self.train, self.whole.schema)
        model = model_on(g, TREES, len(self.labels), self.seed).fit(self.train, self.classes[self.parts.train])
        return self.predictions(model)

    def predictions(self, model: Any) -> tuple[Predictions, Predictions]:
        """Predict the validation and the test part with a model."""
        return self._predict_parts(lambda rows: model.predict_proba(self.whole.frame[rows]))

    def _predict_parts(self, predict: Callable[[Codes], Floats]) -> tuple[Predictions, Predictions]:
        validation, test = (
            Predictions(predict(rows), self.classes[rows]) for rows in (self.parts.validation, self.parts.test)
        )
        return validation, test

    def majority(self) -> tuple[Predictions, Predictions]:
        """Predict both parts with the class shares of the training part."""
        train, classes = self.classes[self.parts.train], len(self.labels)
        return self._predict_parts(lambda rows: repeat_shares(train, classes, len(rows)))

    def naive_errors(self, rows: Codes) -> dict[str, float]:
        """Return for each attribute the error of always guessing the training part's most frequent value."""
        return {name: float(np.mean(self.values[name][rows] != guess)) for name, guess in self.naive.items()}

    def naive_adversary(self, rows: Codes) -> float:
        """Return the weighted mean of the naive errors."""
        return sum(self.whole.weights[name] * error for name, error in self.naive_errors(rows).items())

    def persons_of(self, rows: Codes) -> Codes | None:
        """Return the persons of these records; None without a person column."""
        return None if self.whole.persons is None else self.whole.persons[rows]

    def people_in(self, rows: Codes) -> int:
        """Count the people in these records; without a person column each record counts as a person."""
        return count_people(len(rows), self.persons_of(rows))
