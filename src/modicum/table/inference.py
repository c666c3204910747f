"""Infer kinds from data, and suggest what a person should check.

Kinds are set from the dtype, because everything else needs them; roles are never set. Anything that is only likely (an
identifier, a special category, a code written as a number, a proxy) becomes a `Suggestion`.
"""

import re
from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from modicum.errors import DataError
from modicum.table.frames import as_frame, numbers, texts
from modicum.table.schema import Attribute, Kind, Schema, Storage, Suggestion, Topic
from modicum.typing import Floats

_KINDS: dict[Storage, Kind] = {
    "text": "category",
    "boolean": "category",
    "integer": "number",
    "float": "number",
    "date": "date",
    "datetime": "date",
}
_SAMPLE = 20_000  # rows used for associations
_PROXY = 0.5  # bias-corrected Cramér's V from which one attribute is a possible proxy for another

_IDENTIFIERS = "name surname firstname lastname email mail phone telephone mobile ssn passport iban address street ip \
username login id uuid guid memberid customerid userid patientid licence license plate"
# GDPR Article 9(1), by the words that column names use.
_SPECIAL = {
    "racial or ethnic origin": "race racial ethnic ethnicity ancestry hisp hispanic rac1p origin nativity",
    "political opinions": "political party politics vote voting",
    "religious or philosophical beliefs": "religion religious faith church belief",
    "trade union membership": "union",
    "genetic or biometric data": "genetic genome dna biometric fingerprint",
    "health": "health disability disabled dis diagnosis disease medical drug drugs medication icd charlson pcg dear \
deye dphy drem hiv pregnant pregnancy smoker bmi",
    "sex life or sexual orientation": "sexual orientation lgbt",
}
_QUASI = "age agep birth birthday dob born sex gender zip zipcode postcode postal city county puma state country \
nationality citizenship cit occupation occp job profession workclass education schl marital mar married relationship \
race language household children income salary"


def infer_schema(X: Any) -> tuple[Schema, list[Suggestion]]:
    """Infer the kinds of X's columns, and suggest what a person should check."""
    frame = as_frame(X)
    if not frame.columns:
        raise DataError("The data has no columns.")
    attributes = [infer_attribute(frame[name]) for name in frame.columns]
    topics = [(a.name, *topic) for a in attributes for topic in _list_topics(frame[a.name], a)]
    topics += _proxies(frame, attributes, {name for name, topic, _ in topics if topic == "special category"})
    suggestions = [Suggestion(attribute=name, topic=topic, reason=reason) for name, topic, reason in topics]
    return Schema(attributes=tuple(attributes)), suggestions


def infer_attribute(series: nw.Series[Any]) -> Attribute:
    """Infer a column's kind, storage and, for an ordered categorical, its domain.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.table.frames import as_frame
    >>> from modicum.table.inference import infer_attribute
    >>> infer_attribute(as_frame(pd.DataFrame({"age": [31, 45]}))["age"]).kind
    'number'
    """
    name = series.name
    if series.dtype == nw.Enum or _is_ordered_categorical(series):
        return Attribute(name=name, kind="ordered", domain=tuple(series.cat.get_categories().to_list()))
    storage = storage_of(series)
    return make_attribute(name, storage)


def make_attribute(name: str, storage: Storage) -> Attribute:
    """Build an attribute of the kind that fits this storage."""
    return Attribute(name=name, kind=_KINDS[storage], storage=storage)


def storage_of(series: nw.Series[Any]) -> Storage:
    """Return how a column's values are stored; floats that are all whole numbers count as integers.

    Examples
    --------
    >>> import pandas as pd
    >>> from modicum.table.frames import as_frame
    >>> from modicum.table.inference import storage_of
    >>> storage_of(as_frame(pd.DataFrame({"code": [1.0, None]}))["code"])
    'integer'
    """
    dtype = series.dtype
    if dtype == nw.Boolean:
        return "boolean"
    if isinstance(dtype, nw.Datetime | nw.Date):
        dates = numbers(series, Attribute(name=series.name, kind="date"))
        return "datetime" if not_whole(dates, 86_400) else "date"
    if dtype.is_numeric():
        return "float" if not_whole(series.to_numpy().astype(np.float64)) else "integer"
    return _object_storage(series)


def _is_ordered_categorical(series: nw.Series[Any]) -> bool:
    native = series.to_native()
    return isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype) and bool(native.cat.ordered)


def not_whole(values: Floats, unit: int = 1) -> int:
    """Count the finite values that are not multiples of the unit.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.inference import not_whole
    >>> not_whole(np.array([1.0, 2.5, np.nan, np.inf]))
    1
    """
    finite = values[np.isfinite(values)]
    return int(np.sum(finite != np.floor(finite) if unit == 1 else finite % unit != 0))


def _object_storage(series: nw.Series[Any]) -> Storage:
    """Object columns in pandas may hold plain Python numbers or booleans; categoricals may hold numbers."""
    native = series.to_native()
    if isinstance(series.dtype, nw.Categorical) or isinstance(getattr(native, "dtype", None), pd.StringDtype):
        return "text"
    inferred = pd.api.types.infer_dtype(series.to_numpy(), skipna=True)
    storages: dict[str, Storage] = {"integer": "integer", "floating": "float", "boolean": "boolean"}
    return storages.get(inferred, "text")


def _list_topics(series: nw.Series[Any], attribute: Attribute) -> Iterator[tuple[Topic, str]]:
    """Yield the topics to check for one attribute, each with a reason."""
    words = _words(attribute.name)
    n, distinct = len(series), int(series.n_unique())
    if words & set(_IDENTIFIERS.split()):
        yield "identifier", "its name reads like a direct identifier; drop it?"
    elif attribute.kind == "category" and n > 50 and distinct > 0.9 * n:
        reason = f"{distinct:,} different values in {n:,} rows, nearly one each: a direct identifier? Drop it?"
        yield "identifier", reason
    for category, known in _SPECIAL.items():
        if words & set(known.split()):
            reason = f"may be a special category under GDPR Article 9 ({category}); is it needed at all?"
            yield "special category", reason
    if words & set(_QUASI.split()):
        yield "quasi-identifier", "a common quasi-identifier: others may know it about a person"
    if attribute.kind == "number" and attribute.storage == "integer" and _looks_like_code(series, distinct, n):
        yield "kind", "whole numbers that look like codes; if they are not amounts, declare it a category"
    if attribute.kind == "category" and attribute.storage == "text" and _mostly_numbers(series):
        yield "kind", "mostly numbers, but some values are text; if it is an amount, turn those into numbers or missing"


def _words(name: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return set(re.split(r"[^a-z0-9]+", spaced.lower())) - {""}


def _looks_like_code(series: nw.Series[Any], distinct: int, n: int) -> bool:
    """Whether there are at most 20 values, counting up from 0 or 1, or numbers from 100 on with some very wide gaps."""
    values = np.unique(series.to_numpy().astype(np.float64))
    values = values[np.isfinite(values)]
    if len(values) < 3 or n < 100:
        return False
    few = distinct <= 20 and values[0] in (0, 1) and np.array_equal(values, np.arange(values[0], values[-1] + 1))
    gaps = np.diff(values)
    jumpy = distinct <= 1000 and values[0] >= 100 and gaps.max() >= 20 * np.median(gaps)
    return bool(few or jumpy)


def _mostly_numbers(series: nw.Series[Any]) -> bool:
    words = texts(series)[1]
    readable = int(pd.to_numeric(pd.Series(words, dtype=object), errors="coerce").notna().sum())
    return len(words) > 10 and readable >= 0.8 * len(words)


def _proxies(
    frame: nw.DataFrame[Any], attributes: list[Attribute], flagged: set[str]
) -> Iterator[tuple[str, Topic, str]]:
    """Yield each attribute that is strongly associated with a flagged one, with the topic and the reason."""
    if not flagged:
        return
    step = max(1, len(frame) // _SAMPLE)
    coarse = {a.name: _coarse_codes(frame[a.name][::step], a) for a in attributes}
    for target in sorted(flagged):
        for name in [a.name for a in attributes if a.name not in flagged]:
            strength = association(coarse[name], coarse[target])
            if strength >= _PROXY:
                yield name, "proxy", f"strongly associated with {target!r} (Cramér's V {strength:.2f}): a proxy for it?"


def _coarse_codes(series: nw.Series[Any], attribute: Attribute) -> npt.NDArray[np.int64]:
    if attribute.is_category:
        return texts(series)[0]
    values = numbers(series, attribute)
    present = values[np.isfinite(values)]
    edges = np.unique(np.quantile(present, np.linspace(0.1, 0.9, 9))) if len(present) else np.empty(0)
    return np.where(np.isnan(values), -1, np.searchsorted(edges, values))


def association(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]) -> float:
    """Bias-corrected Cramér's V of two coded columns (Bergsma 2013); 0 if one is constant or empty.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.inference import association
    >>> association(np.array([0, 1] * 50), np.array([0, 1] * 50))
    1.0
    """
    if not len(a):
        return 0.0
    _, rows = np.unique(a, return_inverse=True)
    _, cols = np.unique(b, return_inverse=True)
    r, c, n = int(rows.max()) + 1, int(cols.max()) + 1, len(a)
    if min(r, c) < 2 or r * c > 4_000_000:
        return 0.0
    table = np.bincount(rows * c + cols, minlength=r * c).reshape(r, c).astype(np.float64)
    expected = table.sum(1, keepdims=True) * table.sum(0, keepdims=True) / n
    phi = float(((table - expected) ** 2 / expected).sum()) / n
    corrected = max(0.0, phi - (r - 1) * (c - 1) / (n - 1))
    width = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return round(float(np.sqrt(min(1.0, corrected / width))), 4) if width > 0 else 0.0
