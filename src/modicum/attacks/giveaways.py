"""Columns that say what an attribute is, whatever the model says: copies, and one-hot columns left in the data."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, quoted
from modicum.table.codes import group_rows
from modicum.table.frames import column, numbers, texts
from modicum.table.schema import Schema
from modicum.table.values import Codes


def check_giveaways(frame: nw.DataFrame[Any], attacked: Sequence[str]) -> None:
    """Refuse an attribute that another column determines, or that determines another column: they are one attribute."""
    schema = Schema.infer(frame)
    codes = {name: value_codes(frame, schema, name) for name in frame.columns}
    own = group_rows(np.column_stack([codes[name] for name in attacked]))
    if own.max() == 0:
        raise DataError(f"The attacked attribute {quoted(attacked)} has a single value: there is nothing to guess.")
    rest = [name for name in frame.columns if name not in attacked]
    same = [name for name in rest if _tells(codes[name], own) or _tells(own, codes[name]) or _ordered(codes[name], own)]
    if len(attacked) == 1 and not same:
        same = _complements(own, {name: codes[name] for name in rest})
    if same:
        raise DataError(
            f"The attacked attribute {quoted(attacked)} can be read off {quoted(same)}, wholly or in part, so that the "
            "attack would say nothing of the model; list these columns in 'attribute' as well, to be set together, or "
            "leave them out of the data and of the model."
        )


def value_codes(frame: nw.DataFrame[Any], schema: Schema, name: str) -> Codes:
    """A number per row, equal where the values are; missing is a value like any other; numbers keep their order."""
    series = column(frame, name)
    if schema[name].is_category:
        return texts(series)[0] + 1
    return np.unique(numbers(series, schema[name]), return_inverse=True)[1]


def _tells(source: Codes, target: Codes) -> bool:
    """Whether each value of one occurs with a single value of the other, and that not by chance of small numbers."""
    pairs = np.unique(np.column_stack([source, target]), axis=0)
    distinct = len(np.unique(source))
    if len(pairs) > distinct:
        return False
    counts = np.bincount(target)
    unusual = int(counts.sum() - counts.max())
    return 1 < distinct <= unusual / 2


def _ordered(first: Codes, second: Codes) -> bool:
    """Whether both put the records in the same order, or the reverse, with the same ties: a number in another unit."""
    a, b = (np.unique(codes, return_inverse=True)[1] for codes in (first, second))
    return bool(a.max() > 1 and (np.array_equal(a, b) or np.array_equal(a, a.max() - b)))


def _complements(own: Codes, others: dict[str, Codes]) -> list[str]:
    """The yes/no columns of which exactly one holds where the attacked one does not: the rest of a one-hot encoding."""
    if own.max() != 1:
        return []
    held = {name: codes - codes.min() for name, codes in others.items()}
    for mine in (own, 1 - own):
        apart = {n: c for n, c in held.items() if c.max() == 1 and not (c & mine).any()}
        if len(apart) < 2:
            continue
        columns = np.column_stack(list(apart.values())).astype(np.float64)
        weights = np.linalg.lstsq(columns, 1.0 - mine, rcond=None)[0]
        if np.abs(columns @ weights - (1 - mine)).max() < 1e-6:
            return [name for name, weight in zip(apart, weights, strict=True) if abs(weight) > 1e-6]
    return []
