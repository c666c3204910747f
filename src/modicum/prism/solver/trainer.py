"""Phase 2 of PriSM [Barbato25 §4]: the best linear rule on few units, without a complete forbidden set, proven."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from modicum.prism.solver.master import branching, cutting_planes, exchange, explicit, grow, node_bound, root
from modicum.prism.solver.pool import TIE, Search, SupportPool
from modicum.prism.solver.problem import Problem, Solved
from modicum.prism.solver.supports import SupportLimits, maximal_supports
from modicum.progress import Stop, stoppable, track_progress
from modicum.typing import Floats

LISTED = 300_000  # the most maximal supports to list; beyond this the mixed integer program takes over


@dataclass(frozen=True)
class Trained:
    """A rule and the proof of its quality.

    Attributes
    ----------
    support : tuple of int
        The units whose coefficients are not 0.
    coefficients : array, tasks × columns
        0 outside the support; the decision of a task is w·x − b.
    intercepts : array
        b of each task.
    objective : float
        The objective of these coefficients and intercepts.
    bound : float
        No rule within the limits has a lower objective.
    gap : float
        (objective − bound) / objective.
    solves : int
        How many inner problems were solved.
    master : str
        "explicit", "cutting planes", or "support" if the units were given.
    stopped : bool
        True if the requested gap is not proven: time ran out, the user stopped it, or it is too small to compute.
    """

    support: tuple[int, ...]
    coefficients: Floats
    intercepts: Floats
    objective: float
    bound: float
    gap: float
    solves: int
    master: str
    stopped: bool


class Trainer:
    """Solve a problem under limits; solutions under some limits are reused under the next ones.

    Parameters
    ----------
    problem : Problem
        The problem to minimize.

    Examples
    --------
    Unit 0 predicts best, but it may not be used together with unit 1:

    >>> import numpy as np
    >>> from modicum.prism.solver.trainer import Problem, Trainer
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.where(X @ [2.0, 1.0, 0.5] > 0, 1.0, -1.0)
    >>> trainer = Trainer(Problem.of(X, y, None, ((0,), (1,), (2,)), penalty=1.0, box=1000.0, loss="hinge"))
    >>> trainer.solve(2).support
    (0, 1)
    >>> found = trainer.solve(2, forbidden=[[0, 1]])
    >>> found.support, found.gap <= 1e-4
    ((0, 2), True)
    >>> trainer.on_support([0, 1, 2]).objective < found.objective
    True
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._pool = SupportPool(problem)

    def solve(
        self,
        max_units: int | None,
        forbidden: Sequence[Sequence[int]] = (),
        *,
        gap: float = 1e-4,
        time_limit: float | None = None,
        progress: bool = True,
    ) -> Trained:
        """Find the best rule on at most `max_units` units (None: any number) without a complete forbidden set.

        Units that the rule does not need are left out. Of equally good rules, the one with fewer units wins, then the
        one with earlier units. Without a `time_limit` in seconds, the search runs until the gap is proven. The smallest
        gap is about 1e-8, since each support is solved to about 1e-9. With a limit, units still join until none fits,
        so that there is always a rule; the search may end a few seconds late. If the gap was not reached, for any
        reason, the result has `stopped` set.
        """
        start, solved_before = time.monotonic(), len(self._pool.cuts)
        limits = SupportLimits.of(len(self.problem.units), max_units, forbidden)
        with stoppable("training") as stop:
            search = Search(self._pool, limits, gap, stop, None if time_limit is None else start + time_limit)
            for _ in track_progress(chain(grow(search), _prove(search)), "Training", progress=progress):
                pass
            search.raise_bound(node_bound(search, (), limits.allowed))
            best = self._drop_idle_units(search.best, stop)
        return _report(best, search.bound, len(self._pool.cuts) - solved_before, search.master, gap)

    def on_support(self, support: Sequence[int]) -> Trained:
        """Fit the plain support vector machine (or least squares) on all these units, needed or not."""
        solved_before = len(self._pool.cuts)
        solved = self._pool.solve_support(support)
        return _report(solved, solved.bound, len(self._pool.cuts) - solved_before, "support", np.inf)

    def _drop_idle_units(self, solved: Solved, stop: Stop) -> Solved:
        """Drop units whose coefficients are 0 up to rounding, if the objective without them is the same."""
        near = TIE * solved.objective
        idle = [unit for unit in solved.support if self._is_idle(unit, solved)]
        idle.sort(key=lambda unit: float(solved.cut.slopes[unit]))
        for count in sorted({len(idle), 1}, reverse=True) if idle else ():
            if stop.asked:
                break
            fewer = self._pool.solve_support(sorted(set(solved.support) - set(idle[:count])))
            if fewer.objective <= solved.objective + near:
                return self._drop_idle_units(fewer, stop)
        return solved

    def _is_idle(self, unit: int, solved: Solved) -> bool:
        sizes = np.abs(solved.coefficients)
        small = float(sizes[:, list(self.problem.units[unit])].max()) <= 1e-5 * float(sizes.max())
        costs = float(solved.cut.slopes[unit])  # of dropping the unit, at least
        return costs <= (TIE if small else 1e-12) * solved.objective


def _prove(search: Search) -> Iterator[None]:
    listed = None if search.out_of_time else maximal_supports(search.limits, LISTED)
    if listed is not None:
        search.master = "explicit"
        yield from explicit(search, listed)
        return
    search.master = "cutting planes"
    for step in (exchange, root, cutting_planes, branching):
        if not (search.proven or search.out_of_time):
            yield from step(search)


def _report(solved: Solved, bound: float, solves: int, master: str, wanted: float) -> Trained:
    """Combine a rule with its proof; `wanted` is the requested gap."""
    objective = solved.objective
    gap = max(0.0, (objective - bound) / objective) if objective > 0 else 0.0
    return Trained(
        solved.support,
        solved.coefficients,
        solved.intercepts,
        objective,
        bound=min(bound, objective),
        gap=gap,
        solves=solves,
        master=master,
        stopped=gap > wanted,
    )
