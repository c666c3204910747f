"""The generated SELECT gives Python's result on DuckDB, and every dialect parses it as intended."""

import duckdb
import pandas as pd
import pytest
import sqlglot
from sql_tables import HOSTILE, create_table, expected, quote, random_artifact, rows, same

import modicum as md
from modicum.errors import ArtifactError, ParameterError
from modicum.generalization.bins import Group, Groups

DIALECTS = ["duckdb", "postgres", "spark", "bigquery", "snowflake"]
NAMES = ["age", "O'Brien", 'say "so"', "back\\slash", "; DROP TABLE people; --", "two\nlines", "😀 é"]
NAMES += ["{{ x }}", "100%", "select", " ", "\u202eabc", "</script>", "$1", "car\r\nriage"]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("output", ["labels", "codes"])
def test_duckdb_gives_the_same_buckets_as_python(seed, output):
    g, X = random_artifact(seed, NAMES)
    if output == "codes":
        for name in g.needed:
            g = g if g[name].labels else g.drop(name)
    with duckdb.connect() as connection:
        connection.execute(create_table("people", g, quote))
        connection.executemany(f"INSERT INTO people VALUES ({', '.join('?' * (len(NAMES) + 1))})", rows(X))
        found = connection.sql(g.to_sql("people", output=output, keep=["record no"]) + ' ORDER BY "record no"')
        assert found.columns == ["record no", *g.needed]
        answers = list(zip(*found.fetchall(), strict=True))[1:]
    for (name, python), sql in zip(expected(g, X, output).items(), answers, strict=True):
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


def test_10_000_categories_are_looked_up():
    g, places = many_categories()
    found = duckdb.sql(g.to_sql("places")).df()
    assert found.to_numpy().tolist() == g.transform(places).astype(object).to_numpy().tolist()


def test_adults_buckets_are_the_same_in_duckdb():
    X, y = md.datasets.load_adult(return_X_y=True)
    g = md.PrivacyTree(max_leaves=12).fit(X[:5000], y[:5000]).generalization_
    adult = X.assign(**{"record no": range(len(X))})
    with duckdb.connect() as connection:
        connection.register("adult", adult)
        found = connection.sql(g.to_sql("adult", keep=["record no"]) + ' ORDER BY "record no"').df()
    python = g.transform(X)
    for name in g.needed:
        assert (found[name].to_numpy() == python[name].astype(object).to_numpy()).all(), name


def test_representative_values_equal_those_of_transform(people):
    X, y = people
    g = md.PrivacyTree(max_leaves=6).fit(X, y).generalization_.drop("sex")
    table = X.astype({"school": object})
    found = duckdb.sql(g.to_sql("table", output="values")).df()
    python = g.transform(table, output="values")
    assert found.columns.tolist() == python.columns.tolist()
    for name in g.names:
        assert [same(a, b) for a, b in zip(found[name], python[name], strict=True)] == [True] * len(X), name


# Every dialect


def _hostile_artifact(names: list[str]) -> md.Generalization:
    """Every name with every hostile category, each in its own bucket except the last two."""
    words = list(dict.fromkeys(Group(values=(word,)).values[0] for word in HOSTILE))
    buckets = [Group(values=(word,)) for word in words[:-2]] + [Group(values=tuple(words[-2:]))]
    attributes = tuple(md.Attribute(name=name, kind="category") for name in names)
    return md.Generalization(
        md.Schema(attributes=attributes), [Groups(attribute=each, buckets=tuple(buckets)) for each in attributes]
    )


def _texts(sql: str, dialect: str) -> set[str]:
    found = sqlglot.parse_one(sql, dialect=dialect).find_all(sqlglot.exp.Literal)
    return {node.this for node in found if node.is_string}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_hostile_text_is_read_back_in_every_dialect(dialect):
    names = ["plain", "😀 é"] if dialect == "bigquery" else [name for name in NAMES if "{{" not in name]
    g = _hostile_artifact(names)
    sql = g.to_sql("people", dialect)
    tree = sqlglot.parse_one(sql, dialect=dialect)
    assert tree.named_selects == names
    assert {*g[names[0]].labels} | {word for bucket in g[names[0]].buckets for word in bucket.values} <= _texts(
        sql, dialect
    )
    assert len(sqlglot.parse(sql, dialect=dialect)) == 1


def test_literals_are_escaped_as_each_dialect_reads_them():
    g = _hostile_artifact(["a"])
    for dialect in ("duckdb", "postgres"):
        sql = g.to_sql("people", dialect)
        assert all(text in sql for text in ["'O''Brien'", "'end\\'", "'\\n'", "'two\nlines'"])
    for dialect in ("spark", "bigquery", "snowflake"):
        sql = g.to_sql("people", dialect)
        assert all(text in sql for text in [r"'O\'Brien'", r"'end\\'", r"'\\n'", r"'two\nlines'"])


def test_dialects_that_cannot_normalise_know_both_forms_of_a_text():
    g = _hostile_artifact(["a"])
    assert "e\u0301" in _texts(g.to_sql("people", "spark"), "spark")
    assert "e\u0301" in _texts(g.to_sql("people", "snowflake"), "snowflake")
    assert "NORMALIZE(CAST(`a` AS STRING), NFC)" in g.to_sql("people", "bigquery")


# Tables and columns


def test_a_hostile_table_is_one_quoted_name():
    g = _hostile_artifact(["a"])
    name = 'people"; DROP TABLE people; --'
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {quote(name)} (a TEXT)")
        connection.execute(f"INSERT INTO {quote(name)} VALUES ('?')")
        assert connection.sql(g.to_sql(name)).fetchall() == [("?",)]
        connection.execute('CREATE TABLE "a.b" (a TEXT)')
        assert connection.sql(g.to_sql(["a.b"])).fetchall() == []
    assert g.to_sql("s.t").endswith('FROM "s"."t"')
    assert g.to_sql(["c", "s", "t"], "bigquery").endswith("FROM `c`.`s`.`t`")


@pytest.mark.parametrize("table", ["", "a..b", "a.b.c.d", [], [1], ["a", "b", "c", "d"], None, 5, b"a"])
def test_an_invalid_table_name_is_refused(table):
    with pytest.raises(ParameterError, match="table"):
        _hostile_artifact(["a"]).to_sql(table)
    with pytest.raises(ParameterError, match="table"):
        _hostile_artifact(["a"]).to_dbt(table, "model")


@pytest.mark.parametrize("keep", [None, 5, [5], b"id"])
def test_an_invalid_list_of_columns_to_keep_is_refused(keep):
    with pytest.raises(ParameterError, match="'keep' parameter must be"):
        _hostile_artifact(["a"]).to_sql("t", keep=keep)


def test_other_columns_are_passed_through_unless_they_are_attributes():
    g = _hostile_artifact(["a", "b"])
    assert sqlglot.parse_one(g.to_sql("t", keep=["id", "label"])).named_selects == ["id", "label", "a", "b"]
    with pytest.raises(ParameterError, match="'a' is an attribute"):
        g.drop("a").to_sql("t", keep=["id", "a"])
    with pytest.raises(ParameterError, match="twice"):
        g.to_sql("t", keep=["id", "id"])
    with pytest.raises(ParameterError, match="cannot distinguish the columns 'A' and 'a'"):
        g.to_sql("t", keep=["A"])
    assert '"A"' in g.to_sql("t", "postgres", keep=["A"])


def test_collecting_nothing_is_refused_without_a_column_to_keep():
    g = _hostile_artifact(["a"]).drop("a")
    with pytest.raises(ArtifactError, match="collects nothing"):
        g.to_sql("t")
    assert g.to_sql("t", keep=["id"]).split() == ["SELECT", '"id"', "FROM", '"t"']
    assert "AS" in g.to_sql("t", output="values")


@pytest.mark.parametrize(
    ("dialect", "name", "reason"),
    [
        ("postgres", "é" * 32, "64 bytes, more than 63"),
        ("postgres", "a\x00b", "NUL"),
        ("bigquery", "a.b", "control character"),
        ("bigquery", "_PARTITION_x", "reserved"),
        ("bigquery", "x" * 301, "more than 300"),
        ("spark", "${env:HOME}", "variable"),
        ("snowflake", "x" * 256, "more than 255"),
        ("duckdb", "", "empty"),
        ("duckdb", "\ud800", "half a Unicode character"),
    ],
)
def test_a_name_that_a_dialect_cannot_hold_is_refused(dialect, name, reason):
    with pytest.raises(ParameterError, match=f"cannot have a column called .*{reason}"):
        _hostile_artifact([name]).to_sql("t", dialect)


@pytest.mark.parametrize(("dialect", "word"), [("postgres", "a\x00"), ("spark", "a\x00"), ("spark", "${env:HOME}")])
def test_a_text_that_a_dialect_cannot_hold_is_refused_without_repeating_it(dialect, word):
    attribute = md.Attribute(name="job", kind="category")
    groups = Groups(attribute=attribute, buckets=(Group(values=(word,)), Group(values=("b",))))
    g = md.Generalization(md.Schema(attributes=(attribute,)), [groups])
    with pytest.raises(ParameterError, match="category of 'job'") as refused:
        g.to_sql("t", dialect)
    assert "HOME" not in str(refused.value)
    job = pd.DataFrame({"job": [word, "b", "c"]})
    assert duckdb.sql(g.to_sql("job")).df()["job"].tolist() == g.transform(job)["job"].tolist()


@pytest.mark.parametrize(("given", "named"), [({"dialect": "oracle"}, "'dialect'"), ({"output": "x"}, "'output'")])
def test_a_wrong_parameter_is_named(given, named):
    with pytest.raises(ParameterError, match=f"The {named} parameter must be"):
        _hostile_artifact(["a"]).to_sql("t", **given)


def test_codes_of_a_number_in_full_detail_are_refused():
    X = pd.DataFrame({"age": [1.5, 2.5, 3.5]})
    schema = md.Schema.infer(X).replace("age", locked=True)
    g = md.Uniform(buckets=2, schema=schema).fit(X).generalization_
    with pytest.raises(ParameterError, match="'age' is kept in full detail, so it has no bucket codes"):
        g.to_sql("t", output="codes")
    assert g.to_sql("t").split() == ["SELECT", '"age"', "FROM", '"t"']


def test_a_text_is_not_cut_at_a_nul():
    words = ["\0\x80", "é\0b", "é", "plain"]
    X = pd.DataFrame({"word": [*words, "e\u0301\0b", "é\0c", "\0", None]}, dtype=object)
    schema = md.Schema(attributes=(md.Attribute(name="word", kind="category"),))
    g = md.FeatureSelection(k=1, schema=schema).fit(X[:4], [0, 1, 0, 1]).generalization_
    with duckdb.connect() as connection:
        connection.register("people", X)
        found = [row[0] for row in connection.execute(g.to_sql("people")).fetchall()]
    assert found == g.transform(X)["word"].astype(object).tolist()
