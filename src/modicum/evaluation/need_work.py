"""One generalization tried on the records: what a model predicts from it, and what an adversary guesses."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from modicum.attacks.breach import breach_target, weighted
from modicum.evaluation.models import model_on
from modicum.generalization import Generalization
from modicum.generalization.bins import AnyPartition, Dropped
from modicum.learners.backoff import Backoff
from modicum.learners.inputs import Inputs, count_table
from modicum.learners.portfolio import best_guess
from modicum.measures.scores import Predictions
from modicum.table.codes import first_rows
from modicum.table.frames import column
from modicum.table.roles import person_codes
from modicum.table.targets import BINS
from modicum.table.values import Codes, Floats


@dataclass(frozen=True)
class Tried:
    """Each test record's outcome: whether the prediction is wrong, its log-loss, and what the adversary gets wrong.

    `missed` has an entry for every personal attribute, and `adversary` is their weighted mean.
    """

    wrong: Floats
    loss: Floats
    missed: Mapping[str, Floats]
    adversary: Floats


@dataclass(frozen=True)
class NeedData:
    """The records on which alternatives are compared.

    Attributes
    ----------
    g : the generalization itself
    train, test : frames with full records
    y, truth : their class numbers
    classes : how many there are
    weights : personal attribute → its share in the mean
    """

    g: Generalization
    train: Any
    test: Any
    y: Codes
    truth: Codes
    classes: int
    weights: dict[str, float]
    estimator: Any
    random_state: int

    @cached_property
    def persons(self) -> Codes | None:
        """Whose each test record is, where that is known."""
        return person_codes(self.g.schema, self.test)

    @cached_property
    def codes(self) -> tuple[Codes, Codes]:
        """What `g` shows of the training and the test records."""
        return self.g.codes(self.train), self.g.codes(self.test)

    @cached_property
    def _targets(self) -> dict[str, Any]:
        return {name: breach_target(self.g, self.train, name, BINS) for name in self.weights}

    @cached_property
    def _values(self) -> dict[str, tuple[Codes, Codes]]:
        """Each personal attribute's values in the training and the test records."""
        return {n: (target.encode(self.train), target.encode(self.test)) for n, target in self._targets.items()}

    @cached_property
    def majority(self) -> Predictions:
        """The shares of the classes, whatever is seen."""
        shares = np.bincount(self.y, minlength=self.classes) / len(self.y)
        return Predictions(np.tile(shares, (len(self.truth), 1)), self.truth)

    @property
    def naive_adversary(self) -> float:
        """The weighted mean error of who always guesses the training records' most frequent value."""
        guesses = {name: int(target.counts.argmax()) for name, target in self._targets.items()}
        wrong = {name: float(np.mean(self._values[name][1] != guess)) for name, guess in guesses.items()}
        return sum(self.weights[name] * error for name, error in wrong.items())

    def prepare(self) -> None:
        """Compute what all pieces of work share, before they run at the same time."""
        _ = self.persons, self.codes, self._values, self.majority

    def predicted(self, g: Generalization) -> Predictions:
        """What a model predicts that learned from what `g` shows."""
        model = model_on(g, self.estimator, self.classes, self.random_state).fit(self.train, self.y)
        return Predictions(model.predict_proba(self.test), self.truth)

    def tried(self, g: Generalization) -> Tried:
        """Predictions and guesses from what a generalization shows that is `g` but for one attribute."""
        found, missed = self.predicted(g), self._missed(g)
        return Tried(found.wrong, found.loss, missed, weighted(missed, self.weights))

    def _missed(self, g: Generalization) -> dict[str, Floats]:
        """Personal attribute → whether counts with back-off guess each test record's value wrong."""
        known, seen = (self._shown(g, which) for which in (0, 1))
        inputs, cells = Inputs.of_codes(g, known).distinct()
        asked, rows = Inputs.of_codes(g, seen).distinct()
        tables = [
            count_table(cells, self._values[name][0], (len(inputs), target.size))
            for name, target in self._targets.items()
        ]
        chances = Backoff().fit(inputs, tables).predict(asked)
        first = seen[first_rows(rows)]
        found = {}
        for (name, target), scores in zip(self._targets.items(), chances, strict=True):
            guess = best_guess(scores, g.possible(name, target, first).__getitem__, slice(None))
            found[name] = (guess.value[rows] != self._values[name][1]).astype(np.float64)
        return found

    def _shown(self, g: Generalization, which: int) -> Codes:
        """The codes of the training (0) or test (1) records; only an attribute that differs is coded again."""
        frame = (self.train, self.test)[which]
        codes = self.codes[which]
        pairs = enumerate(zip(g.partitions, self.g.partitions, strict=True))
        changed = {j: _encoded(new, frame) for j, (new, old) in pairs if new is not old}
        if not changed:
            return codes
        return np.column_stack([changed.get(j, codes[:, j]) for j in range(codes.shape[1])])


def _encoded(partition: AnyPartition, frame: Any) -> Codes:
    if isinstance(partition, Dropped):
        return np.zeros(len(frame), dtype=np.int64)
    return partition.encode(column(frame, partition.name))
