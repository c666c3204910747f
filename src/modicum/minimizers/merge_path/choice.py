"""Choose a point of a path, the coarsest within a target or the knee, on records that did not make the path."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.errors import DataError
from modicum.generalization import Generalization
from modicum.learners.boosting import RecordTrees
from modicum.measures.front import ErrorLimits, above
from modicum.measures.scores import Predictions, compute_skill_kept
from modicum.minimizers.merge_path.record_cells import Cells, stack_columns
from modicum.table.codes import Weights, group_rows
from modicum.typing import Codes

_TRIES = 5  # points near the knee to try, if the first ones predict worse than nothing collected

KNEE = "the inflection point of the path, after which a little more skill costs much privacy"


@dataclass(frozen=True)
class PathChoice:
    """A point of a path, and its results on the records that it was chosen on.

    Attributes
    ----------
    index : its place in `path_`
    considered : how many points there were
    why : the reason, in words
    error, skill_kept : of the classifier (boosted trees); the second as in `modicum.utility`
    adversary_error : the mean error of an adversary who counts in the training records' cells
    raw_error, majority_error, naive_adversary : the limits of the trade-off
    """

    index: int
    considered: int
    why: str
    error: float
    skill_kept: float
    adversary_error: float
    raw_error: float
    majority_error: float
    naive_adversary: float


@dataclass(frozen=True)
class ChoiceRecords:
    """Records with their classes, and how many records each row represents."""

    frame: Any
    classes: Codes
    weights: Weights | None


@dataclass
class Chooser:
    """The points of a path, tried on records that did not make it.

    Parameters
    ----------
    points : generalizations, each finer than the next
    train, validation : the records that learn, and those that are predicted
    model : the model on raw records
    losses : function from a point's index to the classifier's log-loss and the adversary's error, by the cells alone
    naive : the error of an adversary who sees nothing
    """

    points: Sequence[Generalization]
    train: ChoiceRecords
    validation: ChoiceRecords
    model: RecordTrees
    losses: Callable[[int], tuple[float, float]]
    naive: float
    seed: int

    def __post_init__(self) -> None:
        self.raw = Predictions(self.model.predict_proba(self.validation.frame), self.validation.classes)
        majority = np.tile(self.model.share, (len(self.validation.classes), 1))
        self.majority = Predictions(majority, self.validation.classes)
        self.limits = ErrorLimits(self._error(self.raw), self._error(self.majority), self.naive)

    def choose(self, keep: float | None, max_error: float | None) -> PathChoice:
        """Return the coarsest point within the target, or the knee if there is no target."""
        weights = self.validation.weights
        if keep is not None and self.majority.log_loss(weights) <= self.raw.log_loss(weights):
            raise DataError(
                "Even raw data predicts the records set aside no better than the majority guess, so there is no skill "
                "to keep; use max_error, or give it more rows."
            )
        if keep is not None:
            return self._coarsest(f"keeps {keep:.0%} of the skill", lambda p: self._compute_skill(p) >= keep)
        if max_error is not None:
            return self._coarsest(f"has an error of at most {max_error:g}", lambda p: self._error(p) <= max_error)
        return self._knee()

    def _knee(self) -> PathChoice:
        """Find the knee by log-loss, since error has plateaus; skip points worse than nothing collected."""
        raw, majority = (one.log_loss(self.validation.weights) for one in (self.raw, self.majority))
        limits = ErrorLimits(raw, majority, self.limits.naive_adversary)
        heights = above([self.losses(i) for i in range(len(self.points))], limits)
        last = len(self.points) - 1
        best = [int(i) for i in np.argsort(-heights, kind="stable")[:_TRIES] if heights[i] > heights[last]]
        for i in best:
            if self._error(p := self._predict_point(i)) <= self.limits.majority_error and self._compute_skill(p) >= 0:
                return self._choice(i, KNEE, p)
        return self._choice(last, KNEE, self._predict_point(last))

    def _coarsest(self, what: str, is_within: Callable[[Predictions], bool]) -> PathChoice:
        """Find it by bisection: errors hardly fall as points become coarser, so a few models suffice."""
        why = f"the coarsest that {what}"
        low, high = 0, len(self.points) - 1  # low is within the target
        if is_within(best := self._predict_point(high)):
            return self._choice(high, why, best)
        if not is_within(best := self._predict_point(low)):
            raise DataError(
                f"No point of the path {what}: the finest has an error of {self._error(best):.3f} and keeps "
                f"{_share(self._compute_skill(best))} of the skill (raw data: an error of "
                f"{self.limits.raw_error:.3f}). Ask for less."
            )
        while high - low > 1:
            middle = (low + high) // 2
            if is_within(tried := self._predict_point(middle)):
                low, best = middle, tried
            else:
                high = middle
        return self._choice(low, why, best)

    def _predict_point(self, i: int) -> Predictions:
        model = RecordTrees(self.points[i], self.model.n_classes, self.seed)
        model.fit(self.train.frame, self.train.classes, self.train.weights)
        return Predictions(model.predict_proba(self.validation.frame), self.validation.classes)

    def _error(self, p: Predictions) -> float:
        return p.error(self.validation.weights)

    def _compute_skill(self, p: Predictions) -> float:
        losses = (one.log_loss(self.validation.weights) for one in (p, self.raw, self.majority))
        return compute_skill_kept(*losses)

    def _choice(self, i: int, why: str, p: Predictions) -> PathChoice:
        return PathChoice(
            index=i,
            considered=len(self.points),
            why=why,
            error=self._error(p),
            skill_kept=self._compute_skill(p),
            adversary_error=float(self.losses(i)[1]),
            raw_error=self.limits.raw_error,
            majority_error=self.limits.majority_error,
            naive_adversary=float(self.limits.naive_adversary),
        )


def _share(value: float) -> str:
    return "none" if value != value else f"{value:.0%}"


# Losses of a path's points on records that did not make it, by the training records' cells


@dataclass(frozen=True)
class Holdout:
    """Records by their places, class numbers and personal values (numbered as in `Guessing`), and weights."""

    places: Codes
    classes: Codes
    values: Codes
    weights: Weights | None

    def losses(self, cells: Cells, groups: Sequence[Codes]) -> tuple[float, float]:
        """The classifier's log-loss, and the adversary's mean error, for groups of the places of `cells`.

        In a cell without training records, classes are predicted by their shares among all, and the guess of a personal
        value is the most frequent one in its own bucket.
        """
        known = cells.join_buckets(groups)
        here = stack_columns([group[self.places[:, a]] for a, group in enumerate(groups)], len(self.places))
        number = group_rows(np.vstack([known.places, here]))
        of_cell = np.full(int(number.max()) + 1, -1)
        learned = known.labels.sum(axis=1) > 0  # cells that hold only records set aside say nothing
        of_cell[number[: len(known)]] = np.where(learned, np.arange(len(known)), -1)
        cell = of_cell[number[len(known) :]]
        sums = np.vstack([known.labels, known.labels.sum(axis=0)])
        chances = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
        label = Predictions(chances[cell], self.classes)
        g, (guesses, _) = known.guessing, known.count_top_values()
        wrong = 0.0
        for p, (share, a) in enumerate(zip(g.share, g.column, strict=True)):
            bucket = known.find_top_values(p)
            guess = np.where(cell >= 0, guesses[cell, p], bucket[here[:, a] if a >= 0 else 0])
            wrong += share * self._mean(guess != self.values[:, p])
        return label.log_loss(self.weights), wrong

    def naive_error(self, cells: Cells) -> float:
        """The mean error of guessing the most frequent values of the training records."""
        g = cells.guessing
        often = np.bincount(cells.values, weights=cells.counts, minlength=len(g.owner))
        guesses = [int(np.where(g.owner == p, often, -1.0).argmax()) for p in range(len(g.share))]
        return sum(w * self._mean(self.values[:, p] != guesses[p]) for p, w in enumerate(g.share))

    def _mean(self, wrong: Any) -> float:
        return float(np.average(wrong, weights=self.weights))
