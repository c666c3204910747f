"""The generated SELECT, run on DuckDB, says what Python says; in every dialect it is read back as it was meant."""

import duckdb
import pandas as pd
import pytest
from sql_tables import HOSTILE, create_table, expected, quote, random_artifact, rows, same

import modicum as md
from modicum.generalization.bins import Group, Groups

DIALECTS = ["duckdb", "postgres", "spark", "bigquery", "snowflake"]
NAMES = ["age", "O'Brien", 'say "so"', "back\\slash", "; DROP TABLE people; --", "two\nlines", "😀 é"]
NAMES += ["{{ x }}", "100%", "select", " ", "\u202eabc", "</script>", "$1", "car\r\nriage"]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("output", ["labels", "codes"])
def test_duckdb_gives_the_buckets_that_python_gives(seed, output):
    g, X = random_artifact(seed, NAMES)
    if output == "codes":
        for name in g.needed:
            g = g if g[name].labels else g.drop(name)
    with duckdb.connect() as connection:
        connection.execute(create_table("people", g, quote))
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * (len(NAMES) + 1))})", rows(X))
        found = connection.sql(g.to_sql("people", output=output, keep=["record no"]) + ' ORDER BY "record no"')
        assert found.columns == ["record no", *g.needed]
        told = list(zip(*found.fetchall(), strict=True))[1:]
    for (name, python), sql in zip(expected(g, X, output).items(), told, strict=True):
        wrong = [(a, b, x) for a, b, x in zip(sql, python, X[name], strict=True) if not same(a, b)]
        assert not wrong, (name, g[name], wrong[:3])


def many_categories() -> tuple[md.Generalization, pd.DataFrame]:
    """10,000 kept categories and as many in three groups; records of the first 50, an unseen and a missing one."""
    words = [f"place {i} {HOSTILE[i % len(HOSTILE)]}" for i in range(10_000)]
    kept, grouped = (md.Attribute(name=name, kind="category") for name in ("place", "region"))
    buckets = [Group(values=tuple(words[i::3])) for i in range(3)]
    partitions = [
        Groups(attribute=kept, buckets=tuple(Group(values=(word,)) for word in words)),
        Groups(attribute=grouped, buckets=tuple(buckets)),
    ]
    sample = [*words[:50], *words[-50:], "nowhere", None]
    g = md.Generalization(md.Schema(attributes=(kept, grouped)), partitions)
    return g, pd.DataFrame({"place": sample, "region": sample[::-1]}, dtype=object)


def test_10_000_categories_are_one_look_up():
    g, places = many_categories()
    found = duckdb.sql(g.to_sql("places")).df()
    assert found.to_numpy().tolist() == g.transform(places).astype(object).to_numpy().tolist()


def test_adults_buckets_are_the_same_in_duckdb():
    X, y = md.datasets.load_adult(return_X_y=True)
    g = md.PrivacyTree(max_leaves=12).fit(X, y).generalization_
    adult = X.assign(**{"record no": range(len(X))})
    with duckdb.connect() as connection:
        connection.register("adult", adult)
        found = connection.sql(g.to_sql("adult", keep=["record no"]) + ' ORDER BY "record no"').df()
    python = g.transform(X)
    for name in g.needed:
        assert (found[name].to_numpy() == python[name].astype(object).to_numpy()).all(), name


def test_representative_values_are_those_that_transform_gives(people):
    X, y = people
    g = md.PrivacyTree(max_leaves=6).fit(X, y).generalization_.drop("sex")
    table = X.astype({"school": object})
    found = duckdb.sql(g.to_sql("table", output="values")).df()
    python = g.transform(table, output="values")
    assert found.columns.tolist() == python.columns.tolist()
    for name in g.names:
        assert [same(a, b) for a, b in zip(found[name], python[name], strict=True)] == [True] * len(X), name
