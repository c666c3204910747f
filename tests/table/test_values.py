"""Canonical text, dates as numbers, shortest decimals."""

import datetime as dt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from modicum.table.values import canonical, iso, plainest_date_between, seconds, shortest_between


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (np.float32(0.1), "0.1"),
        (True, "true"),
        (np.bool_(False), "false"),
        ("True", "True"),
        (" a ", " a "),
        ("e\u0301", "\u00e9"),
        (dt.date(2020, 2, 29), "2020-02-29"),
        (1e16, "10000000000000000"),
        ("1.0", "1.0"),
    ],
)
def test_canonical_text(value, text):
    assert canonical(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_an_edge_lies_strictly_between_its_neighbours(a, b):
    low, high = min(a, b), max(a, b)
    if low == high:
        return
    edge = shortest_between(np.array([low]), np.array([high]))[0]
    if np.nextafter(low, np.inf) == high:
        assert edge == low
    else:
        assert low <= edge < high
    if 1e-15 < abs(low) < 1e15 and high - low > abs(low) * 1e-9:
        assert low < edge < high


@pytest.mark.parametrize(
    ("low", "high", "edge"),
    [(19, 21, 20), (5, 6, 5.5), (15, 25, 20), (0.1, 0.2, 0.15), (-6, -5, -5.5), (1999, 2001, 2000), (0, 1e-9, 5e-10)],
)
def test_the_edge_is_short(low, high, edge):
    assert shortest_between(np.array([float(low)]), np.array([float(high)])).tolist() == [edge]


@given(st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30)))
def test_a_date_is_its_seconds(moment):
    moment = moment.replace(microsecond=0)
    assert seconds(iso(seconds(moment))) == seconds(moment)


@pytest.mark.parametrize(
    ("low", "high", "edge"),
    [
        ("2019-03-04", "2021-07-08", "2020-01-01"),
        ("2020-03-04", "2020-07-08", "2020-05-01"),
        ("2020-03-04", "2020-03-08", "2020-03-06"),
        ("2020-03-04", "2020-03-05", "2020-03-04T12:00:00"),
        ("1960-03-04", "1960-03-05", "1960-03-04T12:00:00"),
        ("2020-03-04T10:00:00.000001", "2020-03-04T10:00:00.000002", "2020-03-04T10:00:00.000001"),
    ],
)
def test_the_edge_between_two_dates_is_plain(low, high, edge):
    assert iso(plainest_date_between(np.array([seconds(low)]), np.array([seconds(high)]))[0]) == edge
