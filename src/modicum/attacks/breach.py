"""One breach as an adversary sees it: known records to learn from, breached ones to guess about, both coded once."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.attacks.knowledge import Step
from modicum.engines.buckets import target_of
from modicum.errors import DataError, ParameterError
from modicum.generalization import Artifact, Generalization
from modicum.generalization.bins import Dropped, Groups
from modicum.generalization.core import raw_generalization
from modicum.learners.inputs import Codes, Inputs
from modicum.learners.portfolio import Guess, Masking, Portfolio, Question
from modicum.measures.intervals import Interval, mean_interval, resampled_interval
from modicum.table.codes import first_rows
from modicum.table.frames import as_frame, check_values, column
from modicum.table.roles import person_codes, personal_attributes
from modicum.table.targets import Target
from modicum.table.values import Floats, Mask


class Breach:
    """The records of one breach, and the questions about them answered one by one.

    Parameters
    ----------
    artifact : through which the breached records are seen
    known, breached : frames with full records
    personal : attributes to guess
    bins : of a personal number
    members, random_state : the adversary's portfolio
    targets : the values to tell apart, where another breach has fixed them

    Attributes
    ----------
    records : how many are known, and how many breached
    values : attribute → each breached record's value
    counted : whether they are not single records but combinations that are counted
    """

    counted = False

    def __init__(
        self,
        artifact: Artifact,
        known: Any,
        breached: Any,
        personal: Sequence[str] | None,
        bins: int,
        members: Sequence[str],
        random_state: int,
        targets: Mapping[str, Target] | None = None,
    ) -> None:
        check_artifact(artifact)
        self.artifact = artifact
        self.attributes = personal_attributes(artifact.schema, personal)
        self.members = members
        self.random_state = random_state
        self._frames = _rows(known, artifact, "known"), _rows(breached, artifact, "breached")
        self.known, self.breached = self._frames
        self.records = len(self.known), len(self.breached)
        self.targets = targets or {name: breach_target(artifact, self.known, name, bins) for name in self.attributes}
        self.values = {name: target.encode(self.breached) for name, target in self.targets.items()}
        self.persons = person_codes(artifact.schema, self.breached)
        self._known_values = {name: target.encode(self.known) for name, target in self.targets.items()}
        self._known_persons = person_codes(artifact.schema, self.known)
        self._codes = artifact.codes(self.known), artifact.codes(self.breached)

    @property
    def naive(self) -> dict[str, int]:
        """The most frequent known value of each attribute."""
        return {name: int(target.counts.argmax()) for name, target in self.targets.items()}

    @cached_property
    def _raw(self) -> tuple[dict[str, Inputs], dict[str, Inputs]]:
        """Every attribute in full detail, for the known and the breached records."""
        raw = raw_generalization(self.known, self.artifact.schema)
        found = []
        for frame in self._frames:
            codes = raw.codes(frame)
            columns = {p.name: Inputs.of_partition(p, codes[:, j]) for j, p in enumerate(raw.partitions)}
            found.append(columns)
        return found[0], found[1]

    def inputs(self, side: Sequence[str], which: int) -> Inputs:
        """What is seen of the known (0) or breached (1) records: the named attributes in full detail, else buckets."""
        codes = self._codes[which]
        columns = [self._raw[which][name] for name in side]
        return Inputs.beside([Inputs.of_codes(self.artifact, codes, without=side), *columns], len(codes))

    def learned(self, step: Step, l2: Mapping[str, float] | None = None) -> Portfolio:
        """The adversary that the known records make for a step's attributes."""
        inputs, cells = self.inputs(step.side, 0).distinct()
        masks = self._masks(step, 0, cells)
        questions = [
            Question(self._known_values[name], self.targets[name].size, mask)
            for name, mask in zip(step.targets, masks, strict=True)
        ]
        portfolio = Portfolio(self.members, self.random_state, l2=l2)
        return portfolio.fit(inputs, cells, questions, self._known_persons)

    def guessed(self, step: Step, portfolio: Portfolio) -> dict[str, Guess]:
        """What it guesses of every breached record."""
        inputs, cells = self.inputs(step.side, 1).distinct()
        guesses = portfolio.guess(inputs, self._masks(step, 1, cells))
        return {
            name: Guess(guess.value[cells], guess.chance[cells])
            for name, guess in zip(step.targets, guesses, strict=True)
        }

    def mean(self, name: str, values: Floats) -> float:
        """The mean over the breached records of what was found for each about an attribute."""
        return float(values.mean())

    def interval(self, name: str, values: Floats) -> Interval:
        """The interval of that mean."""
        return mean_interval(values, self.persons)

    def together(
        self, wrong: Mapping[str, Floats], weights: Mapping[str, float], guesses: Mapping[str, Codes]
    ) -> tuple[float, Interval]:
        """The weighted mean over the attributes of what is guessed wrong, and its interval by the bootstrap."""
        per_record = weighted(wrong, weights)
        return float(per_record.mean()), resampled_interval(per_record, self.persons, self.random_state)

    def possible(self, name: str, which: int, rows: Any) -> Mask:
        """Which values of an attribute the buckets of some known (0) or breached (1) records leave possible."""
        return self.artifact.possible(name, self.targets[name], self._codes[which][rows])

    def _masks(self, step: Step, which: int, cells: Codes) -> list[Masking]:
        """The same for some of the distinct rows, each by its first record."""
        first = first_rows(cells)
        return [self._mask(name, which, first) for name in step.targets]

    def _mask(self, name: str, which: int, first: Codes) -> Masking:
        return lambda rows: self.possible(name, which, first[rows])


def weighted(wrong: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """The weighted sum over the attributes, for each record."""
    return np.asarray(np.sum([weights[name] * wrong[name] for name in wrong], axis=0))


def breach_target(artifact: Artifact, known: Any, name: str, bins: int) -> Target:
    """What can be guessed of an attribute: the known values, and what the artifact's buckets name."""
    partition = artifact[name] if isinstance(artifact, Generalization) else None
    named = [v for bucket in partition.buckets for v in bucket.values] if isinstance(partition, Groups) else []
    may_miss = partition is not None and not isinstance(partition, Dropped) and partition.missing_code >= 0
    return target_of(known, artifact.schema[name], bins, named=named, may_miss=may_miss)


def too_few(what: str, rows: int) -> DataError:
    """That an attack needs more records than these."""
    return DataError(f"The {what} data has {rows} rows, too few for an attack.")


FEWEST = {"known": 5, "breached": 1}


def check_artifact(g: Any) -> None:
    """Refuse what is no artifact, such as the path of one."""
    if not isinstance(g, Artifact):
        raise ParameterError(
            f"An attack needs a generalization, such as `md.load` gives. Got {type(g).__name__} instead."
        )


def _rows(X: Any, artifact: Artifact, what: str) -> nw.DataFrame[Any]:
    frame = as_frame(X, artifact.names)
    if len(frame) < FEWEST[what]:
        raise too_few(what, len(frame))
    for name in artifact.names:
        attribute = artifact.schema[name]
        if attribute.kind != "ordered":  # whose domain may be no more than what the fit has seen
            check_values(attribute, column(frame, name))
    return frame
