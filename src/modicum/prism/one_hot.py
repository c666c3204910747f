"""Which columns belong to one attribute: one-hot columns are chosen, and correlate, together."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import DataError, ParameterError
from modicum.table.frames import column, texts

_NAMED = re.compile(r"(?P<attribute>[^=<>:]+)[=<>:].+", re.DOTALL)  # job=clerk, age<26, age>=61, marital:married

Groups = str | Mapping[str, Sequence[str]]


def attribute_columns(
    frame: nw.DataFrame[Any], names: Sequence[str], groups: Groups = "attribute"
) -> dict[str, tuple[str, ...]]:
    """The attributes among these columns, in the order of their first column, each with its columns.

    Several columns of 0 and 1 are one attribute where their names say so (`job=clerk`, `job=nurse`; also `age<26`,
    `age>=61`, `marital:married`) and no row has more than one of them: it bears the part of the name before the sign.
    With `groups="column"` every column stands for itself; a mapping names attributes and their columns, and the
    columns that it does not name stand for themselves.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.prism.one_hot import attribute_columns
    >>> from modicum.table.frames import as_frame
    >>> frame = as_frame(pd.DataFrame({"age": [31, 45], "job=clerk": [0, 1], "job=nurse": [1, 0]}))
    >>> attribute_columns(frame, frame.columns)
    {'age': ('age',), 'job': ('job=clerk', 'job=nurse')}
    >>> list(attribute_columns(frame, frame.columns, "column"))
    ['age', 'job=clerk', 'job=nurse']
    """
    if isinstance(groups, Mapping):
        return _declared(names, groups)
    if groups not in ("attribute", "column"):
        raise ParameterError(
            f"The 'groups' parameter must be 'attribute', 'column' or a mapping from names to columns. Got {groups!r}."
        )
    together = _by_name(names) if groups == "attribute" else {}
    owner = {
        each: attribute
        for attribute, columns in together.items()
        if len(columns) > 1 and attribute not in names and is_one_hot(frame, columns)
        for each in columns
    }
    return _collected(names, owner)


def _declared(names: Sequence[str], groups: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    owner: dict[str, str] = {}
    for attribute, columns in groups.items():
        if not isinstance(columns, Iterable):
            raise ParameterError(
                f"The 'groups' parameter must map {attribute!r} to a list of columns. Got {columns!r}."
            )
        for each in [columns] if isinstance(columns, str) else columns:
            if each not in names:
                raise DataError(f"The 'groups' parameter names the column {each!r}, which is not in the data.")
            if each in owner:
                raise ParameterError(f"The 'groups' parameter puts the column {each!r} into two attributes.")
            owner[each] = str(attribute)
    taken = [each for each in names if each not in owner and each in owner.values()]
    if taken:
        raise ParameterError(f"The 'groups' parameter calls an attribute {taken[0]!r}, as another column is called.")
    return _collected(names, owner)


def _collected(names: Sequence[str], owner: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for each in names:
        attribute = owner.get(each, each)
        found[attribute] = (*found.get(attribute, ()), each)
    return found


def _by_name(names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in names:
        match = _NAMED.fullmatch(each)
        if match is not None:
            found.setdefault(match["attribute"], []).append(each)
    return found


def is_one_hot(frame: nw.DataFrame[Any], columns: Sequence[str]) -> bool:
    """Whether all are columns of 0 and 1 without a missing value, of which no row has two."""
    total = np.zeros(len(frame), dtype=np.int64)
    for each in columns:
        codes, words = texts(column(frame, each))
        if not set(words) <= {"0", "1", "true", "false"} or (codes < 0).any():
            return False
        total += np.isin(np.array(words, dtype=object), ("1", "true"))[codes]
    return bool(total.max(initial=0) <= 1)


def stem(name: str) -> str:
    """What a one-hot column's name says of the attribute: the part before the sign; else the whole name.

    Examples
    --------
    >>> from modicum.prism.one_hot import stem
    >>> stem("job=clerk"), stem("age<26"), stem("job")
    ('job', 'age', 'job')
    """
    match = _NAMED.fullmatch(name)
    return name if match is None else match["attribute"]


def value_part(name: str) -> str:
    """What a one-hot column's name says of the value: after `=` or `:`, or the comparison; else the whole name.

    Examples
    --------
    >>> from modicum.prism.one_hot import value_part
    >>> value_part("job=clerk"), value_part("age<26"), value_part("age>=61"), value_part("clerk")
    ('clerk', '<26', '>=61', 'clerk')
    """
    match = _NAMED.fullmatch(name)
    if match is None:
        return name
    rest = name[match.end("attribute") :]
    return rest[1:] if rest[0] in "=:" else rest
