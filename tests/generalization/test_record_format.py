"""The record format admits nothing finer than the artifact, and error messages never repeat what was sent."""

import jsonschema
import numpy as np
import pandas as pd
import pytest
from conftest import rule

import modicum as md
from modicum.errors import DataError
from modicum.generalization.bins import FullDetail, Group, Groups, Interval, Intervals
from modicum.generalization.cells import Ask, Cell
from modicum.generalization.record_format import record_format
from modicum.provenance import identity


@pytest.fixture(scope="module")
def adult():
    X, y = md.datasets.load_adult(return_X_y=True)
    return X[:4000], y[:4000]


@pytest.fixture(scope="module")
def pat(adult):
    return md.PrivacyTree(max_leaves=8).fit(*adult).generalization_


@pytest.fixture(scope="module")
def numbers(adult):
    return adult[0][["age", "hours-per-week", "capital-gain"]]


@pytest.fixture(scope="module")
def cells(numbers):
    return md.ModelGuided(rule, random_state=0).fit(numbers).cells_


def plain(frame):
    return frame.astype(object).to_dict("records")


def test_output_of_transform_is_admitted_and_restored(pat, adult):
    format = record_format(pat)
    Z = pat.transform(adult[0])
    encoded = [format.check(record) for record in plain(Z)[:500]]
    assert [format.record(each) for each in encoded] == plain(Z)[:500]
    assert format.names == pat.needed


@pytest.mark.parametrize("output", ["labels", "codes", "values"])
def test_inputs_of_a_model_equal_the_output_of_transform(pat, cells, numbers, adult, output):
    for artifact, X in ((pat, adult[0][:300]), (cells, numbers[:300])):
        format = record_format(artifact)
        encoded = [format.check(record) for record in plain(artifact.transform(X))]
        expected = artifact.transform(X, output=output)
        found = format.inputs(encoded, output)
        assert list(found.columns) == list(expected.columns)
        for name in expected:
            same = found[name].astype(object).isna() & expected[name].astype(object).isna()
            assert ((found[name].astype(object) == expected[name].astype(object)) | same).all(), name


def test_cells_admit_only_the_labels_of_one_cell(cells, numbers):
    format = record_format(cells)
    Z = cells.transform(numbers)
    encoded = [format.check(record) for record in plain(Z)[:300]]
    assert [each[0] for each in encoded] == cells.cells(numbers)[:300].tolist()
    combinations = {tuple(row) for row in Z.astype(object).itertuples(index=False)}
    mixed = [(a, b, c) for a in Z.iloc[:, 0].unique() for b in Z.iloc[:, 1].unique() for c in Z.iloc[:, 2].unique()]
    strange = next(row for row in mixed if row not in combinations)
    with pytest.raises(md.errors.DataError, match="together"):
        format.check(dict(zip(Z.columns, strange, strict=True)))


def test_cells_that_keep_a_number_take_its_value_and_find_the_cell(cells, numbers):
    entries = [entry.model_copy(update={"prediction": None}) for entry in cells.tree.entries()]
    cells = md.CellPartition(cells.detail, entries, kept=[FullDetail(attribute=cells.schema["age"])])
    format = record_format(cells)
    sent = plain(cells.transform(numbers[:200]))
    encoded = [format.check(record) for record in sent]
    assert [each[0] for each in encoded] == cells.cells(numbers[:200]).tolist()
    assert (rule(format.inputs(encoded, "values")).to_numpy() == rule(cells.transform(numbers[:200], "values"))).all()
    with pytest.raises(md.errors.DataError, match=r"entry for 'age' must be a number\.$"):
        format.check(sent[0] | {"age": "thirty"})


def test_a_questionnaire_admits_its_least_answers_and_nothing_finer(cells, numbers):
    form = md.Questionnaire(cells)
    format = record_format(form)
    detail = {name: cells.detail[name].labels for name in cells.names}
    finer = 0
    for i, order in enumerate([list(numbers.columns), list(numbers.columns)[::-1]] * 60):
        record = numbers.iloc[i].to_dict()
        answers = form.answers_of(record, order)
        least = form.least(answers)
        sent = {name: [detail[name][code] for code in codes] for name, codes in least.items()}
        encoded = format.check(sent)
        assert format.record(encoded) == sent
        assert format.prediction(encoded) == form.state(answers).prediction
        if any(tuple(answers[name]) != least.get(name) for name in answers):
            finer += 1
            with pytest.raises(md.errors.DataError, match="finer than the result needs"):
                format.check({name: [detail[name][code] for code in codes] for name, codes in answers.items()})
    assert finer > 0
    with pytest.raises(md.errors.DataError, match="is still needed"):
        format.check({})


def test_an_attribute_with_all_its_buckets_must_be_left_out(cells, numbers):
    form = md.Questionnaire(cells)
    format = record_format(form)
    detail = {name: cells.detail[name].labels for name in cells.names}
    checked = 0
    for i in range(60):
        least = form.least(form.answers_of(numbers.iloc[i].to_dict()))
        sent = {name: [detail[name][code] for code in codes] for name, codes in least.items()}
        for name in [name for name in format.names if name not in sent]:
            checked += 1
            with pytest.raises(DataError, match=f"entry for '{name}' names all its buckets.*leave it out") as caught:
                format.check(sent | {name: list(detail[name])})
            assert not any(label in str(caught.value) for label in detail[name])
            assert format.check(sent)
    assert checked > 0


SECRET = "8423-very-private"


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (SECRET, "must be an object"),
        ([SECRET], "must be an object"),
        ({}, "has no entry for 'age'"),
        ({SECRET: 1}, "has no entry for 'age'"),
        ("age", "is not one of its buckets"),
        ("list", "is not one of its buckets"),
        ("dropped", "which is not collected"),
        ("unknown", "does not know"),
    ],
)
def test_error_messages_never_repeat_what_was_sent(sent, message):
    X = pd.DataFrame({"age": [18, 35, 70], "zip": ["a", "b", "c"]})
    g = md.Uniform(buckets=2).fit(X).generalization_.drop("zip")
    right = {"age": "≤ 50"}
    cases = {
        "age": {"age": SECRET},
        "list": {"age": [SECRET]},
        "dropped": right | {"zip": SECRET},
        "unknown": right | {SECRET: SECRET},
    }
    with pytest.raises(md.errors.DataError, match=message) as caught:
        record_format(g).check(cases[sent] if isinstance(sent, str) and sent in cases else sent)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("sent", [True, "12", float("nan"), float("inf"), 10**400, [1], {}])
def test_full_detail_takes_only_finite_numbers_and_null(sent):
    schema = md.Schema.infer(pd.DataFrame({"dose": [0.5, 1.5]})).replace("dose", locked=True)
    g = md.Uniform(buckets=2, schema=schema).fit(pd.DataFrame({"dose": [0.5, 1.5]})).generalization_
    format = record_format(g)
    assert format.record(format.check({"dose": 1.25})) == {"dose": 1.25}
    assert format.record(format.check({"dose": None})) == {"dose": None}
    assert np.isnan(format.inputs([(None,)], "labels")["dose"][0])
    with pytest.raises(md.errors.DataError, match="must be a number"):
        format.check({"dose": sent})


def test_the_identity_depends_on_buckets_and_not_on_texts(pat):
    name = pat.needed[0]
    with_texts = md.Generalization.from_dict(
        pat.to_dict() | {"schema": pat.schema.replace(name, question="How?", help="So.").to_dict()}
    )
    assert with_texts.schema[name].question == "How?"
    assert identity(with_texts) == identity(pat)
    coarser = pat.merge(name, pat.buckets[name][:2])
    assert identity(coarser) != identity(pat)


def test_the_identity_depends_on_an_order_and_not_on_bounds():
    age = md.Attribute(name="age", kind="number", storage="integer")
    identities = [_identity_of(age.model_copy(update={"domain": bounds})) for bounds in (None, (0.0, 99.0))]
    assert identities[0] == identities[1]
    school = md.Attribute(name="school", kind="ordered", domain=("1", "2", "3", "4"))
    shuffled = md.Attribute(name="school", kind="ordered", domain=("1", "3", "2", "4"))
    names = [_identity_of(each) for each in (school, shuffled)]
    assert names[0] != names[1]  # the label 1–3 needs neighbours in the order


def _identity_of(attribute):
    if attribute.kind == "number":
        partition = Intervals(attribute=attribute, buckets=(Interval(up_to=20), Interval()))
    else:
        partition = Groups(attribute=attribute, buckets=(Group(values=("1", "2", "3")), Group(values=("4",))))
    return identity(md.Generalization(md.Schema(attributes=(attribute,)), [partition]))


def _cells_that_keep_a_category(missing="separate", unseen="separate"):
    """Cells whose tree asks about an age and about a category that is also kept."""
    job, age = md.Attribute(name="job", kind="category"), md.Attribute(name="age", kind="number", storage="integer")
    groups = tuple(Group(values=(value,)) for value in "abc")
    jobs = Groups(attribute=job, buckets=groups, value="a", missing=missing, unseen=unseen)
    ages = Intervals(attribute=age, buckets=(Interval(up_to=20), Interval()))
    detail = md.Generalization(md.Schema(attributes=(job, age)), [jobs, ages])
    left = (1, 3) if unseen == "separate" else (1,)  # b and unseen categories
    tree = [Ask(ask="job", left=left), Ask(ask="age", left=(0,))]
    leaves = [Cell(values=("b", 10)), Cell(values=("b", 30)), Cell(values=("a", 30))]
    return md.CellPartition(detail, [*tree, *leaves], kept=[Groups(attribute=job, buckets=groups, value="a")])


def test_an_unseen_kept_category_falls_into_its_own_cell():
    cells = _cells_that_keep_a_category()
    X = pd.DataFrame({"job": ["a", "b", "c", "never seen", None], "age": [10, 10, 30, 10, 10]})
    format = record_format(cells)
    encoded = [format.check(record) for record in plain(cells.transform(X))]
    assert [each[0] for each in encoded] == cells.cells(X).tolist()
    contract = jsonschema.Draft202012Validator(cells.to_json_schema())
    assert all(contract.is_valid(record) for record in plain(cells.transform(X)))


@pytest.mark.parametrize("word", ["(other)", "(missing)"])
def test_a_kept_category_that_the_tree_refuses_is_refused(word):
    cells = _cells_that_keep_a_category(missing="refuse", unseen="refuse")
    for record in ({"job": word, "age": "(any)"}, {"job": word, "age": "≤ 20"}):
        with pytest.raises(DataError, match="entries of the record together do not match any cell"):
            record_format(cells).check(record)
        assert not jsonschema.Draft202012Validator(cells.to_json_schema()).is_valid(record)
    with pytest.raises(DataError, match="'job' is refused by this artifact"):
        record_format(md.Questionnaire(cells)).check({"job": word})


def test_numbers_and_dates_in_full_detail_reach_a_model_unchanged():
    n, d = md.Attribute(name="n", kind="number", storage="integer"), md.Attribute(name="d", kind="date")
    g = md.Generalization(md.Schema(attributes=(n, d)), [FullDetail(attribute=n), FullDetail(attribute=d)])
    format = record_format(g)
    sent = [{"n": 1e300, "d": "1600-02-03T04:05:06.500000"}, {"n": 2**63, "d": "2020-01-01T00:00:00.123456"}]
    found = format.inputs([format.check(record) for record in sent], "values")
    assert found["n"].tolist() == [1e300, 2.0**63]
    assert [each.isoformat(timespec="microseconds") for each in found["d"]] == [record["d"] for record in sent]
    whole = format.inputs([format.check({"n": -(2**53), "d": None})], "values")
    assert whole["n"].dtype == np.int64
    assert whole["d"].isna().all()
