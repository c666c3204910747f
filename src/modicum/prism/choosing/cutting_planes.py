"""The master problem where supports are too many to list: cuts in a mixed integer program, solved by HiGHS.

    minimize η  with  η + Σ_a min(slope_a, constant − L) p_a ≥ constant  for every cut,  η ≥ L,  and the limits on p

where L is a proven lower bound: a support with a unit of a steeper slope is bounded by L already, so the smaller slope
is true for whole p, and much stronger between them. Numbers are divided by the best objective, since the solver's
tolerances are absolute; the bound that it reports is lowered by more than they allow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from modicum.prism.choosing.covers import Covers
from modicum.prism.choosing.highs import solve_milp
from modicum.prism.choosing.pool import Search
from modicum.prism.choosing.supports import incidence
from modicum.table.values import Floats

_TOLERANCE = 5e-6  # HiGHS lets a row be broken by 1e-6
_SMALLEST = 1e-9  # HiGHS takes smaller numbers for 0; a larger slope keeps the bound true
_ROOT = 40
_PATIENCE = 3.0  # seconds of one program; Ctrl-C is heard after it
_OPTIMAL, _TIME = 0, 1  # what scipy calls them


@dataclass(frozen=True)
class Answer:
    """What a program gave: p where it found one, a true lower bound, and "optimal", "time" or "failed"."""

    p: Floats | None
    bound: float
    ended: str


class Master:
    """The program of all cuts that the pool holds."""

    def __init__(self, search: Search) -> None:
        self.search = search
        limits = search.limits
        allowed, forbidden = limits.is_allowed * 1.0, incidence(limits.forbidden, limits.n_units)
        self.rows = np.vstack([allowed, forbidden])
        self.most = np.append(float(limits.max_units), forbidden.sum(axis=1) - 1.0)
        self.upper = np.append(allowed, 1.0)

    def solve(self, *, whole: bool, seconds: float = np.inf) -> Answer:
        """The best p, if one was found, and a lower bound in the objective's own units."""
        found = self._milp(whole, seconds, presolve=True)
        if found.status not in (_OPTIMAL, _TIME):
            found = self._milp(whole, seconds, presolve=False)
        if found.status not in (_OPTIMAL, _TIME):
            return Answer(None, 0.0, "failed")
        bound = found.mip_dual_bound if whole or found.status == _TIME else found.fun
        known = bound is not None and np.isfinite(bound)
        return Answer(
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
    """Cuts at shares of units, until the relaxation does not rise any more."""
    master = Master(search)
    search.pool.solved(search.limits.allowed)
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
        search.pool.relaxed(0.5 * p + 0.5 * centre)
        centre = 0.7 * centre + 0.3 * p
        yield


def cutting_planes(search: Search) -> Iterator[None]:
    """Solves the support that the program finds most promising, until its bound proves the best found.

    Each program is stopped after a few seconds, so that Ctrl-C is heard; where neither a new support nor a higher
    bound came of it, the next one gets twice the time. It ends early where HiGHS fails or its tolerances are reached.
    """
    master, covers, patience = Master(search), Covers(search), _PATIENCE
    while not search.out_of_time:
        before = search.bound
        answer = master.solve(whole=True, seconds=min(patience, search.left))
        search.raise_bound(answer.bound)
        if answer.ended == "failed" or search.proven or search.out_of_time:
            return
        support = None if answer.p is None else _completed(search, answer.p)
        if support is not None and support not in search.pool.supports:
            solved = search.solve(support)
            yield
            yield from covers.widen(solved)
        elif answer.ended == "optimal":  # as close as the solver's tolerances allow
            return
        elif search.bound <= before:
            patience *= 2


def _completed(search: Search, p: Floats) -> tuple[int, ...] | None:
    """The support that p means, with what else fits; None where rounding has broken a limit."""
    chosen = tuple(np.flatnonzero(p > 0.5).tolist())
    steepest = np.argsort(-search.pool.cuts[search.pool.strongest(chosen)[0]].slopes, kind="stable")
    return search.limits.completed(chosen, steepest.tolist()) if search.limits.allow(chosen) else None
