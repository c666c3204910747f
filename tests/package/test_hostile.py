"""One hostile table in every output: HTML, JavaScript, SQL, CSV, JSON. Nothing is executed, the buckets agree."""

import json
from html.parser import HTMLParser

import duckdb
import jsonschema
import numpy as np
import pandas as pd
import pytest
from nodejs import in_node
from serving import Service
from typer.testing import CliRunner

import modicum as md
from modicum.cli.main import app
from modicum.export.model_bundle import Bundle
from modicum.export.web_form import form_page
from modicum.generalization.record_format import record_format

NAMES = ["</script><script>alert(1)</script>", "a\"b'c`d", "; DROP TABLE people --", "😀 \u202e עמר", "{{ 7*7 }}"]
WORDS = [
    "</script><img src=x onerror=alert(1)>",
    "'",
    '"',
    "\\",
    "'; DROP TABLE people; --",
    "${alert(1)}",
    "{% raw %}{{ x }}",
    "=1+2",
    "a,b\nc\td",
    "😀",
    "\u202eright to left",
    "e\u0301",
    "\u2028",
    "(other)",
    "(missing)",
    " ",
]


@pytest.fixture(scope="module")
def hostile():
    """A table of hostile names and categories, and one attribute with 10,000 of them; some values missing."""
    random = np.random.default_rng(0)
    n = 12_000
    columns = {name: random.choice(np.array(WORDS, dtype=object), n) for name in NAMES}
    many = np.array([f"{WORDS[i % len(WORDS)]}{i}" for i in range(10_000)], dtype=object)
    X = pd.DataFrame(columns | {"many": np.concatenate([many, random.choice(many, n - len(many))])})
    absent = random.random(X.shape) < 0.02
    absent[: len(many), -1] = False  # each of the 10,000 occurs
    X = X.mask(absent, None)
    schema = md.Schema(attributes=tuple(md.Attribute(name=name, kind="category") for name in X.columns))
    g = md.Uniform(buckets=5, schema=schema).fit(X).generalization_
    selection = md.FeatureSelection(k=len(X.columns), score_func="mutual_information", schema=schema)
    return X, g, selection


def labels_of(g, X):
    return g.transform(X).astype(object).to_dict("records")


def test_javascript_gives_the_same_buckets(hostile, tmp_path):
    X, g, _ = hostile
    records = X.astype(object).where(X.notna(), None).to_dict("records")[:2000]
    found = in_node(tmp_path)(g, [["generalize", {"map": list(record.items())}] for record in records])
    assert [result["given"] for result in found["results"]] == labels_of(g, X[:2000])


def test_sql_gives_the_same_buckets_and_leaves_the_table_alone(hostile):
    X, g, _ = hostile
    with duckdb.connect() as connection:
        connection.register("given", X)
        connection.execute('CREATE TABLE "people; --" AS SELECT * FROM given')
        found = connection.execute(g.to_sql(["people; --"])).fetchall()
        assert connection.execute('SELECT count(*) FROM "people; --"').fetchone() == (len(X),)
    assert found == [tuple(row.values()) for row in labels_of(g, X)]


def test_csv_gives_the_same_buckets(hostile, tmp_path):
    X, g, _ = hostile
    g.save(tmp_path / "g.json")
    X.to_parquet(tmp_path / "people.parquet")
    result = CliRunner().invoke(
        app, ["apply", *map(str, (tmp_path / "g.json", tmp_path / "people.parquet", "-o", tmp_path / "out.csv"))]
    )
    assert result.exit_code == 0, result.output
    written = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert written.to_dict("records") == labels_of(g, X)


class _Scripts(HTMLParser):
    """Collect the elements and handlers that could run something."""

    def __init__(self):
        super().__init__()
        self.active, self.handlers = [], []

    def handle_starttag(self, tag, attributes):
        self.active += [tag] if tag in ("script", "img", "iframe", "object", "embed", "svg", "link") else []
        self.handlers += [name for name, _ in attributes if name.startswith("on")]


def test_the_form_holds_only_its_own_script(hostile):
    parser = _Scripts()
    parser.feed(form_page(hostile[1]))
    assert [tag for tag in parser.active if tag != "link"] == ["script"]
    assert parser.handlers == []


def test_json_schema_and_service_accept_the_records_and_the_store_keeps_them_unchanged(hostile, tmp_path):
    X, g, _ = hostile
    records = labels_of(g, X[:50])
    validator = jsonschema.Draft202012Validator(g.to_json_schema())
    service = Service(Bundle(g), tmp_path / "data.duckdb")
    try:
        for record in records:
            validator.validate(record)
            assert service.send("/records", record).status_code == 201
        stored = [json.loads(entry.record) for entry in service.store.entries(service.bundle.identity)]
    finally:
        service.close()
    as_text = sorted(json.dumps(record) for record in stored)
    assert as_text == sorted(json.dumps(record) for record in records)


def test_a_kept_attribute_of_ten_thousand_categories_has_the_same_labels_everywhere(hostile, tmp_path):
    X, _, selection = hostile
    g = selection.fit(X, X["many"].isna()).generalization_
    assert len(g.buckets["many"]) >= 10_000
    sample = X[:300]
    format = record_format(g)
    assert [format.record(format.check(record)) for record in labels_of(g, sample)] == labels_of(g, sample)
    records = sample.astype(object).where(sample.notna(), None).to_dict("records")
    found = in_node(tmp_path)(g, [["generalize", {"map": list(record.items())}] for record in records])
    assert [result["given"] for result in found["results"]] == labels_of(g, sample)
    with duckdb.connect() as connection:
        connection.register("people", sample)
        assert connection.execute(g.to_sql("people")).fetchall() == [
            tuple(row.values()) for row in labels_of(g, sample)
        ]
