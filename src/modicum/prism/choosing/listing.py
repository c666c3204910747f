"""All supports that no unit can join, where they are not too many: walked through, or from what must be left out."""

from itertools import combinations
from math import comb

import numpy as np

from modicum.prism.choosing.supports import Limits, packed
from modicum.prism.choosing.walking import Packed, listed

_WORK = 1_000_000_000  # steps of the walk: about two seconds
_COMPARED = 3_000_000  # sets that are compared: about a second


def maximal_supports(limits: Limits, limit: int) -> Packed | None:
    """All supports that no unit can join; None where they are more than the limit, or too many to look through.

    It takes no more than a few seconds, whatever the limits are.

    Examples
    --------
    >>> from modicum.prism.choosing.listing import maximal_supports
    >>> from modicum.prism.choosing.supports import Limits, unpacked
    >>> found = maximal_supports(Limits.of(3, 2, [[0, 1]]), limit=100)
    >>> [unpacked(row, 3) for row in found]
    [(0, 2), (1, 2)]
    """
    if not limits.forbidden and comb(len(limits.allowed), limits.max_units) > limit:
        return None
    found = _by_hitting_sets(limits, limit)
    if found is None:
        found = listed(limits.is_allowed, limits.max_units, limits.forbidden, limit, _WORK)
    return None if found is None or len(found) > limit else np.unique(found, axis=0)


def _by_hitting_sets(limits: Limits, limit: int) -> Packed | None:
    """From what must be left out: the minimal sets that hit all forbidden ones, and of what is left the subsets."""
    left_out, compared = [0], 0
    for each in (sum(1 << unit for unit in units) for units in limits.forbidden):
        hitting = [h for h in left_out if h & each]
        longer = {h | bit for h in left_out if not h & each for bit in _bits(each)}
        compared += len(hitting) * len(longer) + len(left_out)
        if len(hitting) + len(longer) > 4_000 or compared > _COMPARED:
            return None
        left_out = hitting + [h for h in longer if not any(other & h == other for other in hitting)]
    wholes = [tuple(unit for unit in limits.allowed if not h >> unit & 1) for h in left_out]
    if sum(comb(len(whole), min(len(whole), limits.max_units)) for whole in wholes) > limit:
        return None
    found = [s for whole in wholes for s in combinations(whole, min(len(whole), limits.max_units))]
    return packed(found, limits.n_units)


def _bits(mask: int) -> list[int]:
    return [1 << unit for unit in range(mask.bit_length()) if mask >> unit & 1]
