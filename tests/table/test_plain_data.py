"""Results as plain data: fields left out, values refused, and the form of numbers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import modicum as md
from modicum.table.frames import as_frame
from modicum.table.plain_data import LEFT_OUT, PlainResult

PEOPLE = pd.DataFrame({"name": ["Ada", "Bob"]})


@dataclass(frozen=True)
class Found(PlainResult):
    value: Any


@dataclass(frozen=True)
class Inner:
    value: Any
    people: Any = field(default=None, metadata=LEFT_OUT)


@dataclass(frozen=True)
class Shares(PlainResult):
    shares: Mapping[int, float]
    people: pd.DataFrame = field(metadata=LEFT_OUT)
    records: int
    _properties = ("highest",)

    @property
    def highest(self) -> float:
        return max(self.shares.values())


def test_fields_come_in_their_order_then_properties():
    content = Shares({1: 0.25, 2: 0.5}, PEOPLE, 2).to_dict()
    assert list(content.items()) == [("shares", {"1": 0.25, "2": 0.5}), ("records", 2), ("highest", 0.5)]


@pytest.mark.parametrize(
    "value",
    [
        PEOPLE,
        PEOPLE["name"],
        pl.DataFrame({"name": ["Ada"]}),
        pl.DataFrame({"name": ["Ada"]})["name"],
        as_frame(PEOPLE),
        np.array(["Ada"]),
        {"Ada"},
        lambda: "Ada",
        np.datetime64("2020-02-29"),
    ],
    ids=lambda value: f"{type(value).__module__}.{type(value).__name__}",
)
@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: [{"one": (value,)}]], ids=["bare", "inside"])
def test_values_that_may_hold_records_are_refused(value, wrap):
    complaint = r"Found\.value holds a \w+, which is not plain data: mark it LEFT_OUT"
    with pytest.raises(TypeError, match=complaint) as error:
        Found(wrap(value)).to_dict()
    assert "Ada" not in str(error.value)


def test_a_refused_field_of_a_nested_dataclass_is_named():
    with pytest.raises(TypeError, match=r"Inner\.value holds a DataFrame"):
        Found({"one": Inner(PEOPLE)}).to_dict()


def test_nested_results_and_dataclasses_leave_out_marked_fields():
    content = Found([Inner(1, PEOPLE), Shares({1: 0.5}, PEOPLE, 2)]).to_dict()
    assert content == {"value": [{"value": 1}, {"shares": {"1": 0.5}, "records": 2, "highest": 0.5}]}


def test_artifacts_and_schemas_are_their_own_plain_data():
    g = md.Uniform(buckets=2).fit(pd.DataFrame({"age": [18, 35, 70]})).generalization_
    assert Found((g, g.schema)).to_dict() == {"value": [g.to_dict(), g.schema.to_dict()]}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), None),
        (np.float64("nan"), None),
        ((0.5, float("nan")), [0.5, None]),
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        ((1, (2, 3)), [1, [2, 3]]),
        ({0.01: (1, 2)}, {"0.01": [1, 2]}),
        (None, None),
        ("a", "a"),
        (True, True),
    ],
)
def test_values_become_json_values(value, expected):
    found = Found(value).to_dict()["value"]
    assert found == expected
    assert type(found) is type(expected)
    assert json.loads(json.dumps(found, allow_nan=False)) == expected
