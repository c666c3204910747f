"""Schemas: inferred, edited, written, checked against data."""

import pandas as pd
import pytest

import modicum as md
from modicum.errors import SchemaError
from modicum.table.inference import association


def test_kinds_come_from_the_data(as_frame):
    X = as_frame(
        {
            "age": [31, 45, None],
            "share": [0.5, 0.25, 1.0],
            "job": ["nurse", None, "clerk"],
            "member": [True, False, True],
            "since": [pd.Timestamp("2020-01-01"), pd.Timestamp("2021-05-01"), pd.Timestamp("2022-01-01")],
        }
    )
    schema = md.Schema.infer(X)
    assert [(a.kind, a.storage) for a in schema] == [
        ("number", "integer"),
        ("number", "float"),
        ("category", "text"),
        ("category", "boolean"),
        ("date", "date"),
    ]


def test_an_ordered_categorical_is_ordered():
    X = pd.DataFrame(
        {"school": pd.Categorical(["basic", "none"], categories=["none", "basic", "higher"], ordered=True)}
    )
    assert md.Schema.infer(X)["school"].domain == ("none", "basic", "higher")


def test_suggestions_give_reasons_and_decide_nothing():
    n = 400
    X = pd.DataFrame(
        {
            "email": [f"p{i}@example.org" for i in range(n)],
            "ticket": [f"T{i}" for i in range(n)],
            "race": ["a", "b"] * (n // 2),
            "district": ["north", "south"] * (n // 2),
            "age": range(n),
            "mode": [1, 2, 3, 4] * (n // 4),
            "years": [str(i % 40) if i % 40 else "more" for i in range(n)],
        }
    )
    schema = md.Schema.infer(X)
    topics = {(s.attribute, s.topic) for s in schema.suggestions}
    assert topics >= {
        ("email", "identifier"),
        ("ticket", "identifier"),
        ("race", "special category"),
        ("district", "proxy"),
        ("age", "quasi-identifier"),
        ("mode", "kind"),
        ("years", "kind"),
    }
    assert all(s.reason for s in schema.suggestions)
    assert schema["mode"].kind == "number"
    assert schema.personal == list(X.columns)
    assert all(a.roles == () for a in schema)


def test_roles_override_and_all_are_personal_by_default():
    X = pd.DataFrame({"id": ["a", "b"], "age": [1, 2], "sex": ["f", "m"], "y": [0, 1]})
    schema = md.Schema.infer(X, label="y", identifiers=["id"])
    assert schema.features == ["age", "sex"]
    assert schema.personal == ["age", "sex"]
    schema = schema.with_roles(personal=["sex"], quasi_identifiers=["age", "sex"])
    assert schema.personal == ["sex"]
    assert schema["sex"].roles == ("personal", "quasi-identifier")


def test_yaml_round_trip(tmp_path):
    schema = md.Schema(
        attributes=(
            md.Attribute(name="zip: '", kind="category", domain=["01234", "98765"], locked=True),
            md.Attribute(name="age", kind="number", storage="integer", domain=[0, 120], roles=["personal"]),
            md.Attribute(name="born", kind="date", domain=["1900-01-01", "2020-12-31"], forbidden=True),
            md.Attribute(name="land", kind="category", hierarchy={"fr": ["Europe"], "de": ["Europe"]}),
        )
    )
    schema.to_yaml(tmp_path / "s.yaml")
    assert md.Schema.from_yaml(tmp_path / "s.yaml") == schema
    assert md.Schema.from_yaml(schema.to_yaml()) == schema


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("attributes:\n- {name: a, kind: colour}\n", "attribute 'a', field 'kind'"),
        ("attributes:\n- {name: a, kind: number, size: 3}\n", "attribute 'a', field 'size'"),
        ("attributes:\n- {name: a, kind: number}\n- {name: a, kind: number}\n", "'a' is declared twice"),
        ("attributes:\n- {name: a, kind: number, locked: true, forbidden: true}\n", "both locked"),
        ("attributes:\n- {name: a, kind: number, roles: [label, personal]}\n", "'label' excludes"),
        ("attributes:\n- {name: a, kind: number, domain: [5, 1]}\n", "lowest and a highest"),
        ("attributes: [\n", "not readable as YAML"),
        ("- a\n- b\n", "mapping with the key 'attributes'"),
    ],
)
def test_a_wrong_schema_is_refused_in_one_sentence(text, complaint):
    with pytest.raises(SchemaError, match=complaint) as caught:
        md.Schema.from_yaml(text)
    assert "\n" not in str(caught.value)


def test_data_that_contradicts_the_schema_is_refused(as_frame):
    schema = md.Schema(
        attributes=(
            md.Attribute(name="age", kind="number", domain=[0, 120]),
            md.Attribute(name="sex", kind="category", domain=["f", "m"]),
        )
    )
    schema.check(as_frame({"age": [1, 2], "sex": ["f", None]}))
    with pytest.raises(SchemaError, match="'sex'"):
        schema.check(as_frame({"age": [1, 2], "sex": ["f", "x"]}))
    with pytest.raises(SchemaError, match="'age' holds 1 values outside"):
        schema.check(as_frame({"age": [1, 200], "sex": ["f", "m"]}))
    with pytest.raises(SchemaError, match="names 'sex'"):
        schema.check(as_frame({"age": [1, 2]}))
    with pytest.raises(SchemaError, match="no attribute 'nothing'"):
        schema.with_roles(personal=["nothing"])


def test_association_of_independent_columns_is_near_zero():
    import numpy as np

    random = np.random.default_rng(0)
    assert association(random.integers(0, 5, 5000), random.integers(0, 7, 5000)) < 0.05
