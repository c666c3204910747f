"""Measures that predict λ or process single records: least squares, a decision tree, any function."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError
from modicum.prism.discovery.attribute_codes import CodedAttributes
from modicum.prism.discovery.measure import ROUNDING, Assessed, CountedSets, Sets, in_pieces
from modicum.table.codes import first_rows, group_rows
from modicum.table.frames import column, numbers
from modicum.table.schema import Schema
from modicum.typing import Floats, Ints, Mask

# Pearson's correlation of λ with an attribute, and the multiple correlation R with several.
#
# R is the correlation of λ with its least-squares prediction from the attributes: numbers as numbers, everything else
# as a column of 0 and 1 for each value. All sets share one matrix of correlations between these columns, so a set costs
# a small eigenvalue problem and no pass over the data.

MOST_COLUMNS = 3000
_ROWS = 4096  # at a time
_PIECE = 500  # sets in a piece of work
_RANK = 1e-9  # an eigenvalue below this share of the largest counts as 0


class MultipleCorrelation:
    """Multiple R with an F-test; under independence E[R²] = q/(n − 1) for q independent columns."""

    name = "pearson"
    smallest_p = 0.0

    def __init__(
        self, counted: CountedSets, frame: nw.DataFrame, schema: Schema, attributes: dict[str, tuple[str, ...]]
    ):
        self._n, self.labels = counted.records, len(counted.labels)
        given = [_values(frame, schema, columns) for columns in attributes.values()]
        widths = [_width(values, size) for values, size in zip(given, counted.attributes.sizes, strict=True)]
        if sum(widths) > MOST_COLUMNS:
            raise DataError(
                f"The measure 'pearson' would need {sum(widths):,} columns for numbers and values, more than "
                f"{MOST_COLUMNS:,}. Group the values of attributes that have many, or use 'cramers_v'."
            )
        self._starts = np.cumsum([0, *widths])
        signs = np.column_stack([counted.signs(label) for label in counted.labels]).astype(np.float64)
        self._between, self._with_labels = _correlations(counted, given, signs, self._starts)

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        return in_pieces(self._assess_piece, sets, _PIECE, title, progress)

    def _assess_piece(self, sets: Sets) -> Assessed:
        from scipy.special import betainc  # deferred: it takes long to import

        explained, ranks = (np.array(part) for part in zip(*map(self._compute_r2, sets), strict=True))
        left = np.maximum(self._n - 1 - ranks, 0)[:, None]
        # The F-test of R² with q and n − 1 − q degrees of freedom, through the distribution of R².
        tail = betainc(np.maximum(left, 1) / 2, np.maximum(ranks, 1)[:, None] / 2, 1 - explained)
        p_value = np.where((left > 0) & (ranks[:, None] > 0), tail, 1.0)
        chance = np.sqrt(np.minimum(ranks / max(self._n - 1, 1), 1))[:, None]
        cells = np.full(len(sets), -1, dtype=np.int64)
        return Assessed(np.sqrt(explained), p_value, np.broadcast_to(chance, explained.shape), cells)

    def _compute_r2(self, columns: Ints) -> tuple[Floats, int]:
        """Return R² with every λ, and the number of independent columns."""
        used = np.concatenate([np.arange(self._starts[a], self._starts[a + 1]) for a in columns])
        values, vectors = np.linalg.eigh(self._between[np.ix_(used, used)])
        nonzero = values > _RANK * max(values[-1], 1.0)
        parts = vectors[:, nonzero].T @ self._with_labels[used]
        explained = (parts**2 / values[nonzero][:, None]).sum(axis=0)
        return np.clip(explained, 0, 1), int(nonzero.sum())


def _values(frame: nw.DataFrame, schema: Schema, columns: tuple[str, ...]) -> Floats | None:
    """Return the values of a number or date; None for a category or several columns."""
    if len(columns) > 1 or schema[columns[0]].is_category:
        return None
    return numbers(column(frame, columns[0]), schema[columns[0]])


def _width(values: Floats | None, size: int) -> int:
    return int(size) if values is None else 1 + bool(np.isnan(values).any())


def _correlations(
    counted: CountedSets, given: list[Floats | None], signs: Floats, starts: Ints
) -> tuple[Floats, Floats]:
    """Compute weighted correlations between the columns, and with each λ; those of a constant column are 0."""
    d, n = int(starts[-1]), counted.records
    scaled = [_standardize(values, counted.weights) for values in given]
    total, products = np.zeros(d + signs.shape[1]), np.zeros((d + signs.shape[1],) * 2)
    for first in range(0, len(counted.weights), _ROWS):
        rows = slice(first, first + _ROWS)
        block = np.column_stack([_block(counted.attributes, scaled, starts, rows), signs[rows]])
        weighted = block * counted.weights[rows, None]
        total += weighted.sum(axis=0)
        products += block.T @ weighted
    covariance = products / n - np.outer(total, total) / n**2
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 0))
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 1e-9)
    matrix = covariance * np.outer(inverse, inverse)
    return matrix[:d, :d], matrix[:d, d:]


def _standardize(values: Floats | None, weights: Ints) -> Floats | None:
    """Scale numbers to mean 0 and standard deviation 1, so that sums of products are accurate; missing stays."""
    if values is None or np.isnan(values).all():
        return values
    present = ~np.isnan(values)
    middle = np.average(values[present], weights=weights[present])
    spread = np.sqrt(np.average((values[present] - middle) ** 2, weights=weights[present]))
    return (values - middle) / (spread if spread > 0 else 1.0)


def _block(attributes: CodedAttributes, scaled: list[Floats | None], starts: Ints, rows: slice) -> Floats:
    """Return the columns of some rows; a missing number becomes the mean, with a second column that marks it."""
    codes = attributes.codes[rows]
    block = np.zeros((len(codes), int(starts[-1])))
    for j, values in enumerate(scaled):
        if values is None:
            block[np.arange(len(codes)), starts[j] + codes[:, j].astype(np.int64)] = 1
            continue
        missing = np.isnan(values[rows])
        block[:, starts[j]] = np.where(missing, 0, values[rows])
        if starts[j + 1] - starts[j] == 2:
            block[:, starts[j] + 1] = missing
    return block


# Measures that process single records instead of counts: a classifier that guesses λ, and any function.

FOLDS = 5
PERMUTATIONS = 199
MOST_RECORDS = 100_000_000  # for measures that process single records
_ENOUGH = 20  # permutations at least as strong as the measured strength
_LEAF = 0.005  # smallest share of the records in a leaf of the tree, with both classes weighted equally

Function = Callable[[Ints, Mask], float]


class _Permuted(ABC):
    """A measure whose p-value and null value come from 199 permutations of λ, made only if the threshold is reached.

    p is (1 + permutations at least as strong) / 200, and the null value is their mean strength. The permutations end
    once 20 of them are as strong; p is then 20 divided by their number (a sequential test, equally valid).
    """

    def __init__(self, counted: CountedSets, seed: int) -> None:
        if counted.records > MOST_RECORDS:
            raise DataError(
                f"A measure that processes single records takes at most {MOST_RECORDS:,} records, weighted by "
                "sample_weight. Use 'cramers_v'."
            )
        self._counted, self._seed = counted, seed
        self.labels, self.smallest_p = len(counted.labels), 1 / (PERMUTATIONS + 1)

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        return in_pieces(partial(self._assess_piece, threshold=threshold), sets, 1, title, progress)

    def _assess_piece(self, sets: Sets, threshold: float) -> Assessed:
        (columns,) = sets
        codes = self._counted.attributes.codes[:, columns].astype(np.int64)
        cell = group_rows(codes)
        values = codes[first_rows(cell)]
        found = []
        for i, label in enumerate(self._counted.labels):
            random = np.random.default_rng([self._seed, i, *columns.tolist()])
            found.append(_test(self._strengths(values, cell, self._counted.signs(label), random), threshold))
        strength, p_value, by_chance = (np.array([part]) for part in zip(*found, strict=True))
        return Assessed(strength, p_value, by_chance, np.array([len(values)]))

    @abstractmethod
    def _strengths(self, values: Ints, cell: Ints, sign: Mask, random: np.random.Generator) -> Iterator[float]:
        """Yield the strength for λ, then for one permutation after another; `values[cell]` are the codes."""


def _test(strengths: Iterator[float], threshold: float) -> tuple[float, float, float]:
    """Return strength, p-value and null value."""
    strength = next(strengths)
    if strength < threshold - ROUNDING:
        return strength, 1.0, np.nan
    drawn: list[float] = []
    reached = 0
    while len(drawn) < PERMUTATIONS and reached < _ENOUGH:
        drawn.append(next(strengths))
        reached += drawn[-1] >= strength - ROUNDING
    p_value = reached / len(drawn) if reached == _ENOUGH else (1 + reached) / (PERMUTATIONS + 1)
    return strength, p_value, float(np.mean(drawn))


class GuessedByTree(_Permuted):
    """The balanced accuracy of a decision tree that guesses λ in five-fold cross-validation. Chance is 0.5.

    Folds are stratified by class, and drawn again for each permutation. Trees are grown on distinct rows weighted by
    their records, with both classes weighted equally.
    """

    name = "classifier"

    def _strengths(self, values: Ints, cell: Ints, sign: Mask, random: np.random.Generator) -> Iterator[float]:
        total, positive = (
            np.bincount(cell, weights=weights, minlength=len(values)).astype(np.int64)
            for weights in (self._counted.weights, self._counted.weights * sign)
        )
        drawn = positive
        while True:
            yield _compute_balanced_accuracy(values, np.column_stack([total - drawn, drawn]), random, self._seed)
            drawn = _deal(total, int(positive.sum()), random)


def _compute_balanced_accuracy(values: Ints, counts: Ints, random: np.random.Generator, seed: int) -> float:
    """Measure the guesses of trees, each for one fold and grown on the others; counts are of λ = −1 and λ = +1."""
    positive = np.zeros(2)  # records guessed to be +1, among those with λ = −1 and λ = +1
    for fold in _folds(counts, random):
        positive += fold[_tree_guesses(values, counts - fold, seed)].sum(axis=0)
    rates = positive / counts.sum(axis=0)
    return float(0.5 + (rates[1] - rates[0]) / 2)


def _folds(counts: Ints, random: np.random.Generator) -> list[Ints]:
    """Deal each class's records at random to folds of equal size.

    If each row's records were dealt evenly, the training folds would always reveal the class of a held-out row.
    """
    folds, left = [], counts.copy()
    for fold in range(FOLDS):
        sizes = left.sum(axis=0) // (FOLDS - fold)
        drawn = np.column_stack([_deal(left[:, side], int(sizes[side]), random) for side in (0, 1)])
        folds.append(drawn)
        left -= drawn
    return folds


def _deal(counts: Ints, some: int, random: np.random.Generator) -> Ints:
    """Draw `some` records at random without replacement, and count them by row."""
    return random.multivariate_hypergeometric(counts, some, method="marginals").astype(np.int64)


def _tree_guesses(values: Ints, counts: Ints, seed: int) -> Mask:
    """Return for each distinct row whether a tree grown on these records guesses +1."""
    from sklearn.tree import DecisionTreeClassifier  # deferred: it takes long to import

    totals = counts.sum(axis=0)
    if not totals.all():
        return np.zeros(len(values), dtype=bool)
    weights = (counts / totals).T.ravel()
    sides = np.repeat([False, True], len(values))
    used = weights > 0
    tree = DecisionTreeClassifier(min_weight_fraction_leaf=_LEAF, random_state=seed)
    rows = values.astype(np.float32)  # the trees' own type, so that a thousand fits need no conversion
    tree.fit(np.vstack([rows, rows])[used], sides[used], sample_weight=weights[used], check_input=False)
    return tree.predict(rows, check_input=False)


class Computed(_Permuted):
    """Any function of the codes (records × attributes) and λ (True or False per record)."""

    def __init__(self, counted: CountedSets, function: Function, seed: int) -> None:
        super().__init__(counted, seed)
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function, self._rows = function, np.repeat(np.arange(len(counted.weights)), counted.weights)

    def _strengths(self, values: Ints, cell: Ints, sign: Mask, random: np.random.Generator) -> Iterator[float]:
        codes, sign = values[cell[self._rows]], sign[self._rows]
        drawn = sign
        while True:
            yield self._measure(codes, drawn)
            drawn = random.permutation(sign)

    def _measure(self, codes: Ints, sign: Mask) -> float:
        try:
            found = self._function(codes, sign)
        except Exception as error:  # its message may contain values of records
            raise ParameterError(f"The measure {self.name!r} failed with {type(error).__name__}.") from None
        if not isinstance(found, int | float | np.integer | np.floating) or found != found:
            raise ParameterError(f"The measure {self.name!r} must return a number for every set of attributes.")
        return float(found)
