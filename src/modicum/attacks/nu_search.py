"""The ν-SVC adversary: settings chosen in inner folds, then one fit, then guesses (papers/3 §5.2)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.attacks.attacked import ACCURACY, AIMS, MCC, Answer, Attacked, always, tried_on
from modicum.attacks.folds import fold_codes
from modicum.attacks.kernel_rows import Points, kernel
from modicum.attacks.nu_svc import MOST_VALUES, Merged, NuSvc, Setting, fair_limits, settings
from modicum.learners.inputs import Inputs, chunks
from modicum.measures.scores import best_cut, confusion, matthews
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
        found = {aim: always(values, self.attacked.units_of(train), len(test), aim) for aim in AIMS}
        search = self._drawn(train, self.search_rows, random)
        chosen = {aim: choice for aim, choice in self._chosen(search, random).items() if choice is not None}
        if not chosen:
            return found
        drawn = self._drawn(train, self.max_rows, random)
        trained = {setting: self._trained(setting, drawn, test) for setting in {c.setting for c in chosen.values()}}
        for aim, choice in chosen.items():
            scores, rows = trained[choice.setting]
            tried = tried_on(aim, self.attacked.values[search.rows], self.attacked.units_of(search.rows))
            if scores is not None:
                found[aim] = Answer(_said(scores, choice.cut), choice.expected, tried, choice.to_dict(), rows)
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
        parts = [_Part.of(folds == fold, cells, values, drawn.weights) for fold in range(int(folds.max()) + 1)]
        best: dict[str, Choice | None] = dict.fromkeys(AIMS)
        tried = settings(np.bincount(values, drawn.weights).astype(np.float64)[np.unique(values)])
        for gamma, some in groupby(tried, lambda setting: setting.gamma):
            gram = kernel(points, points, gamma)
            cut = [(part, part.to_learn(gram), part.to_guess(gram)) for part in parts]
            for setting in some:
                scores = self._held_out(setting, cut, len(values))
                if scores is not None:
                    for aim, judge in _JUDGES.items():
                        best[aim] = _better(best[aim], judge(setting, scores, values, drawn.weights))
        return best

    def _held_out(self, setting: Setting, parts: Sequence[tuple["_Part", Floats, Floats]], many: int) -> Floats | None:
        """Each record's scores by what was learned from the other folds; None where nothing was."""
        found = np.zeros((many, self.attacked.size))
        for part, learned, guessed in parts:
            model = NuSvc(setting, self.attacked.size).fit(learned, part.rows.values, part.rows.weights)
            if not model.useful:
                return None
            support = model.support
            found[part.out] = model.scores(guessed[:, support], support)[part.back]
        return found

    def _trained(self, setting: Setting, drawn: Drawn, test: Codes) -> tuple[Floats | None, int]:
        """The scores of the records `test` by a model that is trained with this setting, and on how many rows."""
        rows = Merged.of(self.cells[drawn.rows], self.attacked.values[drawn.rows], drawn.weights)
        points = self.points.of(self.distinct[rows.cells])
        model = NuSvc(setting, self.attacked.size)
        model.fit(kernel(points, points, setting.gamma), rows.values, rows.weights)
        if not model.useful:
            return None, 0
        support = model.support
        seen, back = np.unique(self.cells[test], return_inverse=True)
        scores = np.zeros((len(seen), self.attacked.size))
        for part in chunks(len(seen), len(support)):
            gram = kernel(self.points.of(self.distinct[seen[part]]), points[support], setting.gamma)
            scores[part] = model.scores(gram, support)
        return scores[back], len(rows)


@dataclass(frozen=True)
class _Part:
    """One inner fold: the rows that are learned from, and the cells that are guessed."""

    out: npt.NDArray[np.bool_]
    rows: Merged
    seen: Codes
    back: Codes

    @classmethod
    def of(cls, out: npt.NDArray[np.bool_], cells: Codes, values: Codes, weights: Floats) -> "_Part":
        seen, back = np.unique(cells[out], return_inverse=True)
        return cls(out, Merged.of(cells[~out], values[~out], weights[~out]), seen, back)

    def to_learn(self, gram: Floats) -> Floats:
        return gram[np.ix_(self.rows.cells, self.rows.cells)]

    def to_guess(self, gram: Floats) -> Floats:
        return gram[np.ix_(self.seen, self.rows.cells)]


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
