"""Cramér's V of attribute sets with the sensitive attribute, plain or corrected for bias.

The strength is that of the set's joint values x. Against a binary λ it is sqrt(χ²/n); against a sensitive attribute
with k values ("whole") it is sqrt(χ²/n / (min(cells, k) − 1)). The null value comes from E[χ²] = df · n/(n − 1) under
independence with given margins, with df = (cells − 1)(k − 1). The p-value is that of χ² over all ways to deal the
sensitive values to the records, approximated by a gamma distribution (see `null_chi2`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from modicum.prism.discovery.attribute_codes import Label, SensitiveAttribute
from modicum.prism.discovery.measure import Assessed, CountedSets, Sets, in_pieces
from modicum.table.codes import first_rows, group_rows
from modicum.typing import Floats, Ints

# The distribution of χ² by chance, however few records the cells of a table hold.
#
# If records are dealt at random with both margins fixed, mean and variance of χ² are known exactly (J. B. S. Haldane,
# Biometrika 31, 1940; in this form R. B. Dawson, Biometrika 41, 1954): with N records and r values,
#
#     mean = N/(N − 1) · (r₁ − 1)(r₂ − 1),
#     variance = 2N/(N − 3) · (ν₁ − μ₁)(ν₂ − μ₂) + N²/(N − 1) · μ₁μ₂,
#     ν = (N − r)(r − 1)/(N − 1),  μ = (N · Σ 1/n_i − r²)/(N − 2),
#
# with ν and μ for each margin. A gamma distribution with these two moments approximates that of χ². For large expected
# counts, it is the usual χ² distribution; for small ones, the usual distribution is too narrow (a rare sensitive value)
# or too wide (nearly as many cells as records).

_NONE = 1e-9, 1e-15  # a variance below the first times the mean, or the second times the mean and N, is rounding


@dataclass(frozen=True)
class Null:
    """The distribution of χ² by chance for each of several tables: a gamma with this mean and shape.

    An infinite shape means that χ² is the same however the records are dealt.
    """

    mean: Floats
    shape: Floats

    def compute_p_values(self, chi2: Floats) -> Floats:
        """Return the probability of reaching χ² by chance; 1 if χ² cannot vary."""
        from scipy.special import gammaincc  # deferred: it takes long to import

        varies = np.isfinite(self.shape) & (self.mean > 0)
        shape = np.where(varies, self.shape, 1.0)
        scaled = np.divide(chi2, self.mean, out=np.zeros(len(chi2)), where=varies)
        return np.where(varies, gammaincc(shape, shape * scaled), 1.0)

    def mean_excess(self) -> Floats:
        """Return E[(χ² − mean)₊] = mean · (Q(shape + 1, shape) − Q(shape, shape)); Q is the upper gamma function."""
        from scipy.special import gammaincc  # deferred: it takes long to import

        varies = np.isfinite(self.shape) & (self.mean > 0)
        shape = np.where(varies, self.shape, 1.0)
        return np.where(varies, self.mean * (gammaincc(shape + 1, shape) - gammaincc(shape, shape)), 0.0)


def null_chi2(n: int, cells: Ints, inverse: Floats, classes: int, class_inverse: float) -> Null:
    """Return χ²'s null distribution for tables of `cells` × `classes`; each `inverse` is Σ 1/records over a margin.

    With three records or fewer, the variance is that of the χ² distribution.

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

_VISITS = 30_000_000  # rows visited per piece of work: a fraction of a second


class Association:
    """Cramér's V, or Bergsma's bias-corrected one (J. Korean Statistical Society 42, 2013)."""

    smallest_p = 0.0

    def __init__(self, counted: CountedSets, bias_corrected: bool = False) -> None:
        self.name = "bias_corrected" if bias_corrected else "cramers_v"
        self._counted, self._corrected, self.labels = counted, bias_corrected, len(counted.labels)

    def assess(self, sets: Sets, threshold: float, title: str, progress: bool) -> Iterator[Assessed]:
        used = np.unique(sets).astype(np.int64)
        tables = [self._table(used, sensitive) for sensitive in self._counted.sensitive]
        renamed = np.searchsorted(used, sets).astype(np.int32)
        rows = sum(len(table.weights) for table in tables)
        return in_pieces(partial(self._assess_piece, tables=tables), renamed, max(1, _VISITS // rows), title, progress)

    def _table(self, used: Ints, sensitive: SensitiveAttribute) -> "_Table":
        """Keep only the columns that occur, and merge rows that are equal in them."""
        codes = self._counted.attributes.codes[:, used]
        groups = group_rows(np.column_stack([codes, sensitive.classes.astype(codes.dtype)]))
        first = first_rows(groups)
        weights = np.bincount(groups, weights=self._counted.weights).astype(np.int64)
        sizes = self._counted.attributes.sizes[used]
        narrow = np.uint16 if sizes.max() <= 2**16 else np.uint32  # two types only, each compiled once
        by_column = np.ascontiguousarray(codes[first].T, dtype=narrow)
        classes = sensitive.classes[first].astype(np.uint8)
        shares = np.bincount(classes, weights=weights, minlength=sensitive.size) / self._counted.records
        return _Table(sensitive.labels, by_column, sizes, classes, shares, weights)

    def _assess_piece(self, sets: Sets, tables: "list[_Table]") -> Assessed:
        n, each = self._counted.records, []
        for table in tables:
            spreads, cells, inverse = class_spreads(
                table.codes, table.sizes, table.classes, table.shares, table.weights, sets
            )
            for label in table.labels:
                if label.position is None:
                    phi, sides = (spreads / table.shares).sum(axis=1) / n, table.shares
                else:
                    share = table.shares[label.position]
                    phi, sides = spreads[:, label.position] / (n * share * (1 - share)), np.array([share, 1 - share])
                null = null_chi2(n, cells, inverse, len(sides), float((1 / (n * sides)).sum()))
                each.append(self._strength(phi, cells, len(sides), n, null))
        strength, p_value, by_chance = (np.column_stack(part) for part in zip(*each, strict=True))
        return Assessed(strength, p_value, by_chance, cells)

    def _strength(self, phi: Floats, cells: Ints, values: int, n: int, null: Null) -> tuple[Floats, Floats, Floats]:
        """Compute strength, p-value and null value from χ²/n."""
        p_value, expected = null.compute_p_values(phi * n), null.mean / n
        if self._corrected:
            width = np.minimum(_correct_width(cells, n), _correct_width(np.full(1, values), n))
            return _root(np.maximum(phi - expected, 0), width), p_value, _root(null.mean_excess() / n, width)
        width = np.minimum(cells, values) - 1.0
        return _root(phi, width), p_value, _root(expected, width)


@dataclass(frozen=True)
class _Table:
    """Distinct rows (by column), their numbers of records, and the share of each sensitive class."""

    labels: tuple[Label, ...]
    codes: npt.NDArray[Any]
    sizes: Ints
    classes: npt.NDArray[np.uint8]
    shares: Floats
    weights: Ints


def _correct_width(cells: Ints, n: int) -> Floats:
    """Bergsma's corrected number of values, minus one."""
    return cells - (cells - 1.0) ** 2 / max(n - 1, 1) - 1


def _root(square: Floats, width: Floats) -> Floats:
    """Return sqrt(square / width), at most 1; 0 if there is only one value."""
    return np.sqrt(np.clip(np.divide(square, width, out=np.zeros(len(square)), where=width > 0), 0, 1))


# How unevenly a sensitive attribute's classes are spread over the joint values of many attribute sets (compiled).
#
# Sets are ordered by their attributes, so that neighbours share all attributes except the last: the joint value of this
# prefix is computed once, and each set costs one pass over the rows. A prefix with many joint values is renumbered, so
# that they never outnumber the rows. Small tables of counts are kept side by side for all extensions of a prefix. A
# large table is cleared only where it was used. If even this would take too much memory, rows are sorted.

FEW = 512  # up to this many joint values of a prefix are not renumbered
SMALL = 1 << 13  # most counts of sets that are counted side by side
JOINT = 1 << 11  # most counts of several extensions of a prefix together
PLACES = 1 << 22  # most counts of one set in memory; beyond this, rows are sorted


@numba.njit(cache=True, nogil=True)
def class_spreads(codes, sizes, classes, shares, weights, sets):  # type: ignore[no-untyped-def]
    """Return three arrays for the sets of columns: the spread per class, the number of joint values, and Σ 1 / n_x.

    The spread of class t is Σ over joint values x of (n_xt − n_x·share_t)² / n_x. Divided by n·share_t·(1 − share_t),
    it is χ²/n of the set against class t or not; divided by share_t and summed over the classes, it is χ² of the set
    against the classes.
    """
    n, (m, c) = codes.shape[1], sets.shape
    keys, widths = np.zeros((c, n), np.int64), np.ones(c, np.int64)
    spreads, cells = np.zeros((m, len(shares) + 1)), np.zeros(m, np.int64)  # the last column: Σ 1/n_x
    room = np.zeros(SMALL, np.int64)
    first = 0
    while first < m:
        for j in range(_count_shared(sets, first), c - 1):
            column = sets[first, j]
            widths[j + 1] = _join(keys[j], widths[j], codes, column, sizes[column], keys[j + 1])
        end = first + 1
        while end < m and _count_shared(sets, end) == c - 1:
            end += 1
        room = _extend(keys[c - 1], widths[c - 1], codes, sizes, classes, shares, weights, sets, first, end, room,
                       spreads, cells)  # fmt: skip
        first = end
    return spreads[:, :-1], cells, spreads[:, -1]


@numba.njit(cache=True, nogil=True)
def _count_shared(sets, i):  # type: ignore[no-untyped-def]
    """Count the leading attributes, except the last, that this set shares with the previous one."""
    if i == 0:
        return 0
    j = 0
    while j < sets.shape[1] - 1 and sets[i, j] == sets[i - 1, j]:
        j += 1
    return j


@numba.njit(cache=True, nogil=True)
def _join(before, width, codes, column, size, key):  # type: ignore[no-untyped-def]
    """Add an attribute to the joint value; return how many joint values there may be."""
    for r in range(len(before)):
        key[r] = before[r] * size + np.int64(codes[column, r])
    places = width * size
    return places if places <= FEW else _renumber(key, places)


@numba.njit(cache=True, nogil=True)
def _renumber(key, places):  # type: ignore[no-untyped-def]
    found = 0
    if places <= PLACES:
        number = np.full(places, -1, np.int32)
        for r in range(len(key)):
            if number[key[r]] < 0:
                number[key[r]] = found
                found += 1
            key[r] = number[key[r]]
        return found
    order = np.argsort(key)
    last = np.int64(-1)
    for r in order:
        if key[r] != last:
            last = key[r]
            found += 1
        key[r] = found - 1
    return found


@numba.njit(cache=True, nogil=True)
def _extend(key, width, codes, sizes, classes, shares, weights, sets, first, end, room, spreads, cells):  # type: ignore[no-untyped-def]
    """Fill in the sets first … end − 1, which differ in their last attribute; return `room`, enlarged if necessary."""
    last, n_classes = sets.shape[1] - 1, len(shares)
    i = first
    while i < end:
        stop, filled = i, 0
        while stop < end and filled + width * sizes[sets[stop, last]] * n_classes <= SMALL:
            filled += width * sizes[sets[stop, last]] * n_classes
            stop += 1
        if stop > i:
            _count_small(key, width, codes, sizes, classes, weights, sets[i:stop, last], n_classes, room)
            _sum_small(width, sizes, shares, sets[i:stop, last], room, spreads[i:stop], cells[i:stop])
            i = stop
            continue
        column = sets[i, last]
        if width * sizes[column] * n_classes <= PLACES:
            if len(room) < width * sizes[column] * n_classes:
                room = np.zeros(width * sizes[column] * n_classes, np.int64)
            cells[i] = _count_large(key, codes, column, sizes[column], classes, shares, weights, room, spreads[i])
        else:
            cells[i] = _count_by_sorting(key, codes, column, sizes[column], classes, shares, weights, spreads[i])
        i += 1
    return room


@numba.njit(cache=True, nogil=True)
def _count_small(key, width, codes, sizes, classes, weights, columns, n_classes, room):  # type: ignore[no-untyped-def]
    """Count several sets side by side in `room`, which must be zero.

    A few extensions are counted jointly, and each set's counts are sums of the joint ones: adding to a count takes
    longer than finding its place.
    """
    first, start, owns, most = 0, 0, width * n_classes, min(JOINT, len(key))
    own = np.empty(len(key), np.uint32)
    for r in range(len(key)):
        own[r] = key[r] * n_classes + classes[r]
    while first < len(columns):
        end, places = first + 1, owns * sizes[columns[first]]
        while end < len(columns) and places * sizes[columns[end]] <= most:
            places *= sizes[columns[end]]
            end += 1
        joint = np.zeros(places, np.int64)
        _count_joint(own, codes, weights, columns[first:end], sizes, joint)
        start = _sum_joint(joint, owns, sizes[columns[first:end]], room, start)
        first = end


@numba.njit(cache=True, nogil=True)
def _count_joint(own, codes, weights, columns, sizes, joint):  # type: ignore[no-untyped-def]
    """Compute places column by column, so that the compiler handles many rows at once, then count."""
    place = own.copy()
    for column in columns:
        size, code = np.uint32(sizes[column]), codes[column]
        for r in range(len(place)):
            place[r] = np.uint32(place[r] * size + code[r])
    for r in range(len(place)):
        joint[place[r]] += weights[r]


@numba.njit(cache=True, nogil=True)
def _sum_joint(joint, owns, sizes, room, start):  # type: ignore[no-untyped-def]
    """Sum the joint counts to those of each extension, in `room` from `start` on; return where they end.

    Joint counts are ordered by prefix value and class, then by each extension in turn; a set's own counts are ordered
    by its extension's code, class last.
    """
    outer, inner = 1, len(joint) // owns
    for size in sizes:
        inner //= size
        at = 0
        for own in range(owns):
            for _ in range(outer):
                for code in range(size):
                    total = np.int64(0)
                    for i in range(at, at + inner):
                        total += joint[i]
                    room[start + code * owns + own] += total
                    at += inner
        outer *= size
        start += owns * size
    return start


@numba.njit(cache=True, nogil=True)
def _sum_small(width, sizes, shares, columns, room, spreads, cells):  # type: ignore[no-untyped-def]
    """Sum over all places of each set's counts, and reset them to zero."""
    n_classes, at = len(shares), 0
    for e in range(len(columns)):
        for _ in range(width * sizes[columns[e]]):
            cells[e] += _add_cell(room, at, shares, spreads[e])
            at += n_classes


@numba.njit(cache=True, nogil=True)
def _add_cell(room, at, shares, spread):  # type: ignore[no-untyped-def]
    """Add one joint value's term and clear its counts; return 1 if it occurs, else 0."""
    total = np.int64(0)
    for t in range(len(shares)):
        total += room[at + t]
    if total == 0:
        return 0
    for t in range(len(shares)):
        beyond = room[at + t] - total * shares[t]
        spread[t] += beyond * beyond / total
        room[at + t] = 0
    spread[len(shares)] += 1.0 / total
    return 1


@numba.njit(cache=True, nogil=True)
def _count_large(key, codes, column, size, classes, shares, weights, room, spread):  # type: ignore[no-untyped-def]
    """Count one set with a large table: count all rows, then visit and clear each joint value that occurs."""
    n_classes, cells = len(shares), 0
    for r in range(len(key)):
        room[(key[r] * size + np.int64(codes[column, r])) * n_classes + classes[r]] += weights[r]
    for r in range(len(key)):
        at = (key[r] * size + np.int64(codes[column, r])) * n_classes
        if room[at + classes[r]] > 0:
            cells += _add_cell(room, at, shares, spread)
    return cells


@numba.njit(cache=True, nogil=True)
def _count_by_sorting(key, codes, column, size, classes, shares, weights, spread):  # type: ignore[no-untyped-def]
    """Count one set with too large a table: sort rows by their joint value and count one value at a time."""
    n, cells = len(key), 0
    full = np.empty(n, np.int64)
    for r in range(n):
        full[r] = key[r] * size + np.int64(codes[column, r])
    order = np.argsort(full)
    counts = np.zeros(len(shares), np.int64)
    for i in range(n):
        counts[classes[order[i]]] += weights[order[i]]
        if i + 1 == n or full[order[i + 1]] != full[order[i]]:
            cells += _add_cell(counts, 0, shares, spread)
    return cells
