"""The JSON schema admits and refuses the same records as the record format."""

import copy

import jsonschema
import numpy as np
import pandas as pd
import pytest
from conftest import rule
from sql_tables import random_artifact

import modicum as md
from modicum.errors import DataError
from modicum.generalization.bins import FullDetail, Interval, Intervals
from modicum.generalization.cells import Ask, Cell
from modicum.generalization.record_format import record_format
from modicum.provenance import identity

STRANGE = [None, True, 0, 1.5, -0.0, 10**400, "", "nowhere", [], {}, ["x"], "2020-01-01\n", "(missing)", "1", "\ud800"]
DATES = ["2020-02-29", "2019-02-29", "1900-02-29", "2000-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2020-13-01"]
DATES += ["2020-04-31", "2020-00-10", "2020-01-01T00:00", "2020-01-01T23:59:59", "2020-01-01T10:11:12.123456"]
DATES += ["2020-01-01T25:00:00", "2020-01-01T10:60", " 2020-01-01", "2020-1-1", "٢٠٢٠-٠١-٠١", "10000-01-01"]


def admitted(check, record) -> bool:
    try:
        check(record)
    except (DataError, jsonschema.ValidationError):
        return False
    return True


def agree(artifact, records, random, dates=()):
    """Check that both agree on each record and on records changed in one place; both verdicts must occur."""
    schema = artifact.to_json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validate = jsonschema.Draft202012Validator(schema).validate
    check = record_format(artifact).check
    seen = set()
    for record in records:
        for sent in [record, *_mutations(record, records, random, dates)]:
            found = admitted(check, sent)
            assert admitted(validate, sent) == found, sent
            seen.add(found)
    assert seen == {True, False}


def _mutations(record, records, random, dates):
    names = list(record)
    name = names[int(random.integers(len(names)))]
    yield {**record, name: STRANGE[int(random.integers(len(STRANGE)))]}
    yield {other: value for other, value in record.items() if other != name}
    yield {**record, "something else": 1}
    yield {**record, name: records[int(random.integers(len(records)))][name]}
    yield {**record, name: records[int(random.integers(len(records)))][names[0]]}
    if dates:
        yield {**record, name: dates[int(random.integers(len(dates)))]}
    yield [record]


def sent_records(artifact, X):
    """Records as they are sent, after a round trip through the format."""
    format = record_format(artifact)
    plain = X.astype(object).where(X.notna(), None).to_dict("records")
    return [copy.deepcopy(format.record(format.check(record))) for record in plain]


@pytest.mark.parametrize("seed", range(4))
def test_random_artifacts_admit_what_their_format_admits(seed):
    g, _ = random_artifact(seed, [f"a{i} </script> 'x'" for i in range(15)])
    random = np.random.default_rng(seed)
    records = [
        {
            name: g[name].labels[int(random.integers(len(g[name].labels)))]
            if g[name].labels
            else ("2020-02-29" if g[name].attribute.kind == "date" else float(random.normal()))
            for name in g.needed
        }
        for _ in range(100)
    ]
    agree(g, records, random, DATES)


def test_a_kept_date_is_a_real_day():
    attribute = md.Attribute(name="born", kind="date", storage="date")
    g = md.Generalization(md.Schema(attributes=(attribute,)), [FullDetail(attribute=attribute)])
    validate = jsonschema.Draft202012Validator(g.to_json_schema()).validate
    check = record_format(g).check
    found = {date: admitted(validate, {"born": date}) for date in DATES}
    assert found == {date: admitted(check, {"born": date}) for date in DATES}
    assert set(found.values()) == {True, False}
    assert admitted(validate, {"born": None})


def test_adults_records_are_admitted():
    X, y = md.datasets.load_adult(return_X_y=True)
    g = md.PrivacyTree(max_leaves=8).fit(X[:3000], y[:3000]).generalization_
    agree(g, sent_records(g, g.transform(X[:100])), np.random.default_rng(0))


@pytest.fixture(scope="module")
def numbers():
    return md.datasets.load_adult().X[["age", "hours-per-week", "capital-gain"]][:3000]


@pytest.fixture(scope="module")
def cells(numbers):
    return md.ModelGuided(rule, random_state=0).fit(numbers).cells_


def test_cells_admit_the_labels_of_one_cell(cells, numbers):
    agree(cells, sent_records(cells, cells.transform(numbers[:300])), np.random.default_rng(0))


@pytest.mark.parametrize("missing", ["separate", "refuse"])
def test_a_kept_number_lies_in_its_cell(missing):
    """The tree asks about `a`, which is also kept in full detail, so each label of `b` needs a range of `a`."""
    a, b = (md.Attribute(name=name, kind="number", storage="float") for name in "ab")
    ranges = [
        Intervals(attribute=each, buckets=(Interval(up_to=0.0), Interval(up_to=1.0), Interval()), missing=missing)
        for each in (a, b)
    ]
    detail = md.Generalization(md.Schema(attributes=(a, b)), ranges)
    entries = [Ask(ask="a", left=(0,)), Cell(values=(-1, 0)), Ask(ask="b", left=(0, 1)), Cell(values=(2, 0))]
    kept = [FullDetail(attribute=a, missing=missing)]
    partition = md.CellPartition(detail, [*entries, Cell(values=(2, 2))], kept=kept)
    values = [-1.0, 0.0, 0.5, 1.0, 2.0] + [np.nan] * (missing == "separate")
    X = pd.DataFrame([(x, y) for x in values for y in values], columns=["a", "b"])
    agree(partition, sent_records(partition, partition.transform(X)), np.random.default_rng(0))


def test_a_questionnaires_json_schema_admits_all_that_its_format_admits(cells, numbers):
    form = md.Questionnaire(cells)
    format, schema = record_format(form), form.to_json_schema()
    validate = jsonschema.Draft202012Validator(schema).validate
    random = np.random.default_rng(0)
    detail = cells.detail
    for i in range(100):
        least = form.least(form.answers_of(numbers.iloc[i].to_dict()))
        record = {name: [detail[name].labels[code] for code in codes] for name, codes in least.items()}
        format.check(record)
        validate(record)
        for sent in _mutations(record, [record], random, ()):
            assert admitted(validate, sent) or not admitted(format.check, sent), sent
    assert not admitted(validate, {"age": ["≤ 40", "≤ 40"]})
    assert not admitted(validate, {"age": []})
    assert "checked by the service" in schema["description"]


def test_the_json_schema_names_its_artifact_and_has_the_schemas_texts():
    age = md.Attribute(name="age", kind="number", question="How old are you?", help="In years.")
    split = Intervals(attribute=age, buckets=(Interval(up_to=40), Interval()))
    g = md.Generalization(md.Schema(attributes=(age,)), [split])
    schema = g.to_json_schema()
    assert schema["x-modicum-artifact"] == identity(g)
    assert schema["properties"]["age"]["title"] == "How old are you?"
    assert schema["properties"]["age"]["description"] == "In years."
