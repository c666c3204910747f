"""Exact quantiles of columns too large to bring together, with bounded memory.

Of a number with more distinct values than are counted one by one, some values (`Known`) and their exact counts are
known from the start, the smallest and the largest among them. One pass counts the records between neighbouring ones. A
grouping asks only for the values at both ends of each group and for each group's median with its neighbours, so that
few of these gaps matter: where two neighbours have different keys, and where a median can lie. The next pass brings the
values in those gaps. Where they are too many, a sample of them cuts the gaps smaller, and it goes round again. The
records in all other gaps are counted with the value before them, which changes nothing that is asked.

Passes: one where all values are counted one by one, three otherwise; two more each time that the gaps are too large
still, which halves them many times over. All columns share each pass. What is found does not depend on the sample.
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

FETCHED = 8 * LIMIT  # values of a column that are brought together to end the search
_NEAR = 32  # gaps in which a median may lie before it is looked for


@dataclass(frozen=True)
class Known:
    """Some of a column's distinct values in order, the first and the last among them.

    `counts` are the records that have each, and `between` those that lie between it and the next one.
    """

    distinct: Floats
    counts: Weights
    between: Weights

    @property
    def total(self) -> int:
        return int(self.counts.sum() + self.between.sum())

    @property
    def reached(self) -> Weights:
        """How many records lie at or below each value."""
        return np.cumsum(self.counts + self.between) - self.between

    @property
    def abridged(self) -> Weights:
        """The counts, with the records between two values counted with the lower one."""
        return self.counts + self.between

    def find_wanted_gaps(self, grouping: Grouping) -> Mask:
        """Which gaps hold a value that the grouping asks for."""
        reached = self.reached
        keys = grouping.keys(self.distinct, reached - self.counts, self.total)
        rises = np.append(np.diff(keys) > 0, False)
        return (self.between > 0) & (rises | self._near_medians(rises))

    def _near_medians(self, rises: Mask) -> Mask:
        """Which gaps a group's median or one of its neighbours can lie in, where that is narrowed down to a few."""
        reached, ends = self.reached, np.flatnonzero(np.append(rises[:-1], True))
        starts = np.append(0, ends[:-1] + 1)
        # A group begins and ends somewhere in the gaps around its known values.
        first_low = np.append(0, reached[ends[:-1]])
        first_high = reached[starts] - self.counts[starts]
        last_low, last_high = reached[ends], reached[ends] + self.between[ends]
        low = first_low + (last_low - first_low + 1) // 2
        high = first_high + (last_high - first_high + 1) // 2
        return self._around(low, high)

    def _around(self, low: Ints, high: Ints) -> Mask:
        """The gaps that hold the records of ranks low to high, or lie beside a known value that does."""
        reached = self.reached
        first, last = np.searchsorted(reached, low), np.searchsorted(reached, high)  # a known value, or its gap before
        last = np.minimum(last, len(reached) - 1)
        is_known = high > reached[last] - self.counts[last]
        last = np.where(is_known, last, last - 1)  # the last gap in question is the one behind this value
        first = np.maximum(first - 1, 0)
        near = last - first < _NEAR
        steps = np.zeros(len(reached) + 1, dtype=np.int64)
        np.add.at(steps, first[near], 1)
        np.add.at(steps, np.maximum(last, first)[near] + 1, -1)
        return np.cumsum(steps)[:-1] > 0

    def gaps(self, chosen: Mask) -> tuple[Floats, Floats]:
        """Between which values the chosen gaps lie."""
        behind = np.flatnonzero(chosen)
        return self.distinct[behind], self.distinct[behind + 1]

    def fill_gaps(self, chosen: Mask, found: Numbers) -> "Known":
        """With what was found in the chosen gaps: all values there, or some, and then these gaps must be counted."""
        between = np.where(chosen, 0, self.between)
        if found.complete and found.counts.sum() != self.between[chosen].sum():
            raise DataError("The table changed while it was read; give one that stays as it is.")
        places = np.searchsorted(self.distinct, found.distinct)
        return Known(
            np.insert(self.distinct, places, found.distinct),
            np.insert(self.counts, places, found.counts),
            np.insert(between, places, 0),
        )


@dataclass(frozen=True)
class CountBetween:
    """How many records lie above one known value and at or below the next: one pass for several columns."""

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
            values = np.sort(values[~np.isnan(values)])  # in order, so that neighbours are looked up together
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
    """What is known of each column once nothing is open that its grouping asks for."""
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
    """What is known of these columns, with the records between known values counted anew: one pass."""
    if not attributes:
        return {}
    work = CountBetween(tuple(attributes.values()), tuple(known[name].distinct for name in attributes))
    sizes = np.cumsum([len(edges) + 1 for edges in work.edges])[:-1]
    counts = np.split(table.fold(work), sizes)
    return {
        name: replace(known[name], between=np.append(above[1:-1] - known[name].counts[1:], 0))
        for name, above in zip(attributes, counts, strict=True)  # the counts above each value and up to the next one
    }
