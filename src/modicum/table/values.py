"""Single values: canonical text, short decimals, dates as numbers.

These definitions are the same in Python, SQL and JavaScript:

- a category is compared as *canonical text*: integral numbers without a decimal point, booleans `true` and `false`,
  Unicode in normal form C, nothing trimmed;
- a date is a number: seconds since 1970-01-01 UTC, so intervals of dates and numbers work in the same way;
- a boundary between two neighbouring values is the shortest decimal strictly between them, for dates the start of the
  longest unit (year, month, day, hour, …).
"""

import datetime as dt
import decimal
import unicodedata
from typing import Any

import numpy as np

from modicum.typing import Floats

UNKNOWN = -1  # the code of a value that did not occur at fit

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def canonical(value: Any) -> str:
    """The canonical text of a category.

    Examples
    --------
    >>> from modicum.table.values import canonical
    >>> canonical(3.0), canonical(True), canonical(0.5), canonical(" a ")
    ('3', 'true', '0.5', ' a ')
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else str(value)
    if isinstance(value, dt.date | np.datetime64):
        return iso(seconds(value))
    if isinstance(value, decimal.Decimal):
        return str(int(value)) if value == value.to_integral_value() else format(value.normalize(), "f")
    return unicodedata.normalize("NFC", str(value))


def seconds(value: Any) -> float:
    """A date, a datetime or ISO text as seconds since 1970 (UTC if it has no zone).

    Examples
    --------
    >>> from modicum.table.values import seconds
    >>> seconds("1970-01-02")
    86400.0
    """
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        value = dt.datetime.fromisoformat(value)
    if not isinstance(value, dt.datetime):
        value = dt.datetime(value.year, value.month, value.day)
    if value.tzinfo is None:
        value = value.replace(tzinfo=dt.UTC)
    return (value - _EPOCH).total_seconds()


def iso(value: float) -> str:
    """Seconds since 1970 as ISO text, without the time at midnight.

    Examples
    --------
    >>> from modicum.table.values import iso
    >>> iso(86400.0), iso(90000.5)
    ('1970-01-02', '1970-01-02T01:00:00.500000')
    """
    try:
        moment = (_EPOCH + dt.timedelta(seconds=value)).replace(tzinfo=None)
    except OverflowError:
        raise ValueError("a date must lie in the years 1 to 9999") from None
    return moment.date().isoformat() if moment.time() == dt.time() else moment.isoformat()


def shortest_between(low: Floats, high: Floats) -> Floats:
    """For each pair low < high, the decimal with the fewest digits strictly between them, nearest their middle.

    Returns `low` if no such float64 exists (the two are neighbours). Such a boundary is not an observed value, so an
    artifact does not publish one.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.values import shortest_between
    >>> shortest_between(np.array([19.0, 15.0, 5.0, -1.0]), np.array([21.0, 25.0, 6.0, 0.003]))
    array([20. , 20. ,  5.5,  0. ])
    """
    result = low.astype(np.float64)
    middle = low / 2 + high / 2
    spans_zero = (low < 0) & (high > 0)
    result[spans_zero] = 0.0
    open_ = ~spans_zero
    if not open_.any():
        return result
    top = min(308, int(np.ceil(np.log10(np.max(np.abs([low[open_], high[open_]]))))))
    with np.errstate(over="ignore", invalid="ignore"):
        for power in range(top, -309, -1):
            # Dividing by 10**n (exact up to n = 22) rounds once, so the result is the float of its short text.
            whole = np.round(middle / 10.0**power if power >= 0 else middle * 10.0**-power)
            for shift in (0.0, -1.0, 1.0):
                candidate = (whole + shift) * 10.0**power if power >= 0 else (whole + shift) / 10.0**-power
                fits = open_ & (candidate > low) & (candidate < high)
                result[fits] = candidate[fits]
                open_ = open_ & ~fits
            if not open_.any():
                break
    return result


def plainest_date_between(low: Floats, high: Floats) -> Floats:
    """For each pair low < high of dates (in seconds), the start of a year strictly between them, near their middle.

    If there is none, the start of a month, a day, an hour and so on; `low` if they are only a microsecond apart.

    Examples
    --------
    >>> import numpy as np
    >>> from modicum.table.values import iso, plainest_date_between, seconds
    >>> low, high = np.array([seconds("2019-03-04")]), np.array([seconds("2021-07-08")])
    >>> [iso(edge) for edge in plainest_date_between(low, high)]
    ['2020-01-01']
    """
    first, last = (np.round(ends * 1e6).astype("datetime64[us]") for ends in (low, high))
    middle = first + (last - first) // 2
    result, open_ = first.copy(), np.ones(len(first), dtype=bool)
    for unit in ("Y", "M", "D", "h", "m", "s", "ms", "us"):
        start = middle.astype(f"datetime64[{unit}]")
        for candidate in (start, start + 1):
            exact = candidate.astype("datetime64[us]")
            fits = open_ & (exact > first) & (exact < last)
            result[fits] = exact[fits]
            open_ &= ~fits
    return result.astype(np.int64) / 1e6


def plain(value: Any) -> Any:
    """Nested data as for JSON: lists for tuples, None for NaN.

    Examples
    --------
    >>> from modicum.table.values import plain
    >>> plain({"interval": (0.1, float("nan"))})
    {'interval': [0.1, None]}
    """
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and value != value else value
