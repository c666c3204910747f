"""The generated SELECT, run on PostgreSQL, gives Python's result."""

import psycopg
import pytest
from sql_tables import create_table, expected, quote, random_artifact, rows, same
from test_sql import NAMES, many_categories

import modicum as md

pytestmark = pytest.mark.services


@pytest.fixture
def connection(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        yield connection
        connection.rollback()


def _fill(connection, name, g, X):
    connection.execute(create_table(name, g, quote))
    with connection.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * (1 + len(g.names)))})", rows(X))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("output", ["labels", "codes"])
def test_postgres_gives_the_same_buckets_as_python(connection, seed, output):
    g, X = random_artifact(seed, NAMES)
    if output == "codes":
        for name in g.needed:
            g = g if g[name].labels else g.drop(name)
    _fill(connection, "people", g, X)
    query = g.to_sql("people", "postgres", output=output, keep=["record no"]) + ' ORDER BY "record no"'
    found = connection.execute(query)
    assert [column.name for column in found.description] == ["record no", *g.needed]
    answers = list(zip(*found.fetchall(), strict=True))[1:]
    for (name, python), sql in zip(expected(g, X, output).items(), answers, strict=True):
        wrong = [(a, b, x) for a, b, x in zip(sql, python, X[name], strict=True) if not same(a, b)]
        assert not wrong, (name, g[name], wrong[:3])


def test_postgres_gives_adults_buckets(connection):
    X, y = md.datasets.load_adult(return_X_y=True)
    g = md.PrivacyTree(max_leaves=12).fit(X[:5000], y[:5000]).generalization_
    X = X[:3000]
    _fill(connection, "adult", g, X[g.names].astype(object).where(X[g.names].notna(), None))
    found = connection.execute(g.to_sql("adult", "postgres", keep=["record no"]) + ' ORDER BY "record no"').fetchall()
    assert [row[1:] for row in found] == list(g.transform(X).astype(object).itertuples(index=False, name=None))


def test_postgres_looks_up_10_000_categories(connection):
    g, X = many_categories()
    _fill(connection, "places", g, X)
    found = connection.execute(g.to_sql("places", "postgres", keep=["record no"]) + ' ORDER BY "record no"').fetchall()
    assert [row[1] for row in found] == g.transform(X)["place"].tolist()
