"""The ν-SVC adversary: settings chosen in inner folds, then one fit, then guesses (papers/3 §5.2)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from modicum.attacks.attacked import ACCURACY, AIMS, MCC, Answer, Attacked, always
from modicum.attacks.folds import fold_codes
from modicum.attacks.kernel_rows import Points, kernel
from modicum.attacks.nu_svc import MOST_VALUES, Merged, NuSvc, Setting, fair_limits, settings
from modicum.learners.inputs import Inputs, chunks
from modicum.measures.confusion import best_cut, confusion, matthews
from modicum.table.values import Codes, Floats


@dataclass(frozen=True)
class Drawn:
    """Records drawn to learn from, and what each counts so that every value keeps its share."""

    rows: Codes
    weights: Floats


@dataclass(frozen=True)
class Choice:
    """A setting, and for two values the score above which the second is said."""

    setting: Setting
    cut: float
    expected: float

    def to_dict(self) -> dict[str, Any]:
        return {**self.setting.to_dict(), "cut": self.cut}


@dataclass(frozen=True)
class NuAdversary:
    """ν-SVC with nested cross-validation on distinct rows.

    Each setting is tried in inner folds of up to `search_rows` distinct rows; the one with the highest accuracy, and
    the one with the highest Matthews correlation, are then trained on up to `max_rows`. Where the former is not right
    more often than the most frequent value, by over a standard error of the difference, or the latter has no
    correlation, that value is always said. For two values and the correlation, the cut of the score is chosen with the
    setting.
    """

    attacked: Attacked
    cells: Codes
    distinct: Inputs
    points: Points = field(repr=False)
    inner_folds: int
    max_rows: int
    search_rows: int

    def answers(self, train: Codes, test: Codes, random: np.random.Generator) -> dict[str, Answer]:
        """What it guesses of the records `test`, aiming at each figure, after learning from `train`."""
        values = self.attacked.values[train]
        found = {aim: always(values, len(test), aim) for aim in AIMS}
        search = self._drawn(train, self.search_rows, random)
        for aim, choice in self._chosen(search, random).items():
            if choice is not None:
                found[aim] = self._guessed(choice, aim, self._drawn(train, self.max_rows, random), test)
        return found

    def _drawn(self, train: Codes, most: int, random: np.random.Generator) -> Drawn:
        """Records of each value, drawn one by one until so many distinct rows are there; all where they are fewer."""
        shuffled = random.permutation(train)
        values = self.attacked.values[shuffled]
        kept = np.argsort(-np.bincount(values, minlength=self.attacked.size), kind="stable")[:MOST_VALUES]
        of_value = [shuffled[values == value] for value in kept if (values == value).any()]
        new = [_first_seen(self.cells[rows]) for rows in of_value]
        limits = fair_limits([int(each.sum()) for each in new], most)
        drawn = [rows[np.cumsum(each) <= limit] for rows, each, limit in zip(of_value, new, limits, strict=True)]
        weights = [np.full(len(some), len(rows) / len(some)) for some, rows in zip(drawn, of_value, strict=True)]
        return Drawn(np.concatenate(drawn), np.concatenate(weights))

    def _chosen(self, drawn: Drawn, random: np.random.Generator) -> dict[str, Choice | None]:
        """The best setting for each aim, None where the most frequent value does as well."""
        values = self.attacked.values[drawn.rows]
        places, cells = np.unique(self.cells[drawn.rows], return_inverse=True)
        folds = fold_codes(values, self.attacked.units_of(drawn.rows), self.inner_folds, random)
        points = self.points.of(self.distinct[places])
        best: dict[str, Choice | None] = dict.fromkeys(AIMS)
        gram, known = np.zeros((0, 0)), False
        tried = settings(np.bincount(values, drawn.weights).astype(np.float64)[np.unique(values)])
        for i, setting in enumerate(tried):
            if not known or tried[i - 1].gamma != setting.gamma:
                gram, known = kernel(points, points, setting.gamma), True
            scores = self._held_out(setting, gram, cells, values, drawn.weights, folds)
            if scores is not None:
                for aim, judge in _JUDGES.items():
                    found = judge(setting, scores, values, drawn.weights)
                    best[aim] = _better(best[aim], found)
        return best

    def _held_out(
        self, setting: Setting, gram: Floats, cells: Codes, values: Codes, weights: Floats, folds: Codes
    ) -> Floats | None:
        """Each record's scores by what was learned from the other folds; None where nothing was."""
        found = np.zeros((len(values), self.attacked.size))
        for fold in range(int(folds.max()) + 1):
            out = folds == fold
            rows = Merged.of(cells[~out], values[~out], weights[~out])
            model = NuSvc(setting, self.attacked.size)
            model.fit(gram[np.ix_(rows.cells, rows.cells)], rows.values, rows.weights)
            if not model.useful:
                return None
            seen, back = np.unique(cells[out], return_inverse=True)
            support = model.support
            found[out] = model.scores(gram[np.ix_(seen, rows.cells[support])], support)[back]
        return found

    def _guessed(self, choice: Choice, aim: str, drawn: Drawn, test: Codes) -> Answer:
        """The guesses of a model that is trained with the chosen setting."""
        rows = Merged.of(self.cells[drawn.rows], self.attacked.values[drawn.rows], drawn.weights)
        points, gamma = self.points.of(self.distinct[rows.cells]), choice.setting.gamma
        model = NuSvc(choice.setting, self.attacked.size)
        model.fit(kernel(points, points, gamma), rows.values, rows.weights)
        if not model.useful:
            return always(self.attacked.values[drawn.rows], len(test), aim)
        support = model.support
        seen, back = np.unique(self.cells[test], return_inverse=True)
        guess = np.zeros(len(seen), dtype=np.int64)
        for part in chunks(len(seen), len(support)):
            gram = kernel(self.points.of(self.distinct[seen[part]]), points[support], gamma)
            guess[part] = _said(model.scores(gram, support), choice.cut)
        return Answer(guess[back], choice.expected, choice.to_dict(), len(rows))


def _first_seen(cells: Codes) -> Any:
    """Which records are the first of their distinct row."""
    first = np.zeros(len(cells), dtype=bool)
    first[np.unique(cells, return_index=True)[1]] = True
    return first


def _said(scores: Floats, cut: float) -> Codes:
    """The value that the scores speak for; of two, the second where its score lies above the cut."""
    if scores.shape[1] == 2:
        return (scores[:, 1] > cut).astype(np.int64)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def _by_accuracy(setting: Setting, scores: Floats, values: Codes, weights: Floats) -> Choice | None:
    usual = int(np.bincount(values, weights).argmax())
    right = (_said(scores, 0.0) == values).astype(np.float64)
    ahead = weights * (right - (values == usual))
    if ahead.sum() <= np.sqrt((ahead**2).sum()):
        return None
    return Choice(setting, 0.0, float(np.average(right, weights=weights)))


def _by_matthews(setting: Setting, scores: Floats, values: Codes, weights: Floats) -> Choice | None:
    if scores.shape[1] == 2:
        cut, found = best_cut(scores[:, 1], values == 1, weights)
    else:
        cut, found = 0.0, matthews(confusion(values, _said(scores, 0.0), scores.shape[1], weights))
    return Choice(setting, cut, found) if found > 0 else None


_JUDGES: dict[str, Callable[[Setting, Floats, Codes, Floats], Choice | None]] = {
    ACCURACY: _by_accuracy,
    MCC: _by_matthews,
}


def _better(old: Choice | None, new: Choice | None) -> Choice | None:
    """The choice that expects more; the earlier of equals."""
    return new if new is not None and (old is None or new.expected > old.expected) else old
