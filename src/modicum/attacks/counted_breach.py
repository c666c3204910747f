"""A breach in an engine: how many records have each combination of buckets and value, counted there.

Models learn from distinct buckets with counts anyway, so that nothing is lost: the same adversary, the same guesses.
How often guesses about several attributes are wrong together is counted in one more pass over the breached records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.attacks.breach import FEWEST, Breach, breach_target, check_artifact, too_few, weighted
from modicum.attacks.knowledge import Step
from modicum.engines.buckets import buckets_at, target_key
from modicum.engines.file_tables import is_table, table_at
from modicum.engines.table import Counts, EngineTable
from modicum.errors import ParameterError
from modicum.generalization import Artifact, Generalization
from modicum.learners.inputs import Inputs
from modicum.learners.portfolio import Guess, Portfolio, Question
from modicum.measures.intervals import Interval, counted_interval, redrawn_interval
from modicum.table.codes import first_rows, group_rows
from modicum.table.roles import personal_attributes
from modicum.table.targets import Target
from modicum.table.values import Codes, Floats, Mask

_MOST_TOGETHER = 20  # attributes: there are 2ⁿ ways to guess them wrong
_VALUE = "modicum_value"


@dataclass(frozen=True)
class Pairs:
    """What is seen and what is guessed, each combination once: its buckets, its value, how many records have it."""

    codes: Codes
    values: Codes
    records: Codes


class CountedBreach(Breach):
    """The combinations of one breach, and the questions about them answered."""

    counted = True

    def __init__(
        self,
        artifact: Artifact,
        known: Any,
        breached: Any,
        personal: Sequence[str] | None,
        bins: int,
        members: Sequence[str],
        random_state: int,
    ) -> None:
        check_artifact(artifact)
        self.artifact = artifact
        self.attributes = personal_attributes(artifact.schema, personal)
        self.members = members
        self.random_state = random_state
        self.persons = None
        tables = [_table(X, artifact, what) for what, X in (("known", known), ("breached", breached))]
        self._breached = tables[1]
        self.records = tables[0].rows(), tables[1].rows()
        for (what, fewest), rows in zip(FEWEST.items(), self.records, strict=True):
            if rows < fewest:
                raise too_few(what, rows)
        self.targets = {name: breach_target(artifact, tables[0], name, bins) for name in self.attributes}
        self._pairs = [
            {name: _pairs(table, artifact, target) for name, target in self.targets.items()} for table in tables
        ]
        self.values = {name: pairs.values for name, pairs in self._pairs[1].items()}

    def learned(self, step: Step, l2: Mapping[str, float] | None = None) -> Portfolio:
        questions = []
        for name in step.targets:
            pairs = self._pairs[0][name]
            inputs, cells = Inputs.of_codes(self.artifact, pairs.codes).distinct()
            mask = self._masking(name, 0, cells)
            questions.append(Question(pairs.values, self.targets[name].size, mask, cells, pairs.records.astype(float)))
        return Portfolio(self.members, self.random_state, l2=l2).fit(inputs, cells, questions)

    def guessed(self, step: Step, portfolio: Portfolio) -> dict[str, Guess]:
        seen = {name: Inputs.of_codes(self.artifact, self._pairs[1][name].codes).distinct() for name in step.targets}
        masks = [self._masking(name, 1, cells) for name, (_, cells) in seen.items()]
        inputs = next(iter(seen.values()))[0]
        guesses = portfolio.guess(inputs, masks)
        return {
            name: Guess(guess.value[cells], guess.chance[cells])
            for (name, (_, cells)), guess in zip(seen.items(), guesses, strict=True)
        }

    def mean(self, name: str, values: Floats) -> float:
        return float(values @ self._pairs[1][name].records / self.records[1])

    def interval(self, name: str, values: Floats) -> Interval:
        return counted_interval(values, self._pairs[1][name].records)

    def together(
        self, wrong: Mapping[str, Floats], weights: Mapping[str, float], guesses: Mapping[str, Codes]
    ) -> tuple[float, Interval]:
        """By counting which guesses are wrong of how many records."""
        often = self._breached.fold(_WrongTogether.of(self, guesses))
        ways = np.flatnonzero(often)
        bits = {name: (ways >> i & 1).astype(np.float64) for i, name in enumerate(wrong)}
        values, which = np.unique(weighted(bits, weights), return_inverse=True)
        many = np.bincount(which, weights=often[ways]).astype(np.int64)
        return float(values @ many / many.sum()), redrawn_interval(values, many, self.random_state)

    def possible(self, name: str, which: int, rows: Any) -> Mask:
        return self.artifact.possible(name, self.targets[name], self._pairs[which][name].codes[rows])

    def _masking(self, name: str, which: int, cells: Codes) -> Any:
        return self._mask(name, which, first_rows(cells))


@dataclass(frozen=True)
class _WrongTogether:
    """Which attributes are guessed wrong of how many records: bit i says so of the i-th."""

    columns: tuple[str, ...]
    artifact: Artifact
    targets: tuple[Target, ...]
    seen: Codes
    guesses: Codes  # one column for each target

    @classmethod
    def of(cls, breach: CountedBreach, guesses: Mapping[str, Codes]) -> "_WrongTogether":
        if len(guesses) > _MOST_TOGETHER:
            raise ParameterError(
                f"The 'personal' parameter names {len(guesses)} attributes; in an engine at most {_MOST_TOGETHER} are "
                "guessed together."
            )
        pairs = breach._pairs[1]
        found = [_by_cell(pairs[name].codes, guess) for name, guess in guesses.items()]
        targets = tuple(breach.targets[name] for name in guesses)
        assert isinstance(breach.artifact, Generalization)
        columns = tuple(dict.fromkeys([*breach.artifact.needed, *guesses]))
        return cls(columns, breach.artifact, targets, found[0][0], np.column_stack([guess for _, guess in found]))

    def empty(self) -> Counts:
        return np.zeros(1 << len(self.targets), dtype=np.int64)

    def add(self, counts: Counts, frame: nw.DataFrame[Any]) -> None:
        groups = group_rows(np.vstack([self.seen, self.artifact.codes(frame)]))
        place = np.zeros(int(groups.max()) + 1, dtype=np.int64)
        place[groups[: len(self.seen)]] = np.arange(len(self.seen))
        cells = place[groups[len(self.seen) :]]
        ways = np.zeros(len(cells), dtype=np.int64)
        for i, target in enumerate(self.targets):
            ways |= (self.guesses[cells, i] != target.encode(frame)).astype(np.int64) << i
        counts += np.bincount(ways, minlength=len(counts))


def _by_cell(codes: Codes, guess: Codes) -> tuple[Codes, Codes]:
    """The distinct buckets, and what is guessed of each."""
    first = first_rows(group_rows(codes))
    return codes[first], guess[first]


def _table(X: Any, artifact: Artifact, what: str) -> EngineTable:
    if not is_table(X):
        raise ParameterError(f"The {what!r} records must be in an engine where the others are. Got {type(X).__name__}.")
    table = table_at(X)
    person = artifact.schema.person
    if person is not None and person in table.types:
        raise ParameterError(
            f"The {what!r} records have the column {person!r}, which says whose they are; {table.engine} counts only "
            "records. Give a sample in memory, or leave the column out where everyone has one record."
        )
    return table


def _pairs(table: EngineTable, artifact: Artifact, target: Target) -> Pairs:
    table.check([target.name])
    is_category = target.attribute.is_category
    value = table.col(target.name) if is_category else target_key(table, target)
    shown, codes, records = buckets_at(table, artifact, {_VALUE: value}).distinct(_VALUE)
    if not is_category:
        return Pairs(codes, shown[_VALUE].to_numpy().astype(np.int64), records)
    return Pairs(codes, target.encode(shown.select(nw.col(_VALUE).alias(target.name))), records)
