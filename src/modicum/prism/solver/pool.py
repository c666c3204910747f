"""The solved supports and their cuts, and the state of a search for the best support."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from modicum.prism.solver.losses import Hinge, Squared
from modicum.prism.solver.problem import Cut, Problem, Solved
from modicum.prism.solver.supports import SupportLimits
from modicum.progress import Stop
from modicum.typing import Floats

TIE = 1e-8  # objectives closer than this, relative, count as equal


class SupportPool:
    """Solve each support once; the cuts hold for every support, whatever the limits of a later search."""

    def __init__(self, problem: Problem) -> None:
        self.inner = Hinge(problem) if problem.loss == "hinge" else Squared(problem)
        self.n_units = len(problem.units)
        self.supports: dict[tuple[int, ...], Solved] = {}
        self.cuts: list[Cut] = []
        self._slopes = np.zeros((64, self.n_units))
        self._constants = np.zeros(64)

    def solve_support(self, support: Sequence[int]) -> Solved:
        """Return the rule on this support, from memory if it was solved before."""
        key = tuple(sorted(int(unit) for unit in support))
        if key not in self.supports:
            self.supports[key] = self.inner.solve_support(key)
            self._store(self.supports[key].cut)
        return self.supports[key]

    def solve_relaxation(self, shares: Floats) -> Cut:
        """Return the cut at fractional shares of units, and keep it."""
        cut = self.inner.solve_relaxation(np.clip(shares, 1e-3, 1.0))
        self._store(cut)
        return cut

    def strongest(self, support: tuple[int, ...]) -> tuple[int, float]:
        """Return the number of the cut with the highest bound for this support, and the bound."""
        if not self.cuts:
            return -1, 0.0
        count = len(self.cuts)
        values = self._constants[:count] - self._slopes[:count, list(support)].sum(axis=1)
        at = int(values.argmax())
        return at, float(values[at])

    def table(self) -> tuple[Floats, Floats]:
        """Return the constants and slopes of all cuts."""
        return self._constants[: len(self.cuts)], self._slopes[: len(self.cuts)]

    def _store(self, cut: Cut) -> None:
        count = len(self.cuts)
        if count == len(self._constants):
            self._slopes = np.vstack([self._slopes, np.zeros_like(self._slopes)])
            self._constants = np.append(self._constants, np.zeros_like(self._constants))
        self._slopes[count], self._constants[count] = cut.slopes, cut.constant
        self.cuts.append(cut)


@dataclass
class Search:
    """One search: the best rule so far within the limits, and a lower bound for all rules."""

    pool: SupportPool
    limits: SupportLimits
    gap: float
    stop: Stop
    deadline: float | None = None
    bound: float = 0.0
    master: str = ""
    best: Solved = field(init=False)

    def __post_init__(self) -> None:
        self.best = self.pool.solve_support(())
        for support, solved in self.pool.supports.items():
            if self.limits.allow(support):
                self._compare(solved)

    def solve(self, support: Sequence[int]) -> Solved:
        """Solve a support within the limits and keep it if it is the best."""
        solved = self.pool.solve_support(support)
        self._compare(solved)
        return solved

    def _compare(self, solved: Solved) -> None:
        best, near = self.best, TIE * self.best.objective
        equal = abs(solved.objective - best.objective) <= near
        simpler = (len(solved.support), solved.support) < (len(best.support), best.support)
        if solved.objective < best.objective - near or (equal and simpler):
            self.best = solved

    def raise_bound(self, bound: float) -> None:
        """Raise the bound if the new one is higher, at most to the best objective."""
        self.bound = max(self.bound, min(bound, self.best.objective))

    @property
    def enough(self) -> float:
        """The bound that proves the best support within the gap."""
        return self.best.objective * (1 - self.gap)

    @property
    def proven(self) -> bool:
        return self.bound >= self.enough

    @property
    def left(self) -> float:
        """The seconds left."""
        return np.inf if self.deadline is None else self.deadline - time.monotonic()

    @property
    def out_of_time(self) -> bool:
        return self.stop.asked or self.left <= 0
