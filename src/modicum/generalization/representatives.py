"""Buckets as columns: their labels, or one value of the original domain each, in the type that the data has.

`representatives` is shared by frames and engines, so that both give the same values: numbers for a number column, text
for a text column, whichever way the same attribute is stored. A number is rounded to no type that cannot hold it.
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
    """Values as an artifact writes them as plain Python values, and the column's dtype where all fit it (else None).

    `dtype` is the narwhals dtype of the column in the data; None where the data does not have it: then the attribute's
    storage says how values are written.
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
    """Whether a type of whole numbers is wide enough."""
    digits = re.fullmatch(r"(U?)Int(\d+)", str(dtype))
    if digits is None:
        return True
    unsigned, bits = bool(digits.group(1)), int(digits.group(2))
    low, high = (0, 2**bits) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    return all(v is None or low <= v < high for v in numbers)


def encode_column(partition: AnyPartition, frame: nw.DataFrame[Any]) -> Codes:
    """The bucket of each record in one attribute; a dropped one need not be in the frame."""
    if isinstance(partition, Dropped):
        return np.zeros(len(frame), dtype=np.int64)
    return partition.encode(column(frame, partition.name))


def transform_column(partition: AnyPartition, frame: nw.DataFrame[Any], output: Output) -> Any:
    """One attribute of an eager frame as `transform` gives it; a number in full detail stays as it is."""
    codes = encode_column(partition, frame)  # refuses what it must
    if isinstance(partition, FullDetail) and output != "codes":
        return column(frame, partition.name).to_native()
    return decode_column(partition, codes, frame, output)


def decode_column(partition: AnyPartition, codes: Codes, frame: nw.DataFrame[Any], output: Output) -> Any:
    """Codes as a column of labels, of codes, or of representatives in the type that the attribute has in the frame."""
    if output == "values":
        return build_typed_column(partition.attribute, partition.representatives, codes, frame)
    return codes if output == "codes" else label_codes(codes, partition.labels)


def label_codes(codes: Codes, labels: Sequence[str]) -> Any:
    """Codes as a column of labels that knows all of them, in their order."""
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels), ordered=True)


def build_typed_column(attribute: Attribute, values: Sequence[Scalar], codes: Codes, frame: nw.DataFrame[Any]) -> Any:
    """`values[codes]` as a column of the type that the attribute has in the frame."""
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
    """Representatives as the categories that the column has; as text where it lacks one."""
    own = {canonical(category): i for i, category in enumerate(dtype.categories)}
    texts = [None if v is None else canonical(v) for v in values]
    if any(text is not None and text not in own for text in texts):
        return pd.Series(np.array(texts, dtype=object)[codes], index=index)
    position = np.array([-1 if text is None else own[text] for text in texts])
    return pd.Series(pd.Categorical.from_codes(position[codes], dtype=dtype), index=index)
