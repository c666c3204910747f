"""Attributes as small integers whose joint values can be counted: numbers in bins, missing a value, groups by row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.table.codes import Weights, group_numbers, group_rows
from modicum.table.frames import column, numbers, texts
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target
from modicum.typing import Ints

# Bins of a number in which a frequent value stands alone, so that what it tells is seen.


def bin_starts(counts: Weights, bins: int) -> npt.NDArray[np.bool_]:
    """Where a bin begins among the distinct values, of which the counts are given in their order.

    Every value has its own bin where there are at most `bins` of them. Else each with at least 1/bins of the records
    has, and the values between such ones are dealt into as many bins of about equal frequency as are left, but at
    least one between each two. So there may be up to about twice as many bins as asked for, and there are at least two
    wherever there are two values.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.prism.discovery.attribute_codes import bin_starts
    >>> bin_starts(np.array([1, 1, 9, 1, 1]), bins=2).tolist()
    [True, False, True, True, False]
    """
    if len(counts) <= bins:
        return np.ones(len(counts), dtype=bool)
    alone = counts >= counts.sum() / bins
    others = np.where(alone, 0, counts).astype(np.float64)
    if not others.any():
        return np.ones(len(counts), dtype=bool)
    before = np.cumsum(others) - others
    group = np.floor(before * max(bins - int(alone.sum()), 1) / others.sum())
    starts = alone | (np.diff(group, prepend=-1) > 0)
    starts[1:] |= alone[:-1]
    return starts


@dataclass(frozen=True)
class CodedAttributes:
    """A row of codes per record, a column per attribute; each attribute's codes run from 0 without gaps."""

    names: tuple[str, ...]
    codes: npt.NDArray[Any]
    sizes: Ints

    def position(self, name: str) -> int:
        return self.names.index(name)


def code_attributes(
    frame: nw.DataFrame[Any],
    schema: Schema,
    attributes: Mapping[str, Sequence[str]],
    bins: int = 10,
    weights: Weights | None = None,
) -> CodedAttributes:
    """The attributes' codes; a number with more than `bins` values in bins (see `bin_starts`).

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.prism.discovery.attribute_codes import code_attributes
    >>> from modicum.table.frames import as_frame
    >>> X = pd.DataFrame({"age": range(20, 80), "job": ["nurse", "clerk", None] * 20})
    >>> code_attributes(as_frame(X), md.Schema.infer(X), {"age": ["age"], "job": ["job"]}).sizes.tolist()
    [10, 3]
    """
    coded = [_code(frame, schema, columns, bins, weights) for columns in attributes.values()]
    sizes = np.array([codes.max() + 1 for codes in coded], dtype=np.int64)
    narrow = np.uint16 if sizes.max(initial=0) <= 2**16 else np.uint32
    codes = np.empty((len(frame), len(coded)), dtype=narrow)
    for j, own in enumerate(coded):
        codes[:, j] = own
    return CodedAttributes(tuple(attributes), codes, sizes)


def _code(frame: nw.DataFrame[Any], schema: Schema, columns: Sequence[str], bins: int, weights: Weights | None) -> Ints:
    each = [_column_codes(column(frame, name), schema[name], bins, weights) for name in columns]
    return each[0] if len(each) == 1 else group_rows(np.column_stack(each))


def _column_codes(series: nw.Series[Any], attribute: Attribute, bins: int, weights: Weights | None) -> Ints:
    if attribute.is_category:
        codes = texts(series)[0]
        return codes + 1 if (codes < 0).any() else codes
    values = numbers(series, attribute)
    if np.isnan(values).all():
        return np.zeros(len(values), dtype=np.int64)
    coding = group_numbers(attribute, values, weights, lambda _, counts: bin_starts(counts, bins))
    return Target(coding).encode_numbers(values)
