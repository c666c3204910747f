"""A target with very many values: the frequent ones are learned, the others share a place."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack

from modicum.learners.inputs import Counts, Scores


class Frequent:
    """The `most` most frequent values of a target, and one place for all others where there are more."""

    def __init__(self, table: Counts, most: int) -> None:
        total = np.asarray(table.sum(axis=0), dtype=np.float64) + 1e-9
        self.share = total / total.sum()
        self.values = np.sort(np.argsort(-total, kind="stable")[:most])
        self.rest = np.setdiff1d(np.arange(len(total)), self.values)

    @property
    def places(self) -> npt.NDArray[np.float64]:
        """The share of each place among all records."""
        rest = [self.share[self.rest].sum()] if len(self.rest) else []
        return np.append(self.share[self.values], rest)

    def pooled(self, table: Counts) -> Counts:
        """The counts of each place."""
        if not len(self.rest):
            return table
        rest = csr_array(np.asarray(table[:, self.rest].sum(axis=1))[:, None])
        return csr_array(hstack([table[:, self.values], rest], format="csr"))

    def spread(self, chances: Any) -> Scores:
        """The chance of each value from the chance of each place."""
        if not len(self.rest):
            return np.asarray(chances, dtype=np.float32)
        result = np.empty((len(chances), len(self.share)), dtype=np.float32)
        result[:, self.values] = chances[:, :-1]
        result[:, self.rest] = chances[:, -1:] * (self.share[self.rest] / self.share[self.rest].sum())
        return result
