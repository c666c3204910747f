"""One breach from the adversary's view: known records to learn from, breached ones to attack, both coded once."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.engines.buckets import buckets_at, target_key
from modicum.engines.dispatch import is_table, table_at, target_of
from modicum.engines.table import Counts, EngineTable
from modicum.errors import DataError, ParameterError
from modicum.generalization import Artifact, Generalization
from modicum.generalization.bins import Dropped, Groups
from modicum.generalization.core import raw_generalization
from modicum.learners.inputs import Inputs
from modicum.learners.portfolio import Guess, LearnerQuestion, Masking, Portfolio
from modicum.measures.intervals import (
    Interval,
    bootstrap_from_counts,
    bootstrap_interval,
    compute_interval_from_counts,
    mean_interval,
)
from modicum.table.codes import first_rows, group_rows
from modicum.table.estimator_input import person_codes, personal_attributes
from modicum.table.frames import as_frame, check_values, column, numbers, texts
from modicum.table.schema import Schema
from modicum.table.targets import Target
from modicum.typing import Codes, Floats, Mask

# The adversary's knowledge about the breached people besides their buckets ([Staab24 §5], A1 and A3–A5).

Knowledge = Literal["nothing", "non_personal", "all_but_one", "prefix"]
KNOWLEDGE: tuple[Knowledge, ...] = get_args(Knowledge)
ADVERSARY = dict(zip(KNOWLEDGE, ("A1", "A3", "A4", "A5"), strict=True))


@dataclass(frozen=True)
class KnowledgeStep:
    """Attributes to guess (`targets`) from the buckets and from the full values of others (`side`)."""

    targets: tuple[str, ...]
    side: tuple[str, ...] = ()


def steps_of(
    knowledge: Knowledge, names: Sequence[str], personal: Sequence[str], orders: int, random_state: int
) -> list[KnowledgeStep]:
    """Return the questions that an adversary answers one by one.

    With P the personal and N the other attributes: `nothing` guesses P from z; `non_personal` from z and x_N;
    `all_but_one` guesses p from z, x_N and x_{P∖p}; `prefix` guesses the k-th attribute of P, in an order, from z, x_N
    and the k−1 attributes before.

    Examples
    --------
    >>> from modicum.attacks.breach import steps_of
    >>> for step in steps_of("all_but_one", ["age", "job", "sex"], ["job", "sex"], 2, 0):
    ...     print(step.targets, "from", step.side)
    ('job',) from ('age', 'sex')
    ('sex',) from ('age', 'job')
    """
    others = tuple(name for name in names if name not in personal)
    if knowledge == "nothing":
        return [KnowledgeStep(tuple(personal))]
    if knowledge == "non_personal":
        return [KnowledgeStep(tuple(personal), others)]
    if knowledge == "all_but_one":
        return [KnowledgeStep((p,), _in_order(names, {*others, *personal} - {p})) for p in personal]
    return [
        KnowledgeStep((order[k],), _in_order(names, {*others, *order[:k]}))
        for order in attribute_orders(personal, orders, random_state)
        for k in range(len(order))
    ]


def attribute_orders(personal: Sequence[str], orders: int, random_state: int) -> list[list[str]]:
    """Draw random orders in pairs, each followed by its reverse.

    Examples
    --------
    >>> from modicum.attacks.breach import attribute_orders
    >>> first, second, third = attribute_orders(["a", "b", "c"], 3, random_state=0)
    >>> second == first[::-1], sorted(third)
    (True, ['a', 'b', 'c'])
    """
    random = np.random.default_rng(random_state)
    drawn: list[list[str]] = []
    while len(drawn) < orders:
        order = [personal[i] for i in random.permutation(len(personal))]
        drawn += [order, order[::-1]]
    return drawn[:orders]


def _in_order(names: Sequence[str], known: set[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name in known)


# The breach


class Breach:
    """The records of one breach, and the answers to questions about them.

    Parameters
    ----------
    artifact : the artifact that generalizes the breached records
    known, breached : frames with full records
    personal : attributes to guess
    bins : the number of bins of a personal number
    members, random_state : the adversary's portfolio
    targets : the values to distinguish, if another breach has fixed them

    Attributes
    ----------
    records : the numbers of known and of breached records
    values : attribute → each breached record's value
    counted : whether the breach holds counted combinations instead of single records
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
        self.persons: Codes | None = None
        known = self._read(known, breached)
        self.targets = targets or {name: breach_target(artifact, known, name, bins) for name in self.attributes}
        self._encode()

    def _read(self, known: Any, breached: Any) -> nw.DataFrame[Any] | EngineTable:
        """Read and check the records of both sides; return the known ones."""
        self.known = _rows(known, self.artifact, "known")
        self.breached = _rows(breached, self.artifact, "breached")
        self.records = len(self.known), len(self.breached)
        return self.known

    def _encode(self) -> None:
        """Compute the buckets of the records, and the values to guess."""
        schema = self.artifact.schema
        self.values = {name: target.encode(self.breached) for name, target in self.targets.items()}
        self.persons = person_codes(schema, self.breached)
        self._known_values = {name: target.encode(self.known) for name, target in self.targets.items()}
        self._known_persons = person_codes(schema, self.known)
        self._codes = self.artifact.codes(self.known), self.artifact.codes(self.breached)

    @property
    def naive(self) -> dict[str, int]:
        """Return the most frequent known value of each attribute."""
        return {name: int(target.counts.argmax()) for name, target in self.targets.items()}

    @cached_property
    def _raw(self) -> tuple[dict[str, Inputs], dict[str, Inputs]]:
        """Every attribute in full detail, for the known and the breached records."""
        raw = raw_generalization(self.known, self.artifact.schema)
        known, breached = (
            {p.name: Inputs.of_partition(p, codes[:, j]) for j, p in enumerate(raw.partitions)}
            for codes in (raw.codes(self.known), raw.codes(self.breached))
        )
        return known, breached

    def inputs(self, side: Sequence[str], which: int) -> Inputs:
        """Return the known (0) or breached (1) records: the `side` attributes in full detail, the others as buckets."""
        codes = self._codes[which]
        columns = [self._raw[which][name] for name in side]
        return Inputs.join([Inputs.of_codes(self.artifact, codes, without=side), *columns], len(codes))

    def learn_portfolio(self, step: KnowledgeStep, l2: Mapping[str, float] | None = None) -> Portfolio:
        """Train the adversary for a step's attributes on the known records."""
        inputs, cells = self.inputs(step.side, 0).distinct()
        questions = [
            LearnerQuestion(self._known_values[name], self.targets[name].size, self._mask(name, 0, cells))
            for name in step.targets
        ]
        portfolio = Portfolio(self.members, self.random_state, l2=l2)
        return portfolio.fit(inputs, cells, questions, self._known_persons)

    def guess_values(self, step: KnowledgeStep, portfolio: Portfolio) -> dict[str, Guess]:
        """Guess a step's attributes of every breached record."""
        inputs, cells = self.inputs(step.side, 1).distinct()
        guesses = portfolio.guess(inputs, [self._mask(name, 1, cells) for name in step.targets])
        return {
            name: Guess(guess.value[cells], guess.chance[cells])
            for name, guess in zip(step.targets, guesses, strict=True)
        }

    def mean(self, name: str, values: Floats) -> float:
        """Average an attribute's values over the breached records."""
        return float(values.mean())

    def interval(self, name: str, values: Floats) -> Interval:
        """Return the interval of that mean."""
        return mean_interval(values, self.persons)

    def compute_weighted_error(
        self, wrong: Mapping[str, Floats], weights: Mapping[str, float], guesses: Mapping[str, Codes]
    ) -> tuple[float, Interval]:
        """Return the mean error, weighted over the attributes, and its bootstrap interval."""
        per_record = compute_weighted_sum(wrong, weights)
        return float(per_record.mean()), bootstrap_interval(per_record, self.persons, self.random_state)

    def possible(self, name: str, which: int, rows: Any) -> Mask:
        """Mark the values of an attribute that the buckets of known (0) or breached (1) records leave possible."""
        return self.artifact.possible(name, self.targets[name], self._codes[which][rows])

    def _mask(self, name: str, which: int, cells: Codes) -> Masking:
        """Return a function that does the same for distinct rows, each by its first record."""
        first = first_rows(cells)
        return lambda rows: self.possible(name, which, first[rows])


def compute_weighted_sum(wrong: Mapping[str, Floats], weights: Mapping[str, float]) -> Floats:
    """Return the weighted sum over the attributes for each record."""
    return np.asarray(np.sum([weights[name] * wrong[name] for name in wrong], axis=0))


def breach_target(artifact: Artifact, known: Any, name: str, bins: int) -> Target:
    """Return the values that can be guessed: the known ones, and those that the artifact's buckets name."""
    partition = artifact[name] if isinstance(artifact, Generalization) else None
    named = [v for bucket in partition.buckets for v in bucket.values] if isinstance(partition, Groups) else []
    may_miss = partition is not None and not isinstance(partition, Dropped) and partition.missing_code >= 0
    return target_of(known, artifact.schema[name], bins, named=named, may_miss=may_miss)


FEWEST = {"known": 5, "breached": 1}


def _check_enough(what: str, rows: int) -> None:
    """Refuse fewer records than an attack needs."""
    if rows < FEWEST[what]:
        raise DataError(f"The {what} data has {rows} rows, too few for an attack: it needs at least {FEWEST[what]}.")


def check_artifact(g: Any) -> None:
    """Refuse anything but an artifact, such as a path."""
    if not isinstance(g, Artifact):
        raise ParameterError(f"An attack needs a generalization; load one with `md.load`. Got {type(g).__name__}.")


def _rows(X: Any, artifact: Artifact, what: str) -> nw.DataFrame[Any]:
    frame = as_frame(X, artifact.names)
    _check_enough(what, len(frame))
    for name in artifact.names:
        attribute = artifact.schema[name]
        if attribute.kind != "ordered":  # its domain may hold only the values seen at fit
            check_values(attribute, column(frame, name))
    return frame


# A breach in an engine, which counts the records of each combination of buckets and value.
#
# Models learn from distinct buckets with counts anyway, so the adversary and its guesses are the same. One more pass
# over the breached records counts how often guesses about several attributes are wrong together.

_MOST_TOGETHER = 20  # attributes: there are 2ⁿ combinations of wrong guesses
_VALUE = "modicum_value"


@dataclass(frozen=True)
class Pairs:
    """Each combination of buckets and value to guess, with its number of records."""

    codes: Codes
    values: Codes
    records: Codes


class CountedBreach(Breach):
    """A breach whose combinations of buckets and values are counted in an engine."""

    counted = True

    def _read(self, known: Any, breached: Any) -> EngineTable:
        self._tables = _table(known, self.artifact, "known"), _table(breached, self.artifact, "breached")
        self.records = self._tables[0].rows(), self._tables[1].rows()
        for what, rows in zip(FEWEST, self.records, strict=True):
            _check_enough(what, rows)
        return self._tables[0]

    def _encode(self) -> None:
        self._pairs = [
            {name: _pairs(table, self.artifact, target) for name, target in self.targets.items()}
            for table in self._tables
        ]
        self.values = {name: pairs.values for name, pairs in self._pairs[1].items()}

    def learn_portfolio(self, step: KnowledgeStep, l2: Mapping[str, float] | None = None) -> Portfolio:
        questions = []
        for name in step.targets:
            pairs = self._pairs[0][name]
            inputs, cells = Inputs.of_codes(self.artifact, pairs.codes).distinct()
            mask, records = self._mask(name, 0, cells), pairs.records.astype(float)
            questions.append(LearnerQuestion(pairs.values, self.targets[name].size, mask, cells, records))
        return Portfolio(self.members, self.random_state, l2=l2).fit(inputs, cells, questions)

    def guess_values(self, step: KnowledgeStep, portfolio: Portfolio) -> dict[str, Guess]:
        seen = {name: Inputs.of_codes(self.artifact, self._pairs[1][name].codes).distinct() for name in step.targets}
        masks = [self._mask(name, 1, cells) for name, (_, cells) in seen.items()]
        inputs = next(iter(seen.values()))[0]
        guesses = portfolio.guess(inputs, masks)
        return {
            name: Guess(guess.value[cells], guess.chance[cells])
            for (name, (_, cells)), guess in zip(seen.items(), guesses, strict=True)
        }

    def mean(self, name: str, values: Floats) -> float:
        return float(values @ self._pairs[1][name].records / self.records[1])

    def interval(self, name: str, values: Floats) -> Interval:
        return compute_interval_from_counts(values, self._pairs[1][name].records)

    def compute_weighted_error(
        self, wrong: Mapping[str, Floats], weights: Mapping[str, float], guesses: Mapping[str, Codes]
    ) -> tuple[float, Interval]:
        """Count the records of each combination of wrong guesses."""
        often = self._tables[1].fold(_WrongTogether.of(self, guesses))
        ways = np.flatnonzero(often)
        bits = {name: (ways >> i & 1).astype(np.float64) for i, name in enumerate(wrong)}
        values, which = np.unique(compute_weighted_sum(bits, weights), return_inverse=True)
        many = np.bincount(which, weights=often[ways]).astype(np.int64)
        return float(values @ many / many.sum()), bootstrap_from_counts(values, many, self.random_state)

    def possible(self, name: str, which: int, rows: Any) -> Mask:
        return self.artifact.possible(name, self.targets[name], self._pairs[which][name].codes[rows])


@dataclass(frozen=True)
class _WrongTogether:
    """Counts of records by the attributes guessed wrong: bit i marks the i-th attribute."""

    columns: tuple[str, ...]
    artifact: Artifact
    targets: tuple[Target, ...]
    seen: Codes
    guesses: Codes  # one column for each target

    @classmethod
    def of(cls, breach: CountedBreach, guesses: Mapping[str, Codes]) -> "_WrongTogether":
        if len(guesses) > _MOST_TOGETHER:
            raise ParameterError(
                f"The 'personal' parameter names {len(guesses)} attributes; in an engine at most {_MOST_TOGETHER} can "
                "be guessed together."
            )
        pairs = breach._pairs[1]
        cells = [_by_cell(pairs[name].codes, guess) for name, guess in guesses.items()]
        targets = tuple(breach.targets[name] for name in guesses)
        assert isinstance(breach.artifact, Generalization)
        columns = tuple(dict.fromkeys([*breach.artifact.needed, *guesses]))
        return cls(columns, breach.artifact, targets, cells[0][0], np.column_stack([guess for _, guess in cells]))

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
    """Return the distinct buckets and the guess for each."""
    first = first_rows(group_rows(codes))
    return codes[first], guess[first]


def _table(X: Any, artifact: Artifact, what: str) -> EngineTable:
    if not is_table(X):
        raise ParameterError(
            f"The {what!r} records must be in an engine because the others are. Got {type(X).__name__}."
        )
    table = table_at(X)
    person = artifact.schema.person
    if person is not None and person in table.types:
        raise ParameterError(
            f"The {what!r} records have the person column {person!r}, but {table.engine} counts only records. Give a "
            "sample in memory, or omit the column if everyone has one record."
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


# People among both the known and the breached: an adversary that has seen them is not a fair test.


class OverlapWarning(UserWarning):
    """Some of the breached records are also among the known ones.

    Examples
    --------
    >>> import warnings, modicum as md
    >>> X = md.datasets.load_adult().X[["age", "race", "sex"]][:1_000]
    >>> g = md.Uniform(buckets=2).fit(X).generalization_
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = md.attacks.Reconstruction(personal=["sex"]).run(g, known=X, breached=X[:500])
    >>> [warning.category.__name__ for warning in caught]
    ['OverlapWarning']
    """


def warn_of_overlap(breach: Breach) -> int:
    """Count the breached rows that the adversary has seen before, and warn if there are any."""
    count = count_shared_rows(breach.known, breach.breached, breach.artifact.schema, breach.artifact.names)
    if count:
        warnings.warn(overlap_text(count, len(breach.breached)), OverlapWarning, stacklevel=3)
    return count


def overlap_text(count: int | str, breached: int) -> str:
    """Return the warning about an overlap; `count` is a number, or words if the number must not be reported."""
    rows = count if isinstance(count, str) else f"{count:,}"
    return (
        f"{rows} of the {breached:,} breached rows are also among the known ones. The adversary has already seen them, "
        "so its errors may not apply to other people."
    )


def count_shared_rows(known: Any, breached: Any, schema: Schema, names: list[str]) -> int:
    """Count the breached rows of people who are also among the known ones.

    With a person column, these are the rows of persons in both frames. Otherwise, they are the rows with an index label
    in both frames, if such rows are equal in every attribute far more often than any two rows. Otherwise, equal rows
    are compared: among independent records, a breached row has an equal known row as often as a known row has another.
    An excess of four standard errors or more counts as the same people.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.attacks.breach import count_shared_rows
    >>> X = pd.DataFrame({"age": range(100)})
    >>> count_shared_rows(X[:60], X[50:], md.Schema.infer(X), ["age"])
    10
    """
    known, breached = as_frame(known), as_frame(breached)
    person = schema.person
    if person is not None and person in known.columns and person in breached.columns:
        return _persons_in_both(known[person], breached[person])
    rows = _number_rows(known, breached, schema, names)
    first, second = rows[: len(known)], rows[len(known) :]
    labelled = _same_label(known, breached, first, second)
    if labelled:
        return labelled
    often = np.bincount(first, minlength=int(rows.max()) + 1)
    by_chance = float(np.mean(often[first] > 1))
    found = float(np.mean(often[second] > 0))
    doubt = np.sqrt(max(by_chance * (1 - by_chance), 1 / len(first)) * (1 / len(first) + 1 / len(second)))
    if found - by_chance <= 4 * doubt or by_chance == 1:
        return 0
    return round(len(second) * (found - by_chance) / (1 - by_chance))


def _persons_in_both(known: Any, breached: Any) -> int:
    codes, words = texts(breached)
    seen = np.isin(np.array([*words, ""], dtype=object), texts(known)[1])
    return int(np.sum(seen[codes] & (codes >= 0)))


def _number_rows(known: Any, breached: Any, schema: Schema, names: list[str]) -> Codes:
    """Number the rows, known ones first; rows with equal attributes get equal numbers."""
    columns = []
    for name in names:
        pair = [column(frame, name) for frame in (known, breached)]
        if schema[name].is_category:
            words = [np.array([*found, None], dtype=object)[codes] for codes, found in map(texts, pair)]
            columns.append(pd.factorize(np.concatenate(words), use_na_sentinel=False)[0])
        else:
            values = np.concatenate([numbers(series, schema[name]) for series in pair])
            columns.append(np.unique(values, return_inverse=True)[1])
    return group_rows(np.column_stack(columns))


def _same_label(known: Any, breached: Any, first: Codes, second: Codes) -> int:
    frames = [frame.to_native() for frame in (known, breached)]
    if not all(isinstance(frame, pd.DataFrame) and frame.index.is_unique for frame in frames):
        return 0
    at = frames[0].index.get_indexer(frames[1].index)
    common = at >= 0
    equal = int(np.sum(first[at[common]] == second[common]))
    size = int(max(first.max(), second.max())) + 1
    by_chance = float(
        np.bincount(first, minlength=size) / len(first) @ np.bincount(second, minlength=size) / len(second)
    )
    return equal if equal > common.sum() * (1 + by_chance) / 2 else 0
