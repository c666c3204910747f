"""Walks through all sets of units that may be chosen together, one unit joining or leaving at a time (compiled).

For every forbidden set it is counted how many of its units are missing; where one is, that unit is blocked. So a step
costs as much as there are forbidden sets with its unit, whatever their number in all.
"""

from collections.abc import Sequence

import numba
import numpy as np
import numpy.typing as npt

from modicum.typing import Codes

Packed = npt.NDArray[np.uint8]  # one support a row, one unit a bit


def list_supports(
    allowed: npt.NDArray[np.bool_], most: int, forbidden: Sequence[Sequence[int]], limit: int, work: int
) -> Packed | None:
    """All supports of at most so many units that no unit can join; None beyond the limit or so many steps of work.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.kernel import list_supports
    >>> list_supports(np.ones(3, dtype=bool), 2, [[0, 1]], limit=10, work=1_000).tolist()
    [[5], [6]]
    """
    out = np.zeros((limit, (len(allowed) + 7) // 8), dtype=np.uint8)
    found, finished = _walk(*_incidence(len(allowed), forbidden), allowed, most, out, False, work)
    return out[:found].copy() if finished else None


def largest(allowed: npt.NDArray[np.bool_], forbidden: Sequence[Sequence[int]], work: int) -> int | None:
    """The most units that may be chosen together; None where that takes more work.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.kernel import largest
    >>> largest(np.ones(3, dtype=bool), [[0, 1]], work=1_000)
    2
    """
    nothing = np.zeros((0, 0), dtype=np.uint8)
    found, finished = _walk(*_incidence(len(allowed), forbidden), allowed, int(allowed.sum()), nothing, True, work)
    return found if finished else None


def _incidence(n_units: int, forbidden: Sequence[Sequence[int]]) -> tuple[Codes, Codes, Codes, Codes]:
    """The units of each set one after another, and the sets of each unit, both with where each begins."""
    sizes = np.array([len(each) for each in forbidden], dtype=np.int64)
    members = np.array([unit for each in forbidden for unit in each], dtype=np.int64)
    of = np.repeat(np.arange(len(sizes)), sizes)[np.argsort(members, kind="stable")]
    counts = np.bincount(members, minlength=n_units) if len(members) else np.zeros(n_units, dtype=np.int64)
    return members, np.append(0, np.cumsum(sizes)), of.astype(np.int64), np.append(0, np.cumsum(counts))


@numba.njit(cache=True, nogil=True)
def _walk(
    members: Codes,
    set_at: Codes,
    sets_of: Codes,
    unit_at: Codes,
    allowed: npt.NDArray[np.bool_],
    most: int,
    out: Packed,
    only_size: bool,
    work: int,
) -> tuple[int, bool]:
    """How many supports were written to `out`, or the size of the largest; and whether it came to its end."""
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
            work -= _move(unit, 1, members, set_at, sets_of, unit_at, inside, missing, blocked)
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
        work -= _move(unit, -1, members, set_at, sets_of, unit_at, inside, missing, blocked)
        unit += 1
    return found, False


@numba.njit(cache=True, nogil=True)
def _move(
    unit: int,
    way: int,
    members: Codes,
    set_at: Codes,
    sets_of: Codes,
    unit_at: Codes,
    inside: npt.NDArray[np.bool_],
    missing: Codes,
    blocked: Codes,
) -> int:
    """The unit joins (1) or leaves (-1); gives the work that it was."""
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
