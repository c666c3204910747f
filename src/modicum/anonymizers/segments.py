"""The upper levels of a tree that is too large for memory: which part of the table a record belongs to.

They are grown on a sample, by median cuts of the widest attribute, until every part holds about as many records as fit
into memory. A cut is a value, so that records of any batch find their part.
"""

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anonymizers.ranks import Ranked, RankedColumn
from modicum.table.frames import column, numbers, texts
from modicum.typing import Codes, Floats


@dataclass(frozen=True)
class Cut:
    """One attribute and where it is cut: records up to `limit` go left; missing goes right."""

    attribute: int
    limit: float
    left: "Cut | int"
    right: "Cut | int"


@dataclass(frozen=True)
class Segments:
    """Parts of a table, told by a tree of cuts.

    Parameters
    ----------
    columns : the quasi-identifiers, as the sample has them
    root : the first cut, or 0 where there is one part alone
    many : how many parts there are
    """

    columns: tuple[RankedColumn, ...]
    root: Cut | int
    many: int

    @classmethod
    def of(cls, sample: Ranked, least: int) -> "Segments":
        """Cut a sample into parts of at least so many records."""
        counted = [0]
        positions = [_positions(each, each.codes) for each in sample.columns]
        root = _cut(np.arange(len(sample.columns[0].codes)), positions, least, counted)
        return cls(sample.columns, root, counted[0])

    def which(self, frame: nw.DataFrame[Any]) -> Codes:
        """The part of each record."""
        positions = [_of_values(each, column(frame, each.attribute.name)) for each in self.columns]
        found = np.zeros(len(frame), dtype=np.int64)
        _route(self.root, np.arange(len(frame)), positions, found)
        return found


def _positions(ranked: RankedColumn, codes: Any) -> Floats:
    """Where codes stand between 0 and 1; missing after all."""
    return np.where(codes == ranked.missing, np.inf, ranked.positions[codes])


def _of_values(ranked: RankedColumn, series: nw.Series[Any]) -> Floats:
    """The same for values that the sample may not have: a number between its neighbours, a new category at the end."""
    if not ranked.attribute.is_category:
        low, high = ranked.domain
        values = numbers(series, ranked.attribute)
        return np.where(np.isnan(values), np.inf, (values - low) / (high - low) if high > low else 0.0)
    codes, words = texts(series)
    place = {word: i for i, word in enumerate(ranked.values)}
    lookup = np.array([ranked.positions[place.get(word, ranked.missing)] for word in words] + [np.inf])
    return lookup[codes]


def _cut(rows: Codes, positions: list[Floats], least: int, counted: list[int]) -> Cut | int:
    """Cut the widest attribute of these rows of the sample at its median, and go on with both sides."""
    widths = [np.ptp(own[np.isfinite(own)]) if np.isfinite(own).any() else 0.0 for own in (p[rows] for p in positions)]
    for attribute in np.argsort(-np.array(widths), kind="stable").tolist():
        own = positions[attribute][rows]
        present = own[np.isfinite(own)]
        if len(rows) < 2 * least or not widths[attribute]:
            break
        limit = float(np.quantile(present, 0.5, method="lower"))
        left = own <= limit
        if min(left.sum(), (~left).sum()) >= least:
            below = _cut(rows[left], positions, least, counted)
            return Cut(attribute, limit, below, _cut(rows[~left], positions, least, counted))
    counted[0] += 1
    return counted[0] - 1


def _route(node: Cut | int, rows: Codes, positions: list[Floats], found: Codes) -> None:
    if isinstance(node, int):
        found[rows] = node
        return
    left = positions[node.attribute][rows] <= node.limit
    _route(node.left, rows[left], positions, found)
    _route(node.right, rows[~left], positions, found)
