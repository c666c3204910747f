"""Columns of the identifying table that tell the sensitive value by themselves, whatever the groups hide."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.measures.anonymity import held, value_codes
from modicum.table.codes import group_rows
from modicum.table.frames import numbers
from modicum.table.schema import Attribute, Schema
from modicum.table.values import Codes

_ERRORS = 0.05  # of the naive guess's: where no more are left, the value is told
_NEARLY = 0.1  # the same in the sample: where more are left, the other records are not looked at
_OFTEN = 10  # times that a value must occur in the sample on average for that
_SAMPLE = 50_000  # records looked at for pairs, and first for single columns
_MOST_COLUMNS = 40  # of which pairs are looked at
_FEW = 256  # values of a number that are taken as they are
_RANGES = 32  # into which others are cut in pairs


def determining(
    frame: nw.DataFrame[Any], schema: Schema, columns: Sequence[str], sensitive: Codes
) -> list[tuple[str, ...]]:
    """The columns, and pairs of others, by which the sensitive value is guessed nearly always.

    A record's value is guessed as the most frequent one among the *other* records that are equal in the columns (among
    all records where nobody is), by a number with many values also as that of the next smaller one. That determines the
    value where it goes wrong at most 5% as often as guessing the most frequent value of all does. Of many records a
    sample is looked at: for pairs alone, for single columns first, unless their values are too many for it.

    Parameters
    ----------
    frame, schema : the records
    columns : which to look at
    sensitive : each record's value as a code from 0

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.anatomy.determined import determining
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"grade": [1, 2, 3, 4] * 5, "shoe": range(20)})
    >>> determining(as_frame(X), md.Schema.infer(X), ["grade", "shoe"], X["grade"].to_numpy() - 1)
    [('grade',)]
    """
    rows = _sample(len(frame))
    few = {name: frame[name][rows] if len(rows) < len(frame) else frame[name] for name in columns}
    alone = [
        name
        for name in columns
        if (len(rows) == len(frame) or _perhaps(few[name], schema[name], sensitive[rows]))
        and _alone(frame[name], schema[name], sensitive, _ERRORS)
    ]
    found: list[tuple[str, ...]] = [(name,) for name in alone]
    rest = [name for name in columns if name not in alone]
    if len(columns) > _MOST_COLUMNS:
        return found
    coded = {name: _coarse(few[name], schema[name]) for name in rest}
    return [*found, *_pairs(coded, sensitive[rows])]


def _sample(n: int) -> Codes:
    if n <= _SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _SAMPLE, replace=False))


def _pairs(coded: Mapping[str, Codes], sensitive: Codes) -> Iterator[tuple[str, ...]]:
    for one, other in combinations(coded, 2):
        if _tells(group_rows(np.column_stack([coded[one], coded[other]])), sensitive, _ERRORS):
            yield one, other


def _perhaps(series: nw.Series[Any], attribute: Attribute, sensitive: Codes) -> bool:
    """Whether a column may tell the value, by a sample of it: it nearly does there, or hardly has a value twice."""
    return int(series.n_unique()) * _OFTEN > len(series) or _alone(series, attribute, sensitive, _NEARLY)


def _alone(series: nw.Series[Any], attribute: Attribute, sensitive: Codes, errors: float) -> bool:
    """Whether a column tells the value by itself: its equals do, or for a number with many values its neighbours."""
    codes = value_codes(series)
    if _tells(codes + 1, sensitive, errors):
        return True
    if attribute.is_category or int(codes.max()) < _FEW:
        return False
    by_size = sensitive[np.argsort(numbers(series, attribute), kind="stable")]
    return _few(
        1 + int((by_size[1:] != by_size[:-1]).sum()), sensitive, errors
    )  # each guessed as the next smaller one is


def _coarse(series: nw.Series[Any], attribute: Attribute) -> Codes:
    """The values as they are, or ranges of about equal size of a number with many; 0 is missing."""
    codes = value_codes(series) + 1
    if attribute.is_category or int(codes.max()) <= _FEW:
        return codes
    values = numbers(series, attribute)
    known = np.sort(values[~np.isnan(values)])
    edges = np.unique(known[np.arange(1, _RANGES) * len(known) // _RANGES])
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values))


def _tells(key: Codes, sensitive: Codes, errors: float) -> bool:
    """Whether the others with the same key tell the value."""
    found = held(key, sensitive)  # by key and then by value
    usual = int(found.totals.argmax())
    first = np.flatnonzero(np.r_[True, found.group[1:] != found.group[:-1]])
    own = np.repeat(np.arange(len(first)), np.diff(np.r_[first, len(found.group)]))
    most = np.maximum.reduceat(found.count, first)[own]
    top = np.zeros(len(own), dtype=bool)
    top[first_true(found.count == most, own)] = True
    second = np.maximum.reduceat(np.where(top, 0, found.count), first)[own]
    right = found.count - 1 > np.where(top, second, most)
    alone = (found.sizes[found.group] == 1) & (found.value == usual)
    return _few(len(key) - int(found.count[right | alone].sum()), sensitive, errors)


def _few(wrong: int, sensitive: Codes, errors: float) -> bool:
    """Whether guesses go wrong so seldom that they tell the value."""
    return wrong <= errors * (len(sensitive) - int(np.bincount(sensitive).max()))


def first_true(flags: Any, groups: Codes) -> Codes:
    """Where the first flag of each group is, for groups that lie together and have one each.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.anatomy.determined import first_true
    >>> first_true(np.array([False, True, True, True]), np.array([0, 0, 0, 1])).tolist()
    [1, 3]
    """
    places = np.flatnonzero(flags)
    return places[np.r_[True, groups[places][1:] != groups[places][:-1]]]
