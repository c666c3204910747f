"""Ways to prove that a support is the best: list the maximal supports, cutting planes, or branch and bound."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.prism.solver.pool import Search
from modicum.prism.solver.problem import Cut, Solved
from modicum.prism.solver.supports import Packed, incidence, solve_milp, unpack_support
from modicum.typing import Floats

# One solved set of units can disprove many supports: all its subsets.
#
# If the optimum on a set, of any size and even if not allowed, is no improvement, then no support inside it is one. So
# a support that is not the best is widened as far as this holds.


class Covers:
    """Widens supports; each search starts at the width that the last one reached."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.width = len(search.limits.allowed) // 2

    def widen(self, solved: Solved) -> Iterator[None]:
        """Add the least promising units, as many as still prove that nothing inside is better."""
        search, allowed = self.search, set(self.search.limits.allowed) - set(solved.support)
        order = [unit for unit in np.argsort(solved.cut.slopes, kind="stable").tolist() if unit in allowed]
        low, high = 0, len(order)  # adding `low` units is proven to work, adding more than `high` is not possible
        middle, step = self.width - len(solved.support), 1
        while low < high and not search.out_of_time:
            middle = min(max(middle, low + 1), high)
            wider = search.pool.solve_support((*solved.support, *order[:middle]))
            yield
            if wider.bound >= search.enough:
                low, middle, step = middle, middle + step, 2 * step
            else:
                high, middle, step = middle - 1, (low + middle) // 2, 1
        self.width = len(solved.support) + low


# The list of maximal supports

_MANY = 200  # fewer remaining supports are solved one by one: small supports have few distinct rows
_BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1, bitorder="little").astype(np.float64)


class Bounds:
    """A lower bound on the objective for each support.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.solver.problem import Cut
    >>> from modicum.prism.solver.master import Bounds
    >>> from modicum.prism.solver.supports import pack_supports
    >>> bounds = Bounds(pack_supports([(0, 1), (1, 2)], 3), 3)
    >>> bounds.add(Cut(9.0, np.array([1.0, 2.0, 3.0])))
    >>> bounds.values.tolist(), bounds.lowest()
    ([6.0, 4.0], (1, 2))
    """

    def __init__(self, supports: Packed, n_units: int) -> None:
        self.bytes = np.ascontiguousarray(supports.T)
        self.n_units = n_units
        self.values: Floats = np.zeros(len(supports))  # no objective is below 0

    def add(self, cut: Cut) -> None:
        """Raise every bound that the cut improves."""
        slopes = np.zeros(8 * len(self.bytes))
        slopes[: self.n_units] = cut.slopes
        value = np.full(len(self.values), cut.constant)
        for eight, part in zip(self.bytes, slopes.reshape(-1, 8), strict=True):
            value -= (_BITS @ part)[eight]
        np.maximum(self.values, value, out=self.values)

    def lowest(self) -> tuple[int, ...]:
        """Return the support with the lowest bound."""
        return unpack_support(self.bytes[:, int(self.values.argmin())], self.n_units)


def explicit(search: Search, supports: Packed) -> Iterator[None]:
    """Solve the most promising support until its bound proves that the best support so far is optimal.

    Solve all allowed units together first: often no support can be much better than the best so far. While many
    supports are left, widen each that is not better, so that one solution disproves many.
    """
    bounds, covers = Bounds(supports, search.pool.n_units), Covers(search)
    if not search.out_of_time:
        search.pool.solve_support(search.limits.allowed)
        yield
    while not search.out_of_time:
        lowest = float(bounds.values.min())
        search.raise_bound(lowest)
        if search.proven:
            return
        support = bounds.lowest()
        at, value = search.pool.strongest(support)
        if value > lowest + 1e-10 * search.best.objective:
            bounds.add(search.pool.cuts[at])
        elif support in search.pool.supports:  # its own cut is as close as it was solved
            return
        else:
            solved = search.solve(support)
            bounds.add(solved.cut)
            yield
            if (bounds.values < search.enough).sum() > _MANY:
                yield from covers.widen(solved)


# The master problem where supports are too many to list: cuts in a mixed integer program, solved by HiGHS.
#
#     minimize η  with  η + Σ_a min(slope_a, constant − L) p_a ≥ constant  for every cut,  η ≥ L,  and the limits on p
#
# where L is a proven lower bound: L already bounds a support with a unit of a steeper slope, so the smaller slope is
# valid for integer p, and much stronger between integers. Numbers are divided by the best objective, since the solver's
# tolerances are absolute; its reported bound is lowered by more than they allow.

_TOLERANCE = 5e-6  # HiGHS accepts a violation of 1e-6 in a row
_SMALLEST = 1e-9  # HiGHS treats smaller numbers as 0; a larger slope keeps the bound valid
_ROOT = 40
_PATIENCE = 3.0  # seconds for one program; Ctrl-C works only between programs
_OPTIMAL, _TIME = 0, 1  # scipy's status codes


@dataclass(frozen=True)
class MasterAnswer:
    """The result of a program: p if it found one, a valid lower bound, and "optimal", "time" or "failed"."""

    p: Floats | None
    bound: float
    ended: str


class Master:
    """The integer program of all cuts in the pool."""

    def __init__(self, search: Search) -> None:
        self.search = search
        limits = search.limits
        allowed, forbidden = limits.is_allowed * 1.0, incidence(limits.forbidden, limits.n_units)
        self.rows = np.vstack([allowed, forbidden])
        self.most = np.append(float(limits.max_units), forbidden.sum(axis=1) - 1.0)
        self.upper = np.append(allowed, 1.0)

    def solve(self, *, whole: bool, seconds: float) -> MasterAnswer:
        """Return the best p, if one was found, and a lower bound in the units of the objective."""
        for presolve in (True, False):
            found = self._milp(whole, seconds, presolve)
            if found.status in (_OPTIMAL, _TIME):
                break
        else:
            return MasterAnswer(None, 0.0, "failed")
        bound = found.mip_dual_bound if whole or found.status == _TIME else found.fun
        known = bound is not None and np.isfinite(bound)
        return MasterAnswer(
            None if found.x is None else found.x[: self.search.limits.n_units],
            (bound - _TOLERANCE) * self.search.best.objective if known else 0.0,
            "optimal" if found.status == _OPTIMAL else "time",
        )

    def _milp(self, whole: bool, seconds: float, presolve: bool) -> Any:
        from scipy.optimize import Bounds, LinearConstraint  # deferred: it takes a while to load

        scale, n, low = self.search.best.objective, self.search.limits.n_units, self.search.bound
        constants, slopes = self.search.pool.table()
        worth = constants > low
        slopes = np.minimum(slopes[worth], (constants[worth] - low)[:, None]) / scale
        cuts = np.hstack([np.maximum(slopes, _SMALLEST), np.ones((len(slopes), 1))])
        limits = np.hstack([self.rows, np.zeros((len(self.rows), 1))])
        return solve_milp(
            np.append(np.zeros(n), 1.0),
            integrality=np.append(np.full(n, 1 if whole else 0), 0),
            bounds=Bounds(np.append(np.zeros(n), low / scale), self.upper),
            constraints=[LinearConstraint(limits, ub=self.most), LinearConstraint(cuts, lb=constants[worth] / scale)],
            options={"mip_rel_gap": self.search.gap / 8, "time_limit": max(0.0, seconds), "presolve": presolve},
        )


def root(search: Search) -> Iterator[None]:
    """Add cuts at fractional shares of units until the relaxation stops rising."""
    master = Master(search)
    search.pool.solve_support(search.limits.allowed)
    yield
    centre = search.limits.shares(search.best.support)
    flat, before = 0, 0.0
    for _ in range(_ROOT):
        answer = master.solve(whole=False, seconds=min(_PATIENCE, search.left))
        p, bound = answer.p, answer.bound
        search.raise_bound(bound)
        flat = flat + 1 if bound - before < 1e-3 * (search.best.objective - bound) else 0
        if p is None or search.proven or search.out_of_time or flat > 3:
            return
        before = bound
        search.pool.solve_relaxation(0.5 * p + 0.5 * centre)
        centre = 0.7 * centre + 0.3 * p
        yield


def cutting_planes(search: Search) -> Iterator[None]:
    """Solve the support that the program finds most promising, until its bound proves that the best one is optimal.

    Each program is stopped after a few seconds, so that Ctrl-C works. If it gave neither a new support nor a higher
    bound, the next one gets twice the time. The search ends early if HiGHS fails or its tolerances are reached.
    """
    master, covers, patience = Master(search), Covers(search), _PATIENCE
    while not search.out_of_time:
        before = search.bound
        answer = master.solve(whole=True, seconds=min(patience, search.left))
        search.raise_bound(answer.bound)
        if answer.ended == "failed" or search.proven or search.out_of_time:
            return
        support = None if answer.p is None else _complete_support(search, answer.p)
        if support is not None and support not in search.pool.supports:
            solved = search.solve(support)
            yield
            yield from covers.widen(solved)
        elif answer.ended == "optimal":  # as close as the solver's tolerances allow
            return
        elif search.bound <= before:
            patience *= 2


def _complete_support(search: Search, p: Floats) -> tuple[int, ...] | None:
    """Return the support that p describes, with every other unit that fits; None if rounding has broken a limit."""
    chosen = tuple(np.flatnonzero(p > 0.5).tolist())
    steepest = np.argsort(-search.pool.cuts[search.pool.strongest(chosen)[0]].slopes, kind="stable")
    return search.limits.complete(chosen, steepest.tolist()) if search.limits.allow(chosen) else None


# The proof without HiGHS: branch and bound over units, with bounds as exact as the cuts themselves.
#
# A node has a set of chosen units and a set of units that may still join. Each cut bounds all supports below the node:
# its value on the chosen units, minus its steepest slopes for as many units as may join. The highest of these bounds
# holds. This is weaker than the program of all cuts, but it has no tolerance and cannot fail.

Node = tuple[float, tuple[int, ...], tuple[int, ...]]  # bound, chosen units, units that may join


def branching(search: Search) -> Iterator[None]:
    """Open the node with the lowest bound until that bound proves that the best support is optimal.

    It ends without a proof if only the accuracy of solved supports is left as a gap.
    """
    allowed = search.limits.allowed
    heap: list[Node] = [(node_bound(search, (), allowed), (), allowed)]
    settled = search.best.objective  # the lowest bound of supports that are already solved
    while heap and not search.out_of_time:
        search.raise_bound(min(heap[0][0], settled))
        if search.proven or settled <= heap[0][0]:
            return
        bound, inside, free = heapq.heappop(heap)
        now = node_bound(search, inside, free)
        if now > bound:
            heapq.heappush(heap, (now, inside, free))
        elif free and len(inside) < search.limits.max_units:
            for node in _children(inside, free, search):
                heapq.heappush(heap, node)
        else:
            settled = min(settled, search.solve(inside).bound)
            yield
    if not heap:
        search.raise_bound(settled)


def node_bound(search: Search, inside: Sequence[int], free: Sequence[int]) -> float:
    """Return a lower bound for all supports with these units and any of the free ones."""
    return max(0.0, float(_bounds(search, inside, free).max(initial=0.0)))


def _bounds(search: Search, inside: Sequence[int], free: Sequence[int]) -> Floats:
    """Return the same bound from each cut, minus more than the rounding of the sum."""
    constants, slopes = search.pool.table()
    may_join = min(len(free), search.limits.max_units - len(inside))
    lost = slopes[:, list(inside)].sum(axis=1)
    if may_join:
        lost = lost + np.partition(slopes[:, list(free)], len(free) - may_join, axis=1)[:, -may_join:].sum(axis=1)
    bounds: Floats = constants - lost - 1e-14 * len(search.limits.allowed) * (np.abs(constants) + lost)
    return bounds


def _children(inside: tuple[int, ...], free: tuple[int, ...], search: Search) -> list[Node]:
    """Split a node by the steepest unit of its strongest cut: supports with this unit, and without it."""
    slopes = search.pool.cuts[int(_bounds(search, inside, free).argmax())].slopes
    unit = max(free, key=lambda each: (float(slopes[each]), -each))
    rest = tuple(each for each in free if each != unit)
    more = tuple(sorted((*inside, unit)))
    fitting = tuple(each for each in rest if search.limits.allow((*more, each)))
    return [(node_bound(search, *each), *each) for each in ((inside, rest), (more, fitting))]


# A good support to start from: add the most promising unit until none fits, then exchange units.

_TRIED = 3  # units tried before one joins
_JOINING, _LEAVING = 5, 4  # units tried in an exchange


def grow(search: Search) -> Iterator[None]:
    """Add units one by one, each time the best of those with the steepest slopes.

    Once time is up only the steepest is tried, so that there is always a rule on as many units as fit.
    """
    current = search.solve(())
    while not search.stop.asked:
        others = [unit for unit in _steepest(current) if unit not in current.support]
        options = [unit for unit in others if search.limits.allow((*current.support, unit))]
        if not options:
            return
        tried: list[Solved] = []
        for unit in options[:_TRIED]:
            if tried and search.out_of_time:
                break
            tried.append(search.solve((*current.support, unit)))
            yield
        current = min(tried, key=lambda each: (each.objective, each.support))


def exchange(search: Search) -> Iterator[None]:
    """Replace one unit of the best support by another, as long as that helps."""
    improved = True
    while improved and not search.out_of_time:
        improved = False
        for support in _neighbours(search):
            before = search.best.objective
            search.solve(support)
            yield
            if search.best.objective < before * (1 - 1e-7):
                improved = True
                break
            if search.out_of_time:
                return


def _neighbours(search: Search) -> list[tuple[int, ...]]:
    best = search.best
    joining = [unit for unit in _steepest(best) if unit not in best.support][:_JOINING]
    leaving = sorted(best.support, key=lambda unit: float(best.cut.slopes[unit]))[:_LEAVING]
    pairs = [tuple(sorted({*best.support, new} - {old})) for new in joining for old in leaving]
    return [support for support in pairs if search.limits.allow(support)]


def _steepest(solved: Solved) -> list[int]:
    return np.argsort(-solved.cut.slopes, kind="stable").tolist()
