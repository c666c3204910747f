"""Partitions made: from edges, from groups of values, or from what a minimizer found among codes."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from modicum.generalization.bins import (
    AnyPartition,
    Dropped,
    FullDetail,
    Group,
    Groups,
    Interval,
    Intervals,
    Scalar,
)
from modicum.table.codes import CategoryCoding, Coding, NumberCoding, usual_code, weighted_median
from modicum.table.schema import Attribute
from modicum.table.values import iso


def intervals(
    attribute: Attribute,
    edges: Sequence[float],
    *,
    values: Sequence[Scalar] | None = None,
    usual: Scalar = None,
    missing_in: int | None = None,
) -> Intervals:
    """A number's partition from its edges; `missing_in` is the bucket that missing values join.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.build import intervals
    >>> age = Attribute(name="age", kind="number", storage="integer")
    >>> intervals(age, [19.5, 63.5]).labels
    ('≤ 19', '20–63', '≥ 64', '(missing)')
    """
    ends: list[float | str | None] = [iso(edge) if attribute.kind == "date" else float(edge) for edge in edges]
    buckets = [
        Interval(
            up_to=end,
            value=None if values is None else values[i],
            takes=("missing",) if missing_in == i else (),
        )
        for i, end in enumerate([*ends, None])
    ]
    return Intervals(attribute=attribute, buckets=tuple(buckets), value=usual)


def groups(
    attribute: Attribute,
    members: Sequence[Sequence[str]],
    *,
    values: Sequence[Scalar] | None = None,
    usual: Scalar = None,
    missing_in: int | None = None,
) -> Groups:
    """A category's partition from its groups of values; `missing_in` is the group that missing values join.

    Examples
    --------
    >>> from modicum import Attribute
    >>> from modicum.generalization.build import groups
    >>> job = Attribute(name="job", kind="category")
    >>> groups(job, [["nurse", "doctor"], ["clerk"]]).labels
    ('nurse | doctor', 'clerk', '(other)', '(missing)')
    """
    buckets = [
        Group(
            values=tuple(group),
            value=None if values is None else values[i],
            takes=("missing",) if missing_in == i else (),
        )
        for i, group in enumerate(members)
    ]
    return Groups(attribute=attribute, buckets=tuple(buckets), value=usual)


def drop(coding: Coding, stands: int | None = None) -> Dropped:
    """The attribute is not collected; the code `stands` represents it, else the usual one.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.build import drop
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"job": ["nurse", "clerk", "nurse"]})
    >>> drop(Coder.fit(X, md.Schema.infer(X)).codings[0]).value
    'nurse'
    """
    return Dropped(attribute=coding.attribute, value=_usual(coding) if stands is None else value_of(coding, stands))


def keep(coding: Coding) -> AnyPartition:
    """The attribute is collected in full detail.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.build import keep
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"job": ["nurse", "clerk", "nurse"]})
    >>> keep(Coder.fit(X, md.Schema.infer(X)).codings[0]).labels
    ('clerk', 'nurse', '(other)', '(missing)')
    """
    if isinstance(coding, NumberCoding):
        return FullDetail(attribute=coding.attribute, value=_usual(coding))
    return groups(ordered_attribute(coding), [[value] for value in coding.values], usual=_usual(coding))


def partition(coding: Coding, bucket_of: npt.ArrayLike, stands: Mapping[int, int] | None = None) -> AnyPartition:
    """The partition in which codes with the same number share a bucket; where all do, it is dropped.

    `bucket_of` has one entry per value, and one more for missing where missing occurred at fit. The buckets of an
    attribute with an order must be runs of neighbours. `stands` says which code represents a bucket; by default its
    median, or its most frequent category.

    Examples
    --------
    >>> import pandas as pd, modicum as md
    >>> from modicum.generalization.build import partition
    >>> from modicum.table.codes import Coder
    >>> X = pd.DataFrame({"job": ["clerk", "nurse", "smith"]})
    >>> partition(Coder.fit(X, md.Schema.infer(X)).codings[0], [0, 1, 1]).labels
    ('clerk', 'nurse | smith', '(other)', '(missing)')
    """
    own = np.asarray(bucket_of)[: coding.n_values]
    missing = int(np.asarray(bucket_of)[coding.n_values]) if coding.missing else None
    kinds = {*own.tolist(), *([] if missing is None else [missing])}
    if len(kinds) == 1:
        return drop(coding, None if stands is None else stands[kinds.pop()])
    order = list(dict.fromkeys(own.tolist()))
    joins = order.index(missing) if missing in order else None
    members = [np.flatnonzero(own == bucket) for bucket in order]
    chosen = [middle_code(coding, group) for group in members] if stands is None else [stands[b] for b in order]
    values = [value_of(coding, code) for code in chosen]
    if isinstance(coding, NumberCoding):
        edges = coding.edges[[int(group[-1]) for group in members[:-1]]].tolist()
        return intervals(coding.attribute, edges, values=values, usual=_usual(coding), missing_in=joins)
    named = [[coding.values[i] for i in group] for group in members]
    return groups(ordered_attribute(coding), named, values=values, usual=_usual(coding), missing_in=joins)


def middle_code(coding: Coding, codes: npt.NDArray[np.intp]) -> int:
    """The code that represents some of an attribute's values best: their median, or the most frequent category."""
    counts = coding.counts[codes]
    return int(codes[weighted_median(counts) if isinstance(coding, NumberCoding) else np.argmax(counts)])


def value_of(coding: Coding, code: int) -> Scalar:
    """The value that stands for a code, as an artifact writes it; None for missing."""
    if code >= coding.n_values:
        return None
    return coding.values[code] if isinstance(coding, CategoryCoding) else plain(coding.typical[code], coding.attribute)


def ordered_attribute(coding: CategoryCoding) -> Attribute:
    """The attribute, with its order written down where it has one."""
    attribute = coding.attribute
    if attribute.kind != "ordered" or attribute.domain is not None:
        return attribute
    return attribute.model_copy(update={"domain": coding.values})


def _usual(coding: Coding) -> Scalar:
    return value_of(coding, usual_code(coding))


def plain(value: float, attribute: Attribute) -> Scalar:
    """A float as the artifact writes it: a whole number, a decimal or an ISO date."""
    if attribute.kind == "date":
        return iso(float(value))
    return int(value) if attribute.storage == "integer" and float(value).is_integer() else float(value)
