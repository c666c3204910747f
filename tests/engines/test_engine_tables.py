"""Counting a table in its engine gives the same result everywhere."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from engine_places import EVERYWHERE, LAZY

import modicum as md
from modicum.engines import table_at
from modicum.engines.coding import labels_at
from modicum.engines.sampling import draw_records
from modicum.errors import DataError
from modicum.table.atomic_writing import new_folder
from modicum.table.targets import Labels


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
    counts = dict(table.count_by(["sex"]).rows())
    assert counts == adult["sex"].value_counts().to_dict()


NAMES = ["marital.status", "(part)", '"q"', "it's; --", "a`b", "😀", "a\\b", "count(*)", "c0"]


@pytest.mark.parametrize("place", LAZY)
def test_column_names_are_never_read_as_syntax(place, held):
    names = NAMES[:1] if place == "spark" else NAMES
    for name in names:
        X = pd.DataFrame({name: ["no", "yes", "no", "yes"], "n": [1, 2, 3, 4]})
        table = table_at(held(place, X))
        assert sorted(table.count_by([name]).rows()) == [("no", 2), ("yes", 2)]
        assert draw_records(table, [name, "n"], 4)["n"].sort().to_list() == [1, 2, 3, 4]
        assert labels_at(table, name).names == ["no", "yes"]
        there = md.PrivacyTree(min_leaf=1).fit(held(place, X), name).generalization_
        assert there == md.PrivacyTree(min_leaf=1).fit(X[["n"]], X[name]).generalization_


@pytest.mark.parametrize("name", ["*", "^n.*$"])
def test_a_name_that_is_a_pattern_for_columns_is_refused(name, held):
    with pytest.raises(DataError, match="is a pattern for several columns; rename the column"):
        table_at(held("polars-lazy", pd.DataFrame({name: [1], "n": [2]})))


@pytest.mark.parametrize("name", ["(records)", "(hash)"])
def test_records_are_drawn_with_any_column_name(name, held):
    table = table_at(held("duckdb", pd.DataFrame({name: [1, 2]})))
    assert draw_records(table, [name], 2)[name].to_list() in ([1, 2], [2, 1])


def test_a_reserved_name_is_refused(held):
    table = table_at(held("duckdb", pd.DataFrame({"(records)": [1, 2]})))
    with pytest.raises(DataError, match="is reserved for internal use; rename the column"):
        table.count_by(["(records)"])
    table = table_at(held("duckdb", pd.DataFrame({"modicum_hash": [1, 2]})))
    with pytest.raises(DataError, match="is reserved for internal use; rename the column"):
        draw_records(table, ["modicum_hash"], 1)


def test_classes_that_differ_in_a_nul_have_one_order():
    classes = np.array(["a\0", "", "\0", "a"], dtype=object)
    assert Labels.fit(classes).names == Labels.fit(classes[::-1]).names == ["", "\0", "a", "a\0"]


def test_stopping_between_two_renames_leaves_the_old_folder(tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "good.parquet").write_text("good")
    rename, done = Path.rename, []

    def stop(path, target):
        done.append(target)
        if len(done) == 2:
            raise KeyboardInterrupt
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", stop)
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "out", lambda path: True):
        pass
    assert [each.name for each in tmp_path.rglob("*")] == ["out", "good.parquet"]
