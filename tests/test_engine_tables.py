"""A table is counted where it lives, and every place finds the same."""

import numpy as np
import pyarrow as pa
import pytest
from engines import EVERYWHERE

import modicum as md
from modicum.engines import table_at


class Ages:
    """How many records have each age."""

    columns = ("age",)

    def empty(self):
        return np.zeros(100, dtype=np.int64)

    def add(self, counts, frame):
        counts += np.bincount(frame["age"].to_numpy(), minlength=100)


class Old:
    """The records of people over 88."""

    columns = ("age", "sex")
    schema = pa.schema([("age", pa.int64()), ("sex", pa.string())])

    def pick(self, frame):
        return frame.filter(frame["age"] > 88).to_native().cast(self.schema)


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X.assign(income=y)[:5_000]


@pytest.mark.parametrize("place", EVERYWHERE)
def test_every_place_counts_the_same(place, held, adult):
    table = table_at(held(place, adult))
    assert table.rows() == len(adult)
    assert table.fold(Ages()).tolist() == np.bincount(adult["age"], minlength=100).tolist()
    assert sorted(table.gather(Old()).column("age").to_pylist()) == sorted(adult["age"][adult["age"] > 88])
    counts = dict(table.counted(["sex"]).rows())
    assert counts == adult["sex"].value_counts().to_dict()
