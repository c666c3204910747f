"""One value of the original domain per bucket, in the original types."""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.generalization.bins import AnyPartition, Dropped, FullDetail, Scalar
from modicum.table.frames import column
from modicum.table.schema import Attribute
from modicum.table.values import seconds


def representative_column(partition: AnyPartition, frame: nw.DataFrame[Any]) -> Any:
    """The column of representatives, in the dtype the column has in `frame`, else by its storage."""
    if isinstance(partition, FullDetail):
        return column(frame, partition.name).to_native()
    if isinstance(partition, Dropped):
        codes = np.zeros(len(frame), dtype=np.int64)
    else:
        codes = partition.encode(column(frame, partition.name))
    values = typed_values(partition.representatives, partition.attribute)[codes]
    if partition.name not in frame.columns:
        return values
    return _like(values, frame[partition.name])


def typed_values(values: tuple[Scalar, ...], attribute: Attribute) -> npt.NDArray[Any]:
    """Representatives as an array of the attribute's storage type; missing as NaN, NaT or None."""
    if attribute.kind == "date":
        micros = [np.datetime64("NaT") if v is None else np.datetime64(round(seconds(v) * 1e6), "us") for v in values]
        return np.array(micros, dtype="datetime64[us]")
    if attribute.kind == "number" or attribute.storage in ("integer", "float"):
        numbers = np.array([np.nan if v is None else float(v) for v in values])
        whole = attribute.storage == "integer" and not np.isnan(numbers).any()
        return numbers.astype(np.int64) if whole else numbers
    if attribute.storage == "boolean":
        flags = [None if v is None else v == "true" for v in values]
        return np.array(flags, dtype=object if None in flags else bool)
    return np.array(values, dtype=object)


def _like(values: npt.NDArray[Any], series: nw.Series[Any]) -> Any:
    native = series.to_native()
    if not isinstance(native, pd.Series):
        plain = [None if v is None or v != v else v for v in values.tolist()]
        return nw.new_series(series.name, plain, backend=series.implementation).cast(series.dtype).to_native()
    missing = pd.isna(values)
    if missing.any() and native.dtype.kind in "iub":
        return values
    return pd.Series(values, index=native.index).astype(native.dtype)
