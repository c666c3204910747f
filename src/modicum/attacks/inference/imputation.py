"""Guess an attribute without the model, from other people's records: the baseline of an attack on a model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.attacks.membership.two_sides import RecordSide
from modicum.generalization.core import raw_generalization
from modicum.learners.inputs import Inputs
from modicum.learners.portfolio import MEMBERS, LearnerQuestion, Portfolio, set_aside
from modicum.table.codes import NumberCoding, first_rows
from modicum.table.frames import as_frame, column, numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target
from modicum.typing import Codes, Floats, Mask

# The possible values of an attacked attribute, and how to put them into records.


@dataclass(frozen=True)
class CandidateValues:
    """The values of an attribute among known records, each with a known record to copy it from.

    Attributes
    ----------
    columns : the attribute's column, or its one-hot columns
    target : the values; bins for a number
    known : the known records
    examples : for each value a row that has it; for a bin the row nearest to its typical value
    """

    columns: tuple[str, ...]
    target: Target
    known: Any
    examples: Codes

    @classmethod
    def of(cls, known: Any, columns: Sequence[str], bins: int) -> "CandidateValues":
        """Collect the values of the known records."""
        values = _extract_attribute(as_frame(known), columns)
        attribute = Schema.infer(values)[values.columns[0]]
        target = Target.fit(values, attribute, bins)
        return cls(tuple(columns), target, known, _find_examples(target, values, attribute))

    @property
    def size(self) -> int:
        return self.target.size

    def encode(self, X: Any) -> Codes:
        """Return each record's value; -1 for a value that no known record has."""
        return self.target.encode(_extract_attribute(as_frame(X), self.columns))

    def name(self, code: int) -> str:
        """Return the name of a value."""
        if code == self.target.missing_code:
            return "(missing)"
        coding = self.target.coding
        return f"{coding.typical[code]:g}" if isinstance(coding, NumberCoding) else coding.values[code]

    def put(self, X: Any, code: int) -> Any:
        """Put this value into all records X."""
        row = int(self.examples[code])
        places = [as_frame(X).columns.index(name) for name in self.columns]
        if isinstance(X, np.ndarray):
            changed = X.copy()
            changed[:, places] = self.known[row, places]
            return changed
        if isinstance(X, pd.DataFrame):
            filled = X.copy()
            for place in places:
                same = self.known.iloc[:, place].take(np.full(len(X), row))
                filled[X.columns[place]] = same.set_axis(X.index)
            return filled
        source = nw.from_native(self.known, eager_only=True)
        columns = [source[name][[row] * len(X)] for name in self.columns]
        return nw.to_native(nw.from_native(X, eager_only=True).with_columns(*columns))


def _extract_attribute(frame: nw.DataFrame[Any], columns: Sequence[str]) -> nw.DataFrame[Any]:
    """Return a frame of the attribute alone: its column, or one text that combines its one-hot columns."""
    series = [column(frame, name) for name in columns]
    if len(columns) == 1:
        return frame.select(columns[0])
    words = [np.array([*found, "(missing)"], dtype=object)[codes] for codes, found in map(texts, series)]
    on, off = (np.column_stack([np.isin(word, flags) for word in words]) for flags in (("1", "true"), ("0", "false")))
    together = np.array([", ".join(parts) for parts in zip(*words, strict=True)], dtype=object)
    named = np.array(columns, dtype=object)[on.argmax(axis=1)]
    is_one = (on.sum(axis=1) == 1) & (off.sum(axis=1) == len(columns) - 1)
    return as_frame(pd.DataFrame({" + ".join(columns): np.where(is_one, named, together)}))


def _find_examples(target: Target, values: nw.DataFrame[Any], attribute: Attribute) -> Codes:
    codes = target.encode(values)
    if not isinstance(target.coding, NumberCoding):
        return first_rows(codes)
    typical = np.append(target.coding.typical, np.nan)[codes]
    distance = np.nan_to_num(np.abs(numbers(values[values.columns[0]], attribute) - typical))
    order = np.lexsort((distance, codes))
    return order[first_rows(codes[order])]


OWN, OWN_AND_ELSE, DIRECT, NAIVE = WAYS = ("own model", "own model and all else", "all else", "naive guess")


@dataclass(frozen=True)
class ImputationView:
    """The inputs of a learner: the other attributes in full detail, the attacked value, the label."""

    rest: Inputs
    value: Inputs
    label: Inputs

    def __getitem__(self, rows: Any) -> "ImputationView":
        return ImputationView(self.rest[rows], self.value[rows], self.label[rows])

    def with_value(self, code: int) -> Inputs:
        """Return the other attributes, with one value for everyone."""
        same = Inputs(np.full_like(self.value.codes, code), self.value.sizes, self.value.numbers)
        return Inputs.join([self.rest, same], len(self.rest))


class Viewer:
    """Encodes known and other records for the learners."""

    def __init__(self, known: RecordSide, candidates: CandidateValues) -> None:
        frame = as_frame(known.X)
        self._seen = [name for name in frame.columns if name not in candidates.columns]
        self._raw = None
        if self._seen:
            self._raw = raw_generalization(frame.select(self._seen), Schema.infer(frame.select(self._seen)))
        self._candidates = candidates
        self._classes = pd.Index(pd.unique(known.y))

    def view(self, side: RecordSide) -> ImputationView:
        """Encode the records; an unknown value or label gets the last code."""
        parts = [] if self._raw is None else [Inputs.of(self._raw, as_frame(side.X).select(self._seen))]
        labels = np.asarray(self._classes.get_indexer(pd.Index(side.y)), dtype=np.int64)
        value = _column(self._candidates.encode(side.X), self._candidates.size)
        return ImputationView(Inputs.join(parts, len(side)), value, _column(labels, len(self._classes)))


class Without:
    """Chances of each value from everything else that is known about a person, in four ways.

    - "own model": a portfolio (network, counts, boosted trees, their average) learns the label from all attributes; a
      value's share is multiplied by the chance of the true label with it. This is the attack itself, on a model that
      the adversary trained on other people's records;
    - "own model and all else": the same, but with chances learned from the other attributes instead of shares;
    - "all else": a portfolio learns the attribute from the other attributes and the label;
    - "naive guess": the shares of the values.

    `method` is chosen on a held-out fifth of the known records: the first, unless another way is right more often by
    over a standard error of the difference. It then learns from all known records.
    """

    def __init__(self, random_state: int = 0) -> None:
        self.random_state = random_state

    def fit(self, known: ImputationView) -> "Without":
        """Learn from records with known values."""
        aside = set_aside(len(known.rest), None, self.random_state)
        self._learn(known[~aside], WAYS)
        truth = known.value.codes[aside, 0]
        self.method = _choose_way({way: self._chances_by(way, known[aside]).argmax(axis=1) == truth for way in WAYS})
        self._learn(known, (self.method,))
        return self

    def chances(self, seen: ImputationView) -> Floats:
        """Return the chances of each value by the chosen way."""
        return self._chances_by(self.method, seen)

    def _chances_by(self, way: str, seen: ImputationView) -> Floats:
        if way == NAIVE:
            return np.tile(self._shares, (len(seen.rest), 1))
        if way == DIRECT:
            return _chances(self._direct, Inputs.join([seen.rest, seen.label], len(seen.rest)))[:, :-1]
        prior = self._chances_by(NAIVE, seen) if way == OWN else _chances(self._prior, seen.rest)[:, :-1]
        return prior * self._chances_of_label(seen)

    def _chances_of_label(self, seen: ImputationView) -> Floats:
        """Return the chance of the true label with each value."""
        size, labels = seen.value.sizes[0] - 1, seen.label.codes
        found = [np.take_along_axis(_chances(self._own, seen.with_value(v)), labels, axis=1) for v in range(size)]
        return np.hstack(found)

    def _learn(self, known: ImputationView, ways: Sequence[str]) -> None:
        n, value, label = len(known.rest), known.value, known.label
        self._shares = np.bincount(value.codes[:, 0], minlength=value.sizes[0])[:-1] / n
        if OWN_AND_ELSE in ways:
            self._prior = self._portfolio(known.rest, value)
        if DIRECT in ways:
            self._direct = self._portfolio(Inputs.join([known.rest, label], n), value)
        if OWN in ways or OWN_AND_ELSE in ways:
            self._own = self._portfolio(Inputs.join([known.rest, value], n), label)

    def _portfolio(self, inputs: Inputs, wanted: Inputs) -> Portfolio:
        distinct, cells = inputs.distinct()
        question = LearnerQuestion(wanted.codes[:, 0], wanted.sizes[0])
        return Portfolio(MEMBERS, self.random_state).fit(distinct, cells, [question])


def _choose_way(right: Mapping[str, Mask]) -> str:
    """Return the first way, or the best of those that are clearly right more often."""
    first = next(iter(right.values()))
    ahead = {way: int(mine.sum()) - int(first.sum()) for way, mine in right.items()}
    clear = [way for way, mine in right.items() if ahead[way] > np.sqrt((mine != first).sum())]
    return max(clear, key=lambda way: ahead[way]) if clear else next(iter(right))


def most_likely(*factors: Any) -> Codes:
    """Return the value with the highest product of chances for each record; a small constant avoids zeros."""
    scores: Any = sum(np.log(np.asarray(factor) + 1e-6) for factor in factors)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def _chances(learned: Portfolio, inputs: Inputs) -> Floats:
    distinct, cells = inputs.distinct()
    return np.asarray(learned.predict(distinct)[0], dtype=np.float64)[cells]


def _column(codes: Codes, size: int) -> Inputs:
    """Turn codes into one input column, with the code `size` for unknown (-1)."""
    return Inputs(np.where(codes < 0, size, codes)[:, None], (size + 1,), np.zeros((len(codes), 0)))
