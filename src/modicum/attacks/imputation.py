"""Guessing an attribute without the model: from the other attributes and the label, as others have them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from modicum.attacks.two_sides import Side
from modicum.generalization.core import Generalization
from modicum.generalization.raw import raw_generalization
from modicum.learners.inputs import Inputs
from modicum.learners.portfolio import MEMBERS, Portfolio, Question
from modicum.table.frames import as_frame
from modicum.table.schema import Schema
from modicum.table.values import Codes, Floats


class Imputation:
    """The strongest of the portfolio that also guesses from buckets (network, counts, boosted trees, their average).

    Parameters
    ----------
    hidden : the attacked attribute's columns, which are not seen
    with_label : whether the label is seen
    """

    def __init__(self, hidden: Sequence[str], *, with_label: bool, random_state: int = 0) -> None:
        self.hidden = hidden
        self.with_label = with_label
        self.random_state = random_state

    def fit(self, known: Side, values: Codes, size: int) -> "Imputation":
        """Learn from records whose value is known."""
        frame = as_frame(known.X)
        seen = [name for name in frame.columns if name not in self.hidden]
        self._raw: Generalization | None = None
        if seen:
            self._raw = raw_generalization(frame.select(seen), Schema.infer(frame.select(seen)))
        self._classes = pd.Index(pd.unique(known.y))
        inputs, cells = self._inputs(known).distinct()
        self._learned = Portfolio(MEMBERS, self.random_state).fit(inputs, cells, [Question(values, size)])
        return self

    def chances(self, side: Side) -> Floats:
        """The chance of each value for every record."""
        inputs, cells = self._inputs(side).distinct()
        return np.asarray(self._learned.predict(inputs)[0], dtype=np.float64)[cells]

    def _inputs(self, side: Side) -> Inputs:
        parts = [] if self._raw is None else [Inputs.of(self._raw, as_frame(side.X).select(self._raw.names))]
        if self.with_label:
            codes = np.asarray(self._classes.get_indexer(pd.Index(side.y)), dtype=np.int64)
            unseen = np.where(codes < 0, len(self._classes), codes)
            parts.append(Inputs(unseen[:, None], (len(self._classes) + 1,), np.zeros((len(side), 0))))
        return Inputs.beside(parts, len(side))


def most_likely(*factors: Any) -> Codes:
    """The value with the highest product of chances, per record; none is ever quite impossible."""
    return np.asarray(np.sum([np.log(np.asarray(f) + 1e-6) for f in factors], axis=0).argmax(axis=1), dtype=np.int64)
