"""Group records with different sensitive values (bucketized, dealt or at random), and choose records to leave out.

Xiao and Tao, "Anatomy: simple and effective privacy preservation", VLDB 2006; [Mancuhan16 §3] builds on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from math import gcd
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from modicum.engines.sampling import RecordHash
from modicum.table.codes import group_rows
from modicum.typing import Codes, Mask


def bucketize(codes: Codes, l: int, random: np.random.Generator) -> Codes:
    """Assign a group to each record: at least ℓ records in each, all with different values.

    Each group takes a record of each of the ℓ values with the most records left, at random among equally frequent
    values. At the end fewer than ℓ records remain, all with different values; each joins a random group without its
    value. No value may exceed 1/ℓ of all records.

    Parameters
    ----------
    codes : for each record its sensitive value, from 0 without gaps
    l : the paper's ℓ
    random : random generator

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import bucketize
    >>> groups = bucketize(np.array([0, 0, 1, 1, 2]), 2, np.random.default_rng(0))
    >>> sorted(np.bincount(groups).tolist())
    [2, 3]
    """
    counts = np.bincount(codes)
    by_value, starts = shuffle_by_value(codes, counts, random)
    order = random.permutation(len(counts))
    order = order[np.argsort(-counts[order], kind="stable")]
    groups = np.full(len(codes), -1, dtype=np.int64)
    many = _fill(by_value, starts, counts.astype(np.int64), order, l, groups, random)
    for record in np.flatnonzero(groups < 0):  # at most ℓ - 1 records
        lacks = np.ones(many, dtype=bool)
        own = groups[by_value[starts[codes[record]] : starts[codes[record] + 1]]]
        lacks[own[own >= 0]] = False
        groups[record] = random.choice(np.flatnonzero(lacks))
    return groups


def shuffle_by_value(codes: Codes, counts: Codes, random: np.random.Generator) -> tuple[Codes, Codes]:
    """Order the records by value, at random within a value; also return where each value starts.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import shuffle_by_value
    >>> records, starts = shuffle_by_value(np.array([1, 0, 1]), np.array([1, 2]), np.random.default_rng(0))
    >>> records[0], sorted(records[1:].tolist()), starts.tolist()
    (np.int64(1), [0, 2], [0, 1, 3])
    """
    records = random.permutation(len(codes))
    small = codes.astype(np.min_scalar_type(len(counts)))  # numpy sorts 8 and 16 bits in linear time
    return records[np.argsort(small[records], kind="stable")], np.concatenate([[0], np.cumsum(counts)])


@numba.njit(cache=True, nogil=True)
def _fill(by_value, starts, left, order, l, groups, random):  # type: ignore[no-untyped-def]
    """Make groups while ℓ values have records left; return how many were made.

    `order` lists the values by their number of records left. The first ℓ values give one record each. Among values as
    frequent as the last of these, random ones give. They move behind the other equally frequent values, so that `order`
    stays correct without sorting.
    """
    many = 0
    while len(order) >= l and left[order[l - 1]] > 0:
        level = left[order[l - 1]]
        first = l - 1
        while first > 0 and left[order[first - 1]] == level:
            first -= 1
        low, high = l, len(order)  # find where the values with fewer records left begin
        while low < high:
            middle = (low + high) // 2
            if left[order[middle]] == level:
                low = middle + 1
            else:
                high = middle
        for taken in range(l - first):
            last = low - 1 - taken
            drawn = random.integers(first, last + 1)
            order[drawn], order[last] = order[last], order[drawn]
            left[order[last]] -= 1
            groups[by_value[starts[order[last]] + left[order[last]]]] = many
        for place in range(first):
            left[order[place]] -= 1
            groups[by_value[starts[order[place]] + left[order[place]]]] = many
        many += 1
    return many


# Check whether records can be ℓ-diverse, and leave out as few as possible if they cannot.

_MOST_KINDS = 2_000  # combinations of values up to which records are selected for all attributes at once
_NODES = 1_000  # nodes of the search tree, after which the best solution so far is used


def largest_l(counts: Codes) -> int:
    """Return the largest ℓ for which groups without a value above 1/ℓ exist: ⌊n / the highest count⌋.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import largest_l
    >>> largest_l(np.array([4, 3, 3]))
    2
    """
    return int(counts.sum() // counts.max())


def most_of_a_value(counts: Codes, l: int) -> int:
    """Return how many records of one value may stay so that the fewest are left out; 0 if none can stay.

    Groups exist if and only if no value has more than 1/ℓ of the remaining records. If at most m of each value stay,
    S(m) = Σ min(count, m) records remain, which suffices if S(m) ≥ ℓ m. S grows with m and is concave with S(0) = 0, so
    every m up to the largest solution suffices, and the largest keeps the most records.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import most_of_a_value
    >>> most_of_a_value(np.array([9, 2, 2]), 2)
    4
    """
    low, high = 0, int(counts.sum()) // l
    while low < high:
        middle = (low + high + 1) // 2
        if int(np.minimum(counts, middle).sum()) >= l * middle:
            low = middle
        else:
            high = middle - 1
    return low


def select_records(codes: Codes, l: int, random: np.random.Generator) -> Mask:
    """Select the records that stay if the fewest are left out, at random within values that are too frequent.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import select_records
    >>> select_records(np.array([0, 0, 0, 1]), 2, np.random.default_rng(0)).sum()
    np.int64(2)
    """
    counts = np.bincount(codes)
    return _draw_some(codes, counts, np.minimum(counts, most_of_a_value(counts, l)), random)


def _draw_some(codes: Codes, counts: Codes, stay: Codes, random: np.random.Generator) -> Mask:
    """Select a given number of records of each value at random."""
    records, _ = shuffle_by_value(codes, counts, random)
    stays = np.zeros(len(codes), dtype=bool)
    stays[records] = _number_within(counts) < np.repeat(stay, counts)
    return stays


def _number_within(counts: Codes) -> Codes:
    """Number the places of each value from 0, for values laid out one after another."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)


def select_jointly(columns: Sequence[Codes], l: int, random: np.random.Generator) -> Mask | None:
    """Select the records that stay so that several attributes have groups; None if the search would take too long.

    An integer program finds how many records of each combination of values stay: as many as possible in total, with ℓ
    times the records of any value at most that total. The records within a combination are selected at random. The
    selection is empty if there is no solution.

    Parameters
    ----------
    columns : for each attribute each record's value as a code from 0
    l : the paper's ℓ
    random : random generator

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import select_jointly
    >>> select_jointly([np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0])], 2, np.random.default_rng(0)).tolist()
    [False, False, True, True]
    """
    kinds = group_rows(np.column_stack(columns))
    counts = np.bincount(kinds)
    if len(counts) > _MOST_KINDS:
        return None
    first = np.zeros(len(counts), dtype=np.int64)
    first[kinds] = np.arange(len(kinds))
    stay = _most_of_each([column[first] for column in columns], counts, l)
    return None if stay is None else _draw_some(kinds, counts, stay, random)


def _most_of_each(values: Sequence[Codes], counts: Codes, l: int) -> Codes | None:
    """Find how many records of each combination stay; `values` are the combinations' values for each attribute."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    many = len(counts)
    offsets = np.cumsum([0, *(int(own.max()) + 1 for own in values)])
    rows = np.concatenate([own + offset for own, offset in zip(values, offsets, strict=False)])
    width = int(offsets[-1])
    # The last variable is the total that stays: ℓ · (those of a value) - total ≤ 0, and all counts add up to it.
    entries = np.repeat([l, -1, 1, -1], [len(rows), width, many, 1])
    places = (
        np.concatenate([rows, np.arange(width), np.full(many + 1, width)]),
        np.concatenate([np.tile(np.arange(many), len(values)), np.full(width, many), np.arange(many + 1)]),
    )
    matrix = coo_array((entries, places), shape=(width + 1, many + 1)).tocsr()
    solution = milp(
        np.append(np.zeros(many), -1),
        integrality=np.ones(many + 1),
        bounds=Bounds(0, np.append(counts, counts.sum())),
        constraints=LinearConstraint(matrix, np.append(np.full(width, -np.inf), 0), 0),
        options={"node_limit": _NODES, "mip_rel_gap": 0},
    )
    return None if solution.x is None else np.round(solution.x[:many]).astype(np.int64)


# Groups by arithmetic: records are dealt to the groups in turn, one sensitive value after another.
#
# The values are laid out one after another, each with its records in the order of a secret hash of their content, and
# the record at place p goes to group p mod ⌊n/ℓ⌋. No value has more than ⌊n/ℓ⌋ records, so no two of its places share a
# group; every group has at least ℓ records, all with different values. A record's group depends only on the number of
# records of each value and on its own number within its value. So the plan is a few numbers for each value regardless
# of the number of records, an engine can carry it out, and the order of the rows does not matter.

_FACTORS = 2**20  # upper limit of the factor that mixes the groups' numbers


@dataclass(frozen=True)
class Deal:
    """The rule that assigns each record of a sensitive value to a group.

    Attributes
    ----------
    starts : for each value the place of its first record
    groups : how many groups there are
    most : how many records of a value may stay
    factor, shift : numbering of the groups, so that neighbours in the layout do not get neighbouring numbers

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import Deal
    >>> deal = Deal.of(np.array([2, 2, 1]), 2, np.random.default_rng(0))
    >>> deal.groups, sorted(deal.group(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0])).tolist())
    (2, [0, 0, 0, 1, 1])
    """

    starts: npt.NDArray[np.int64]
    groups: int
    most: int
    factor: int
    shift: int

    @classmethod
    def of(cls, counts: Codes, l: int, random: np.random.Generator) -> "Deal":
        """Plan the groups from the records per value, leaving out as few as possible if a value is too frequent."""
        most = min(int(counts.max()), most_of_a_value(counts, l))
        stay = np.minimum(counts, most)
        order = random.permutation(len(counts))
        starts = np.empty(len(counts), dtype=np.int64)
        starts[order] = np.cumsum(stay[order]) - stay[order]
        groups = int(stay.sum()) // l
        most_factor = min(groups, _FACTORS)
        tried = chain(range(int(random.integers(1, most_factor + 1)), most_factor + 1), [1])  # 1 always fits
        factor = next(f for f in tried if gcd(f, groups) == 1)
        return cls(starts, groups, most, factor, int(random.integers(0, groups)))

    def group(self, codes: Codes, numbers: Codes) -> Codes:
        """Return the group, from 0, of each record from its value and its number within that value."""
        groups: Codes = self.of_places(self.starts[codes] + numbers)
        return groups

    def of_places(self, places: Any) -> Any:
        """Return the groups of places in the layout, given as an array or an engine's expression."""
        return (places % self.groups * self.factor + self.shift) % self.groups


@dataclass(frozen=True)
class Numbering:
    """The order of the records of one value: by two hashes of their released columns."""

    first: RecordHash
    second: RecordHash

    @classmethod
    def of(cls, columns: tuple[str, ...], random: np.random.Generator) -> "Numbering":
        """Make two hashes with random keys."""
        one, other = random.integers(0, 2**62, 2).tolist()
        return cls(RecordHash(columns, one), RecordHash(columns, other))

    def hashes(self, frame: Any) -> tuple[Codes, Codes]:
        """Return both hashes of each record as integers."""
        one, other = (each.of(frame).view(np.int64) for each in (self.first, self.second))
        return one, other


def numbers_of(codes: Codes, hashes: tuple[Codes, Codes]) -> Codes:
    """Number the records of each value from 0, in the order of their hashes.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import numbers_of
    >>> numbers_of(np.array([1, 0, 1]), (np.array([5, 7, 2]), np.array([0, 0, 0]))).tolist()
    [1, 0, 0]
    """
    numbers = np.empty(len(codes), dtype=np.int64)
    numbers[np.lexsort((hashes[1], hashes[0], codes))] = _number_within(np.bincount(codes))
    return numbers


# Groups of different sensitive values by chance alone, which reveal no preference of a method.
#
# An adversary who knows that a method avoids certain groups can draw conclusions from the groups it made (minimality
# attacks); [Mancuhan16 §1] recommends a random assignment against that.

_ROUNDS = 10  # in each, every record may swap places once
_EMPTY = -1


def random_groups(codes: Codes, l: int, random: np.random.Generator) -> Codes:
    """Assign a group to each record, almost uniformly among all assignments of near-equal sizes without duplicates.

    The values are laid out in random order and dealt to the ⌊n/ℓ⌋ groups in rounds, each round in a random order; a
    value that continues into the next round starts with groups that lack it. Then each record in turn, ten times over,
    swaps places with a random record if no group then has a value twice. These steps preserve the uniform distribution;
    how close they get to it is not proven. No value may exceed 1/ℓ of all records.

    Parameters
    ----------
    codes : for each record its sensitive value, from 0 without gaps
    l : the paper's ℓ
    random : random generator

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.grouping import random_groups
    >>> groups = random_groups(np.array([0, 0, 1, 1, 2]), 2, np.random.default_rng(0))
    >>> sorted(np.bincount(groups).tolist())
    [2, 3]
    """
    many = len(codes) // l
    order = random.permutation(int(codes.max()) + 1)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    laid = place[codes]
    records, _ = shuffle_by_value(laid, np.bincount(laid), random)
    values = laid[records]
    groups = _deal(values, many, random)
    sizes = np.bincount(groups, minlength=many)
    width = int(sizes.max())
    order = np.argsort(groups, kind="stable")
    # All groups have the same width in memory; unused places stay empty.
    places = groups[order] * width + _number_within(sizes)
    held, who = (np.full(many * width, _EMPTY, dtype=np.int32) for _ in range(2))
    held[places], who[places] = values[order], records[order]
    _swap(held, who, width, random)
    assigned = np.empty_like(codes)
    assigned[who[places]] = places // width
    return assigned


@numba.njit(cache=True, nogil=True)
def _deal(values, many, random):  # type: ignore[no-untyped-def]
    """Assign a group to each place; equal values are adjacent, and no value has more records than there are groups."""
    groups = np.empty(len(values), np.int64)
    deck = np.arange(many)
    for start in range(0, len(values), many):
        lacking, straddling = many, 0  # groups at the front of the old deck that lack the continued value
        if start > 0:
            while lacking > 0 and values[start - many + lacking - 1] == values[start]:
                lacking -= 1
            if lacking < many:
                while straddling < many and start + straddling < len(values):
                    if values[start + straddling] != values[start]:
                        break
                    straddling += 1
        for i in range(straddling):  # choose from the groups that lack the value
            j = random.integers(i, lacking)
            deck[i], deck[j] = deck[j], deck[i]
        for i in range(straddling, many - 1):
            j = random.integers(i, many)
            deck[i], deck[j] = deck[j], deck[i]
        for i in range(min(many, len(values) - start)):
            groups[start + i] = deck[i]
    return groups


@numba.njit(cache=True, nogil=True)
def _swap(values, records, width, random) -> None:  # type: ignore[no-untyped-def]
    """Swap random pairs of records if no group then has a value twice."""
    n = len(values)
    for step in range(_ROUNDS * n):
        one, other = step % n, random.integers(0, n)
        mine, theirs = values[one], values[other]
        if mine == theirs or min(mine, theirs) == _EMPTY:
            continue
        group, beyond = one - one % width, other - other % width
        if group == beyond:
            continue
        free = True
        for i in range(width):
            free = free and values[group + i] != theirs and values[beyond + i] != mine
        if free:
            values[one], values[other] = theirs, mine
            records[one], records[other] = records[other], records[one]
