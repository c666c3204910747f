"""The master problem where supports are too many to list: cuts in a mixed integer program, solved by HiGHS.

    minimize η  with  η + Σ_a min(slope_a, constant − L) p_a ≥ constant  for every cut,  η ≥ L,  and the limits on p

where L is a proven lower bound: a support with a unit of a steeper slope is bounded by L already, so the smaller slope
is true for whole p, and much stronger between them. Numbers are divided by the best objective, since the solver's
tolerances are absolute; the bound that it reports is lowered by more than they allow.
"""

from collections.abc import Iterator

import numpy as np

from modicum.prism.choosing.covers import Covers
from modicum.prism.choosing.pool import Search
from modicum.table.values import Floats

_TOLERANCE = 5e-6  # HiGHS lets a row be broken by 1e-6
_ROOT = 40


class Master:
    """The program of all cuts that the pool holds."""

    def __init__(self, search: Search) -> None:
        self.search = search
        limits = search.limits
        rows = [np.isin(np.arange(limits.n_units), limits.allowed) * 1.0]
        most = [float(limits.max_units)]
        for each in limits.forbidden:
            rows.append(np.isin(np.arange(limits.n_units), each) * 1.0)
            most.append(len(each) - 1.0)
        self.rows, self.most = np.array(rows), np.array(most)
        self.upper = np.append(rows[0], 1.0)

    def solve(self, *, whole: bool, seconds: float = np.inf) -> tuple[Floats | None, float]:
        """The best p, if one was found, and a lower bound in the objective's own units."""
        from scipy.optimize import Bounds, LinearConstraint, milp  # deferred: it takes a while to load

        search = self.search
        scale, n = search.best.objective, search.limits.n_units
        constants, slopes = search.pool.table()
        low = search.bound
        slopes = np.minimum(slopes, np.maximum(constants - low, 0.0)[:, None])
        worth = constants - low > 0
        cuts = np.hstack([slopes[worth], np.ones((worth.sum(), 1)) * scale]) / scale
        limits = np.hstack([self.rows, np.zeros((len(self.rows), 1))])
        found = milp(
            np.append(np.zeros(n), 1.0),
            integrality=np.append(np.full(n, 1 if whole else 0), 0),
            bounds=Bounds(np.append(np.zeros(n), low / scale), self.upper),
            constraints=[LinearConstraint(limits, ub=self.most), LinearConstraint(cuts, lb=constants[worth] / scale)],
            options={"mip_rel_gap": search.gap / 8} | ({} if np.isinf(seconds) else {"time_limit": seconds}),
        )
        bound = found.mip_dual_bound if whole else found.fun
        known = bound is not None and np.isfinite(bound)
        return (None if found.x is None else found.x[:n]), (bound - _TOLERANCE) * scale if known else 0.0


def root(search: Search) -> Iterator[None]:
    """Cuts at shares of units, until the relaxation does not rise any more."""
    master = Master(search)
    search.pool.solved(search.limits.allowed)
    yield
    centre = search.limits.shares(search.best.support)
    flat, before = 0, 0.0
    for _ in range(_ROOT):
        p, bound = master.solve(whole=False)
        search.raise_bound(bound)
        flat = flat + 1 if bound - before < 1e-3 * (search.best.objective - bound) else 0
        if p is None or search.proven or search.out_of_time or flat > 3:
            return
        before = bound
        search.pool.relaxed(0.5 * p + 0.5 * centre)
        centre = 0.7 * centre + 0.3 * p
        yield


def cutting_planes(search: Search) -> Iterator[None]:
    """Solves the support that the program finds most promising, until its bound proves the best found."""
    master, covers = Master(search), Covers(search)
    while not search.out_of_time:
        p, bound = master.solve(whole=True, seconds=search.left)
        search.raise_bound(bound)
        if p is None or search.proven or search.out_of_time:
            return
        chosen = tuple(np.flatnonzero(p > 0.5).tolist())
        steepest = np.argsort(-search.pool.cuts[search.pool.strongest(chosen)[0]].slopes, kind="stable")
        support = search.limits.completed(chosen, steepest.tolist())
        if support in search.pool.supports:  # as close as the solver's tolerances allow
            return
        solved = search.solve(support)
        yield
        yield from covers.widen(solved)
