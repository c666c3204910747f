"""Code attributes as small integers: candidates by their values, sensitive attributes by their classes.

Numbers are binned, missing is a value, and one-hot columns form one attribute.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from modicum.errors import DataError, ParameterError
from modicum.generalization.bins import interval_label
from modicum.prism.discovery.sides import is_one_hot, value_part
from modicum.table.codes import NumberCoding, Weights, first_rows, group_numbers, group_rows
from modicum.table.frames import MISSING, column, distinct_texts, numbers, sorted_texts, texts
from modicum.table.schema import Attribute, Schema
from modicum.table.targets import Target
from modicum.typing import Floats, Ints, Mask

# Bins of a number, with a separate bin for each frequent value, so that its correlation is seen.


def bin_starts(counts: Weights, bins: int) -> Mask:
    """Mark the distinct values at which a bin begins, given their counts in the order of the values.

    With at most `bins` values, every value has its own bin. Otherwise, each value of at least 1/bins of the records has
    its own bin, and the values between them fill the remaining bins with about equal frequency, at least one bin
    between each two. So there may be about twice as many bins as `bins`, and at least two if there are two values.

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
    """Codes with a row per record and a column per attribute; each attribute's codes run from 0 without gaps."""

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
    """Code the attributes; bin numbers with more than `bins` values (see `bin_starts`).

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
    return Target(_bin_numbers(attribute, values, bins, weights)).encode_numbers(values)


def _bin_numbers(attribute: Attribute, values: Floats, bins: int, weights: Weights | None) -> NumberCoding:
    return group_numbers(attribute, values, weights, lambda _, counts: bin_starts(counts, bins))


# The sensitive attribute as classes of values, and the labels λ that are tested for correlation [Barbato25 §3.1].
#
# The classes are the critical values, each alone, and all others together. Every λ compares one class with the rest: a
# critical value (multiple encoding), or the class of the others, which is the same as all critical values against the
# others (single encoding).

NONE = "(none)"
ENCODINGS = ("single", "multiple", "both", "whole")
FEW_NUMBERS = 20  # a number with at most this many values is not binned
MOST_VALUES = 200


@dataclass(frozen=True)
class Label:
    """One λ: a class against the rest, or (`position` None) all classes at once."""

    sensitive: str
    encoding: str
    value: str | None
    position: int | None


@dataclass(frozen=True)
class SensitiveAttribute:
    """Each record's class of sensitive values, and the labels λ to test."""

    name: str
    classes: Ints
    size: int
    labels: tuple[Label, ...]
    critical: tuple[str, ...] | None


def read_sensitive(
    frame: nw.DataFrame[Any],
    schema: Schema,
    name: str,
    columns: Sequence[str],
    critical: Any,
    encoding: str,
    bins: int,
    weights: Weights | None,
) -> SensitiveAttribute:
    """Return the classes of one sensitive attribute and its labels."""
    codes, values, binned = _values(frame, schema, columns, bins, weights)
    if len(values) < 2:
        raise DataError(f"The sensitive attribute {name!r} has the same value in every record: nothing to protect.")
    named = None if critical is None else _critical(name, critical, values, binned)
    classes, protected = (codes, values) if named is None else _merge_others(codes, values, named)
    if len(protected) > MOST_VALUES:
        raise DataError(
            f"The sensitive attribute {name!r} has {len(protected):,} values to protect, more than {MOST_VALUES}. "
            "Name its critical values, or group its values first."
        )
    labels = tuple(_labels(name, protected, encoding, None if named is None else len(named)))
    return SensitiveAttribute(name, classes, len(protected), labels, named)


def _labels(name: str, values: Sequence[str], encoding: str, critical: int | None) -> Iterable[Label]:
    """Return the labels for the classes; critical values come first, the class of the others last."""
    if encoding == "whole":
        return [Label(name, "whole", None, None)]
    each = [Label(name, "multiple", value, t) for t, value in enumerate(values[:critical])]
    others = critical is not None and critical < len(values)
    if critical is None:
        return [Label(name, "single", None, 0)] if len(values) == 2 else each
    if encoding == "single" and not others:
        raise ParameterError(
            f"All values of {name!r} are critical, so there is nothing to compare them with. Use encoding='multiple'."
        )
    if len(values) == 2:  # both encodings make the same comparison
        return each[:1] if encoding == "multiple" or not others else [Label(name, "single", None, 1)]
    together = [Label(name, "single", None, critical)] if others else []
    return {"single": together, "multiple": each, "both": together + each}[encoding]


def _values(
    frame: nw.DataFrame[Any], schema: Schema, columns: Sequence[str], bins: int, weights: Weights | None
) -> tuple[Ints, Sequence[str], bool]:
    """Return each record's value as a code, the values as text, and whether they are bins of a number."""
    if len(columns) > 1:
        return (*(_one_hot if is_one_hot(frame, columns) else _join_columns)(frame, columns), False)
    attribute, series = schema[columns[0]], column(frame, columns[0])
    if attribute.is_category or len(texts(series)[1]) <= FEW_NUMBERS:
        return (*sorted_texts(series), False)
    return (*_bins(attribute, numbers(series, attribute), bins, weights), True)


def _one_hot(frame: nw.DataFrame[Any], columns: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Return the value whose column is 1, or `NONE` if no column is."""
    codes = np.full(len(frame), len(columns), dtype=np.int64)
    for j, each in enumerate(columns):
        own, words = texts(column(frame, each))
        codes[np.isin(np.array([*words, MISSING], dtype=object), ("1", "true"))[own]] = j
    present, classes = np.unique(codes, return_inverse=True)
    values = [*map(value_part, columns), NONE]
    return classes, tuple(values[j] for j in present)


def _join_columns(frame: nw.DataFrame[Any], columns: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Return the joint value of columns that were declared to be one attribute."""
    coded = [sorted_texts(column(frame, each)) for each in columns]
    codes = group_rows(np.column_stack([own for own, _ in coded]))
    first = first_rows(codes)
    return codes, tuple(" + ".join(values[own[r]] for own, values in coded) for r in first)


def _bins(attribute: Attribute, values: Floats, bins: int, weights: Weights | None) -> tuple[Ints, tuple[str, ...]]:
    coding = _bin_numbers(attribute, values, bins, weights)
    ranges = [interval_label(low, high, attribute) for low, high in pairwise([None, *coding.edges.tolist(), None])]
    return Target(coding).encode_numbers(values), (*ranges, *([MISSING] if coding.missing else []))


def _critical(name: str, critical: Any, values: Sequence[str], binned: bool) -> tuple[str, ...]:
    if binned:
        raise ParameterError(
            f"The sensitive attribute {name!r} is a number with more than {FEW_NUMBERS} values, so none can be "
            "critical. Bin it first and name the critical bins."
        )
    named = distinct_texts(critical)
    if not named:
        raise ParameterError(f"The 'critical_values' parameter names no value of {name!r}. Name one, or omit it.")
    for value in named:
        if value not in values:
            raise ParameterError(
                f"The 'critical_values' parameter names {value!r}, which does not occur in the column {name!r}."
            )
    return named


def _merge_others(codes: Ints, values: Sequence[str], named: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Merge all values that are not critical into one last class; critical values keep their given order."""
    position = {value: t for t, value in enumerate(named)}
    classes = np.array([position.get(value, len(named)) for value in values])[codes]
    others = ("(other)",) if any(value not in position for value in values) else ()
    return classes, (*named, *others)


def critical_by_name(critical: Any, names: Mapping[str, str], sensitive: Sequence[str]) -> dict[str, object]:
    """Return the critical values of each sensitive attribute, from a list (one attribute) or a mapping by name."""
    if critical is None:
        return {}
    if not isinstance(critical, Mapping):
        if len(sensitive) > 1:
            raise ParameterError(
                "With several sensitive attributes, the 'critical_values' parameter must map their names to lists."
            )
        return {sensitive[0]: critical}
    given = {names.get(str(name), str(name)): values for name, values in critical.items()}
    for name in given:
        if name not in sensitive:
            raise ParameterError(f"The 'critical_values' parameter names {name!r}, which is not a sensitive attribute.")
    return given
