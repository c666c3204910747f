"""Which values a column has and how many records have each, as a summary that stays small.

A column of texts is counted text by text. A number is counted value by value up to a limit. Beyond it only a sample of
the values is kept, each still with its exact count: those whose hash is smallest (Bar-Yossef et al., "Counting distinct
elements in a data stream", RANDOM 2002, §2.3), and the smallest and the largest value. What is kept does not depend on
the order of the records: a value that every part keeps was counted by every part.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from modicum.table.values import Floats, Mask

Weights = npt.NDArray[np.int64]
NO_LIMIT = np.iinfo(np.int64).max


@dataclass
class Words:
    """The texts of a column and how many records have each; none where there are more than the limit."""

    limit: int
    counts: dict[str, int] = field(default_factory=dict)
    missing: int = 0
    overfull: bool = False

    def add(self, words: Sequence[str], counts: Weights) -> None:
        if self.overfull:
            return
        for word, n in zip(words, counts.tolist(), strict=True):
            self.counts[word] = self.counts.get(word, 0) + n
        if len(self.counts) > self.limit:
            self.counts, self.overfull = {}, True


@dataclass
class Numbers:
    """The distinct numbers of a column in order and how many records have each: all, or a sample by their hashes."""

    limit: int
    distinct: Floats = field(default_factory=lambda: np.empty(0))
    counts: Weights = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    missing: int = 0
    unreadable: int = 0
    seen_below: int = NO_LIMIT  # values with a smaller hash are all here
    waiting: list[tuple[Floats, Weights]] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether all values are here."""
        return self.seen_below == NO_LIMIT

    def add(self, values: Floats) -> None:
        """Count values, none of them missing."""
        self._take(*np.unique(values[self._kept(values)], return_counts=True))

    def merge(self, distinct: Floats, counts: Weights, seen_below: int) -> None:
        self.seen_below = min(self.seen_below, seen_below)
        self._take(distinct, counts)

    def settle(self) -> None:
        """Bring what waits together with the rest."""
        if self.waiting:
            parts = [(self.distinct, self.counts), *self.waiting]
            self.distinct, self.counts = _together(*(np.concatenate(each) for each in zip(*parts, strict=True)))
            self.waiting.clear()
        if len(self.distinct) > self.limit:
            smallest = np.partition(_hashes(self.distinct), self.limit)[self.limit]
            self.seen_below = min(self.seen_below, int(smallest))
        kept = self._kept(self.distinct)
        self.distinct, self.counts = self.distinct[kept], self.counts[kept]

    def _take(self, distinct: Floats, counts: Weights) -> None:
        self.waiting.append((distinct, counts))
        if sum(len(each) for each, _ in self.waiting) > self.limit:
            self.settle()

    def _kept(self, values: Floats) -> Mask:
        """Whose hash is small enough, and the smallest and largest value so far."""
        if self.complete or not len(values):
            return np.ones(len(values), dtype=bool)
        low, high = self._extremes(values)
        return (_hashes(values) < self.seen_below) | (values <= low) | (values >= high)

    def _extremes(self, values: Floats) -> tuple[float, float]:
        known = self.distinct if len(self.distinct) else values
        return min(known[0], values.min()), max(known[-1], values.max())


def _together(values: Floats, counts: Weights) -> tuple[Floats, Weights]:
    """The distinct values in order, with the sums of their counts."""
    order = np.argsort(values, kind="stable")
    values, counts = values[order], counts[order]
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    return values[starts], np.add.reduceat(counts, starts) if len(starts) else counts


def _hashes(values: Floats) -> npt.NDArray[np.int64]:
    """Numbers mixed so that no rule of the data shows in them."""
    mixed = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xD6E8FEB86659FD93)
    mixed ^= mixed >> np.uint64(32)
    return (mixed >> np.uint64(1)).view(np.int64)
