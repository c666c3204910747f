"""The ν-SVC adversary: choose settings in inner folds, fit once, guess [Barbato25 §5.2]."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations, groupby, product
from typing import Any

import numpy as np

from modicum.attacks.inference.sensitive_result import (
    ACCURACY,
    AIMS,
    MCC,
    Attacked,
    SensitiveAnswer,
    always,
    count_independent_records,
    fold_codes,
)
from modicum.learners.inputs import Inputs, chunks
from modicum.measures.scores import best_cut, confusion, matthews
from modicum.table.codes import first_rows, group_rows
from modicum.typing import Codes, Floats, Mask

# ν-SVC on distinct rows with weights, for two values or many [Barbato25 §5.2].

SHARES = (0.5, 0.65, 0.8, 0.95)  # of the largest feasible ν
GAMMAS = (0.15, 0.5, 2.0)  # the mean squared distance of records is 2 (`KernelPoints`)
WEIGHTINGS = ("as they are", "balanced")
FEW = (None, 0.5), (0.5, 0.8)  # kernels and shares of ν for more than four values, with a model for every two values
MOST_VALUES = 12  # the most frequent values, of which every two get a model
_FEW_VALUES = 4
_NEARLY_EVEN = 0.8  # with the rarest value this close to the most frequent one, balancing changes nothing
_TOLERANCE = 1e-3  # libsvm's own


@dataclass(frozen=True)
class NuSetting:
    """A kernel (linear without γ), ν as a share of the largest feasible one, and the weighting of values."""

    gamma: float | None
    nu_share: float
    weighting: str

    def to_dict(self) -> dict[str, object]:
        """Return the setting as plain data."""
        return {"model": "nu-SVC", "kernel": "linear" if self.gamma is None else "rbf", **asdict(self)}


def settings(totals: Floats) -> list[NuSetting]:
    """List the settings to try for values with these totals, kernel by kernel; fewer for many values."""
    even = totals.min() >= _NEARLY_EVEN * totals.max()
    weightings = WEIGHTINGS[:1] if even else WEIGHTINGS
    kernels, shares = FEW if len(totals) > _FEW_VALUES else ((None, *GAMMAS), SHARES)
    return [NuSetting(*each) for each in product(kernels, shares, weightings)]


@dataclass(frozen=True)
class Merged:
    """Distinct pairs of row and value, with the weight of their records."""

    cells: Codes
    values: Codes
    weights: Floats

    @classmethod
    def of(cls, cells: Codes, values: Codes, weights: Floats) -> "Merged":
        """Merge records with the same cell and value.

        Examples
        --------
        >>> import numpy as np
        >>> from modicum.attacks.inference.nu_adversary import Merged
        >>> Merged.of(np.array([4, 4, 7]), np.array([1, 1, 0]), np.ones(3)).weights.tolist()
        [2.0, 1.0]
        """
        group = group_rows(np.column_stack([cells, values]))
        first = first_rows(group)
        return cls(cells[first], values[first], np.bincount(group, weights).astype(np.float64))

    def __len__(self) -> int:
        return len(self.cells)


class NuSvc:
    """Separates every two values by a ν-SVC, and predicts the value that wins most often.

    ν is a share of the largest feasible ν of the two values, 2·min(w₁, w₂)/(w₁ + w₂) for weights w₁ and w₂, so that a
    rare value does not limit the ν of others. If ν is too small for how much the values overlap, the ν-SVC has no
    margin and its hyperplane is meaningless; the more frequent value then wins. `useful` is True if any two values
    could be separated.
    """

    def __init__(self, setting: NuSetting, size: int) -> None:
        self.setting = setting
        self.size = size

    def fit(self, gram: Floats, values: Codes, weights: Floats) -> "NuSvc":
        """Learn from the kernel matrix of rows with their values and weights."""
        totals = np.bincount(values, weights, self.size).astype(np.float64)
        if self.setting.weighting == WEIGHTINGS[1]:
            weights = weights / np.where(totals > 0, totals, 1)[values]
            totals = (totals > 0).astype(np.float64)
        self._pairs = [_Pair(self.setting, a, b, totals) for a, b in combinations(np.flatnonzero(totals).tolist(), 2)]
        for pair in self._pairs:
            pair.fit(gram, values, weights)
        self.useful = any(pair.margin for pair in self._pairs)
        return self

    @property
    def support(self) -> Codes:
        """The rows that the decision needs."""
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(pair.rows for pair in self._pairs)]))

    def scores(self, gram: Floats, places: Codes) -> Floats:
        """Return a score for each row and value; `gram` has a column for each training row in `places`.

        For two values this is the decision and its negative; for more, the number of pairs won, with ties broken by the
        margins.
        """
        found = np.full((len(gram), self.size), -np.inf)
        for pair in self._pairs:
            decision = pair.decide(gram, places)
            for value, sign in ((pair.second, 1), (pair.first, -1)):
                found[:, value] = np.where(np.isneginf(found[:, value]), 0.0, found[:, value])
                found[:, value] += sign * decision if self.size == 2 else _score_win(sign * decision)
        return found


class _Pair:
    """The ν-SVC of two values: positive if the second is more likely."""

    def __init__(self, setting: NuSetting, first: int, second: int, totals: Floats) -> None:
        self.first, self.second = first, second
        both = totals[[first, second]]
        self.nu = setting.nu_share * 2 * float(both.min() / both.sum())
        self.usual = 1.0 if both[1] > both[0] else -1.0
        self.rows, self.coefficients, self.shift = np.zeros(0, dtype=np.int64), np.zeros(0), self.usual
        self.margin = False

    def fit(self, gram: Floats, values: Codes, weights: Floats) -> None:
        from sklearn.svm import NuSVC  # deferred: importing scikit-learn takes a second

        mine = np.flatnonzero((values == self.first) | (values == self.second))
        scaled = weights[mine] / weights[mine].mean()
        model = NuSVC(nu=self.nu, kernel="precomputed", tol=_TOLERANCE, cache_size=500)
        try:
            among = gram if len(mine) == len(values) else gram[np.ix_(mine, mine)]
            model.fit(among, values[mine] == self.second, sample_weight=scaled)
        except ValueError:  # no margin: the coefficients are not finite
            return
        coefficients = np.asarray(model.dual_coef_, dtype=np.float64)[0]
        # libsvm divides by the margin at the end; before this, the absolute coefficients sum to ν times the weights.
        self.margin = self.nu * len(mine) / np.abs(coefficients).sum() > _TOLERANCE
        if self.margin:
            self.rows, self.coefficients = mine[model.support_], coefficients
            self.shift = float(model.intercept_[0])

    def decide(self, gram: Floats, places: Codes) -> Floats:
        return gram[:, np.searchsorted(places, self.rows)] @ self.coefficients + self.shift


def _score_win(decision: Floats) -> Floats:
    """Return 1 for a pair won, plus a term below 1/3 that grows with the decision."""
    return (decision > 0) + decision / (3 * (np.abs(decision) + 1))


def fair_limits(counts: Sequence[int], most: int) -> list[int]:
    """Return how many rows of each value may be drawn: equal limits, with the rest of rare values given to others.

    Examples
    --------
    >>> from modicum.attacks.inference.nu_adversary import fair_limits
    >>> fair_limits([1000, 10, 400], 600)
    [295, 10, 295]
    """
    limits, left = [0] * len(counts), most
    for rank, value in enumerate(sorted(range(len(counts)), key=lambda v: counts[v])):
        limits[value] = min(counts[value], left // (len(counts) - rank))
        left -= limits[value]
    return limits


# Records as points for a kernel, with all attributes on the same scale.

MOST_COLUMNS = 50  # one-hot columns of a category, for its most frequent values; other values have none
_ENOUGH = 50_000  # rows from which the scale is estimated


class KernelPoints:
    """One-hot columns for categories; for numbers their standardized rank among all records, and whether it is missing.

    A missing number gets the middle rank. The 50 most frequent values of a category have a column. Only the predictors
    are used, never the sensitive attribute. Points are scaled to a mean squared distance of 2.
    """

    def __init__(self, inputs: Inputs) -> None:
        self._columns = [
            _one_hot_frequent(codes, size) for codes, size in zip(inputs.codes.T, inputs.sizes, strict=True)
        ]
        self._sorted = [np.sort(column[~np.isnan(column)]) for column in inputs.numbers.T]
        self._scale = 1.0
        raw = self.of(inputs[:: max(1, len(inputs) // _ENOUGH)])
        self._scale = 1 / np.sqrt(max(float(raw.var(axis=0).sum()), 1e-12))

    def of(self, inputs: Inputs) -> Floats:
        """Return the points of some rows."""
        parts = [place[codes] for place, codes in zip(self._columns, inputs.codes.T, strict=True)]
        parts += [_rank_column(among, column) for among, column in zip(self._sorted, inputs.numbers.T, strict=True)]
        return np.hstack([np.zeros((len(inputs), 0)), *parts]) * self._scale


def kernel(first: Floats, second: Floats, gamma: float | None) -> Floats:
    """Compute exp(−γ‖a − b‖²) for each pair, or the product a·b without γ.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.inference.nu_adversary import kernel
    >>> kernel(np.array([[0.0]]), np.array([[0.0], [2.0]]), 0.25).round(3).tolist()
    [[1.0, 0.368]]
    """
    product = first @ second.T
    if gamma is None:
        return np.asarray(product)
    squares = (first**2).sum(axis=1)[:, None] + (second**2).sum(axis=1) - 2 * product
    return np.asarray(np.exp(-gamma * np.maximum(squares, 0)))


def _one_hot_frequent(codes: Codes, size: int) -> Floats:
    """Return the one-hot columns of each value; all 0 for values that are not among the most frequent."""
    counts = np.bincount(codes, minlength=size)
    frequent = np.argsort(-counts, kind="stable")[:MOST_COLUMNS]
    frequent = frequent[counts[frequent] > 0]
    places = np.zeros((size, len(frequent)))
    places[frequent, np.arange(len(frequent))] = 1.0
    return places


def _rank_column(among: Floats, column: Floats) -> Floats:
    """Return two columns: the rank with mean 0 and variance 1 over the numbers, and whether the number is missing."""
    middle = len(among) + 0.0
    spread = np.sqrt(max(1e-12, float(np.mean((_rank(among, among) - middle) ** 2)))) if len(among) else 1.0
    missing = np.isnan(column)
    return np.column_stack([np.where(missing, 0.0, (_rank(among, column) - middle) / spread), missing])


def _rank(among: Floats, values: Floats) -> Codes:
    """Return twice the rank of each value among others."""
    return np.searchsorted(among, values, "left") + np.searchsorted(among, values, "right")


# The adversary

SEARCH_ROWS = 2_000  # distinct rows on which settings are tried


@dataclass(frozen=True)
class Drawn:
    """Records drawn to learn from, with weights that preserve the share of every value."""

    rows: Codes
    weights: Floats


@dataclass(frozen=True)
class NuChoice:
    """A setting, and for two values the score above which the second is predicted."""

    setting: NuSetting
    cut: float
    expected: float

    def to_dict(self) -> dict[str, object]:
        return {**self.setting.to_dict(), "cut": self.cut}


@dataclass(frozen=True)
class NuAdversary:
    """ν-SVC with nested cross-validation on distinct rows.

    Each setting is tried in inner folds of up to 2,000 distinct rows. The one with the highest accuracy and the one
    with the highest Matthews correlation are then trained on up to `max_rows`. If the first does not beat the most
    frequent value by over a standard error of the difference, or the second has no correlation, the adversary always
    guesses the most frequent value. For two values and the correlation, the cut of the score is chosen with the
    setting.
    """

    attacked: Attacked
    cells: Codes
    distinct: Inputs
    points: KernelPoints = field(repr=False)
    inner_folds: int
    max_rows: int

    def answers(self, train: Codes, test: Codes, random: np.random.Generator) -> dict[str, SensitiveAnswer]:
        """Learn from `train` and guess the records `test`, once for each aim."""
        found = always(self.attacked, train, test)
        search = self._draw_records(train, min(SEARCH_ROWS, self.max_rows), random)
        chosen = {aim: choice for aim, choice in self._choose_settings(search, random).items() if choice is not None}
        if not chosen:
            return found
        drawn = self._draw_records(train, self.max_rows, random)
        trained = {
            setting: self._train_and_score(setting, drawn, test) for setting in {c.setting for c in chosen.values()}
        }
        values, units = self.attacked.values[search.rows], self.attacked.units_of(search.rows)
        for aim, choice in chosen.items():
            scores, rows = trained[choice.setting]
            if scores is not None:
                guess, tried = _decide_values(scores, choice.cut), count_independent_records(aim, values, units)
                found[aim] = SensitiveAnswer(guess, choice.expected, tried, choice.to_dict(), rows)
        return found

    def _draw_records(self, train: Codes, most: int, random: np.random.Generator) -> Drawn:
        """Draw records of each value until there are `most` distinct rows; all records if there are fewer."""
        shuffled = random.permutation(train)
        values = self.attacked.values[shuffled]
        frequent = np.argsort(-np.bincount(values, minlength=self.attacked.size), kind="stable")[:MOST_VALUES]
        of_value = [shuffled[values == value] for value in frequent if (values == value).any()]
        new = [_mark_first_seen(self.cells[rows]) for rows in of_value]
        limits = fair_limits([int(each.sum()) for each in new], most)
        drawn = [rows[np.cumsum(each) <= limit] for rows, each, limit in zip(of_value, new, limits, strict=True)]
        weights = [np.full(len(some), len(rows) / len(some)) for some, rows in zip(drawn, of_value, strict=True)]
        return Drawn(np.concatenate(drawn), np.concatenate(weights))

    def _choose_settings(self, drawn: Drawn, random: np.random.Generator) -> dict[str, NuChoice | None]:
        """Return the best setting for each aim; None if the most frequent value does as well."""
        values = self.attacked.values[drawn.rows]
        places, cells = np.unique(self.cells[drawn.rows], return_inverse=True)
        folds = fold_codes(values, self.attacked.units_of(drawn.rows), self.inner_folds, random)
        points = self.points.of(self.distinct[places])
        parts = [_NuPart.of(folds == fold, cells, values, drawn.weights) for fold in range(int(folds.max()) + 1)]
        best: dict[str, NuChoice | None] = dict.fromkeys(AIMS)
        tried = settings(np.bincount(values, drawn.weights).astype(np.float64)[np.unique(values)])
        for gamma, some in groupby(tried, lambda setting: setting.gamma):
            gram = kernel(points, points, gamma)
            cut = [(part, part.to_learn(gram), part.to_guess(gram)) for part in parts]
            for setting in some:
                scores = self._predict_held_out(setting, cut, len(values))
                if scores is not None:
                    for aim, judge in _JUDGES.items():
                        best[aim] = _choose_better(best[aim], judge(setting, scores, values, drawn.weights))
        return best

    def _predict_held_out(
        self, setting: NuSetting, parts: Sequence[tuple["_NuPart", Floats, Floats]], many: int
    ) -> Floats | None:
        """Score each record by a model of the other folds; None if a model could separate no two values."""
        found = np.zeros((many, self.attacked.size))
        for part, learned, guessed in parts:
            model = NuSvc(setting, self.attacked.size).fit(learned, part.rows.values, part.rows.weights)
            if not model.useful:
                return None
            support = model.support
            found[part.out] = model.scores(guessed[:, support], support)[part.back]
        return found

    def _train_and_score(self, setting: NuSetting, drawn: Drawn, test: Codes) -> tuple[Floats | None, int]:
        """Train with this setting; return the scores of the records `test` and the number of training rows."""
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
class _NuPart:
    """One inner fold: the rows to learn from, and the cells to guess."""

    out: Mask
    rows: Merged
    seen: Codes
    back: Codes

    @classmethod
    def of(cls, out: Mask, cells: Codes, values: Codes, weights: Floats) -> "_NuPart":
        seen, back = np.unique(cells[out], return_inverse=True)
        return cls(out, Merged.of(cells[~out], values[~out], weights[~out]), seen, back)

    def to_learn(self, gram: Floats) -> Floats:
        return gram[np.ix_(self.rows.cells, self.rows.cells)]

    def to_guess(self, gram: Floats) -> Floats:
        return gram[np.ix_(self.seen, self.rows.cells)]


def _mark_first_seen(cells: Codes) -> Any:
    """Mark the first record of each distinct row."""
    first = np.zeros(len(cells), dtype=bool)
    first[np.unique(cells, return_index=True)[1]] = True
    return first


def _decide_values(scores: Floats, cut: float) -> Codes:
    """Return the value with the highest score; of two values, the second if its score is above the cut."""
    if scores.shape[1] == 2:
        return (scores[:, 1] > cut).astype(np.int64)
    return np.asarray(scores.argmax(axis=1), dtype=np.int64)


def _by_accuracy(setting: NuSetting, scores: Floats, values: Codes, weights: Floats) -> NuChoice | None:
    usual = int(np.bincount(values, weights).argmax())
    right = (_decide_values(scores, 0.0) == values).astype(np.float64)
    ahead = weights * (right - (values == usual))
    if ahead.sum() <= np.sqrt((ahead**2).sum()):
        return None
    return NuChoice(setting, 0.0, float(np.average(right, weights=weights)))


def _by_matthews(setting: NuSetting, scores: Floats, values: Codes, weights: Floats) -> NuChoice | None:
    if scores.shape[1] == 2:
        cut, found = best_cut(scores[:, 1], values == 1, weights)
    else:
        cut, found = 0.0, matthews(confusion(values, _decide_values(scores, 0.0), scores.shape[1], weights))
    return NuChoice(setting, cut, found) if found > 0 else None


_JUDGES: dict[str, Callable[[NuSetting, Floats, Codes, Floats], NuChoice | None]] = {
    ACCURACY: _by_accuracy,
    MCC: _by_matthews,
}


def _choose_better(old: NuChoice | None, new: NuChoice | None) -> NuChoice | None:
    """Return the choice that expects more, or the earlier of equals."""
    return new if new is not None and (old is None or new.expected > old.expected) else old
