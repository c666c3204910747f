"""Rows that are equal on the chosen units count as one row there."""

import numpy as np

from modicum.prism.choosing.problem import Problem, distinct_rows, grouped
from modicum.table.values import Codes

_SAMPLE = 4_096
_LIMIT = 2**61


class Merging:
    """Codes each unit once, when it is first asked for; a unit of nearly as many values as rows is never coded.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.choosing.merging import Merging
    >>> from modicum.prism.choosing.problem import Problem
    >>> columns = np.array([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]])
    >>> problem = Problem.of(columns, np.array([1, 1, -1, -1]), None, ((0,), (1,)), 1.0, 1000.0)
    >>> keys = Merging(problem).keys((0,))
    >>> len(set(keys.tolist()))
    2
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._codes: dict[int, Codes | None] = {}

    def keys(self, support: tuple[int, ...]) -> Codes | None:
        """A number for each row, equal where the rows are equal on these units; None where merging does not pay."""
        if len(support) == len(self.problem.units):
            return None
        key = np.zeros(len(self.problem.columns), dtype=np.int64)
        size = 1
        for unit in support:
            codes = self._coded(unit)
            if codes is None:
                return None
            many = int(codes.max()) + 1
            if size * many > _LIMIT:
                key = grouped(key)[1]
                size = int(key.max()) + 1
            key, size = key * many + codes, size * many
        return key

    def _coded(self, unit: int) -> Codes | None:
        if unit not in self._codes:
            self._codes[unit] = self._code(unit)
        return self._codes[unit]

    def _code(self, unit: int) -> Codes | None:
        columns, own = self.problem.columns, list(self.problem.units[unit])
        sample = columns[:: max(1, len(columns) // _SAMPLE)][:, own]
        if len(distinct_rows(sample)[0]) > len(sample) / 2 > 64:
            return None
        first, codes = distinct_rows(columns[:, own])
        return codes if len(first) <= max(64, len(columns) / 2) else None
