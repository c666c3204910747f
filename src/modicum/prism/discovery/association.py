"""Cramér's V of attribute sets with the sensitive attribute, plain or corrected for bias.

The strength is that of the set's joint values x. Against a binary λ it is sqrt(χ²/n); against a sensitive attribute
with k values ("whole") it is sqrt(χ²/n / (min(cells, k) − 1)). Under independence E[χ²] = df · n/(n − 1) with
df = (cells − 1)(k − 1), given how often each value occurs, which is the null value. The p-value is that of χ² among all
ways in which the sensitive values could be dealt to the records, by a gamma distribution (see `null_chi2`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from modicum.prism.discovery.kernel import class_spreads
from modicum.prism.discovery.measure import Assessed, CountedSets, Sets, in_pieces
from modicum.table.codes import first_rows, group_rows
from modicum.typing import Floats, Ints

# What χ² of a table comes to by chance, however few records its cells hold.
#
# With both margins given and the records of one dealt to the other by chance, mean and variance of χ² are known exactly
# (J. B. S. Haldane, Biometrika 31, 1940; in this form R. B. Dawson, Biometrika 41, 1954): with N records and r values,
#
#     mean = N/(N − 1) · (r₁ − 1)(r₂ − 1),
#     variance = 2N/(N − 3) · (ν₁ − μ₁)(ν₂ − μ₂) + N²/(N − 1) · μ₁μ₂,
#     ν = (N − r)(r − 1)/(N − 1),  μ = (N · Σ 1/n_i − r²)/(N − 2),
#
# ν and μ once for either margin. A gamma distribution with these two moments stands for χ²'s own: where the expected
# counts are large, it is the usual χ² distribution; where they are small, the usual one is too narrow (a rare sensitive
# value) or too wide (nearly as many cells as records).

_NONE = 1e-9, 1e-15  # a variance below the mean times the first, or times the second and N, is rounding


@dataclass(frozen=True)
class Null:
    """The distribution of χ² by chance, for each of several tables: a gamma with this mean and shape.

    An infinite shape says that χ² is the same whichever way the records are dealt.
    """

    mean: Floats
    shape: Floats

    def compute_p_values(self, chi2: Floats) -> Floats:
        """How likely chance reaches χ²: 1 where χ² cannot vary."""
        from scipy.special import gammaincc  # deferred: it takes long to import

        varies = np.isfinite(self.shape) & (self.mean > 0)
        shape = np.where(varies, self.shape, 1.0)
        scaled = np.divide(chi2, self.mean, out=np.zeros(len(chi2)), where=varies)
        return np.where(varies, gammaincc(shape, shape * scaled), 1.0)

    def mean_excess(self) -> Floats:
        """E[(χ² − mean)₊] = mean · (Q(shape + 1, shape) − Q(shape, shape)), Q the gamma function's upper tail."""
        from scipy.special import gammaincc  # deferred: it takes long to import

        varies = np.isfinite(self.shape) & (self.mean > 0)
        shape = np.where(varies, self.shape, 1.0)
        return np.where(varies, self.mean * (gammaincc(shape + 1, shape) - gammaincc(shape, shape)), 0.0)


def null_chi2(n: int, cells: Ints, inverse: Floats, classes: int, class_inverse: float) -> Null:
    """Of tables of `cells` joint values by as many classes; each `inverse` is Σ 1/records over a margin's values.

    With three records or fewer the variance is taken as that of the χ² distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.discovery.association import null_chi2
    >>> even = null_chi2(4000, np.array([4]), np.array([4 / 1000]), 2, 2 / 2000)
    >>> p_values = even.compute_p_values(np.array([7.815]))
    >>> even.shape.round(2), p_values.round(3)  # χ² with 3 degrees of freedom: 1.5 and 0.05
    (array([1.5]), array([0.05]))
    """
    df: Floats = (cells.astype(np.float64) - 1) * (classes - 1)
    if n <= 3:
        return Null(df, df / 2)
    mean = df * n / (n - 1)
    (nu, mu), (class_nu, class_mu) = _margin(n, cells, inverse), _margin(n, np.array([classes]), class_inverse)
    variance = 2 * n / (n - 3) * (nu - mu) * (class_nu - class_mu) + n**2 / (n - 1) * mu * class_mu
    varies = variance > mean * max(_NONE[0], _NONE[1] * n)
    return Null(mean, np.divide(mean**2, variance, out=np.full(len(mean), np.inf), where=varies))


def _margin(n: int, values: Ints, inverse: Floats | float) -> tuple[Floats, Floats]:
    r = values.astype(np.float64)
    return (n - r) * (r - 1) / (n - 1), (n * inverse - r**2) / (n - 2)


# Cramér's V

_VISITS = 30_000_000  # of rows, in a piece of work: a fraction of a second


class Association:
    """Cramér's V, or Bergsma's bias-corrected one (J. Korean Statistical Society 42, 2013)."""

    smallest_p = 0.0

    def __init__(self, counted: CountedSets, bias_corrected: bool = False) -> None:
        self.name = "bias_corrected" if bias_corrected else "cramers_v"
        self._counted, self._corrected, self.labels = counted, bias_corrected, len(counted.labels)

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        used = np.unique(sets).astype(np.int64)
        tables = [self._table(used, which) for which in range(len(self._counted.sensitive))]
        renamed = np.searchsorted(used, sets).astype(np.int32)
        rows = sum(len(table.weights) for table in tables)

        def work(part: Sets) -> Assessed:
            return _beside([self._assess_piece(part, which, tables[which]) for which in range(len(tables))])

        return in_pieces(work, renamed, max(1, _VISITS // rows), title, progress)

    def _table(self, used: Ints, which: int) -> "_Table":
        """Only the columns that occur; rows that are equal in them become one."""
        attributes, sensitive = self._counted.attributes, self._counted.sensitive[which]
        codes = attributes.codes[:, used]
        groups = group_rows(np.column_stack([codes, sensitive.classes.astype(codes.dtype)]))
        first = first_rows(groups)
        weights = np.bincount(groups, weights=self._counted.weights).astype(np.int64)
        sizes = attributes.sizes[used]
        narrow = np.uint16 if sizes.max() <= 2**16 else np.uint32  # two forms, each compiled once
        by_column = np.ascontiguousarray(codes[first].T, dtype=narrow)
        return _Table(by_column, sizes, sensitive.classes[first].astype(np.uint8), weights)

    def _assess_piece(self, sets: Sets, which: int, table: "_Table") -> Assessed:
        sensitive, n = self._counted.sensitive[which], self._counted.records
        shares = np.bincount(table.classes, weights=table.weights, minlength=sensitive.size) / n
        spreads, cells, inverse = class_spreads(table.codes, table.sizes, table.classes, shares, table.weights, sets)
        each = []
        for label in sensitive.labels:
            if label.position is None:
                phi, sides = (spreads / shares).sum(axis=1) / n, shares
            else:
                share = shares[label.position]
                phi, sides = spreads[:, label.position] / (n * share * (1 - share)), np.array([share, 1 - share])
            null = null_chi2(n, cells, inverse, len(sides), float((1 / (n * sides)).sum()))
            each.append(self._strength(phi, cells, len(sides), n, null))
        strength, p_value, by_chance = (np.column_stack(part) for part in zip(*each, strict=True))
        return Assessed(strength, p_value, by_chance, cells)

    def _strength(self, phi: Floats, cells: Ints, values: int, n: int, null: Null) -> tuple[Floats, Floats, Floats]:
        """Strength, p-value and null value from χ²/n."""
        p_value, expected = null.compute_p_values(phi * n), null.mean / n
        if self._corrected:
            width = np.minimum(_correct_width(cells, n), _correct_width(np.full(1, values), n))
            return _root(np.maximum(phi - expected, 0), width), p_value, _root(null.mean_excess() / n, width)
        width = np.minimum(cells, values) - 1.0
        return _root(phi, width), p_value, _root(expected, width)


@dataclass(frozen=True)
class _Table:
    """Distinct rows (by column) with how many records each stands for."""

    codes: npt.NDArray[Any]
    sizes: Ints
    classes: npt.NDArray[np.uint8]
    weights: Ints


def _correct_width(cells: Ints, n: int) -> Floats:
    """Bergsma's number of values less one."""
    return cells - (cells - 1.0) ** 2 / max(n - 1, 1) - 1


def _root(square: Floats, width: Floats) -> Floats:
    """sqrt(square / width), 0 where there is but one value, at most 1."""
    return np.sqrt(np.clip(np.divide(square, width, out=np.zeros(len(square)), where=width > 0), 0, 1))


def _beside(parts: list[Assessed]) -> Assessed:
    return Assessed(
        np.column_stack([part.strength for part in parts]),
        np.column_stack([part.p_value for part in parts]),
        np.column_stack([part.by_chance for part in parts]),
        parts[0].cells,
    )
