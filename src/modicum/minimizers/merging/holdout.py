"""Points of a path on records that did not make it: what the training records' cells predict and guess of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from modicum.measures.scores import Predictions
from modicum.minimizers.merging.cells import Cells, stacked
from modicum.table.codes import Weights, group_rows
from modicum.table.values import Codes


@dataclass(frozen=True)
class Holdout:
    """Records by their places, class numbers and personal values (numbered as in `Guessing`), and what each counts."""

    places: Codes
    classes: Codes
    values: Codes
    weights: Weights | None

    def losses(self, cells: Cells, groups: Sequence[Codes]) -> tuple[float, float]:
        """The classifier's log-loss, and the adversary's mean error, for groups of the places of `cells`.

        In a cell that the training records do not have, the classes have their shares among all, and of a personal
        value what is most frequent in its own bucket is guessed.
        """
        known = cells.joined(groups)
        here = stacked([group[self.places[:, a]] for a, group in enumerate(groups)], len(self.places))
        number = group_rows(np.vstack([known.places, here]))
        of_cell = np.full(int(number.max()) + 1, -1)
        learned = known.labels.sum(axis=1) > 0  # cells of nobody but people set aside tell nothing
        of_cell[number[: len(known)]] = np.where(learned, np.arange(len(known)), -1)
        cell = of_cell[number[len(known) :]]
        sums = np.vstack([known.labels, known.labels.sum(axis=0)])
        chances = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
        label = Predictions(chances[cell], self.classes)
        g = known.guessing
        guesses = _most_frequent(known.starts, known.values, known.counts, g.owner, len(g.share))
        wrong = 0.0
        for p, (share, a) in enumerate(zip(g.share, g.column, strict=True)):
            bucket = known.told_by(p)
            guess = np.where(cell >= 0, guesses[cell, p], bucket[here[:, a] if a >= 0 else 0])
            wrong += share * self._mean(guess != self.values[:, p])
        return label.log_loss(self.weights), wrong

    def naive_error(self, cells: Cells) -> float:
        """The mean error of who guesses the most frequent values of the training records."""
        g = cells.guessing
        often = np.bincount(cells.values, weights=cells.counts, minlength=len(g.owner))
        guesses = [int(np.where(g.owner == p, often, -1.0).argmax()) for p in range(len(g.share))]
        return sum(w * self._mean(self.values[:, p] != guesses[p]) for p, w in enumerate(g.share))

    def _mean(self, wrong: Any) -> float:
        return float(np.average(wrong, weights=self.weights))


@numba.njit(cache=True, nogil=True)
def _most_frequent(starts: Any, values: Any, counts: Any, owner: Any, many: int) -> Any:  # pragma: no cover (compiled)
    """For each cell and personal attribute the value that occurs most often; of equal ones the lowest."""
    found, top = np.full((len(starts) - 1, many), -1), np.zeros(many)
    for x in range(len(found)):
        top[:] = 0
        for e in range(starts[x], starts[x + 1]):
            v, p = values[e], owner[values[e]]
            if counts[e] > top[p] or (counts[e] == top[p] and v < found[x, p]):
                found[x, p], top[p] = v, counts[e]
    return found
