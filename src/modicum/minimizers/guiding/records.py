"""Records as numbers, and back as what the model takes: any mix of representatives and exact values.

A record is a row of integers, one per attribute. A number below the attribute's `n_codes` stands for that code's
typical value (null for missing); the others, from `n_codes` on, for the exact values that occur.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError
from modicum.generalization.bins import Scalar
from modicum.generalization.build import plain, value_of
from modicum.generalization.representatives import typed_column
from modicum.learners.asking import Model, Predictions, ask_in_stead
from modicum.minimizers.guiding.outcomes import Outcomes
from modicum.minimizers.guiding.views import View
from modicum.table.codes import CategoryCoding, Coder, Coding, usual_code
from modicum.table.frames import column, numbers, same_kind, texts
from modicum.table.values import Codes, Floats

Matrix = npt.NDArray[np.int64]
_STEADY, _SLIPS = 100, 0.02  # records that the model is asked about twice, and how many may differ by rounding


@dataclass(frozen=True)
class Records:
    """Some records of X: their codes, their exact values, and the model that is asked about them.

    `rows` are their places among all records, by which `outcomes` knows what the model says of the full ones.
    """

    model: Model
    view: View
    coder: Coder
    outcomes: Outcomes
    everyone: nw.DataFrame[Any]  # all records, as attributes
    rows: Codes

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        return self.everyone[self.rows.tolist()]

    def beside(self, rows: Codes, start: int) -> "Records":
        """Other records, followed by those from `start` on."""
        return replace(self, rows=np.concatenate([rows, self.rows[start:]]))

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def codes(self) -> Codes:
        """Each record's code in each attribute."""
        return self.coder.encode(self.frame).astype(np.int64)

    @cached_property
    def exact(self) -> Matrix:
        """The records as they are, but for categories that the coder has never seen: an artifact cannot name them."""
        own = [c.n_codes + at for c, (_, at) in zip(self.coder.codings, self._distinct, strict=True)]
        return np.where(self.strange >= 0, self.strange, np.column_stack(own))

    @cached_property
    def strange(self) -> Matrix:
        """What an artifact feeds for values that the coder has never seen: the usual category, null; -1 elsewhere."""
        found = np.full((len(self), len(self.coder.codings)), -1, dtype=np.int64)
        for j, (coding, (values, at)) in enumerate(zip(self.coder.codings, self._distinct, strict=True)):
            if isinstance(coding, CategoryCoding):
                known = {*coding.values, None}
                unseen = np.array([value not in known for value in values], dtype=bool)[at]
                found[unseen, j] = usual_code(coding)
            if not coding.missing and None in values:
                found[at == values.index(None), j] = coding.n_codes + values.index(None)
        return found

    @cached_property
    def _distinct(self) -> list[tuple[list[Scalar], Codes]]:
        return [_distinct(coding, column(self.frame, coding.attribute.name)) for coding in self.coder.codings]

    def value(self, attribute: int, number: int) -> Scalar:
        """What a number stands for, as an artifact writes it."""
        coding = self.coder.codings[attribute]
        if number < coding.n_codes:
            return value_of(coding, number)
        return self._distinct[attribute][0][number - coding.n_codes]

    @cached_property
    def _tables(self) -> list[Any]:
        """For each attribute a column of all values that its numbers stand for, of the type that X has."""
        found = []
        for coding, (values, _) in zip(self.coder.codings, self._distinct, strict=True):
            every = [*(value_of(coding, code) for code in range(coding.n_codes)), *values]
            found.append(typed_column(coding.attribute, every, np.arange(len(every)), self.frame))
        return found

    def check_rebuilt(self) -> None:
        """Refuse a model that does not say the same of records put together value by value, as a search does."""
        plain = np.flatnonzero((self.strange < 0).all(axis=1))[:_STEADY]
        if len(plain) and self.misses(self.exact[plain], plain).mean() > _SLIPS:
            raise DataError(
                "The model says different things of the same records when it is asked again, with each value put in "
                "its place: it may answer by chance, or depend on its other records or on how a column is stored."
            )

    def misses(self, matrix: Matrix, which: Codes) -> Floats:
        """How far the model's word on each row of numbers is from its word on the full record `which`."""
        return self.outcomes.misses(self.predictions(matrix), self.rows[which])

    def predictions(self, matrix: Matrix) -> Predictions:
        """What the model says of rows of numbers; a row that it was asked about before is not asked again."""
        return self._known.looked_up(matrix, self._asked)

    def _asked(self, matrix: Matrix) -> Predictions:
        names = [coding.attribute.name for coding in self.coder.codings]

        def with_columns(chosen: Sequence[str]) -> Any:
            stays = np.array([name not in chosen for name in names])
            return self._fed(np.where(stays, self.exact[:1], matrix))

        return ask_in_stead(self.model, self._fed(matrix), names, with_columns)

    @cached_property
    def _known(self) -> "_Memory":
        return _Memory()

    def _fed(self, matrix: Matrix) -> Any:
        if self.view.array and self.view.is_plain:
            place = {coding.attribute.name: j for j, coding in enumerate(self.coder.codings)}
            order = [place[name] for name in self.view.columns]
            return np.column_stack([self._arrays[j][matrix[:, j]] for j in order])
        return self.view.fed(self._gathered(matrix))

    @cached_property
    def _arrays(self) -> list[npt.NDArray[Any]]:
        return [table.to_numpy() for table in self._tables]

    def _gathered(self, matrix: Matrix) -> Any:
        names = [coding.attribute.name for coding in self.coder.codings]
        if isinstance(self.frame.to_native(), pd.DataFrame):
            columns = {n: t.array.take(matrix[:, j]) for j, (n, t) in enumerate(zip(names, self._tables, strict=True))}
            return pd.DataFrame(columns, copy=False)
        taken = [nw.from_native(t, series_only=True)[matrix[:, j]] for j, t in enumerate(self._tables)]
        return same_kind(dict(zip(names, taken, strict=True)), like=self.frame.to_native())


class _Memory:
    """What the model has said: rows by a 64-bit mark of their numbers (two of a million share one by chance 1e-7)."""

    def __init__(self) -> None:
        self.marks = np.empty(0, dtype=np.uint64)  # in order
        self.values: Predictions | None = None

    def looked_up(self, matrix: Matrix, ask: Callable[[Matrix], Predictions]) -> Predictions:
        marks, first, places = np.unique(_marks(matrix), return_index=True, return_inverse=True)
        if self.values is None:
            self.marks, self.values = marks, ask(matrix[first])
            return self.values[places]
        at = np.searchsorted(self.marks, marks)
        new = np.flatnonzero(self.marks[np.minimum(at, len(self.marks) - 1)] != marks)
        if len(new):
            said = ask(matrix[first[new]])
            self.values = np.insert(self.values.astype(np.result_type(self.values, said)), at[new], said)
            self.marks = np.insert(self.marks, at[new], marks[new])
            at = np.searchsorted(self.marks, marks)
        return self.values[at][places]


def _marks(matrix: Matrix) -> npt.NDArray[np.uint64]:
    """A mark per row: its numbers times odd random ones, summed and stirred."""
    keys: Any = np.random.default_rng(0).integers(0, 2**64, matrix.shape[1], dtype=np.uint64) | np.uint64(1)
    mark = np.zeros(len(matrix), dtype=np.uint64)
    for j in range(matrix.shape[1]):
        mark = (mark ^ (matrix[:, j].astype(np.uint64) + np.uint64(1))) * keys[j]
        mark ^= mark >> np.uint64(29)
    return mark


def _distinct(coding: Coding, series: nw.Series[Any]) -> tuple[list[Scalar], Codes]:
    """The different values of a column as an artifact writes them, None for missing, and each record's among them."""
    if coding.attribute.is_category:
        codes, words = texts(series)
        missing: list[Scalar] = [None] if (codes < 0).any() else []  # a null would change the column's type
        return [*words, *missing], np.where(codes < 0, len(words), codes)
    values, places = np.unique(numbers(series, coding.attribute), return_inverse=True)
    return [None if np.isnan(v) else plain(v, coding.attribute) for v in values], places.astype(np.int64)
