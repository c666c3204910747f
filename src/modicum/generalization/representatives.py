"""Convert buckets to columns of labels, or of representative values in the data's own type.

Frames and engines share `representatives`, so that both give the same values: numbers for a number column, text for a
text column, however the attribute is stored. No number is rounded to fit a type.
"""

import datetime as dt
import re
from collections.abc import Sequence
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Scalar
from modicum.generalization.exports import Output
from modicum.table.frames import column
from modicum.table.schema import Attribute
from modicum.table.values import canonical, seconds
from modicum.typing import Codes

_EPOCH = dt.datetime(1970, 1, 1)


def representatives(attribute: Attribute, values: Sequence[Scalar], dtype: Any) -> tuple[list[Any], Any]:
    """Convert an artifact's values to Python values; return them and the column's dtype if all fit it, else None.

    `dtype` is the column's narwhals dtype. If it is None, because the data lacks the column, the attribute's storage
    decides.
    """
    if attribute.kind == "date":
        found: list[Any] = [None if v is None else _EPOCH + dt.timedelta(seconds=seconds(v)) for v in values]
        return found, dtype if isinstance(dtype, nw.Datetime | nw.Date) else None
    if dtype is None:
        is_number, is_truth = attribute.storage in ("integer", "float"), attribute.storage == "boolean"
    else:
        is_number, is_truth = dtype.is_numeric(), dtype == nw.Boolean
    if is_number or attribute.kind == "number":
        return _as_numbers(attribute, values, dtype)
    texts = [None if v is None else canonical(v) for v in values]
    if is_truth:
        return [None if v is None else v == "true" for v in texts], dtype
    return texts, None


def _as_numbers(attribute: Attribute, values: Sequence[Scalar], dtype: Any) -> tuple[list[Any], Any]:
    try:
        numbers = [None if v is None else float(v) for v in values]
    except ValueError:  # a category of numbers and other texts
        return [None if v is None else canonical(v) for v in values], None
    whole = all(v is None or v.is_integer() for v in numbers)
    wants_whole = attribute.storage == "integer" if dtype is None else dtype.is_integer()
    if wants_whole and whole:
        return [None if v is None else int(v) for v in numbers], dtype if _holds(dtype, numbers) else None
    return numbers, dtype if dtype is not None and dtype.is_float() else None


def _holds(dtype: Any, numbers: Sequence[float | None]) -> bool:
    """Whether an integer type is wide enough."""
    digits = re.fullmatch(r"(U?)Int(\d+)", str(dtype))
    if digits is None:
        return True
    unsigned, bits = bool(digits.group(1)), int(digits.group(2))
    low, high = (0, 2**bits) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return all(v is None or low <= v < high for v in numbers)


def encode_column(partition: AnyPartition, frame: nw.DataFrame[Any]) -> Codes:
    """Return the bucket of each record in one attribute; a dropped one need not be in the frame."""
    if isinstance(partition, Dropped):
        return np.zeros(len(frame), dtype=np.int64)
    return partition.encode(column(frame, partition.name))


def transform_column(partition: AnyPartition, frame: nw.DataFrame[Any], output: Output) -> Any:
    """Transform one attribute of an eager frame; a number in full detail is unchanged."""
    codes = encode_column(partition, frame)  # also raises the error for refused values
    if isinstance(partition, FullDetail) and output != "codes":
        return column(frame, partition.name).to_native()
    return decode_column(partition, codes, frame, output)


def decode_column(partition: AnyPartition, codes: Codes, frame: nw.DataFrame[Any], output: Output) -> Any:
    """Convert codes to a column of labels, codes, or representatives in the attribute's type in the frame."""
    if output == "values":
        return build_typed_column(partition.attribute, partition.representatives, codes, frame)
    return codes if output == "codes" else label_codes(codes, partition.labels)


def label_codes(codes: Codes, labels: Sequence[str]) -> Any:
    """Convert codes to an ordered categorical column of labels."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels), ordered=True)


def build_typed_column(attribute: Attribute, values: Sequence[Scalar], codes: Codes, frame: nw.DataFrame[Any]) -> Any:
    """Return `values[codes]` as a column of the attribute's type in the frame."""
    present = attribute.name in frame.columns
    series = frame[attribute.name] if present else None
    if isinstance(frame.to_native(), pd.DataFrame):
        native = None if series is None else series.to_native()
        index = frame.to_native().index if len(codes) == len(frame) else pd.RangeIndex(len(codes))
        return _in_pandas(attribute, values, codes, native, index)
    plain, dtype = representatives(attribute, values, None if series is None else series.dtype)
    lookup = nw.new_series(attribute.name, plain, backend=frame.implementation)
    return (lookup if dtype is None else lookup.cast(dtype))[codes].to_native()


def _in_pandas(
    attribute: Attribute, given: Sequence[Scalar], codes: Codes, series: pd.Series | None, index: pd.Index
) -> pd.Series:
    native = None if series is None else series.dtype
    if isinstance(native, pd.CategoricalDtype):
        return _in_categories(given, codes, native, index)
    known = None if series is None else nw.from_native(series.iloc[:0], series_only=True).dtype
    values, dtype = representatives(attribute, given, known)
    if attribute.kind == "date":
        dates = pd.Series(pd.to_datetime(pd.Series(values)).astype("datetime64[us]").to_numpy()[codes], index=index)
        zone = getattr(native, "tz", None)
        return dates if zone is None else dates.dt.tz_localize("UTC").dt.tz_convert(zone)
    chosen = pd.Series(np.array(values, dtype=object)[codes], index=index).infer_objects()
    if native is None or (dtype is None and not pd.api.types.is_string_dtype(native)):
        return chosen
    nullable = not isinstance(native, np.dtype)
    holds_missing = nullable or native.kind not in "iub" or bool(chosen.notna().all())
    return chosen.astype(cast(Any, native)) if holds_missing else chosen


def _in_categories(values: Sequence[Scalar], codes: Codes, dtype: pd.CategoricalDtype, index: pd.Index) -> pd.Series:
    """Convert representatives to the column's categories; to text if one is not among them."""
    own = {canonical(category): i for i, category in enumerate(dtype.categories)}
    texts = [None if v is None else canonical(v) for v in values]
    if any(text is not None and text not in own for text in texts):
        return pd.Series(np.array(texts, dtype=object)[codes], index=index)
    position = np.array([-1 if text is None else own[text] for text in texts])
    return pd.Series(pd.Categorical.from_codes(position[codes], dtype=dtype), index=index)
