"""Where data and schema disagree: one sentence that names the column."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from modicum.errors import SchemaError, quoted
from modicum.table.frames import as_frame, numbers, texts
from modicum.table.schema import Attribute, Schema


def check_schema(schema: Schema, X: Any) -> None:
    """Raise a `SchemaError` for the first column of X that is missing or holds what the schema excludes."""
    frame = as_frame(X)
    absent = [name for name in schema.features if name not in frame.columns]
    if absent:
        raise SchemaError(f"The schema names {quoted(absent)}, which the data does not have.")
    for attribute in schema:
        if attribute.name in frame.columns:
            check_values(attribute, frame[attribute.name])


def check_values(attribute: Attribute, series: nw.Series[Any]) -> None:
    """Raise a `SchemaError` where a column holds what its declared domain excludes."""
    if attribute.is_category:
        if attribute.domain is not None:
            unknown = set(texts(series)[1]) - {str(v) for v in attribute.domain}
            if unknown:
                raise SchemaError(
                    f"The column {attribute.name!r} holds {len(unknown):,} different values that its domain does not "
                    "name."
                )
        return
    values = numbers(series, attribute)
    low, high = attribute.bounds
    outside = int(np.sum((values < low) | (values > high)))
    if outside:
        raise SchemaError(f"The column {attribute.name!r} holds {outside:,} values outside its domain.")
