"""Whether records can be ℓ-diverse, and the fewest to leave out where they cannot."""

from collections.abc import Sequence

import numpy as np

from modicum.anatomy.bucketize import shuffled_by_value
from modicum.table.codes import group_rows
from modicum.table.values import Codes, Mask

_MOST_KINDS = 2_000  # combinations of values for which what stays is found for all attributes at once
_NODES = 1_000  # of the search tree, after which the best that was found is taken


def largest_l(counts: Codes) -> int:
    """The largest ℓ for which groups exist, none with a value in more than 1/ℓ of it: ⌊n / the highest count⌋.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.suppression import largest_l
    >>> largest_l(np.array([4, 3, 3]))
    2
    """
    return int(counts.sum() // counts.max())


def most_of_a_value(counts: Codes, l: int) -> int:
    """How many records of one value may stay so that the fewest are left out; 0 where nothing can stay.

    Groups exist exactly where no value has more than 1/ℓ of the records that stay. Where m of each value may stay,
    S(m) = Σ min(count, m) records do, and that is enough where S(m) ≥ ℓ m. S grows with m and is concave with S(0) = 0,
    so that all m up to the largest are enough, and the largest keeps most.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.suppression import most_of_a_value
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


def kept_records(codes: Codes, l: int, random: np.random.Generator) -> Mask:
    """Which records stay when the fewest are left out, drawn at random among those of a value that is too frequent.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.suppression import kept_records
    >>> kept_records(np.array([0, 0, 0, 1]), 2, np.random.default_rng(0)).sum()
    np.int64(2)
    """
    counts = np.bincount(codes)
    records, starts = shuffled_by_value(codes, counts, random)
    rank = np.arange(len(codes)) - np.repeat(starts[:-1], counts)
    kept = np.zeros(len(codes), dtype=bool)
    kept[records] = rank < most_of_a_value(counts, l)
    return kept


def kept_jointly(columns: Sequence[Codes], l: int, random: np.random.Generator) -> Mask | None:
    """Which records stay so that several attributes have groups; None where that would take too long to find out.

    How many stay of each combination of values is an integer program: as many as possible in all, while ℓ times those
    of any one value are at most that. Which records of a combination stay is drawn. Nothing stays where nothing can.

    Parameters
    ----------
    columns : for each attribute each record's value as a code from 0
    l : the paper's ℓ
    random : the source of chance

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.suppression import kept_jointly
    >>> kept_jointly([np.array([0, 0, 0, 1]), np.array([0, 0, 1, 0])], 2, np.random.default_rng(0)).tolist()
    [False, False, True, True]
    """
    kinds = group_rows(np.column_stack(columns))
    counts = np.bincount(kinds)
    if len(counts) > _MOST_KINDS:
        return None
    first = np.zeros(len(counts), dtype=np.int64)
    first[kinds] = np.arange(len(kinds))
    stay = _most_of_each([column[first] for column in columns], counts, l)
    if stay is None:
        return None
    records, starts = shuffled_by_value(kinds, counts, random)
    kept = np.zeros(len(kinds), dtype=bool)
    kept[records] = np.arange(len(kinds)) - np.repeat(starts[:-1], counts) < np.repeat(stay, counts)
    return kept


def _most_of_each(values: Sequence[Codes], counts: Codes, l: int) -> Codes | None:
    """How many records of each combination stay; `values` has, for each attribute, the combinations' values."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    many = len(counts)
    offsets = np.cumsum([0, *(int(own.max()) + 1 for own in values)])
    rows = np.concatenate([own + offset for own, offset in zip(values, offsets, strict=False)])
    width = int(offsets[-1])
    # The last variable is how many stay in all: ℓ · (those of a value) - all ≤ 0, and the sum of all is it.
    entries = np.repeat([l, -1, 1, -1], [len(rows), width, many, 1])
    places = (
        np.concatenate([rows, np.arange(width), np.full(many + 1, width)]),
        np.concatenate([np.tile(np.arange(many), len(values)), np.full(width, many), np.arange(many + 1)]),
    )
    matrix = coo_array((entries, places), shape=(width + 1, many + 1)).tocsr()
    found = milp(
        np.append(np.zeros(many), -1),
        integrality=np.ones(many + 1),
        bounds=Bounds(0, np.append(counts, counts.sum())),
        constraints=LinearConstraint(matrix, np.append(np.full(width, -np.inf), 0), 0),
        options={"node_limit": _NODES, "mip_rel_gap": 0},
    )
    return None if found.x is None else np.round(found.x[:many]).astype(np.int64)
