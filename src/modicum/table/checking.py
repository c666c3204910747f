"""Where data and schema disagree: one sentence that names the column."""

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import SchemaError, quoted
from modicum.table.frames import as_frame, numbers, texts
from modicum.table.schema import Attribute, Schema


def check_schema(schema: Schema, X: Any) -> None:
    """Raise a `SchemaError` for the first column of X that is missing or holds what the schema excludes."""
    frame = as_frame(X)
    check_columns(schema, frame.columns)
    for attribute in schema:
        if attribute.name in frame.columns:
            check_values(attribute, frame[attribute.name])


def check_columns(schema: Schema, columns: Sequence[str]) -> None:
    """Raise a `SchemaError` where a feature is not among the columns."""
    absent = [name for name in schema.features if name not in columns]
    if absent:
        raise SchemaError(f"The schema names {quoted(absent)}, which the data does not have.")


def check_values(attribute: Attribute, series: nw.Series[Any]) -> None:
    """Raise a `SchemaError` where a column holds what its declared domain excludes."""
    if attribute.is_category:
        if attribute.domain is not None:
            check_words(attribute, texts(series)[1])
        return
    values = numbers(series, attribute)
    low, high = attribute.bounds
    check_outside(attribute, int(np.sum((values < low) | (values > high))))


def check_words(attribute: Attribute, words: Iterable[str]) -> None:
    """Raise where one of these categories is not in the declared domain."""
    unknown = set(words) - {str(v) for v in attribute.domain or ()}
    if attribute.domain is not None and unknown:
        raise SchemaError(
            f"The column {attribute.name!r} holds {len(unknown):,} different values that its domain does not name."
        )


def check_outside(attribute: Attribute, outside: int) -> None:
    """Raise where so many values lie outside a declared domain, unless none does."""
    if outside:
        raise SchemaError(f"The column {attribute.name!r} holds {outside:,} values outside its domain.")
