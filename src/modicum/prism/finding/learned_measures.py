"""Measures that look at records instead of counting them: a classifier that guesses λ, and any function."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.prism.finding.attribute_codes import Ints
from modicum.prism.finding.candidates import Sets
from modicum.prism.finding.measure import Assessed, Counted, in_pieces
from modicum.table.groups import first_rows, group_rows

FOLDS = 5
PERMUTATIONS = 199
_LEAF = 0.005  # of the records, both classes counted alike, that a leaf of the tree holds at least

Function = Callable[[npt.NDArray[np.int64], npt.NDArray[np.bool_]], float]
Found = tuple[float, float, float]


class GuessedByTree:
    """The balanced accuracy with which a decision tree guesses λ for records it was not grown on.

    Five folds; trees are grown on distinct rows that stand for their records, both classes counted alike. Chance is
    0.5. The p-value is that of a one-sided z-test that the tree says +1 as often where λ = −1 as where λ = +1 (two
    proportions, pooled variance), all guesses being for records left aside.
    """

    name = "classifier"

    def __init__(self, counted: Counted, seed: int) -> None:
        self._counted, self._seed = counted, seed

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        return in_pieces(self._assessed, sets, 1, title, progress)

    def _assessed(self, sets: Sets) -> Assessed:
        (columns,) = sets
        codes = self._counted.attributes.codes[:, columns].astype(np.int64)
        cell = group_rows(codes)
        values = codes[first_rows(cell)]
        found = [self._guessed(values, cell, self._counted.signs(label), columns) for label in self._counted.labels]
        return _one_row(found, len(values))

    def _guessed(self, values: Ints, cell: Ints, sign: npt.NDArray[np.bool_], columns: Ints) -> Found:
        """Strength, p-value and chance."""
        counts = np.column_stack(
            [
                np.bincount(cell, weights=self._counted.weights * (sign == side), minlength=len(values))
                for side in (False, True)
            ]
        ).astype(np.int64)
        folds = _folds(counts, np.random.default_rng([self._seed, *columns.tolist()]))
        said = np.zeros(2)  # records said to be +1, of those that are not and those that are
        for fold in folds:
            guess = _tree_guesses(values, counts - fold, self._seed)
            said += fold[guess].sum(axis=0)
        return _balanced(said, counts.sum(axis=0))


def _folds(counts: Ints, random: np.random.Generator) -> list[Ints]:
    """Each row's records dealt to the folds as evenly as they go, the rest by chance."""
    start = random.integers(0, FOLDS, counts.shape)
    return [(counts + (fold - start) % FOLDS) // FOLDS for fold in range(FOLDS)]


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
    tree.fit(np.vstack([values, values])[kept], sides[kept], sample_weight=weights[kept])
    return tree.predict(values)


def _balanced(said: npt.NDArray[Any], totals: Ints) -> Found:
    from scipy.special import ndtr  # deferred: it takes long to import

    rates = said / totals
    pooled = said.sum() / totals.sum()
    spread = np.sqrt(pooled * (1 - pooled) * (1 / totals).sum())
    p_value = 1.0 if spread == 0 else float(ndtr(-(rates[1] - rates[0]) / spread))
    return float(0.5 + (rates[1] - rates[0]) / 2), p_value, 0.5


class Computed:
    """Any function of the codes (records × attributes) and λ (True or False per record).

    p-value and null value come from 199 permutations of λ, made only where the strength reaches the threshold: there
    p is (1 + permutations at least as strong) / 200, and the null value their mean.
    """

    def __init__(self, counted: Counted, function: Function, seed: int) -> None:
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function, self._counted, self._seed = function, counted, seed
        self._rows = np.repeat(np.arange(len(counted.weights)), counted.weights)

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        return in_pieces(partial(self._assessed, threshold=threshold), sets, 1, title, progress)

    def _assessed(self, sets: Sets, threshold: float) -> Assessed:
        (columns,) = sets
        codes = self._counted.attributes.codes[self._rows][:, columns].astype(np.int64)
        found = [self._tested(codes, label, columns, threshold) for label in range(len(self._counted.labels))]
        return _one_row(found, len(np.unique(group_rows(codes))))

    def _tested(self, codes: Ints, label: int, columns: Ints, threshold: float) -> Found:
        sign = self._counted.signs(self._counted.labels[label])[self._rows]
        strength = self._strength(codes, sign)
        if strength < threshold:
            return strength, 1.0, np.nan
        random = np.random.default_rng([self._seed, label, *columns.tolist()])
        drawn = np.array([self._strength(codes, random.permutation(sign)) for _ in range(PERMUTATIONS)])
        return strength, (1 + int((drawn >= strength).sum())) / (PERMUTATIONS + 1), float(drawn.mean())

    def _strength(self, codes: Ints, sign: npt.NDArray[np.bool_]) -> float:
        found = self._function(codes, sign)
        if not isinstance(found, int | float | np.integer | np.floating) or found != found:
            raise ParameterError("The 'measure' parameter is a function that does not give a number for every set.")
        return float(found)


def _one_row(found: list[Found], cells: int) -> Assessed:
    strength, p_value, by_chance = (np.array([part]) for part in zip(*found, strict=True))
    return Assessed(strength, p_value, by_chance, np.array([cells]))
