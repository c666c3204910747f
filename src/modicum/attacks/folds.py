"""Parts of records for cross-validation: every value in each where there are enough, a person's records in one."""

import numpy as np

from modicum.table.values import Codes


def fold_codes(values: Codes, units: Codes | None, folds: int, random: np.random.Generator) -> Codes:
    """For each record the part, of at most `folds`, that it is held out with; whole units (one person's records).

    A unit counts for the rarest of its values, and the units of each value are dealt out evenly. There are no more
    parts than units that count for the second most frequent value, so that two values can be learned without any one
    part; but never fewer than two.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.attacks.folds import fold_codes
    >>> parts = fold_codes(np.array([0] * 6 + [1] * 3), None, 5, np.random.default_rng(0))
    >>> np.bincount(parts).tolist(), np.bincount(parts[6:]).tolist()
    ([3, 3, 3], [1, 1, 1])
    """
    of_row = np.arange(len(values)) if units is None else np.unique(units, return_inverse=True)[1]
    counts = np.bincount(values)
    rarity = np.argsort(np.argsort(counts, kind="stable"), kind="stable")  # the rarest value has 0
    stratum = np.full(int(of_row.max()) + 1, len(counts), dtype=np.int64)
    np.minimum.at(stratum, of_row, rarity[values])
    parts = max(2, min(folds, _second(np.bincount(stratum, minlength=len(counts)))))
    shuffled = random.permutation(len(stratum))
    ordered = shuffled[np.argsort(stratum[shuffled], kind="stable")]
    dealt = np.empty(len(stratum), dtype=np.int64)
    dealt[ordered] = np.arange(len(stratum)) % parts
    return dealt[of_row]


def _second(counts: Codes) -> int:
    """The second largest."""
    return int(np.sort(counts)[-2]) if len(counts) > 1 else 0
