"""Columns of the identifying table that tell the sensitive value by themselves, whatever the groups hide."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.measures.alike import held, value_codes
from modicum.table.frames import numbers
from modicum.table.groups import group_rows
from modicum.table.schema import Attribute, Schema
from modicum.table.values import Codes

_ERRORS = 0.05  # of the naive guess's: where no more are left, the value is told
_SAMPLE = 50_000  # records looked at for pairs
_MOST_COLUMNS = 40  # of which pairs are looked at
_FEW = 256  # values of a number that are taken as they are; others are cut into as many ranges


def determining(
    frame: nw.DataFrame[Any], schema: Schema, columns: Sequence[str], sensitive: Codes
) -> list[tuple[str, ...]]:
    """The columns, and pairs of others, by which the sensitive value is guessed nearly always.

    A record's value is guessed as the most frequent one among the *other* records that are equal in the columns (among
    all records where nobody is). That determines the value where it goes wrong at most 5% as often as guessing the most
    frequent value of all does.

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
    alone = [name for name in columns if any(_tells(key, sensitive) for key in _keys(frame[name], schema[name]))]
    found: list[tuple[str, ...]] = [(name,) for name in alone]
    rest = [name for name in columns if name not in alone]
    if len(columns) > _MOST_COLUMNS:
        return found
    rows = _sample(len(frame))
    coded = {name: _coarse(frame[name][rows], schema[name]) for name in rest}
    return [*found, *_pairs(coded, sensitive[rows])]


def _sample(n: int) -> Codes:
    if n <= _SAMPLE:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _SAMPLE, replace=False))


def _pairs(coded: Mapping[str, Codes], sensitive: Codes) -> Iterator[tuple[str, ...]]:
    for one, other in combinations(coded, 2):
        if _tells(group_rows(np.column_stack([coded[one], coded[other]])), sensitive):
            yield one, other


def _keys(series: nw.Series[Any], attribute: Attribute) -> list[Codes]:
    """The values as they are, and for a number with many of them also ranges."""
    exact = value_codes(series)
    coarse = _ranges(series, attribute, exact)
    return [exact + 1] if coarse is None else [exact + 1, coarse]


def _coarse(series: nw.Series[Any], attribute: Attribute) -> Codes:
    return _keys(series, attribute)[-1]


def _ranges(series: nw.Series[Any], attribute: Attribute, exact: Codes) -> Codes | None:
    if attribute.is_category or int(exact.max()) < _FEW:
        return None
    values = numbers(series, attribute)
    known = np.sort(values[np.isfinite(values)])
    edges = np.unique(known[np.arange(1, _FEW) * len(known) // _FEW]) if len(known) else known
    return np.where(np.isnan(values), 0, 1 + np.searchsorted(edges, values))


def _tells(key: Codes, sensitive: Codes) -> bool:
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
    wrong = len(key) - int(found.count[right | alone].sum())
    return wrong <= _ERRORS * (len(key) - int(found.totals[usual]))


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
