"""Whether records can be ℓ-diverse, and the fewest to leave out where they cannot."""

import numpy as np

from modicum.anatomy.bucketize import shuffled_by_value
from modicum.table.values import Codes, Mask


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
