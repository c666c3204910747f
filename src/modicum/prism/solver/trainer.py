"""Phase 2 of PriSM [Barbato25 §4]: the best linear rule on few units, none of the forbidden sets whole, proven best."""

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

LISTED = 300_000  # maximal supports that are listed; more are left to the mixed integer program


@dataclass(frozen=True)
class Trained:
    """A rule and the proof of how good it is.

    Attributes
    ----------
    support : tuple of int
        The units whose coefficients are not 0.
    coefficients : array, tasks × columns
        0 outside the support; the decision of a task is w·x − b.
    intercepts : array
        b of each task.
    objective : float
        Of these coefficients and intercepts.
    bound : float
        No rule within the limits has a lower objective.
    gap : float
        (objective − bound) / objective.
    solves : int
        How often an inner problem was solved for this.
    master : str
        "explicit", "cutting planes", or "support" where the units were given.
    stopped : bool
        Whether the gap that was asked for is not proven: time ran out, or the user stopped it, or it was smaller than
        what can be computed.
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
    """Solves a problem under limits; what it has learned under some limits serves the next ones.

    Parameters
    ----------
    problem : Problem
        What is minimized.

    Examples
    --------
    Unit 0 tells most, but it may not be used together with unit 1:

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
        """The best rule on at most `max_units` units (None: any number), none of the forbidden sets whole.

        Units that the rule does not need are left out, and of rules that are equally good the one of fewer units is
        taken, then the one of earlier units. Without a `time_limit` in seconds it works until the gap is proven, which
        can be had down to about 1e-8: each support is solved no closer than 1e-9. With one, units still join until
        none fits, so that there is always a rule; the time may end a few seconds late. Where the gap was not reached,
        for whatever reason, the result says that it was `stopped`.
        """
        start, solved_before = time.monotonic(), len(self._pool.cuts)
        limits = SupportLimits.of(len(self.problem.units), max_units, forbidden)
        with stoppable("training") as stop:
            search = Search(self._pool, limits, gap, stop, None if time_limit is None else start + time_limit)
            for _ in track_progress(chain(grow(search), _proof(search)), "Training", progress=progress):
                pass
            search.raise_bound(node_bound(search, (), limits.allowed))
            best = self._drop_idle_units(search.best, stop)
        return _report(best, search.bound, len(self._pool.cuts) - solved_before, search.master, gap)

    def on_support(self, support: Sequence[int]) -> Trained:
        """The plain support vector machine (or least squares) on these units, whether it needs them all or not."""
        solved_before = len(self._pool.cuts)
        given = self._pool.solve_support(support)
        return _report(given, given.bound, len(self._pool.cuts) - solved_before, "support", np.inf)

    def _drop_idle_units(self, solved: Solved, stop: Stop) -> Solved:
        """Leaves out units whose coefficients are 0 but for rounding, where solving again without them agrees."""
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
        costs = float(solved.cut.slopes[unit])  # at least, when it goes
        return costs <= (TIE if small else 1e-12) * solved.objective


def _proof(search: Search) -> Iterator[None]:
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
    """A rule with its proof, where the gap that was asked for is known."""
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
