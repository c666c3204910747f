"""A group in words: a range for a number, the list of values for a category (papers/2 §3)."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from modicum.anonymizers.ranks import RankedColumn
from modicum.anonymizers.stand_ins import Members
from modicum.generalization.bins import number_text
from modicum.table.values import Codes, iso

MISSING = "(missing)"


def range_labels(members: Members) -> list[str]:
    """What each group's records may be, for people.

    Examples
    --------
    >>> import numpy as np, pandas as pd, modicum as md
    >>> from modicum.anonymizers.ranges import range_labels
    >>> from modicum.anonymizers.ranks import Ranked
    >>> from modicum.anonymizers.stand_ins import Members
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"age": [31, 34, 60], "job": ["nurse", "clerk", None]})
    >>> age, job = Ranked.of(as_frame(X), md.Schema.infer(X), ["age", "job"]).columns
    >>> groups = np.array([0, 0, 1])
    >>> range_labels(Members(age, groups)), range_labels(Members(job, groups))
    (['31–34', '60'], ['clerk | nurse', '(missing)'])
    """
    column = members.column
    return _sets(members) if column.attribute.is_category else _intervals(members)


def _intervals(members: Members) -> list[str]:
    column = members.column
    text = iso if column.attribute.kind == "date" else number_text
    ends = np.column_stack([members.at(0.0), members.at(1.0), members.present, members.sizes - members.present])
    kinds, which = np.unique(np.minimum(ends, [np.iinfo(np.int64).max] * 2 + [1, 1]), axis=0, return_inverse=True)
    names = [_interval(column, text, *kind) for kind in kinds.tolist()]
    return [names[i] for i in which.ravel().tolist()]


def _interval(
    column: RankedColumn, text: Callable[[float], str], low: int, high: int, has_value: int, has_missing: int
) -> str:
    if not has_value:
        return MISSING
    first, last = text(float(column.values[low])), text(float(column.values[high]))
    dash = " to " if "-" in first + last else "–"
    named = first if low == high else f"{first}{dash}{last}"
    return f"{named} or {MISSING}" if has_missing else named


def _sets(members: Members) -> list[str]:
    column = members.column
    size = len(column.values) + 1
    keys = np.unique(members.groups * size + column.codes)
    groups, codes = keys // size, keys % size
    starts = np.append(np.flatnonzero(np.diff(groups, prepend=-1)), len(keys)).tolist()
    named: dict[bytes, str] = {}
    found = []
    for start, end in pairwise(starts):
        own: Codes = codes[start:end]
        key = own.tobytes()
        if key not in named:
            named[key] = _set(column, own.tolist())
        found.append(named[key])
    return found


def _set(column: RankedColumn, codes: Sequence[int]) -> str:
    known = [*column.values, MISSING]
    return " | ".join(known[code] for code in codes)
