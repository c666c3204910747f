"""Measures that look at records instead of counting them: a classifier that guesses λ, and any function."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError
from modicum.prism.discovery.measure import ROUNDING, Assessed, CountedSets, Sets, in_pieces
from modicum.table.codes import first_rows, group_rows
from modicum.typing import Ints

FOLDS = 5
PERMUTATIONS = 199
MOST_RECORDS = 100_000_000  # of data that is looked at record by record
_ENOUGH = 20  # permutations as strong as what was found
_LEAF = 0.005  # of the records, both classes counted alike, that a leaf of the tree holds at least

Function = Callable[[npt.NDArray[np.int64], npt.NDArray[np.bool_]], float]
Found = tuple[float, float, float]


def _test_by_permutation(strength: float, threshold: float, once_more: Callable[[], float]) -> Found:
    """Strength, p-value and null value: the latter two from permutations, made where the threshold is reached.

    They end once 20 of them are as strong: p is then 20 by their number (a sequential test, as valid as the whole).
    """
    if strength < threshold - ROUNDING:
        return strength, 1.0, np.nan
    drawn: list[float] = []
    reached = 0
    while len(drawn) < PERMUTATIONS and reached < _ENOUGH:
        drawn.append(once_more())
        reached += drawn[-1] >= strength - ROUNDING
    p_value = reached / len(drawn) if reached == _ENOUGH else (1 + reached) / (PERMUTATIONS + 1)
    return strength, p_value, float(np.mean(drawn))


class GuessedByTree:
    """The balanced accuracy with which a decision tree guesses λ for records it was not grown on.

    Records are dealt to five folds by chance, those of either class alike; trees are grown on distinct rows that stand
    for their records, both classes counted alike. Chance is 0.5. The p-value and the null value come from 199
    permutations of λ, each dealt to folds anew and guessed in the same way, made only where the threshold is reached.
    """

    name = "classifier"

    def __init__(self, counted: CountedSets, seed: int) -> None:
        _check_records(counted)
        self.labels, self.smallest_p = len(counted.labels), 1 / (PERMUTATIONS + 1)
        self._counted, self._seed = counted, seed

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        return in_pieces(partial(self._assess_piece, threshold=threshold), sets, 1, title, progress)

    def _assess_piece(self, sets: Sets, threshold: float) -> Assessed:
        (columns,) = sets
        codes = self._counted.attributes.codes[:, columns].astype(np.int64)
        cell = group_rows(codes)
        values = codes[first_rows(cell)]
        found = [
            self._test_label(values, cell, label, columns, threshold) for label in range(len(self._counted.labels))
        ]
        return _one_row(found, len(values))

    def _test_label(self, values: Ints, cell: Ints, label: int, columns: Ints, threshold: float) -> Found:
        random = np.random.default_rng([self._seed, label, *columns.tolist()])
        sign, weights = self._counted.signs(self._counted.labels[label]), self._counted.weights
        total = np.bincount(cell, weights=weights, minlength=len(values)).astype(np.int64)
        positive = np.bincount(cell, weights=weights * sign, minlength=len(values)).astype(np.int64)

        def strength(positive: Ints) -> float:
            return _compute_balanced_accuracy(values, np.column_stack([total - positive, positive]), random, self._seed)

        def once_more() -> float:
            return strength(_deal(total, int(positive.sum()), random))

        return _test_by_permutation(strength(positive), threshold, once_more)


def _compute_balanced_accuracy(values: Ints, counts: Ints, random: np.random.Generator, seed: int) -> float:
    """Of guesses for the records of one fold by a tree grown on the others; counts are of λ = −1 and λ = +1."""
    said = np.zeros(2)  # records said to be +1, of those that are not and those that are
    for fold in _folds(counts, random):
        said += fold[_tree_guesses(values, counts - fold, seed)].sum(axis=0)
    rates = said / counts.sum(axis=0)
    return float(0.5 + (rates[1] - rates[0]) / 2)


def _folds(counts: Ints, random: np.random.Generator) -> list[Ints]:
    """Each class's records dealt to folds of equal size by chance.

    Were each row's records dealt evenly, the rest would always tell what a row left aside says.
    """
    folds, left = [], counts.copy()
    for fold in range(FOLDS):
        sizes = left.sum(axis=0) // (FOLDS - fold)
        drawn = np.column_stack([_deal(left[:, side], int(sizes[side]), random) for side in (0, 1)])
        folds.append(drawn)
        left -= drawn
    return folds


def _deal(counts: Ints, some: int, random: np.random.Generator) -> Ints:
    """How many of each row's records are among some that are drawn by chance, without putting them back."""
    return random.multivariate_hypergeometric(counts, some, method="marginals").astype(np.int64)


def _tree_guesses(values: Ints, counts: Ints, seed: int) -> npt.NDArray[np.bool_]:
    """Whether a tree grown on these records says +1, per distinct row."""
    from sklearn.tree import DecisionTreeClassifier  # deferred: it takes long to import

    totals = counts.sum(axis=0)
    if not totals.all():
        return np.zeros(len(values), dtype=bool)
    weights = (counts / totals).T.ravel()
    sides = np.repeat([False, True], len(values))
    kept = weights > 0
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=_LEAF, random_state=seed)
    rows = values.astype(np.float32)  # as trees have it, so that it need not be looked at again for each of a thousand
    tree.fit(np.vstack([rows, rows])[kept], sides[kept], sample_weight=weights[kept], check_input=False)
    return tree.predict(rows, check_input=False)


class Computed:
    """Any function of the codes (records × attributes) and λ (True or False per record).

    p-value and null value come from 199 permutations of λ, made only where the strength reaches the threshold: there
    p is (1 + permutations at least as strong) / 200, and the null value their mean.
    """

    def __init__(self, counted: CountedSets, function: Function, seed: int) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        _check_records(counted)
        self.labels, self.smallest_p = len(counted.labels), 1 / (PERMUTATIONS + 1)
        self._function, self._counted, self._seed = function, counted, seed
        self._rows = np.repeat(np.arange(len(counted.weights)), counted.weights)

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        return in_pieces(partial(self._assess_piece, threshold=threshold), sets, 1, title, progress)

    def _assess_piece(self, sets: Sets, threshold: float) -> Assessed:
        (columns,) = sets
        codes = self._counted.attributes.codes[self._rows][:, columns].astype(np.int64)
        found = [self._test_label(codes, label, columns, threshold) for label in range(len(self._counted.labels))]
        return _one_row(found, len(np.unique(group_rows(codes))))

    def _test_label(self, codes: Ints, label: int, columns: Ints, threshold: float) -> Found:
        sign = self._counted.signs(self._counted.labels[label])[self._rows]
        random = np.random.default_rng([self._seed, label, *columns.tolist()])
        strength = self._strength(codes, sign)
        return _test_by_permutation(strength, threshold, lambda: self._strength(codes, random.permutation(sign)))

    def _strength(self, codes: Ints, sign: npt.NDArray[np.bool_]) -> float:
        try:
            found = self._function(codes, sign)
        except Exception as error:  # its words may hold values of records
            raise ParameterError(f"The measure {self.name!r} failed with {type(error).__name__}.") from None
        if not isinstance(found, int | float | np.integer | np.floating) or found != found:
            raise ParameterError("The 'measure' parameter is a function that does not give a number for every set.")
        return float(found)


def _check_records(counted: CountedSets) -> None:
    if counted.records > MOST_RECORDS:
        raise DataError(
            f"A measure that looks at records one by one takes at most {MOST_RECORDS:,}, as sample_weight counts them; "
            "use 'cramers_v'."
        )


def _one_row(found: list[Found], cells: int) -> Assessed:
    strength, p_value, by_chance = (np.array([part]) for part in zip(*found, strict=True))
    return Assessed(strength, p_value, by_chance, np.array([cells]))
