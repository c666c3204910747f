"""The dbt model, rendered by Jinja as dbt does and run on DuckDB: same buckets, and tests that accept nothing else."""

import duckdb
import jinja2
import pytest
import yaml
from sql_tables import HOSTILE, create_table, expected, quote, random_artifact, rows, same

import modicum as md
from modicum.errors import ParameterError
from modicum.generalization.bins import Group, Groups

NAMES = ["age", "O'Brien", 'say "so"', "{{ x }}", "{%", "two\nlines", "car\r\nriage", "{{{", "😀", "end {"]
CALLS = ["ref('people')", " env_var ( 'HOME' ) ", "var(1)", "line\n", "modicum_table", "{\r{"]


def _render(text: str) -> str:
    sources = {"ref": lambda name: quote(name), "source": lambda *parts: ".".join(quote(part) for part in parts)}
    return jinja2.Environment().from_string(text).render(**sources)


def _accepted_texts(files, name):
    """Yield each column's rendered name and the rendered texts that its test accepts."""
    model = yaml.safe_load(files[f"models/{name}.yml"])["models"][0]
    assert model["name"] == name
    for column in model["columns"]:
        values = next((t["accepted_values"]["values"] for t in column["data_tests"] if isinstance(t, dict)), [])
        assert all(isinstance(value, str) for value in values)
        yield _render(column["name"]), [_render(value) for value in values]


@pytest.mark.parametrize("seed", range(4))
def test_the_rendered_model_gives_the_same_buckets_as_python(seed):
    g, X = random_artifact(seed, NAMES)
    files = g.to_dbt("people", "minimized", keep=["record no"])
    with duckdb.connect() as connection:
        connection.execute(create_table("people", g, quote))
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * (len(NAMES) + 1))})", rows(X))
        query = _render(files["models/minimized.sql"])
        assert query == g.to_sql("people", keep=["record no"])
        answers = list(zip(*connection.sql(query + ' ORDER BY "record no"').fetchall(), strict=True))[1:]
    for (name, python), sql in zip(expected(g, X).items(), answers, strict=True):
        assert all(same(a, b) for a, b in zip(sql, python, strict=True)), name


def test_the_tests_accept_each_bucket_and_nothing_else():
    words = [*HOSTILE, *CALLS]
    attribute = md.Attribute(name='say "{{ so }}"', kind="category")
    distinct = list(dict.fromkeys(Group(values=(word,)).values for word in words))
    partition = Groups(attribute=attribute, buckets=tuple(Group(values=values) for values in distinct))
    g = md.Generalization(md.Schema(attributes=(attribute,)), [partition])
    [(column, values)] = _accepted_texts(g.to_dbt("people", "minimized"), "minimized")
    labels = list(partition.labels)
    with duckdb.connect() as connection:
        connection.execute(f'CREATE TABLE minimized ("{column}" TEXT)')
        connection.executemany("INSERT INTO minimized VALUES (?)", [(label,) for label in [*labels, "nowhere"]])
        accepted = ", ".join(f"'{value}'" for value in values)
        refused = connection.sql(f'SELECT "{column}" FROM minimized WHERE "{column}" NOT IN ({accepted})').fetchall()
    assert refused == [("nowhere",)]
    assert len(values) == len(labels)


def test_labels_that_look_like_dbt_calls_are_not_calls():
    attribute = md.Attribute(name="a", kind="category")
    buckets = tuple(Group(values=(word,)) for word in CALLS)
    g = md.Generalization(md.Schema(attributes=(attribute,)), [Groups(attribute=attribute, buckets=buckets)])
    text = g.to_dbt("people", "minimized")["models/minimized.yml"]
    written = yaml.safe_load(text)["models"][0]["columns"][0]["data_tests"][1]["accepted_values"]["values"]
    assert not any(value.strip().startswith(("ref(", "env_var (", "var(")) for value in written)


def test_refusing_attributes_and_buckets_are_tested_for_null():
    g, _ = random_artifact(3, [f"a{i}" for i in range(15)])
    columns = yaml.safe_load(g.to_dbt("s.people", "m")["models/m.yml"])["models"][0]["columns"]
    assert [column["name"] for column in columns] == g.needed
    for column in columns:
        partition = g[column["name"]]
        lenient = not partition.labels and partition.missing == "separate"
        assert ("not_null" in column.get("data_tests", [])) is not lenient


def test_sources_and_models_are_referenced_by_name():
    g, _ = random_artifact(0, ["a", "b"])
    assert "FROM {{ source('staff', 'peo\\'ple') }}" in g.to_dbt(["staff", "peo'ple"], "m")["models/m.sql"]
    assert "FROM {{ ref('people') }}" in g.to_dbt("people", "m")["models/m.sql"]


@pytest.mark.parametrize("name", ["", "../up", "a.b", "a b", "1a", None, "é"])
def test_a_model_name_that_is_not_plain_is_refused(name):
    g, _ = random_artifact(0, ["a", "b"])
    with pytest.raises(ParameterError, match="'name'"):
        g.to_dbt("people", name)


@pytest.mark.parametrize("table", ["a.b.c", "", ".", []])
def test_a_table_that_is_neither_model_nor_source_is_refused(table):
    g, _ = random_artifact(0, ["a", "b"])
    with pytest.raises(ParameterError, match="'table'"):
        g.to_dbt(table, "m")
