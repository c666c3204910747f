"""Which units may be chosen together: at most so many, and never all of a forbidden set (papers/3, (6) and (8))."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.table.values import Floats

Packed = npt.NDArray[np.uint8]  # one support a row, one unit a bit


@dataclass(frozen=True)
class Limits:
    """What a support must keep to.

    Examples
    --------
    >>> from modicum.prism.choosing.supports import Limits
    >>> limits = Limits.of(4, 2, [[0, 1], [2], [2, 3]])
    >>> limits.forbidden, limits.allowed
    (((0, 1),), (0, 1, 3))
    >>> limits.allow((0, 3)), limits.allow((0, 1))
    (True, False)
    """

    n_units: int
    max_units: int
    forbidden: tuple[tuple[int, ...], ...]
    allowed: tuple[int, ...]

    @classmethod
    def of(cls, n_units: int, max_units: int | None, forbidden: Sequence[Sequence[int]]) -> "Limits":
        """The limits without what follows from others: only minimal sets, and single units as not allowed."""
        sets = sorted({tuple(sorted(set(map(int, each)))) for each in forbidden}, key=lambda each: (len(each), each))
        if any(not each or each[0] < 0 or each[-1] >= n_units for each in sets):
            raise ParameterError("The 'forbidden' parameter must hold sets of at least one unit each, by number.")
        minimal: list[tuple[int, ...]] = []
        for each in sets:
            if not any(set(other) <= set(each) for other in minimal):
                minimal.append(each)
        alone = {each[0] for each in minimal if len(each) == 1}
        allowed = tuple(unit for unit in range(n_units) if unit not in alone)
        most = len(allowed) if max_units is None else min(max_units, len(allowed))
        return cls(n_units, most, tuple(each for each in minimal if len(each) > 1), allowed)

    def allow(self, support: Sequence[int]) -> bool:
        """Whether these units may be chosen together."""
        chosen = set(support)
        if len(chosen) > self.max_units or not chosen <= set(self.allowed):
            return False
        return not any(chosen.issuperset(each) for each in self.forbidden)

    def shares(self, support: Sequence[int]) -> Floats:
        """Halfway from the same share of every allowed unit to this support."""
        found = np.zeros(self.n_units)
        found[list(self.allowed)] = self.max_units / max(1, len(self.allowed)) / 2
        found[list(support)] += 0.5
        return found

    def completed(self, support: Sequence[int], preferred: Sequence[int]) -> tuple[int, ...]:
        """The support with every unit that still fits, the preferred first."""
        chosen = list(support)
        for unit in preferred:
            if unit not in chosen and self.allow([*chosen, int(unit)]):
                chosen.append(int(unit))
        return tuple(sorted(chosen))


def largest_support(n_units: int, forbidden: Sequence[Sequence[int]]) -> int:
    """The most units that may be chosen together: all but the fewest that hit every forbidden set.

    Examples
    --------
    >>> from modicum.prism.choosing.supports import largest_support
    >>> largest_support(5, [[0, 1], [1, 2], [4]])
    3
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # deferred: it takes a while to load

    limits = Limits.of(n_units, None, forbidden)
    if not limits.forbidden:
        return len(limits.allowed)
    hits = np.zeros((len(limits.forbidden), n_units))
    for row, each in zip(hits, limits.forbidden, strict=True):
        row[list(each)] = 1
    found = milp(np.ones(n_units), integrality=1, bounds=Bounds(0, 1), constraints=LinearConstraint(hits, lb=1))
    return len(limits.allowed) - round(found.fun)


def packed(supports: Sequence[Sequence[int]], n_units: int) -> Packed:
    """Supports as rows of bits."""
    bits = np.zeros((len(supports), n_units), dtype=bool)
    for row, support in zip(bits, supports, strict=True):
        row[list(support)] = True
    return np.packbits(bits, axis=1, bitorder="little")


def unpacked(row: Packed, n_units: int) -> tuple[int, ...]:
    """The units of one support."""
    return tuple(np.flatnonzero(np.unpackbits(row, bitorder="little")[:n_units]).tolist())


def maximal_supports(limits: Limits, limit: int) -> Packed | None:
    """All supports that no unit can join; None where they are more than the limit, or too many to look through.

    Examples
    --------
    >>> from modicum.prism.choosing.supports import Limits, maximal_supports, unpacked
    >>> found = maximal_supports(Limits.of(3, 2, [[0, 1]]), limit=100)
    >>> [unpacked(row, 3) for row in found]
    [(0, 2), (1, 2)]
    """
    found = _by_levels(limits, limit)
    if found is None:
        found = _by_hitting_sets(limits, limit)
    return None if found is None or len(found) > limit else np.unique(found, axis=0)


def _by_levels(limits: Limits, limit: int) -> Packed | None:
    """Level by level: every feasible support of c units, from those of c − 1 and a later unit."""
    if not limits.forbidden and comb(len(limits.allowed), limits.max_units) > limit:
        return None
    level, last, kept = packed([()], limits.n_units), np.array([-1]), []
    for _ in range(limits.max_units):
        kept.append(level[~_can_grow(level, limits)])
        level, last = _grown(level, last, limits)
        if sum(map(len, kept)) + len(level) > 2 * limit:
            return None
    return np.vstack([*kept, level])


def _grown(level: Packed, last: npt.NDArray[np.int64], limits: Limits) -> tuple[Packed, npt.NDArray[np.int64]]:
    parts, units = [level[:0]], []
    for unit in limits.allowed:
        more = level[last < unit]
        more[:, unit // 8] |= np.uint8(1 << unit % 8)
        ending = [each for each in limits.forbidden if each[-1] == unit]  # what only now can be whole
        more = more[~_holds_any(more, ending, limits.n_units)]
        parts.append(more)
        units.append(np.full(len(more), unit))
    return np.vstack(parts), np.concatenate(units) if units else last[:0]


def _holds_any(rows: Packed, sets: Sequence[Sequence[int]], n_units: int) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(rows), dtype=bool)
    for each in packed(sets, n_units) if sets else ():
        found |= ((rows & each) == each).all(axis=1)
    return found


def _can_grow(level: Packed, limits: Limits) -> npt.NDArray[np.bool_]:
    found = np.zeros(len(level), dtype=bool)
    for unit in limits.allowed:
        rest = [tuple(u for u in each if u != unit) for each in limits.forbidden if unit in each]
        inside = (level[:, unit // 8] >> np.uint8(unit % 8)) & 1 == 1
        found |= ~inside & ~_holds_any(level, rest, limits.n_units)
    return found


def _by_hitting_sets(limits: Limits, limit: int) -> Packed | None:
    """From what must be left out: the minimal sets that hit all forbidden ones, and of what is left the subsets."""
    left_out = [frozenset[int]()]
    for each in map(frozenset, limits.forbidden):
        hitting = [h for h in left_out if h & each]
        longer = {h | {unit} for h in left_out if not h & each for unit in each}
        left_out = hitting + [h for h in longer if not any(other <= h for other in hitting)]
        if len(left_out) > 2_000:
            return None
    wholes = [tuple(sorted(set(limits.allowed) - h)) for h in left_out]
    if sum(comb(len(whole), min(len(whole), limits.max_units)) for whole in wholes) > limit:
        return None
    found = [s for whole in wholes for s in combinations(whole, min(len(whole), limits.max_units))]
    return packed(found, limits.n_units)
