"""Cells as SQL, run on DuckDB and PostgreSQL, give the same labels as in Python."""

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pytest
from conftest import rule
from sql_tables import HOSTILE, create_table, quote, rows, same

import modicum as md
from modicum.errors import ArtifactError
from modicum.generalization.bins import FullDetail, Group, Groups, Interval, Intervals
from modicum.generalization.cells import Ask, Cell


def example_cells(missing: str = "separate") -> tuple[md.CellPartition, pd.DataFrame]:
    """Five cells over hostile names: a kept number, categories, a date; and records in every cell."""
    pay = md.Attribute(name="modicum_cell", kind="number", storage="float")
    job = md.Attribute(name='O\'Brien "{{"', kind="category")
    born = md.Attribute(name="born", kind="date", storage="date")
    words = [Group(values=(word,)).values[0] for word in HOSTILE]
    detail = md.Generalization(
        md.Schema(attributes=(pay, job, born)),
        [
            Intervals(attribute=pay, buckets=(Interval(up_to=0.1), Interval(up_to=5.0), Interval()), missing=missing),
            Groups(
                attribute=job,
                buckets=tuple(Group(values=tuple(dict.fromkeys(words[i::3]))) for i in range(3)),
                missing=missing,
            ),
            Intervals(attribute=born, buckets=(Interval(up_to="2000-01-01"), Interval()), missing=missing),
        ],
    )
    value = words[1]
    entries = [
        Ask(ask=pay.name, left=(0,)),
        Cell(values=(0.0, value, "2020-01-01")),
        Ask(ask=job.name, left=(0, 1)),
        Ask(ask=born.name, left=(0,)),
        Cell(values=(1.0, value, "1999-01-01")),
        Cell(values=(1.0, value, "2020-01-01")),
        Ask(ask=pay.name, left=(1,)),
        Cell(values=(1.0, words[2], "2020-01-01")),
        Cell(values=(9.0, words[2], "2020-01-01")),
    ]
    cells = md.CellPartition(detail, entries, kept=[FullDetail(attribute=pay, missing=missing)])
    random = np.random.default_rng(0)
    empty = [None] if missing == "separate" else []
    X = pd.DataFrame(
        {
            pay.name: random.choice(np.array([0.1, 0.2, 5.0, 7.5, *empty], dtype=object), 300),
            job.name: random.choice(np.array([*HOSTILE, "nowhere", *empty], dtype=object), 300),
            "born": random.choice(pd.to_datetime(["2000-01-01", "2000-01-02", *empty]), 300),
        }
    )
    X["born"] = X["born"].dt.date.astype(object).where(X["born"].notna(), None)
    return cells, X.astype(object)


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.services)])
def database(request):
    """Fill a table with records and run a query on it."""
    if request.param == "duckdb":
        with duckdb.connect() as connection:
            yield "duckdb", lambda cells, X, query: _run_query(connection, connection.executemany, "?", cells, X, query)
    else:
        with psycopg.connect(request.getfixturevalue("postgres_url")) as connection:
            cursor = connection.cursor()
            yield "postgres", lambda cells, X, query: _run_query(connection, cursor.executemany, "%s", cells, X, query)
            connection.rollback()


def _run_query(connection, insert, mark, cells, X, query):
    connection.execute(create_table("people", cells.detail, quote))
    insert(f"INSERT INTO people VALUES ({', '.join([mark] * (1 + len(X.columns)))})", rows(X))
    return connection.execute(query + ' ORDER BY "record no"').fetchall()


@pytest.mark.parametrize("output", ["labels", "codes"])
@pytest.mark.parametrize("missing", ["separate", "refuse"])
def test_each_record_gets_the_labels_of_its_cell(database, missing, output):
    dialect, run_query = database
    cells, X = example_cells(missing)
    if output == "codes":  # a number in full detail has none
        cells = md.CellPartition(cells.detail, cells.tree.entries())
    found = run_query(cells, X, cells.to_sql("people", dialect, output=output, keep=["record no"]))
    python = cells.transform(X, output=output).astype(object)
    assert len({*cells.cells(X).tolist()}) == cells.n_cells
    assert len(found[0]) == 1 + len(cells.needed)
    for row, expected in zip(found, python.itertuples(index=False, name=None), strict=True):
        assert all(same(a, b) for a, b in zip(row[1:], expected, strict=True))


def test_a_refused_value_gives_null(database):
    dialect, run_query = database
    cells, X = example_cells("refuse")
    X.loc[::2, "born"] = None
    found = run_query(cells, X, cells.to_sql("people", dialect, keep=["record no"]))
    coarsened = [name for name in cells.needed if name not in cells.kept]
    places = [1 + cells.needed.index(name) for name in coarsened]
    assert all(row[place] is None for row in found[::2] for place in places)
    python = cells.transform(X[1::2])
    for name, place in zip(coarsened, places, strict=True):
        assert [row[place] for row in found[1::2]] == python[name].tolist()


def test_representatives_equal_those_of_transform():
    X = md.datasets.load_adult().X[["age", "hours-per-week", "capital-gain"]][:2000]
    cells = md.ModelGuided(rule, random_state=0).fit(X).cells_
    found = duckdb.sql(cells.to_sql("X", output="values")).df()
    assert (found.to_numpy() == cells.transform(X, output="values").to_numpy()).all()


@pytest.mark.parametrize("dialect", ["spark", "snowflake"])
def test_cells_are_written_and_read_back_in_other_dialects(dialect):
    assert "modicum_cell_" in example_cells()[0].to_sql("people", dialect)


def test_a_persons_values_are_not_written():
    cells, _ = example_cells()
    of_people = md.CellPartition(cells.detail, cells.tree.entries(), representatives="record")
    with pytest.raises(ArtifactError, match="records of actual people"):
        of_people.to_sql("people", output="values")
    assert "CASE" in of_people.to_sql("people")
