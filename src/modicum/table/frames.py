"""Frames in, columns out: pandas, polars and numpy behind one small set of functions.

A column reaches the rest of the library in one of two forms: `numbers` (float64, NaN for missing) or `texts` (integer
codes into a list of canonical texts, -1 for missing).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from narwhals.stable.v2.dependencies import get_polars

from modicum.errors import DataError, quoted
from modicum.table.schema import Attribute
from modicum.table.values import Codes, Floats, canonical


def is_array(X: Any) -> bool:
    """Whether X is an array (or nested lists) rather than a frame with named columns."""
    return not is_lazy(X) and not nw.dependencies.is_into_dataframe(X)


def is_lazy(X: Any) -> bool:
    """Whether X is a table that an engine evaluates: a DuckDB relation, a polars LazyFrame, a Spark or Ibis table."""
    if isinstance(X, pd.DataFrame | np.ndarray | list):
        return False
    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


def as_frame(X: Any, names: Sequence[str] | None = None) -> nw.DataFrame[Any]:
    """X as an eager narwhals frame; only an array takes the given names, or x0, x1, …

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.frames import as_frame
    >>> as_frame(np.zeros((2, 3))).columns
    ['x0', 'x1', 'x2']
    """
    if isinstance(X, nw.DataFrame):
        return X
    if is_lazy(X):
        return cast(nw.LazyFrame[Any], nw.from_native(X)).collect()
    if is_array(X):
        X = _array_frame(X, names)
    elif isinstance(X, pd.DataFrame):
        X = _named_columns(X)
    return nw.from_native(X, eager_only=True)


def _array_frame(X: Any, names: Sequence[str] | None) -> pd.DataFrame:
    values = np.asarray(X)
    if values.ndim != 2:
        raise DataError(f"An array must have rows and columns (2D). Got {values.ndim} dimensions.")
    if names is not None and len(names) != values.shape[1]:
        raise DataError(f"X has {values.shape[1]} features, but {len(names)} features are expected as input.")
    return pd.DataFrame(values, columns=list(names) if names is not None else [f"x{j}" for j in range(values.shape[1])])


def _named_columns(X: pd.DataFrame) -> pd.DataFrame:
    repeated = X.columns[X.columns.duplicated()]
    if len(repeated):
        raise DataError(f"The column {quoted(repeated[:1])} appears more than once; give each column its own name.")
    if all(isinstance(name, str) for name in X.columns):
        return X
    renamed = X.set_axis([str(name) for name in X.columns], axis=1)
    return _named_columns(renamed)


def column(frame: nw.DataFrame[Any], name: str) -> nw.Series[Any]:
    """One column by name, or a sentence that says it is not there."""
    if name not in frame.columns:
        raise DataError(f"The column {name!r} is not in the data; it has {quoted(frame.columns, limit=8)}.")
    return frame[name]


def missing_values(series: nw.Series[Any]) -> int:
    """How many values are missing; NaN is, in every library.

    Examples
    --------
    >>> import polars as pl
    >>> from modicum.table.frames import as_frame, missing_values
    >>> missing_values(as_frame(pl.DataFrame({"pay": [1.0, None, float("nan")]}))["pay"])
    2
    """
    return int((series.is_null() | series.is_nan()).sum()) if series.dtype.is_float() else int(series.null_count())


def texts(series: nw.Series[Any]) -> tuple[Codes, list[str]]:
    """A column as codes into its distinct canonical texts (in order of first appearance); -1 is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.table.frames import as_frame, texts
    >>> codes, words = texts(as_frame(pd.DataFrame({"a": ["x", None, "y", "x"]}))["a"])
    >>> codes.tolist(), words
    ([0, -1, 1, 0], ['x', 'y'])
    """
    if series.dtype.is_integer() and series.null_count():
        # With nulls numpy would make floats of them, which are not exact beyond 2**53.
        present = ~series.is_null().to_numpy()
        codes = np.full(len(series), -1, dtype=np.int64)
        codes[present], words = texts(series.drop_nulls())
        return codes, words
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.StringDtype):
        return _words(*pd.factorize(native))  # without an object for every row
    values = series.to_numpy()
    if values.dtype.kind in "UT":  # numpy's own text types drop a NUL at the end
        values = np.array(series.to_list(), dtype=object)
    if values.dtype == object and pd.api.types.infer_dtype(values, skipna=True).startswith("mixed"):
        # A mixed column may hold 1 and True, which hash alike but are different texts.
        if any(isinstance(value, list | dict | set | tuple | np.ndarray) for value in values):
            raise DataError(f"The column {series.name!r} holds lists or the like, which are no categories.")
        values = np.array([None if _is_missing(value) else canonical(value) for value in values], dtype=object)
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    return _words(*pd.factorize(values))


def _words(first: npt.NDArray[Any], distinct: Any) -> tuple[Codes, list[str]]:
    """Codes into the canonical texts of these values, some of which may be the same text."""
    words = [canonical(value) for value in distinct]
    position = {word: i for i, word in enumerate(dict.fromkeys(words))}
    lookup = np.array([position[word] for word in words] + [-1], dtype=np.int64)
    return lookup[first], list(position)


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def numbers(series: nw.Series[Any], attribute: Attribute) -> Floats:
    """A column of numbers or dates as float64; NaN is missing; text that is no number is an error."""
    values = series.to_numpy()
    if attribute.kind == "date":
        return _date_numbers(values, attribute.name)
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    converted = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce")
    _complain_about_text(values, np.asarray(converted.isna()), attribute.name, "number")
    return converted.to_numpy(dtype=np.float64, na_value=np.nan)


def _date_numbers(values: npt.NDArray[Any], name: str) -> Floats:
    if values.dtype.kind != "M":
        converted = pd.to_datetime(pd.Series(values, dtype=object), errors="coerce", format="ISO8601", utc=True)
        _complain_about_text(values, np.asarray(converted.isna()), name, "date")
        values = converted.dt.tz_localize(None).to_numpy()
    micros = values.astype("datetime64[us]")
    return np.where(np.isnat(micros), np.nan, micros.astype(np.int64) / 1e6)


def _complain_about_text(values: npt.NDArray[Any], failed: npt.NDArray[np.bool_], name: str, kind: str) -> None:
    bad = int((failed & ~np.asarray(pd.isna(values))).sum())
    if bad:
        raise DataError(f"The column {name!r} should hold a {kind}, but {bad:,} of its values cannot be read as one.")


def same_kind(columns: Mapping[str, Any], like: Any) -> Any:
    """The columns (arrays or pandas Categoricals) as a frame of the same library as `like`, its index kept."""
    if isinstance(like, pd.DataFrame) or is_array(like):
        index = like.index if isinstance(like, pd.DataFrame) else pd.RangeIndex(len(like))
        frame = pd.DataFrame(dict(columns), index=index)
        return frame if isinstance(like, pd.DataFrame) else frame.to_numpy()
    backend = nw.get_native_namespace(like)
    return nw.to_native(nw.from_dict({k: _plain(v, k, backend) for k, v in columns.items()}, backend=backend))


def _plain(values: Any, name: str, backend: Any) -> nw.Series[Any]:
    if isinstance(values, pd.Categorical):
        labels = [str(label) for label in values.categories]
        named = np.array(labels, dtype=object)[values.codes]
        dtype = nw.Enum(labels) if backend is get_polars() else nw.Categorical()
        return nw.new_series(name, named.tolist(), dtype=dtype, backend=backend)
    return nw.new_series(name, values, backend=backend)
