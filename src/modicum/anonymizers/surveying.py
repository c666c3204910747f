"""What must be known of the columns of a table before it is taken apart: one pass over it."""

from collections.abc import Sequence

import narwhals.stable.v2 as nw
import numpy as np

from modicum.anonymizers.coarse_columns import AnyColumn, CoarseColumn
from modicum.anonymizers.ranks import in_order
from modicum.anonymizers.whole_columns import MOST_NUMBERS, WholeColumn
from modicum.engines.counting import Numbers, Words, surveyed
from modicum.engines.order_statistics import CountBetween
from modicum.engines.table import EngineTable, collected
from modicum.errors import DataError
from modicum.table.codes import MAX_CATEGORIES, too_many_categories
from modicum.table.frames import check_outside, check_words, not_readable
from modicum.table.schema import Attribute


def whole_columns(table: EngineTable, attributes: Sequence[Attribute]) -> list[AnyColumn]:
    """Count the values of these columns: one pass."""
    for attribute in attributes:
        table.check([attribute.name])
        if isinstance(table.types[attribute.name], nw.Duration):
            raise DataError(f"The column {attribute.name!r} holds durations; give them as numbers.")
    found = surveyed(table, attributes, MOST_NUMBERS, words=MAX_CATEGORIES)
    return [_whole(table, attribute, found[attribute.name]) for attribute in attributes]


def _whole(table: EngineTable, attribute: Attribute, found: Words | Numbers) -> AnyColumn:
    if isinstance(found, Numbers):
        return _number(table, attribute, found)
    if found.overfull:
        raise too_many_categories(attribute, _different(table, attribute.name) - (found.missing > 0))
    check_words(attribute, found.counts)
    values = tuple(in_order(attribute, found.counts))
    counts = np.array([found.counts[value] for value in values], dtype=np.int64)
    return WholeColumn(attribute, values, counts, found.missing)


def _number(table: EngineTable, attribute: Attribute, found: Numbers) -> AnyColumn:
    if found.unreadable:
        raise not_readable(attribute, found.unreadable)
    if np.isinf(found.distinct).any():
        raise DataError(f"The column {attribute.name!r} contains infinity; replace it by a number or by missing.")
    low, high = attribute.bounds
    outside = (found.distinct < low) | (found.distinct > high)
    if outside.any():
        check_outside(attribute, int(found.counts[outside].sum()) if found.complete else _outside(table, attribute))
    if not found.complete:
        return CoarseColumn.of(attribute, found.distinct, found.missing)
    return WholeColumn(attribute, found.distinct, found.counts, found.missing)


def _outside(table: EngineTable, attribute: Attribute) -> int:
    low, high = attribute.bounds
    counts = table.fold(CountBetween((attribute,), (np.array([np.nextafter(low, -np.inf), high]),)))
    return int(counts[0] + counts[2])


def _different(table: EngineTable, name: str) -> int:
    return int(collected(table.lazy.select(nw.col(name).n_unique()))[name][0])
