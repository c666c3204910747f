"""Which units may be chosen together: a limited number, never all of a forbidden set ([Barbato25], (6) and (8))."""

import ctypes
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from modicum.errors import ParameterError
from modicum.typing import Codes, Floats, Mask

Packed = npt.NDArray[np.uint8]  # one support a row, one unit a bit
Index = tuple[Codes, Codes, Codes, Codes]

# HiGHS through scipy, without its lines on standard output.
#
# When it repairs a solution it prints a line from C, whatever the options. So file descriptor 1 is a temporary file
# while it works. Afterwards everything except its own lines is passed on.

_OWN = b"HighsMipSolverData::"
_ALONE = threading.Lock()  # standard output is shared by all threads


def solve_milp(*args: Any, **kwargs: Any) -> Any:
    """Run `scipy.optimize.milp` without output.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.optimize import Bounds, LinearConstraint
    >>> from modicum.prism.solver.supports import solve_milp
    >>> hit = LinearConstraint(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), lb=1)
    >>> solve_milp(np.ones(3), integrality=np.ones(3), bounds=Bounds(0, 1), constraints=hit).x.tolist()
    [0.0, 1.0, 0.0]
    """
    from scipy.optimize import milp  # deferred: it takes a while to load

    with _ALONE, _silence_solver():
        return milp(*args, **kwargs)


@contextmanager
def _silence_solver() -> Iterator[None]:
    try:
        flush = ctypes.CDLL(None).fflush
        saved = os.dup(1)
    except (OSError, TypeError, AttributeError):  # no such C library, or no standard output
        yield
        return
    flush(None)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield
        finally:
            flush(None)
            os.dup2(saved, 1)
            os.close(saved)
            file.seek(0)
            _pass_on(file.read())


def _pass_on(written: bytes) -> None:
    others = b"".join(line for line in written.splitlines(keepends=True) if not line.startswith(_OWN))
    while others:
        others = others[os.write(1, others) :]


# The limits

_WORK = 500_000_000  # steps of the walk: about a second
_SECONDS = 10.0


@dataclass(frozen=True)
class SupportLimits:
    """The limits that a support must respect.

    Examples
    --------
    >>> from modicum.prism.solver.supports import SupportLimits
    >>> limits = SupportLimits.of(4, 2, [[0, 1], [2], [2, 3]])
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
    def of(cls, n_units: int, max_units: int | None, forbidden: Sequence[Sequence[int]]) -> "SupportLimits":
        """Simplify the limits: keep only minimal sets, and turn sets of one unit into units that are not allowed."""
        sets = sorted({tuple(sorted(set(map(int, each)))) for each in forbidden}, key=lambda each: (len(each), each))
        if any(not each or each[0] < 0 or each[-1] >= n_units for each in sets):
            raise ParameterError("The 'forbidden' parameter must hold sets of at least one unit each, by number.")
        minimal = [each for each, is_minimal in zip(sets, _minimal(sets, n_units), strict=True) if is_minimal]
        alone = {each[0] for each in minimal if len(each) == 1}
        allowed = tuple(unit for unit in range(n_units) if unit not in alone)
        most = len(allowed) if max_units is None else min(max_units, len(allowed))
        return cls(n_units, most, tuple(each for each in minimal if len(each) > 1), allowed)

    def allow(self, support: Sequence[int]) -> bool:
        """Whether these units may be chosen together."""
        chosen = list(set(support))
        if len(chosen) > self.max_units or not self.is_allowed[chosen].all():
            return False
        return not (self._matrix[:, chosen].sum(axis=1) == self._sizes).any()

    @cached_property
    def is_allowed(self) -> Mask:
        """Mark the units that may be chosen at all."""
        return np.isin(np.arange(self.n_units), self.allowed)

    @cached_property
    def _matrix(self) -> npt.NDArray[np.int32]:
        return incidence(self.forbidden, self.n_units).astype(np.int32)

    @cached_property
    def _sizes(self) -> npt.NDArray[np.int32]:
        return np.asarray(self._matrix.sum(axis=1), dtype=np.int32)

    @cached_property
    def index(self) -> Index:
        """Concatenate the units of each set, and the sets of each unit, both with their start positions."""
        sets = incidence(self.forbidden, self.n_units)
        set_at, unit_at = (np.append(0, np.cumsum(sets.sum(axis=axis))) for axis in (1, 0))
        return np.nonzero(sets)[1], set_at, np.nonzero(sets.T)[1], unit_at

    def shares(self, support: Sequence[int]) -> Floats:
        """Return the shares halfway between equal shares of all allowed units and this support."""
        found = np.zeros(self.n_units)
        found[list(self.allowed)] = self.max_units / max(1, len(self.allowed)) / 2
        found[list(support)] += 0.5
        return found

    def complete(self, support: Sequence[int], preferred: Sequence[int]) -> tuple[int, ...]:
        """Add every unit that still fits, the preferred first."""
        chosen = list(support)
        for unit in preferred:
            if unit not in chosen and self.allow([*chosen, int(unit)]):
                chosen.append(int(unit))
        return tuple(sorted(chosen))


def incidence(sets: Sequence[Sequence[int]], n_units: int) -> Mask:
    """Return a table with a row for each set and a column for each unit.

    Examples
    --------
    >>> from modicum.prism.solver.supports import incidence
    >>> incidence([[0, 2]], 3).tolist()
    [[True, False, True]]
    """
    rows = np.zeros((len(sets), n_units), dtype=bool)
    at = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    rows[at, [unit for each in sets for unit in each]] = True
    return rows


def _minimal(sets: Sequence[Sequence[int]], n_units: int) -> Mask:
    """Mark the sets that contain no other set; the sets come shortest first."""
    rows = incidence(sets, n_units).astype(np.float32)
    sizes = rows.sum(axis=1)
    keep = np.ones(len(sets), dtype=bool)
    for size in np.unique(sizes)[1:]:
        shorter = np.flatnonzero(keep & (sizes < size))
        for part in np.array_split(np.flatnonzero(sizes == size), 1 + len(shorter) // 1_000):
            keep[part] = ~(rows[shorter] @ rows[part].T == sizes[shorter, None]).any(axis=0)
    return keep


def largest_support(n_units: int, forbidden: Sequence[Sequence[int]]) -> int:
    """Return how many units may be chosen together: all except the fewest that hit every forbidden set.

    If this takes more than about ten seconds, return an upper bound.

    Examples
    --------
    >>> from modicum.prism.solver.supports import largest_support
    >>> largest_support(5, [[0, 1], [1, 2], [4]])
    3
    """
    limits = SupportLimits.of(n_units, None, forbidden)
    if not limits.forbidden:
        return len(limits.allowed)
    nothing = np.zeros((0, 0), dtype=np.uint8)
    found, finished = _walk(limits.index, limits.is_allowed, limits.max_units, nothing, True, _WORK)
    return found if finished else len(limits.allowed) - _fewest_that_hit(limits)


def _fewest_that_hit(limits: SupportLimits) -> int:
    """Return a lower bound on how many units hit every forbidden set, computed by HiGHS."""
    from scipy.optimize import Bounds, LinearConstraint  # deferred: it takes a while to load

    hits = LinearConstraint(incidence(limits.forbidden, limits.n_units) * 1.0, lb=1)
    options = {"time_limit": _SECONDS}
    found = solve_milp(np.ones(limits.n_units), integrality=1, bounds=Bounds(0, 1), constraints=hits, options=options)
    bound = found.mip_dual_bound
    return 1 if bound is None or not np.isfinite(bound) else max(1, int(np.ceil(bound - 1e-6)))


def pack_supports(supports: Sequence[Sequence[int]], n_units: int) -> Packed:
    """Pack supports into rows of bits."""
    return np.packbits(incidence(supports, n_units), axis=1, bitorder="little")


def unpack_support(row: Packed, n_units: int) -> tuple[int, ...]:
    """Return the units of one support."""
    return tuple(np.flatnonzero(np.unpackbits(row, bitorder="little")[:n_units]).tolist())


# All maximal supports, unless there are too many: by a walk, or from the units that must be left out.

_LISTING_WORK = 1_000_000_000  # steps of the walk: about two seconds
_COMPARED = 3_000_000  # comparisons of sets: about a second


def maximal_supports(limits: SupportLimits, limit: int) -> Packed | None:
    """List all supports that no unit can join; None if there are more than `limit`, or too many to look through.

    It takes at most a few seconds, whatever the limits are.

    Examples
    --------
    >>> from modicum.prism.solver.supports import maximal_supports
    >>> from modicum.prism.solver.supports import SupportLimits, unpack_support
    >>> found = maximal_supports(SupportLimits.of(3, 2, [[0, 1]]), limit=100)
    >>> [unpack_support(row, 3) for row in found]
    [(0, 2), (1, 2)]
    """
    if not limits.forbidden and comb(len(limits.allowed), limits.max_units) > limit:
        return None
    listed = _by_hitting_sets(limits, limit)
    if listed is None:
        room = np.zeros((limit, (limits.n_units + 7) // 8), dtype=np.uint8)
        found, finished = _walk(limits.index, limits.is_allowed, limits.max_units, room, False, _LISTING_WORK)
        listed = room[:found] if finished else None
    return None if listed is None or len(listed) > limit else np.unique(listed, axis=0)


def _by_hitting_sets(limits: SupportLimits, limit: int) -> Packed | None:
    """List them from their complements: leave out each minimal set that hits all forbidden ones, then take subsets."""
    left_out, compared = [0], 0
    for units in limits.forbidden:
        each = sum(1 << unit for unit in units)
        hitting = [h for h in left_out if h & each]
        longer = {h | 1 << unit for h in left_out if not h & each for unit in units}
        compared += len(hitting) * len(longer) + len(left_out)
        if len(hitting) + len(longer) > 4_000 or compared > _COMPARED:
            return None
        left_out = hitting + [h for h in longer if not any(other & h == other for other in hitting)]
    wholes = [tuple(unit for unit in limits.allowed if not h >> unit & 1) for h in left_out]
    if sum(comb(len(whole), min(len(whole), limits.max_units)) for whole in wholes) > limit:
        return None
    found = [s for whole in wholes for s in combinations(whole, min(len(whole), limits.max_units))]
    return pack_supports(found, limits.n_units)


# A walk through all sets of units that may be chosen together; at each step one unit joins or leaves (compiled).
#
# The walk counts how many units of every forbidden set are missing; if one is missing, that unit is blocked. So the
# cost of a step depends only on the forbidden sets with its unit.


@numba.njit(cache=True, nogil=True)
def _walk(index: Index, allowed: Mask, most: int, out: Packed, only_size: bool, work: int) -> tuple[int, bool]:
    """Write supports to `out` and count them, or find the largest size; return this and whether the walk finished."""
    _, set_at, _, _ = index
    n, size, unit, found = len(allowed), 0, 0, 0
    missing = set_at[1:] - set_at[:-1]
    blocked = np.where(allowed, 0, 1)
    inside = np.zeros(n, dtype=np.bool_)
    chosen = np.empty(n + 1, dtype=np.int64)
    while work > 0:
        work -= n
        while unit < n and blocked[unit] > 0:
            unit += 1
        hopeless = only_size and size + (blocked[unit:] == 0).sum() <= found
        if size < most and unit < n and not hopeless:
            work -= _move(index, unit, 1, inside, missing, blocked)
            chosen[size] = unit
            size += 1
            unit += 1
            continue
        if only_size:
            found = max(found, size)
        elif size == most or ((blocked == 0) & ~inside).sum() == 0:
            if found == len(out):
                return found, False
            for at in range(size):
                out[found, chosen[at] // 8] |= np.uint8(1 << chosen[at] % 8)
            found += 1
        if size == 0:
            return found, True
        size -= 1
        unit = chosen[size]
        work -= _move(index, unit, -1, inside, missing, blocked)
        unit += 1
    return found, False


@numba.njit(cache=True, nogil=True)
def _move(index: Index, unit: int, way: int, inside: Mask, missing: Codes, blocked: Codes) -> int:
    """Let the unit join (1) or leave (-1); return the work done."""
    members, set_at, sets_of, unit_at = index
    inside[unit] = False
    for at in range(unit_at[unit], unit_at[unit + 1]):
        each = sets_of[at]
        if missing[each] == (2 if way > 0 else 1):
            for other in members[set_at[each] : set_at[each + 1]]:
                if not inside[other] and other != unit:
                    blocked[other] += way
        missing[each] -= way
    inside[unit] = way > 0
    return int(unit_at[unit + 1] - unit_at[unit])
