"""Read columns from pandas, polars, Arrow and numpy, and check them against a schema.

A column has one of two forms in the rest of the library: `numbers` (float64, NaN for missing) or `texts` (integer codes
into a list of canonical texts, -1 for missing).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd
from narwhals.stable.v2.dependencies import get_polars

from modicum.errors import DataError, SchemaError, format_names, require
from modicum.table.schema import Attribute, Schema
from modicum.table.values import canonical
from modicum.typing import Codes, Floats, Mask

MISSING = "(missing)"  # the text of a missing value


def is_array(X: Any) -> bool:
    """Whether X is an array (or nested lists) rather than a frame with named columns."""
    return not is_lazy(X) and not nw.dependencies.is_into_dataframe(X)


def is_lazy(X: Any) -> bool:
    """Whether X is a table that an engine evaluates: a DuckDB relation, a polars LazyFrame, a Spark or Ibis table."""
    if isinstance(X, pd.DataFrame | np.ndarray | list):
        return False
    return isinstance(nw.from_native(X, pass_through=True), nw.LazyFrame)


def as_frame(X: Any, names: Sequence[str] | None = None) -> nw.DataFrame[Any]:
    """X as an eager narwhals frame; an array gets the given names, or x0, x1, …

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
        X = _name_columns(X)
    return nw.from_native(X, eager_only=True)


def _array_frame(X: Any, names: Sequence[str] | None) -> pd.DataFrame:
    values = np.asarray(X)
    if values.ndim != 2:
        raise DataError(f"An array must have rows and columns (2D). Got {values.ndim} dimensions.")
    if names is not None and len(names) != values.shape[1]:
        raise DataError(f"X has {values.shape[1]} features, but {len(names)} features are expected as input.")
    return pd.DataFrame(values, columns=list(names) if names is not None else [f"x{j}" for j in range(values.shape[1])])


def _name_columns(X: pd.DataFrame) -> pd.DataFrame:
    repeated = X.columns[X.columns.duplicated()]
    if len(repeated):
        raise DataError(
            f"The column {format_names(repeated[:1])} appears more than once; give each column its own name."
        )
    if all(isinstance(name, str) for name in X.columns):
        return X
    renamed = X.set_axis([str(name) for name in X.columns], axis=1)
    return _name_columns(renamed)


def column(frame: nw.DataFrame[Any], name: str) -> nw.Series[Any]:
    """Return a column by name; raise a `DataError` if there is none."""
    if name not in frame.columns:
        raise DataError(f"The column {name!r} is not in the data; it has {format_names(frame.columns, limit=8)}.")
    return frame[name]


Values = TypeVar("Values", nw.Series[Any], nw.Expr)


def missing_mask(values: Values, dtype: Any) -> Values:
    """Mark the missing values (NaN included) of a column or an engine's expression of this type.

    Examples
    --------
    >>> import polars as pl
    >>> from modicum.table.frames import as_frame, missing_mask
    >>> pay = as_frame(pl.DataFrame({"pay": [1.0, None, float("nan")]}))["pay"]
    >>> missing_mask(pay, pay.dtype).to_list()
    [False, True, True]
    """
    return values.is_null() | values.is_nan() if dtype is not None and dtype.is_float() else values.is_null()


def missing_values(series: nw.Series[Any]) -> int:
    """Count the missing values; NaN is missing in every library.

    Examples
    --------
    >>> import polars as pl
    >>> from modicum.table.frames import as_frame, missing_values
    >>> missing_values(as_frame(pl.DataFrame({"pay": [1.0, None, float("nan")]}))["pay"])
    2
    """
    return int(missing_mask(series, series.dtype).sum())


def texts(series: nw.Series[Any]) -> tuple[Codes, list[str]]:
    """Code a column by its distinct canonical texts, in order of first appearance; -1 is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.table.frames import as_frame, texts
    >>> codes, words = texts(as_frame(pd.DataFrame({"a": ["x", None, "y", "x"]}))["a"])
    >>> codes.tolist(), words
    ([0, -1, 1, 0], ['x', 'y'])
    """
    native = series.to_native()
    if is_arrow(native):
        return _words(*_arrow_distinct(native, str(series.name)))
    if series.dtype.is_integer() and series.null_count():
        # With nulls, numpy would convert them to floats, which are not exact beyond 2**53.
        present = ~series.is_null().to_numpy()
        codes = np.full(len(series), -1, dtype=np.int64)
        codes[present], words = texts(series.drop_nulls())
        return codes, words
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.StringDtype):
        return _words(*pd.factorize(native))  # avoids one object per row
    values = series.to_numpy()
    if values.dtype.kind in "UT":  # numpy text drops a NUL at the end
        values = np.array(series.to_list(), dtype=object)
    if values.dtype == object and pd.api.types.infer_dtype(values, skipna=True).startswith("mixed"):
        # A mixed column may hold 1 and True, which have equal hashes but different texts.
        if any(isinstance(value, list | dict | set | tuple | np.ndarray) for value in values):
            raise no_categories(series.name)
        values = np.array([None if _is_missing(value) else canonical(value) for value in values], dtype=object)
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    return _words(*pd.factorize(values))


def sorted_texts(series: nw.Series[Any]) -> tuple[Codes, list[str]]:
    """Code a column by its distinct canonical texts in their order; missing values come last, as "(missing)".

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.table.frames import as_frame, sorted_texts
    >>> codes, words = sorted_texts(as_frame(pd.DataFrame({"a": ["y", None, "x"]}))["a"])
    >>> codes.tolist(), words
    ([1, 2, 0], ['x', 'y', '(missing)'])
    """
    codes, words = texts(series)
    order = sorted(range(len(words)), key=words.__getitem__)
    rank = np.empty(len(words) + 1, dtype=np.int64)
    rank[[*order, -1]] = np.arange(len(words) + 1)
    return rank[codes], [*(words[i] for i in order), *([MISSING] if (codes < 0).any() else [])]


def distinct_texts(given: Any) -> tuple[str, ...]:
    """Return the distinct canonical texts of a value or of several; "(missing)" for a missing one.

    Examples
    --------
    >>> from modicum.table.frames import distinct_texts
    >>> distinct_texts(["flu", None, "flu"]), distinct_texts(1.0)
    (('flu', '(missing)'), ('1',))
    """
    values = [given] if isinstance(given, str) or not isinstance(given, Iterable) else given
    return tuple(dict.fromkeys(MISSING if _is_missing(value) else canonical(value) for value in values))


def _words(first: npt.NDArray[Any], distinct: Any) -> tuple[Codes, list[str]]:
    """Code these values by their canonical texts; several may have the same text, or be missing (NaN)."""
    if getattr(distinct.dtype, "kind", "O") == "M":
        distinct = distinct.astype("datetime64[us]")
    words = [None if _is_missing(value) else canonical(value) for value in distinct]
    position = {word: i for i, word in enumerate(dict.fromkeys(word for word in words if word is not None))}
    lookup = np.array([-1 if word is None else position[word] for word in words] + [-1], dtype=np.int64)
    return lookup[first], list(position)


def _is_missing(value: Any) -> bool:
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return (
        value is None
        or value is pd.NA
        or value is pd.NaT
        or (isinstance(value, float | np.floating) and value != value)
    )


def numbers(series: nw.Series[Any], attribute: Attribute) -> Floats:
    """Read a column of numbers or dates as float64; NaN is missing. Raise a `DataError` for unreadable values."""
    values, unreadable = readable_numbers(series, attribute)
    if unreadable:
        raise not_readable(attribute, unreadable)
    return values


def readable_numbers(series: nw.Series[Any], attribute: Attribute) -> tuple[Floats, int]:
    """Read a column of numbers or dates as float64; also count the unreadable values, which become NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum import Attribute
    >>> from modicum.table.frames import as_frame, readable_numbers
    >>> series = as_frame(pd.DataFrame({"age": ["31", "old", None]}))["age"]
    >>> readable_numbers(series, Attribute(name="age", kind="number"))
    (array([31., nan, nan]), 1)
    """
    native = series.to_native()
    if is_arrow(native) and not _is_plain(native.type):
        # numpy would create one object per row, so each distinct value is read once.
        codes, distinct = _arrow_distinct(native, str(series.name))
        values, failed = _numbers(distinct, attribute)
        return np.append(values, np.nan)[codes], int(np.append(failed, False)[codes].sum())
    values, failed = _numbers(series.to_numpy(), attribute)
    return values, int(failed.sum())


def place_numbers(values: Floats, edges: Floats, missing: int) -> Codes:
    """Return each number's interval `edges[i-1] < x <= edges[i]`, and `missing` for NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.frames import place_numbers
    >>> place_numbers(np.array([3.0, 20.0, 21.0, np.nan]), np.array([5.0, 20.0]), missing=-1).tolist()
    [0, 1, 2, -1]
    """
    codes = np.searchsorted(edges, values, side="left").astype(np.int64, copy=False)
    codes[np.isnan(values)] = missing
    return codes


def not_readable(attribute: Attribute, unreadable: int) -> DataError:
    """The error for values that are not numbers or dates."""
    kind = "date" if attribute.kind == "date" else "number"
    return DataError(
        f"The column {attribute.name!r} should hold a {kind}, but {unreadable:,} of its values cannot be read as one."
    )


def _numbers(values: npt.NDArray[Any], attribute: Attribute) -> tuple[Floats, Mask]:
    """The values as float64, and a mask of those that are neither missing nor readable."""
    if attribute.kind == "date":
        return _date_numbers(values)
    if values.dtype.kind in "iufb":
        return values.astype(np.float64, copy=False), np.zeros(len(values), dtype=bool)
    converted = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce")
    failed = np.asarray(converted.isna()) & ~np.asarray(pd.isna(values))
    return converted.to_numpy(dtype=np.float64, na_value=np.nan), failed


def _date_numbers(values: npt.NDArray[Any]) -> tuple[Floats, Mask]:
    failed = np.zeros(len(values), dtype=bool)
    if values.dtype.kind != "M":
        converted = pd.to_datetime(pd.Series(values, dtype=object), errors="coerce", format="ISO8601", utc=True)
        failed = np.asarray(converted.isna()) & ~np.asarray(pd.isna(values))
        values = converted.dt.tz_localize(None).to_numpy()
    micros = values.astype("datetime64[us]")
    return np.where(np.isnat(micros), np.nan, micros.astype(np.int64) / 1e6), failed


def is_arrow(native: Any) -> bool:
    """Whether a column is an Arrow array, without importing pyarrow."""
    return type(native).__module__.startswith("pyarrow.")


def _is_plain(arrow_type: Any) -> bool:
    """Whether numpy has this type, so that values do not become objects."""
    types = require("pyarrow", "scale").types
    return bool(
        types.is_integer(arrow_type)
        or types.is_floating(arrow_type)
        or types.is_date(arrow_type)
        or types.is_timestamp(arrow_type)
    )


def _arrow_distinct(native: Any, name: str) -> tuple[Codes, npt.NDArray[Any]]:
    """Code an Arrow column by its distinct values; -1 is null."""
    pyarrow = require("pyarrow", "scale")
    if pyarrow.types.is_nested(native.type):
        raise no_categories(name)
    if pyarrow.types.is_dictionary(native.type):  # a dictionary may hold values that do not occur
        native = native.cast(native.type.value_type)
    encoded = native.dictionary_encode().combine_chunks()
    encoded = encoded if isinstance(encoded, pyarrow.Array) else pyarrow.concat_arrays(encoded.chunks)
    distinct = encoded.dictionary.to_numpy(zero_copy_only=False)
    if distinct.dtype.kind in "UT":
        distinct = np.array(encoded.dictionary.to_pylist(), dtype=object)
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return codes, distinct


def no_categories(name: str) -> DataError:
    """The error for a column of lists, structs and the like."""
    return DataError(
        f"The column {name!r} holds lists or the like, which cannot be categories; turn them into single values."
    )


def same_kind(columns: Mapping[str, Any], like: Any) -> Any:
    """Build a frame of the same library and index as `like` from columns (arrays or pandas Categoricals)."""
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


# Check data against a schema; each error names the column.


def check_schema(schema: Schema, X: Any) -> None:
    """Raise a `SchemaError` for the first column of X that is absent or does not fit the schema."""
    frame = as_frame(X)
    check_columns(schema, frame.columns)
    for attribute in schema:
        if attribute.name in frame.columns:
            check_values(attribute, frame[attribute.name])


def check_columns(schema: Schema, columns: Sequence[str]) -> None:
    """Raise a `SchemaError` if a feature is not among the columns."""
    absent = [name for name in schema.features if name not in columns]
    if absent:
        raise SchemaError(f"The schema names {format_names(absent)}, which the data does not have.")


def check_values(attribute: Attribute, series: nw.Series[Any]) -> None:
    """Raise a `SchemaError` if a column holds values outside its declared domain."""
    if attribute.is_category:
        if attribute.domain is not None:
            check_words(attribute, texts(series)[1])
        return
    values = numbers(series, attribute)
    low, high = attribute.bounds
    check_outside(attribute, int(np.sum((values < low) | (values > high))))


def check_words(attribute: Attribute, words: Iterable[str]) -> None:
    """Raise a `SchemaError` if one of these categories is not in the declared domain."""
    unknown = set(words) - {str(v) for v in attribute.domain or ()}
    if attribute.domain is not None and unknown:
        raise SchemaError(
            f"The column {attribute.name!r} holds {len(unknown):,} different values that its domain does not name."
        )


def check_outside(attribute: Attribute, outside: int) -> None:
    """Raise a `SchemaError` if any values lie outside the declared domain. `outside`: their number."""
    if outside:
        raise SchemaError(f"The column {attribute.name!r} holds {outside:,} values outside its domain.")
