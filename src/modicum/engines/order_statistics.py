"""Exact quantiles of columns too large to collect, with bounded memory.

If a number has too many distinct values to count one by one, a survey returns only some of them (`Known`) with their
exact counts, always including the smallest and the largest. One pass counts the records between neighbouring known
values. A grouping needs only the values at both ends of each group, each group's median and the median's neighbours. So
only a few of these gaps matter: those between neighbours with different keys, and those that can hold a median. The
next pass collects the values in those gaps. If there are too many, it returns a sample of them, which splits the gaps
into smaller ones, and the search repeats. The records in all other gaps count with the value below, which does not
change the result.

Passes: one if all values are counted one by one, otherwise three, and two more each time that the gaps are still too
large. All columns share each pass. The result does not depend on the sample.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.engines.counting import LIMIT, Numbers, Weights, select_numbers, survey_columns
from modicum.engines.table import EngineTable
from modicum.errors import DataError
from modicum.table.codes import Grouping
from modicum.table.frames import column, numbers
from modicum.table.schema import Attribute
from modicum.typing import Floats, Ints, Mask

FETCHED = 8 * LIMIT  # values of a column that may be collected to end the search
_NEAR = 32  # a median is searched for when fewer gaps can hold it


@dataclass(frozen=True)
class Known:
    """Some of a column's distinct values in order, including the first and the last.

    `counts` are the records with each value, and `between` the records between it and the next one.
    """

    distinct: Floats
    counts: Weights
    between: Weights

    @property
    def total(self) -> int:
        return int(self.counts.sum() + self.between.sum())

    @property
    def reached(self) -> Weights:
        """The number of records at or below each value."""
        return np.cumsum(self.counts + self.between) - self.between

    @property
    def abridged(self) -> Weights:
        """The counts; records between two values count with the lower one."""
        return self.counts + self.between

    def find_wanted_gaps(self, grouping: Grouping) -> Mask:
        """Mark the gaps that hold a value that the grouping needs."""
        reached = self.reached
        keys = grouping.keys(self.distinct, reached - self.counts, self.total)
        rises = np.append(np.diff(keys) > 0, False)
        return (self.between > 0) & (rises | self._near_medians(rises))

    def _near_medians(self, rises: Mask) -> Mask:
        """Mark the gaps that can hold a group's median or a neighbour of it, if they are only a few."""
        reached, ends = self.reached, np.flatnonzero(np.append(rises[:-1], True))
        starts = np.append(0, ends[:-1] + 1)
        # The first and last value of a group lie in the gaps around its known values.
        first_low = np.append(0, reached[ends[:-1]])
        first_high = reached[starts] - self.counts[starts]
        last_low, last_high = reached[ends], reached[ends] + self.between[ends]
        low = first_low + (last_low - first_low + 1) // 2
        high = first_high + (last_high - first_high + 1) // 2
        return self._around(low, high)

    def _around(self, low: Ints, high: Ints) -> Mask:
        """Mark the gaps that hold records of ranks low to high, or are next to a known value that does."""
        reached = self.reached
        first, last = np.searchsorted(reached, low), np.searchsorted(reached, high)  # a known value or the gap below it
        last = np.minimum(last, len(reached) - 1)
        is_known = high > reached[last] - self.counts[last]
        last = np.where(is_known, last, last - 1)  # the last gap to mark is the one after this value
        first = np.maximum(first - 1, 0)
        near = last - first < _NEAR
        steps = np.zeros(len(reached) + 1, dtype=np.int64)
        np.add.at(steps, first[near], 1)
        np.add.at(steps, np.maximum(last, first)[near] + 1, -1)
        return np.cumsum(steps)[:-1] > 0

    def gaps(self, chosen: Mask) -> tuple[Floats, Floats]:
        """The lower and upper ends of the chosen gaps."""
        lower = np.flatnonzero(chosen)
        return self.distinct[lower], self.distinct[lower + 1]

    def fill_gaps(self, chosen: Mask, found: Numbers) -> "Known":
        """Insert the values found in the chosen gaps; if they are only a sample, the gaps must be counted again."""
        between = np.where(chosen, 0, self.between)
        if found.complete and found.counts.sum() != self.between[chosen].sum():
            raise DataError("The table changed while it was read; use a table that does not change.")
        places = np.searchsorted(self.distinct, found.distinct)
        return Known(
            np.insert(self.distinct, places, found.distinct),
            np.insert(self.counts, places, found.counts),
            np.insert(between, places, 0),
        )


@dataclass(frozen=True)
class CountBetween:
    """Count the records above one known value and at or below the next, for several columns in one pass."""

    attributes: tuple[Attribute, ...]
    edges: tuple[Floats, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(attribute.name for attribute in self.attributes)

    def empty(self) -> Weights:
        return np.zeros(sum(len(each) + 1 for each in self.edges), dtype=np.int64)

    def add(self, counts: Weights, frame: nw.DataFrame[Any]) -> None:
        start = 0
        for attribute, edges in zip(self.attributes, self.edges, strict=True):
            values = numbers(column(frame, attribute.name), attribute)
            values = np.sort(values[~np.isnan(values)])  # sorted values make the lookup faster
            size = len(edges) + 1
            counts[start : start + size] += np.bincount(np.searchsorted(edges, values), minlength=size)
            start += size


def narrow_gaps(
    table: EngineTable,
    attributes: Mapping[str, Attribute],
    found: Mapping[str, Numbers],
    groupings: Mapping[str, Grouping],
    fetched: int = FETCHED,
) -> dict[str, Known]:
    """Read the table until each column's grouping has all values that it needs."""
    known = {name: Known(each.distinct, each.counts, np.zeros_like(each.counts)) for name, each in found.items()}
    uncounted = [name for name, each in found.items() if not each.complete]
    while True:
        known |= _recount_gaps(table, {name: attributes[name] for name in uncounted}, known)
        chosen = {name: known[name].find_wanted_gaps(groupings[name]) for name in known}
        chosen = {name: gaps for name, gaps in chosen.items() if gaps.any()}
        if not chosen:
            return known
        within = {name: known[name].gaps(gaps) for name, gaps in chosen.items()}
        inside = select_numbers(survey_columns(table, [attributes[name] for name in chosen], fetched, within))
        uncounted = [name for name in chosen if not inside[name].complete]
        for name, gaps in chosen.items():
            known[name] = known[name].fill_gaps(gaps, inside[name])


def _recount_gaps(
    table: EngineTable, attributes: Mapping[str, Attribute], known: Mapping[str, Known]
) -> dict[str, Known]:
    """Count the records between known values of these columns again, in one pass."""
    if not attributes:
        return {}
    work = CountBetween(tuple(attributes.values()), tuple(known[name].distinct for name in attributes))
    sizes = np.cumsum([len(edges) + 1 for edges in work.edges])[:-1]
    counts = np.split(table.fold(work), sizes)
    return {
        name: replace(known[name], between=np.append(above[1:-1] - known[name].counts[1:], 0))
        for name, above in zip(attributes, counts, strict=True)  # counts above each value and up to the next one
    }
